//! Commands that take only names.

use smbench_protocol::cifs::command::decode_empty;
use smbench_protocol::cifs::command::names::{
    CifsDeleteRequest, CifsRenameRequest, DirectoryPathRequest,
};
use smbench_protocol::command::create::attributes;

use super::{HEADER_LEN, message, name};

const HIDDEN_AND_SYSTEM: u16 =
    (attributes::FILE_ATTRIBUTE_HIDDEN | attributes::FILE_ATTRIBUTE_SYSTEM) as u16;

#[test]
fn deletion() {
    let request = CifsDeleteRequest {
        search_attributes: HIDDEN_AND_SYSTEM,
        path: &name(r"dir\f"),
    };
    assert_eq!(
        captured!("cifs", "delete-request")[HEADER_LEN..],
        message(|out| request.encode(out))[HEADER_LEN..]
    );
}

#[test]
fn renaming() {
    let request = CifsRenameRequest {
        search_attributes: HIDDEN_AND_SYSTEM | attributes::FILE_ATTRIBUTE_DIRECTORY as u16,
        from: &name(r"dir\fox.txt"),
        to: &name(r"dir\f"),
    };
    assert_eq!(
        captured!("cifs", "rename-request")[HEADER_LEN..],
        message(|out| request.encode(out))[HEADER_LEN..]
    );
}

#[test]
fn directories() {
    for (captured, path) in [
        (captured!("cifs", "create-directory-request"), "dir"),
        (captured!("cifs", "delete-directory-request"), "dir"),
        (captured!("cifs", "check-directory-request"), "chkpath.dir"),
    ] {
        let request = DirectoryPathRequest { path: &name(path) };
        assert_eq!(
            captured[HEADER_LEN..],
            message(|out| request.encode(out))[HEADER_LEN..]
        );
    }
}

#[test]
fn a_response_says_nothing() {
    let response = captured!("cifs", "create-directory-response");
    assert_eq!(decode_empty(&response), Ok(()));
}
