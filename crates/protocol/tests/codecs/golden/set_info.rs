//! SET_INFO, and security descriptors from QUERY_INFO.

use smbench_protocol::command::create::attributes;
use smbench_protocol::command::query_info::{
    InfoType, QueryInfoRequest, QueryInfoResponse, security,
};
use smbench_protocol::command::set_info::{
    Deletion, Existing, SetInfo, SetInfoRequest, SetInfoResponse,
};
use smbench_protocol::command::{FileTime, FileTimes, WireName};
use smbench_protocol::header::HEADER_LEN;

use super::{body, id};

#[test]
fn requests() {
    let name = WireName::new("f").expect("short");
    let left_alone = FileTime(u64::MAX);
    let security = captured!("3.1.1", "set-security-request");
    for (captured, file_id, info) in [
        (
            captured!("3.1.1", "set-basic-request"),
            id(0xd2a0_9b85, 0x0f0f_6670),
            SetInfo::Basic {
                times: FileTimes {
                    created: left_alone,
                    accessed: left_alone,
                    written: FileTime(0),
                    changed: left_alone,
                },
                file_attributes: attributes::FILE_ATTRIBUTE_ARCHIVE
                    | attributes::FILE_ATTRIBUTE_READONLY,
            },
        ),
        (
            captured!("3.1.1", "set-rename-request"),
            id(0x9f66_2038, 0xd8f8_9b4b),
            SetInfo::Rename {
                to: &name,
                existing: Existing::Keep,
            },
        ),
        (
            captured!("3.1.1", "set-disposition-request"),
            id(0xf0be_5b44, 0x78ed_99ff),
            SetInfo::Disposition(Deletion::Pending),
        ),
        (
            captured!("3.1.1", "set-end-of-file-request"),
            id(0xbc9f_80a9, 0xe10b_399b),
            SetInfo::EndOfFile(1),
        ),
        (
            security.clone(),
            id(0xd00d_89ce, 0xbdcb_a428),
            SetInfo::Security {
                parts: security::OWNER_SECURITY_INFORMATION | security::DACL_SECURITY_INFORMATION,
                descriptor: &security[HEADER_LEN + 32..],
            },
        ),
    ] {
        let ours = body(|out| SetInfoRequest { file_id, info }.encode(out));
        assert_eq!(captured[HEADER_LEN..], ours, "{info:?}");
    }
}

#[test]
fn a_response_says_nothing() {
    let response = captured!("3.1.1", "set-info-response");
    assert_eq!(SetInfoResponse::decode(&response), Ok(SetInfoResponse));
}

#[test]
fn a_security_descriptor() {
    let request = QueryInfoRequest {
        info_type: InfoType::Security,
        class: 0,
        output_length: 0x10000,
        additional: security::OWNER_SECURITY_INFORMATION | security::DACL_SECURITY_INFORMATION,
        file_id: id(0xd00d_89ce, 0xbdcb_a428),
    };
    assert_eq!(
        captured!("3.1.1", "query-security-request")[HEADER_LEN..],
        body(|out| request.encode(out))
    );
    let response = captured!("3.1.1", "query-security-response");
    let answer = QueryInfoResponse::decode(&response).expect("decodes");
    // Revision 1, self-relative (MS-DTYP 2.4.6), three entries in the DACL.
    assert_eq!(
        (answer.data.len(), answer.data[0], answer.data[3] & 0x80),
        (112, 1, 0x80)
    );
}
