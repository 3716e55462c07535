//! QUERY_INFO.

use smbench_protocol::command::query_info::{
    InfoType, QueryInfoRequest, QueryInfoResponse, file_class, file_system_class,
};
use smbench_protocol::header::HEADER_LEN;

use super::{body, id};

#[test]
fn query_info_of_a_file() {
    let ours = body(|out| {
        QueryInfoRequest {
            info_type: InfoType::File,
            class: file_class::FILE_ALL_INFORMATION,
            output_length: 0xffff,
            additional: 0,
            file_id: id(0x006f_e52a, 0xa585_bd3c),
        }
        .encode(out);
    });
    assert_eq!(captured!("2.1", "query-info-request")[HEADER_LEN..], ours);

    for response in [
        captured!("2.1", "query-info-response"),
        captured!("3.1.1-signed", "query-info-response"),
    ] {
        let info = QueryInfoResponse::decode(&response).expect("decodes");
        assert_eq!(info.data.len(), 124);
        // FileAllInformation (MS-FSCC 2.4.2) has 40 bytes of basic information,
        // then AllocationSize and EndOfFile.
        assert_eq!(info.data[40..48], 4096u64.to_le_bytes());
        assert_eq!(info.data[48..56], 45u64.to_le_bytes());
        // The file's name is at the end.
        assert_eq!(info.data[122..], *b"t\0");
    }
}

#[test]
fn query_info_of_a_file_system() {
    let ours = body(|out| {
        QueryInfoRequest {
            info_type: InfoType::FileSystem,
            class: file_system_class::FILE_FS_SIZE_INFORMATION,
            output_length: 0xffff,
            additional: 0,
            file_id: id(0xd75e_4dac, 0x1f2b_5a0d),
        }
        .encode(out);
    });
    assert_eq!(
        captured!("2.1", "query-info-fs-request")[HEADER_LEN..],
        ours
    );
    let response = captured!("2.1", "query-info-fs-response");
    let info = QueryInfoResponse::decode(&response).expect("decodes");
    // FileFsSizeInformation (MS-FSCC 2.5.8): total and free units, sectors per
    // unit, bytes per sector.
    assert_eq!(info.data.len(), 24);
    assert_eq!(info.data[0..8], 0x0fbf_8e74u64.to_le_bytes());
    assert_eq!(info.data[16..20], 2u32.to_le_bytes());
    assert_eq!(info.data[20..24], 512u32.to_le_bytes());
}
