//! Requests that only captures have: queries, listings and changes of open files.

use smbench_model::trace::{QueriedInfo, Record};
use smbench_protocol::FileId;
use smbench_protocol::command::WireName;
use smbench_protocol::command::query_directory::{DirectoryClass, QueryDirectoryRequest};
use smbench_protocol::command::query_info::{InfoType, QueryInfoRequest};
use smbench_protocol::command::set_info::{Existing, SetInfo, SetInfoRequest};
use smbench_protocol::connection::NoCredit;

use crate::drivers::native::encode::To;
use crate::drivers::requests::info::{LISTING_LEN, SECURITY_PARTS};

impl To<'_> {
    /// Sends a query of a capture about an open file.
    pub(super) fn query_captured(
        self,
        info: QueriedInfo,
        class: u8,
        length: u32,
        file_id: FileId,
    ) -> Result<(), NoCredit> {
        let (info_type, additional) = match info {
            QueriedInfo::File => (InfoType::File, 0),
            QueriedInfo::FileSystem => (InfoType::FileSystem, 0),
            QueriedInfo::Security => (InfoType::Security, SECURITY_PARTS),
        };
        let request = QueryInfoRequest {
            info_type,
            class,
            output_length: self.answer_len(length),
            additional,
            file_id,
        };
        self.query(&request)
    }

    /// Sends a request of a capture with an open file and a name.
    pub(super) fn with_names(
        self,
        record: &Record,
        file: FileId,
        name: &WireName,
    ) -> Result<(), NoCredit> {
        match *record {
            Record::RenameOpen { replaces, .. } => self.set(&SetInfoRequest {
                file_id: file,
                info: SetInfo::Rename {
                    to: name,
                    existing: if replaces {
                        Existing::Replace
                    } else {
                        Existing::Keep
                    },
                },
            }),
            Record::List {
                class,
                flags,
                length,
                ..
            } => {
                let request = QueryDirectoryRequest {
                    directory: file,
                    class: directory_class(class),
                    flags,
                    pattern: name,
                    output_length: self.answer_len(length),
                };
                self.list(&request)
            }
            other => unreachable!("{} has no name and no open file", other.verb()),
        }
    }

    /// Returns how long an answer may be: as recorded, but not longer than the server
    /// allows and one credit pays for.
    fn answer_len(&self, recorded: u32) -> u32 {
        let most = self.connection.negotiated().output_len(LISTING_LEN);
        recorded.min(most)
    }
}

/// Returns the class of a listing; that of most clients for one without a number here.
pub(super) const fn directory_class(class: u8) -> DirectoryClass {
    match class {
        1 => DirectoryClass::Directory,
        2 => DirectoryClass::FullDirectory,
        12 => DirectoryClass::Names,
        37 => DirectoryClass::IdBothDirectory,
        38 => DirectoryClass::IdFullDirectory,
        _ => DirectoryClass::BothDirectory,
    }
}
