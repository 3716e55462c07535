//! The CREATE requests of a mix: their names, rights and options.

use smbench_model::action::{
    Action, Attribute, CreateOption, CreateParameters, CreateSubject, QueryClass, SetClass,
};
use smbench_model::files::ScratchName;
use smbench_protocol::Dialect;
use smbench_protocol::command::create::{
    CreateRequest, Disposition, OplockLevel, access, attributes, options,
};
use smbench_protocol::command::create_context::CreateContext;

use crate::drivers::prepare::set_access;

/// Maximum number of contexts in one CREATE.
pub(in crate::drivers) const CONTEXTS_MAX: usize = 3;

/// The name that a CREATE opens.
pub(in crate::drivers) enum Name {
    /// The name of the operation's file.
    File,
    /// A scratch name of the slot.
    Scratch(ScratchName),
}

/// Returns the name that the CREATE of an action opens.
pub(in crate::drivers) const fn name(action: &Action) -> Name {
    match action {
        Action::Create(opening) => match (opening.subject, opening.delete_on_close) {
            (CreateSubject::WorkFile, _) => Name::File,
            (_, true) => Name::Scratch(ScratchName::Temporary),
            (CreateSubject::ScratchFile, false) => Name::Scratch(ScratchName::KeptFile),
            (CreateSubject::ScratchDirectory, false) => Name::Scratch(ScratchName::KeptDirectory),
        },
        Action::CreateReadClose
        | Action::CreateQueryClose { .. }
        | Action::CreateSetClose { .. } => Name::File,
        _ => Name::Scratch(ScratchName::Temporary),
    }
}

/// Returns whether the CREATE of an action may request an oplock or a lease. It may
/// do so only for a file, and not with a durable handle, which has its own oplock.
pub(in crate::drivers) const fn may_cache(action: &Action) -> bool {
    !matches!(
        action,
        Action::Create(
            CreateParameters {
                subject: CreateSubject::ScratchDirectory,
                ..
            } | CreateParameters { durable: true, .. }
        )
    )
}

/// Returns the CREATE of an action.
pub(in crate::drivers) fn request<'a, N: ?Sized>(
    action: &Action,
    name: &'a N,
    contexts: &'a [CreateContext],
) -> CreateRequest<'a, N> {
    match action {
        Action::Create(opening) => CreateRequest {
            contexts,
            ..opened(opening, name)
        },
        Action::CreateReadClose => existing(name, access::FILE_READ_DATA),
        Action::CreateQueryClose { class } => of_stat(*class, name),
        Action::CreateSetClose { class } => existing(name, set_access(*class)),
        // The SET_INFO that follows deletes the file.
        Action::SetInfo {
            class: SetClass::Delete,
        } => CreateRequest {
            disposition: Disposition::Create,
            ..existing(name, access::DELETE)
        },
        Action::SetInfo { class } => temporary(name, set_access(*class)),
        Action::CopyChunk => temporary(name, access::FILE_READ_DATA | access::FILE_WRITE_DATA),
        other => unreachable!("{other:?} creates nothing"),
    }
}

/// What the CREATE of a step, or of a lookup, is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drivers) enum StepCreate {
    /// A directory is listed.
    Directory,
    /// A name is looked up.
    Lookup,
    /// A new file is written.
    New,
    /// A file is read as a whole.
    Whole,
    /// A file is written, whether or not there is one.
    Replaced,
    /// A file gets another name.
    Renamed,
    /// A file is deleted.
    Deletion,
}

/// Returns the CREATE of a step.
pub(in crate::drivers) const fn of_step<N: ?Sized>(
    purpose: StepCreate,
    name: &N,
) -> CreateRequest<'_, N> {
    const WRITTEN: u32 =
        access::FILE_WRITE_DATA | access::FILE_APPEND_DATA | access::FILE_WRITE_ATTRIBUTES;
    let rights = match purpose {
        StepCreate::Directory => access::FILE_LIST_DIRECTORY,
        StepCreate::Lookup => 0,
        StepCreate::New | StepCreate::Replaced => WRITTEN,
        StepCreate::Whole => access::FILE_READ_DATA,
        StepCreate::Renamed | StepCreate::Deletion => access::DELETE,
    };
    let mut request = existing(name, rights);
    match purpose {
        StepCreate::Directory => request.options = options::FILE_DIRECTORY_FILE,
        StepCreate::Lookup => request.options = 0,
        StepCreate::New => request.disposition = Disposition::Create,
        StepCreate::Replaced => request.disposition = Disposition::OverwriteIf,
        StepCreate::Whole => request.options |= options::FILE_SEQUENTIAL_ONLY,
        StepCreate::Renamed => {}
        StepCreate::Deletion => request.options |= options::FILE_DELETE_ON_CLOSE,
    }
    if matches!(purpose, StepCreate::New | StepCreate::Replaced) {
        request.options |= options::FILE_SEQUENTIAL_ONLY;
    }
    request
}

