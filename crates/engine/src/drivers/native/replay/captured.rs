//! Requests that only captures have: queries, listings and changes of open files.

use smbench_model::trace::{CreateDetail, QueriedInfo, Record};
use smbench_protocol::FileId;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create_context::CreateContext;
use smbench_protocol::command::lease::LeaseState;
use smbench_protocol::command::query_directory::{DirectoryClass, QueryDirectoryRequest};
use smbench_protocol::command::query_info::{InfoType, QueryInfoRequest};
use smbench_protocol::command::set_info::{Existing, SetInfo, SetInfoRequest};
use smbench_protocol::connection::NoCredit;

use crate::drivers::native::encode::To;
use crate::drivers::requests::create::Unique;
use crate::drivers::requests::info::{LISTING_LEN, SECURITY_PARTS};

/// Kinds of contexts that a recorded CREATE can have.
const CONTEXTS_MAX: usize = 6;

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

/// Returns the state of the lease that a recorded CREATE asks for: all of it, if that was not
/// recorded.
pub(super) fn lease(detail: Option<&CreateDetail>) -> LeaseState {
    let mut recorded = detail.iter().flat_map(|detail| &detail.contexts);
    let state = recorded.find_map(|context| match context {
        CreateContext::Lease { state, .. } => Some(*state),
        _ => None,
    });
    state.unwrap_or(LeaseState::RWH)
}

/// Returns the contexts of a recorded CREATE and their number; the rest of the array is unused.
/// `lease` takes the place of the recorded lease.
pub(super) fn contexts(
    detail: Option<&CreateDetail>,
    lease: Option<CreateContext>,
    unique: &mut Unique,
) -> ([CreateContext; CONTEXTS_MAX], usize) {
    let recorded = detail.iter().flat_map(|detail| &detail.contexts);
    let others = recorded.filter_map(|context| match *context {
        CreateContext::Lease { .. } => None,
        CreateContext::DurableV2 {
            timeout_ms, flags, ..
        } => Some(CreateContext::DurableV2 {
            timeout_ms,
            flags,
            create_guid: unique.next_guid(),
        }),
        other => Some(other),
    });
    let (mut contexts, mut len) = ([CreateContext::QueryOnDiskId; CONTEXTS_MAX], 0);
    for (place, context) in contexts.iter_mut().zip(lease.into_iter().chain(others)) {
        *place = context;
        len += 1;
    }
    (contexts, len)
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
