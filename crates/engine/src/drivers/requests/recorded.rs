//! The requests of traces, and their names.

use smbench_model::action::SetClass;
use smbench_model::trace::{CreateDetail, InfoLevel};
use smbench_protocol::FileId;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, Disposition, access, attributes, options};
use smbench_protocol::command::set_info::{Deletion, SetInfo, SetInfoRequest};

use super::info;
use crate::smb::session::SessionError;

/// Returns a CREATE that opens an existing name.
pub(in crate::drivers) const fn existing<N: ?Sized>(name: &N, rights: u32) -> CreateRequest<'_, N> {
    CreateRequest::open(name, rights | access::SYNCHRONIZE)
}

/// Returns the CREATE of a trace, without its contexts. If the trace does not record
/// the requested rights, they are those to read and write, as the clients of dbench
/// request. A file that is read-only could not be deleted, so none is made.
pub(in crate::drivers) fn recorded<'a, N: ?Sized>(
    name: &'a N,
    options: u32,
    disposition: u8,
    detail: Option<&CreateDetail>,
) -> CreateRequest<'a, N> {
    /// FILE_OPEN_BY_FILE_ID, with which the server would read the name as a number.
    const BY_ID: u32 = 0x2000;
    let mut rights = access::FILE_READ_DATA | access::FILE_READ_ATTRIBUTES;
    if is_file(options) {
        rights |=
            access::FILE_WRITE_DATA | access::FILE_APPEND_DATA | access::FILE_WRITE_ATTRIBUTES;
    }
    if options & options::FILE_DELETE_ON_CLOSE != 0 {
        rights |= access::DELETE;
    }
    let of_loadfile = existing(name, rights);
    CreateRequest {
        desired_access: detail.map_or(of_loadfile.desired_access, |has| has.desired_access),
        file_attributes: detail.map_or(of_loadfile.file_attributes, |has| {
            has.attributes & !attributes::FILE_ATTRIBUTE_READONLY
        }),
        share_access: detail.map_or(of_loadfile.share_access, |has| has.share_access),
        disposition: match disposition {
            0 => Disposition::Supersede,
            1 => Disposition::Open,
            2 => Disposition::Create,
            3 => Disposition::OpenIf,
            4 => Disposition::Overwrite,
            _ => Disposition::OverwriteIf,
        },
        options: options & !BY_ID,
        ..of_loadfile
    }
}

/// Whether a CREATE with these options does not open a directory.
pub(in crate::drivers) const fn is_file(options: u32) -> bool {
    options & options::FILE_DIRECTORY_FILE == 0
}

/// Returns the class of a recorded SET_INFO; `None` if it revokes a deletion. Values
/// that were not recorded are chosen so that they change nothing recorded.
pub(in crate::drivers) const fn set_class(class: u8) -> Option<SetClass> {
    Some(match class {
        13 => return None,
        19 => SetClass::Allocation,
        20 => SetClass::EndOfFile,
        _ => SetClass::Basic,
    })
}

/// Returns the SET_INFO of a trace.
pub(in crate::drivers) fn set(
    level: InfoLevel,
    size: u64,
    file_id: FileId,
) -> SetInfoRequest<'static> {
    match set_class(level.class) {
        Some(class) => info::set(class, file_id, size, None),
        None => SetInfoRequest {
            file_id,
            info: SetInfo::Disposition(Deletion::Revoked),
        },
    }
}

/// Encodes a name.
pub(in crate::drivers) fn wire_name(name: &str) -> Result<WireName, SessionError> {
    WireName::new(name).map_err(|_| SessionError::Path {
        doing: format!("open '{name}'"),
    })
}
