//! Requests that only captures have: queries, listings and changes of open files.

use smbench_model::sessions::Caching;
use smbench_model::trace::{CreateDetail, QueriedInfo, Record};
use smbench_protocol::FileId;
use smbench_protocol::command::WireName;
use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::create_context::CreateContext;
use smbench_protocol::command::lease::LeaseState;
use smbench_protocol::command::query_directory::{DirectoryClass, QueryDirectoryRequest};
use smbench_protocol::command::query_info::{InfoType, QueryInfoRequest};
use smbench_protocol::command::set_info::{Deletion, Existing, SetInfo, SetInfoRequest};
use smbench_protocol::connection::NoCredit;

use crate::drivers::native::encode::To;
use crate::drivers::requests::create::Unique;
use crate::drivers::requests::info::LISTING_LEN;
use crate::drivers::requests::recorded::is_file;
use crate::smb::session::caching::{Cache, Object};

/// Kinds of contexts that a recorded CREATE can have.
const CONTEXTS_MAX: usize = 6;

/// The caching that a CREATE asks for.
pub(super) struct CreateCaching {
    pub(super) oplock: OplockLevel,
    pub(super) lease: Option<CreateContext>,
}

/// Returns the caching that a CREATE asks for: as recorded, or by the options of the run.
pub(super) fn caching(
    cache: &mut Cache,
    member: usize,
    create: &Record,
    detail: Option<&CreateDetail>,
) -> CreateCaching {
    let Record::Create {
        path,
        options,
        handle,
        ..
    } = *create
    else {
        unreachable!("{} opens nothing", create.verb());
    };
    let object = Object::File(path.0);
    let (oplock, lease) = match detail.and_then(|detail| detail.oplock) {
        Some(OplockLevel::Lease) => {
            let asked = Caching::Lease(lease(detail));
            cache.request_of(asked, member, object)
        }
        Some(level) => (level, None),
        None if is_file(options) && handle.is_some() => cache.request(member, object, None),
        None => (OplockLevel::None, None),
    };
    CreateCaching { oplock, lease }
}

/// Returns a CLOSE with its recorded flags.
pub(super) fn close(file_id: FileId, flags: u8) -> CloseRequest {
    CloseRequest {
        file_id,
        flags: flags.into(),
    }
}

/// Returns a query of a capture about an open file.
pub(super) const fn query(
    info: QueriedInfo,
    class: u8,
    output_length: u32,
    file_id: FileId,
) -> QueryInfoRequest {
    let (info_type, additional) = match info {
        QueriedInfo::File => (InfoType::File, 0),
        QueriedInfo::FileSystem => (InfoType::FileSystem, 0),
        QueriedInfo::Security { parts } => (InfoType::Security, parts),
    };
    QueryInfoRequest {
        info_type,
        class,
        output_length,
        additional,
        file_id,
    }
}

/// Returns the SET_INFO that marks a file for deletion, or revokes that.
pub(super) const fn mark(file_id: FileId, is_pending: bool) -> SetInfoRequest<'static> {
    let deletion = if is_pending {
        Deletion::Pending
    } else {
        Deletion::Revoked
    };
    SetInfoRequest {
        file_id,
        info: SetInfo::Disposition(deletion),
    }
}

/// Returns the SET_INFO that gives an open file another name.
pub(super) fn rename<'a>(record: &Record, file: FileId, to: &'a WireName) -> SetInfoRequest<'a> {
    let replaces = matches!(record, Record::RenameOpen { replaces: true, .. });
    SetInfoRequest {
        file_id: file,
        info: SetInfo::Rename {
            to,
            existing: if replaces {
                Existing::Replace
            } else {
                Existing::Keep
            },
        },
    }
}

/// Returns the listing of an open directory.
pub(super) fn list<'a>(
    record: &Record,
    directory: FileId,
    pattern: &'a WireName,
    output_length: u32,
) -> QueryDirectoryRequest<'a> {
    let Record::List { class, flags, .. } = *record else {
        unreachable!("{} lists nothing", record.verb());
    };
    QueryDirectoryRequest {
        directory,
        class: directory_class(class),
        flags,
        pattern,
        output_length,
    }
}

impl To<'_> {
    /// Sends a query of a capture about an open file.
    pub(super) fn query_captured(
        self,
        info: QueriedInfo,
        class: u8,
        length: u32,
        file_id: FileId,
    ) -> Result<(), NoCredit> {
        let request = query(info, class, self.answer_len(length), file_id);
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
            Record::RenameOpen { .. } => self.set(&rename(record, file, name)),
            Record::List { length, .. } => {
                let length = self.answer_len(length);
                self.list(&list(record, file, name, length))
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
fn lease(detail: Option<&CreateDetail>) -> LeaseState {
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