/// Returns the CREATE of a look at the attributes of a file.
pub(in crate::drivers) const fn of_stat<N: ?Sized>(
    class: QueryClass,
    name: &N,
) -> CreateRequest<'_, N> {
    match class {
        QueryClass::Security => existing(name, access::READ_CONTROL),
        _ => existing(name, 0),
    }
}

/// Returns a CREATE that opens an existing file.
const fn existing<N: ?Sized>(name: &N, rights: u32) -> CreateRequest<'_, N> {
    let rights = rights | access::FILE_READ_ATTRIBUTES | access::SYNCHRONIZE;
    let mut request = CreateRequest::open(name, rights);
    request.options = options::FILE_NON_DIRECTORY_FILE;
    request
}

/// Returns a CREATE for a file that is deleted on close.
const fn temporary<N: ?Sized>(name: &N, rights: u32) -> CreateRequest<'_, N> {
    let mut request = existing(name, rights | access::DELETE);
    request.disposition = Disposition::Create;
    request.options |= options::FILE_DELETE_ON_CLOSE;
    request
}

fn opened<'a, N: ?Sized>(opening: &CreateParameters, name: &'a N) -> CreateRequest<'a, N> {
    let is_directory = opening.subject == CreateSubject::ScratchDirectory;
    let disposition = opening.disposition;
    let mut rights = access::FILE_READ_DATA;
    if disposition != Disposition::Open && !is_directory {
        rights |= access::FILE_WRITE_DATA;
    }
    let mut flags = if is_directory {
        options::FILE_DIRECTORY_FILE
    } else {
        options::FILE_NON_DIRECTORY_FILE
    };
    if opening.delete_on_close {
        rights |= access::DELETE;
        flags |= options::FILE_DELETE_ON_CLOSE;
    }
    if opening.write_through {
        flags |= options::FILE_WRITE_THROUGH;
    }
    if opening.unbuffered {
        flags |= options::FILE_NO_INTERMEDIATE_BUFFERING;
    }
    flags |= create_options(&opening.options);
    CreateRequest {
        disposition,
        options: flags,
        file_attributes: file_attributes(&opening.attributes),
        // A durable handle needs a batch oplock (MS-SMB2 3.3.5.9.6).
        oplock: if opening.durable {
            OplockLevel::Batch
        } else {
            OplockLevel::None
        },
        ..existing(name, rights)
    }
}

/// Unique names for durable handles.
pub(in crate::drivers) struct Unique {
    seed: u64,
    count: u64,
}

impl Unique {
    pub(in crate::drivers) const fn new(seed: u64) -> Self {
        Self { seed, count: 0 }
    }

    pub(in crate::drivers) fn next_guid(&mut self) -> [u8; 16] {
        self.count += 1;
        let guid = u128::from(self.seed) << 64 | u128::from(self.count);
        guid.to_le_bytes()
    }
}

/// Returns the create contexts of an action and their number; the rest of the array
/// is unused. `unique` makes the name of a durable handle.
pub(in crate::drivers) fn contexts(
    action: &Action,
    dialect: Dialect,
    unique: impl FnOnce() -> [u8; 16],
) -> ([CreateContext; CONTEXTS_MAX], usize) {
    let mut contexts = [CreateContext::QueryOnDiskId; CONTEXTS_MAX];
    let Action::Create(opening) = action else {
        return (contexts, 0);
    };
    let mut len = usize::from(opening.query_on_disk_id);
    if opening.durable {
        contexts[len] = if dialect >= Dialect::Smb30 {
            CreateContext::DurableV2 {
                timeout_ms: 0,
                flags: 0,
                create_guid: unique(),
            }
        } else {
            CreateContext::Durable
        };
        len += 1;
    }
    (contexts, len)
}

fn create_options(wanted: &[CreateOption]) -> u32 {
    wanted.iter().fold(0, |bits, &option| bits | option as u32)
}

fn file_attributes(wanted: &[Attribute]) -> u32 {
    match wanted {
        [] => attributes::FILE_ATTRIBUTE_NORMAL,
        some => some
            .iter()
            .fold(0, |bits, &attribute| bits | attribute as u32),
    }
}
