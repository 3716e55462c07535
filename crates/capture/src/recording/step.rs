//! A line of a trace as an operation of a replay.

use std::mem::discriminant;

use smbench_model::trace::{CreateDetail, Handle, InfoLevel, QueriedInfo, Step};
use smbench_protocol::NtStatus;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::create_context::CreateContext;
use smbench_protocol::command::lease::{LeaseKey, LeaseState};
use smbench_protocol::command::read::read_flags;

use super::cifs_step;
use crate::trace::{TraceCreate, TraceDurable, TraceLine};

/// The largest READ or WRITE that is replayed.
const BYTES_MAX: u64 = smbench_model::trace::TRANSFER_BYTES_MAX;

/// The command of a line that stands for no request: the end of a session closed the file.
pub(super) const CLOSED_BY_END: &str = "closed by the end of a session";

/// The class of information of times and attributes (MS-FSCC 2.4.7).
const BASIC: u8 = 4;
/// The owner, the group and the access list: what a trace without parts asks for.
const SECURITY_PARTS: u32 = 7;

/// The names of an operation, below the directory of a copy.
#[derive(Debug, Default)]
pub(super) struct StepNames {
    pub(super) path: String,
    pub(super) to: String,
    pub(super) pattern: String,
}

/// Returns the status of a line; `None` if it had no answer, or one of DOS.
pub(super) fn status(line: &TraceLine) -> Option<NtStatus> {
    let text = line.status.as_deref()?;
    let number = || {
        u32::from_str_radix(text.strip_prefix("0x")?, 16)
            .ok()
            .map(NtStatus)
    };
    NtStatus::from_name(text).or_else(number)
}

/// Returns why a request with this status is not replayed.
pub(super) fn not_replayed(line: &TraceLine, status: NtStatus) -> Option<&'static str> {
    if line.create.as_deref().is_some_and(takes_back) {
        return Some("opens that take back durable handles");
    }
    Some(match status {
        NtStatus::FILE_NOT_AVAILABLE => "requests of an earlier channel sequence",
        NtStatus::END_OF_FILE if is_below_minimum(line) => {
            "reads of less than their minimum: a replay asks for none"
        }
        NtStatus::CANNOT_DELETE => "deletions of read-only files: a replay makes none",
        // It would wait for ever.
        NtStatus::CANCELLED => "requests that were cancelled",
        // The end of a session also cancels a LOCK that waits.
        NtStatus::RANGE_NOT_LOCKED if line.pending => "requests that were cancelled",
        NtStatus::USER_SESSION_DELETED | NtStatus::NETWORK_NAME_DELETED => {
            "requests of a session or a tree that had ended"
        }
        // It is of the compound and not of the file.
        NtStatus::INVALID_PARAMETER if line.group.is_some() => {
            "requests of compounds that are not valid"
        }
        _ => return None,
    })
}

/// Returns whether a CREATE asks for a durable handle that an earlier one made.
pub(super) fn takes_back(create: &TraceCreate) -> bool {
    let mut contexts = create.contexts.iter();
    contexts.any(|name| matches!(name.as_str(), "DHnC" | "DH2C"))
}

/// Returns whether a READ found less than the MinimumCount that it asks for. The end of the
/// file alone refuses a READ of at least a byte.
fn is_below_minimum(line: &TraceLine) -> bool {
    line.command == "read" && line.value.unwrap_or(0) > line.length.unwrap_or(0).min(1)
}

/// Returns the operation of a line, or why it is not replayed.
pub(super) fn step<'a>(
    line: &TraceLine,
    names: &'a StepNames,
    status: NtStatus,
) -> Result<Step<'a>, String> {
    if line.command.starts_with("cifs_") {
        return cifs_step::step(line, names, status);
    }
    of_command(&line.command, line, names, status)
}

/// Returns the operation of a line that is this command of SMB2.
pub(super) fn of_command<'a>(
    command: &str,
    line: &TraceLine,
    names: &'a StepNames,
    status: NtStatus,
) -> Result<Step<'a>, String> {
    let handle = line.handle.map_or(-1, |handle| handle as Handle);
    let length = line.length.unwrap_or(0);
    let answer_len = u32::try_from(length).unwrap_or(u32::MAX);
    let moved = line.moved.filter(|_| status == NtStatus::SUCCESS);
    let moved = u32::try_from(moved.unwrap_or(0)).unwrap_or(u32::MAX);
    Ok(match command {
        "create" => {
            let Some(create) = &line.create else {
                return Err("create whose end is cut off".to_owned());
            };
            if names.path.is_empty() {
                return Err("create without a name".to_owned());
            }
            Step::Create {
                path: &names.path,
                options: create.options,
                disposition: create.disposition.min(u8::MAX.into()) as u8,
                handle,
            }
        }
        "close" => Step::Close(handle),
        "flush" => Step::Flush(handle),
        "echo" => Step::Echo,
        "read" | "write" if length > BYTES_MAX => {
            return Err(format!("{} of {length} bytes", line.command));
        }
        "read" => Step::Read {
            handle,
            offset: line.offset.unwrap_or(0),
            length: length as u32,
            returned: moved,
        },
        "write" => Step::Write {
            handle,
            offset: line.offset.unwrap_or(0),
            length: length as u32,
            written: moved,
        },
        "lock" => lock(line, handle, length)?,
        "query_info" => query(line, handle, answer_len)?,
        "query_directory" => Step::List {
            handle,
            pattern: &names.pattern,
            class: listing_class(line)?,
            flags: line.flags.unwrap_or(0) as u8,
            length: answer_len,
        },
        "set_info" => change(line, handle, names)?,
        "ioctl" => {
            let code = line.level.unwrap_or(0);
            return Err(format!("ioctl 0x{code:08x}"));
        }
        other => return Err(other.to_owned()),
    })
}

