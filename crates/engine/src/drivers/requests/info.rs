//! Encodes queries, changes, listings and watches of files and directories, with
//! the numbers of MS-FSCC and MS-SMB2.

use smbench_model::action::{ChangeFilter, QueryClass, SetClass};
use smbench_model::kind::OpKind;
use smbench_protocol::FileId;
use smbench_protocol::command::change_notify::{ChangeNotifyRequest, WATCH_TREE};
use smbench_protocol::command::query_directory::{
    DirectoryClass, QueryDirectoryRequest, query_directory_flags,
};
use smbench_protocol::command::query_info::{InfoType, QueryInfoRequest, security};
use smbench_protocol::command::set_info::{Deletion, Existing, SetInfo, SetInfoRequest};
use smbench_protocol::command::{FileTime, FileTimes, WireName};
use smbench_protocol::connection::Negotiated;

/// Maximum bytes of an answer about one file.
pub(in crate::drivers) const ANSWER_LEN: u32 = 16 * 1024;
/// Maximum bytes of a listing: as many as one credit pays for.
pub(in crate::drivers) const LISTING_LEN: u32 = 64 * 1024;
/// Maximum bytes of an answer with changes; only the first few changes matter.
pub(in crate::drivers) const CHANGES_LEN: u32 = 4 * 1024;

/// Parts of a security descriptor that are queried.
pub(in crate::drivers) const SECURITY_PARTS: u32 = security::OWNER_SECURITY_INFORMATION
    | security::GROUP_SECURITY_INFORMATION
    | security::DACL_SECURITY_INFORMATION;

/// 2020-01-01 UTC: a time to set. A time of 0 would mean that the server keeps its
/// own (MS-FSCC 2.4.7).
pub(in crate::drivers) const TIME_SET: FileTime = FileTime(132_223_104_000_000_000);

/// A self-relative descriptor (MS-DTYP 2.4.6). Its DACL gives full access to
/// everyone, so that it cannot prevent the clean-up of the run.
const DESCRIPTOR: [u8; 48] = [
    // Revision, Sbz1, Control: self-relative, DACL present.
    1, 0, 0x04, 0x80, // Owner, group, SACL: none.
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // Where the DACL is.
    20, 0, 0, 0, // ACL: revision, Sbz1, size, one ACE, Sbz2.
    2, 0, 28, 0, 1, 0, 0, 0, // ACE: allows, no flags, size, FILE_ALL_ACCESS.
    0, 0, 20, 0, 0xFF, 0x01, 0x1F, 0x00, // S-1-1-0.
    1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
];

/// Returns a query about a file (MS-FSCC 2.4), its volume (MS-FSCC 2.5) or its
/// security.
pub(in crate::drivers) fn query(
    class: QueryClass,
    file_id: FileId,
    negotiated: &Negotiated,
) -> QueryInfoRequest {
    let (info_type, additional) = match class.kind() {
        OpKind::QueryFs => (InfoType::FileSystem, 0),
        OpKind::QuerySecurity => (InfoType::Security, SECURITY_PARTS),
        _ => (InfoType::File, 0),
    };
    QueryInfoRequest {
        info_type,
        class: class.number(),
        output_length: negotiated.output_len(ANSWER_LEN),
        additional,
        file_id,
    }
}

/// Returns a change to a file of `size` bytes that keeps its contents. `renamed` is
/// the new name, if the change is a rename.
pub(in crate::drivers) fn set(
    class: SetClass,
    file_id: FileId,
    size: u64,
    renamed: Option<&WireName>,
) -> SetInfoRequest<'_> {
    let info = match class {
        SetClass::Basic => SetInfo::Basic {
            times: FileTimes {
                written: TIME_SET,
                ..FileTimes::default()
            },
            file_attributes: 0,
        },
        SetClass::Allocation => SetInfo::Allocation(size),
        SetClass::EndOfFile => SetInfo::EndOfFile(size),
        SetClass::Rename => SetInfo::Rename {
            to: renamed.unwrap_or_else(|| unreachable!("a rename has a scratch name to take")),
            existing: Existing::Replace,
        },
        SetClass::Delete => SetInfo::Disposition(Deletion::Pending),
        SetClass::Security => SetInfo::Security {
            parts: security::DACL_SECURITY_INFORMATION,
            descriptor: &DESCRIPTOR,
        },
    };
    SetInfoRequest { file_id, info }
}

/// Returns a listing of a directory from its first name.
pub(in crate::drivers) fn list<'a>(
    class: DirectoryClass,
    directory: FileId,
    pattern: &'a WireName,
    negotiated: &Negotiated,
) -> QueryDirectoryRequest<'a> {
    QueryDirectoryRequest {
        flags: query_directory_flags::RESTART_SCANS,
        ..names(
            class,
            directory,
            pattern,
            negotiated.output_len(LISTING_LEN),
        )
    }
}

/// Returns a listing of the next names of a directory.
pub(in crate::drivers) const fn names(
    class: DirectoryClass,
    directory: FileId,
    pattern: &WireName,
    output_length: u32,
) -> QueryDirectoryRequest<'_> {
    QueryDirectoryRequest {
        directory,
        class,
        flags: 0,
        pattern,
        output_length,
    }
}

/// Returns a request that waits for changes in a directory.
pub(in crate::drivers) fn watch(
    filter: &[ChangeFilter],
    recursive: bool,
    directory: FileId,
    negotiated: &Negotiated,
) -> ChangeNotifyRequest {
    ChangeNotifyRequest {
        directory,
        flags: if recursive { WATCH_TREE } else { 0 },
        completion_filter: changes(filter),
        output_length: negotiated.output_len(CHANGES_LEN),
    }
}

/// Returns the bits of the changes that a watch is about (MS-SMB2 2.2.35).
pub(in crate::drivers) fn changes(filter: &[ChangeFilter]) -> u32 {
    filter.iter().fold(0, |bits, &change| bits | change as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smbench_protocol::Dialect;
    use smbench_protocol::algorithm::SigningAlgorithm;

    #[test]
    fn no_request_asks_for_more_than_the_server_allows() {
        let file = FileId::RELATED;
        for (max_transact, expected) in [
            (1 << 20, [ANSWER_LEN, LISTING_LEN, CHANGES_LEN]),
            (4096, [4096; 3]),
            (1024, [1024; 3]),
        ] {
            let negotiated = Negotiated {
                dialect: Dialect::Smb311,
                signing_algorithm: SigningAlgorithm::HmacSha256,
                cipher: None,
                server_requires_signing: false,
                max_read: 1 << 20,
                max_write: 1 << 20,
                max_transact,
                capabilities: 0,
                server_guid: [0; 16],
            };
            let every = WireName::every();
            let lengths = [
                query(QueryClass::All, file, &negotiated).output_length,
                list(DirectoryClass::Names, file, &every, &negotiated).output_length,
                watch(&[], false, file, &negotiated).output_length,
            ];
            assert_eq!(lengths, expected);
        }
    }
}