/// Returns the flags of a READ, a WRITE or a CLOSE that a replay sends.
pub(super) fn flags(line: &TraceLine) -> u8 {
    let recorded = line.flags.unwrap_or(0) as u8;
    match line.command.as_str() {
        // A replay does not ask for compressed answers.
        "read" => recorded & read_flags::UNBUFFERED,
        _ => recorded,
    }
}

fn lock<'a>(line: &TraceLine, handle: Handle, length: u64) -> Result<Step<'a>, String> {
    const UNLOCK: u32 = 4;
    if let Some(ranges) = line.value.filter(|&ranges| ranges > 1) {
        return Err(format!("lock of {ranges} ranges"));
    }
    let flags = line.flags.unwrap_or(0);
    let offset = line.offset.unwrap_or(0);
    let Ok(length) = u32::try_from(length) else {
        return Err("lock of more than 4 GiB".to_owned());
    };
    if offset >= 1 << 63 {
        return Err("lock beyond 2^63 bytes".to_owned());
    }
    Ok(if flags & UNLOCK != 0 {
        Step::Unlock {
            handle,
            offset,
            length,
        }
    } else {
        Step::Lock {
            handle,
            offset,
            length,
            flags: flags as u8,
        }
    })
}

/// Returns the type and the class of an information.
const fn class_of(line: &TraceLine) -> (u32, u8) {
    let level = match line.level {
        Some(level) => level,
        None => 0,
    };
    (level >> 8, level as u8)
}

fn query<'a>(line: &TraceLine, handle: Handle, length: u32) -> Result<Step<'a>, String> {
    let (kind, class) = class_of(line);
    let info = match kind {
        1 => QueriedInfo::File,
        2 => QueriedInfo::FileSystem,
        3 => QueriedInfo::Security {
            parts: line.flags.unwrap_or(SECURITY_PARTS),
        },
        other => return Err(format!("query_info of type {other}")),
    };
    Ok(Step::Query {
        handle,
        info,
        class,
        length,
    })
}

fn listing_class(line: &TraceLine) -> Result<u8, String> {
    match line.level {
        Some(class @ (1 | 2 | 3 | 12 | 37 | 38)) => Ok(class as u8),
        class => Err(format!("query_directory of class {}", class.unwrap_or(0))),
    }
}

fn change<'a>(line: &TraceLine, handle: Handle, names: &'a StepNames) -> Result<Step<'a>, String> {
    Ok(match class_of(line) {
        (1, 10) if line.to.is_some() => Step::RenameOpen {
            handle,
            to: &names.to,
            replaces: line.value.unwrap_or(0) & 1 != 0,
        },
        (1, 13 | 64) => Step::MarkDeleted {
            handle,
            is_pending: line.value.unwrap_or(1) & 1 != 0,
        },
        (1, class @ (BASIC | 19 | 20)) => Step::SetFile {
            handle,
            level: InfoLevel::of_class(class),
            // Attributes have no size.
            size: line.value.filter(|_| class != BASIC),
        },
        (3, _) => Step::SetSecurity(handle),
        (kind, class) => return Err(format!("set_info of type {kind}, class {class}")),
    })
}

/// Returns what a CREATE has beside its step, and the contexts that are not sent. Lease keys
/// and the ids of durable handles are those of the replay.
pub(super) fn detail(create: &TraceCreate) -> (CreateDetail, Vec<&str>) {
    let oplock = OplockLevel::from_wire(create.oplock).unwrap_or(OplockLevel::None);
    let (mut contexts, mut unsent) = (Vec::new(), Vec::new());
    for name in &create.contexts {
        let is_new = |context: &CreateContext| {
            let kind = discriminant(context);
            contexts.iter().all(|other| discriminant(other) != kind)
        };
        match context(name, create).filter(is_new) {
            Some(context) => contexts.push(context),
            // Without its state, the oplock level says that there is a lease.
            None if name == "RqLs" && oplock == OplockLevel::Lease => {}
            None => unsent.push(name.as_str()),
        }
    }
    let detail = CreateDetail {
        desired_access: create.access,
        attributes: create.attributes,
        share_access: create.share,
        contexts: contexts.into(),
        oplock: Some(oplock),
    };
    (detail, unsent)
}

/// Returns a context as a replay sends it; `None` if it sends none of this name.
fn context(name: &str, create: &TraceCreate) -> Option<CreateContext> {
    Some(match name {
        "RqLs" => CreateContext::Lease {
            key: LeaseKey::default(),
            state: LeaseState(create.lease?),
        },
        "MxAc" => CreateContext::MaximalAccess { since: None },
        "QFid" => CreateContext::QueryOnDiskId,
        "AlSi" => CreateContext::AllocationSize(create.allocation?),
        "DHnQ" => CreateContext::Durable,
        "DH2Q" => {
            let TraceDurable { timeout_ms, flags } = create.durable?;
            CreateContext::DurableV2 {
                timeout_ms,
                flags,
                create_guid: [0; 16],
            }
        }
        _ => return None,
    })
}
