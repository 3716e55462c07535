//! Compounds that are one operation by name: CREATE, perhaps another request, and CLOSE.
//! A replay sends them as a compound again.

use smbench_model::trace::{InfoLevel, Step};
use smbench_protocol::NtStatus;
use smbench_protocol::command::create::{Disposition, access, options, share};
use smbench_protocol::command::query_directory::query_directory_flags::{
    RESTART_SCANS, RETURN_SINGLE_ENTRY,
};

use super::step::{StepNames, status};
use crate::trace::{TraceCreate, TraceLine};

const SYNCHRONIZE: u32 = access::SYNCHRONIZE;
const LOOKS: u32 = access::FILE_READ_ATTRIBUTES | SYNCHRONIZE;
const LISTS: u32 = access::FILE_LIST_DIRECTORY | LOOKS;
const DELETES: u32 = access::DELETE | SYNCHRONIZE;
/// Types and classes of information (MS-FSCC 2.4).
const FILE: u32 = 1;
const RENAME: u32 = 0x010a;
/// Names that a listing asks for, unless it asks for one.
const MANY: u32 = 1366;

/// Lines that show whether a compound is one operation: one more than an operation has.
pub(super) const LINES_SEEN: u32 = 4;

/// Returns whether a compound may begin with a line.
pub(super) fn is_begin(line: &TraceLine) -> bool {
    line.create.is_some() && line.group.is_some()
}

/// Returns the lines of the compound that the first line begins, if they are one operation.
pub(super) fn compound(lines: &[TraceLine]) -> Option<&[TraceLine]> {
    let group = lines.first().filter(|first| is_begin(first))?.group?;
    let len = lines
        .iter()
        .take_while(|line| line.group == Some(group))
        .count();
    let all = &lines[..len];
    (2..=3)
        .contains(&len)
        .then_some(all)
        .filter(|all| all.iter().all(|line| status(line).is_some()))
        .filter(|all| all[len - 1].command == "close")
        // One operation by name does not ask for attributes.
        .filter(|all| all[len - 1].flags.unwrap_or(0) == 0)
}

/// Returns the status of a compound: its first one that is not a success.
pub(super) fn status_of(lines: &[TraceLine]) -> NtStatus {
    let failed = lines.iter().filter_map(status);
    let mut failed = failed.filter(|&status| status != NtStatus::SUCCESS);
    failed.next().unwrap_or(NtStatus::SUCCESS)
}

/// Returns the operation by name that a compound is.
pub(super) fn step<'a>(lines: &[TraceLine], names: &'a StepNames) -> Option<Step<'a>> {
    let create = lines.first()?.create.as_ref()?;
    let is_plain = create.share == share::ALL && create.oplock == 0 && create.contexts.is_empty();
    if !is_plain {
        return None;
    }
    let path = names.path.as_str();
    match lines {
        [_, _] => touched(create, path),
        [_, middle, _] if create.disposition == Disposition::Open as u32 => {
            asked(create, middle, names)
        }
        _ => None,
    }
}

fn touched<'a>(create: &TraceCreate, path: &'a str) -> Option<Step<'a>> {
    const MADE: u32 = Disposition::Create as u32;
    const OPENED: u32 = Disposition::Open as u32;
    const FILE: u32 = options::FILE_NON_DIRECTORY_FILE | options::FILE_DELETE_ON_CLOSE;
    const DIRECTORY: u32 = options::FILE_DIRECTORY_FILE | options::FILE_DELETE_ON_CLOSE;
    match (create.disposition, create.access, create.options) {
        (MADE, LOOKS, options::FILE_DIRECTORY_FILE) => Some(Step::Mkdir(path)),
        (OPENED, DELETES, FILE) => Some(Step::Unlink(path)),
        (OPENED, DELETES, DIRECTORY) => Some(Step::Rmdir(path)),
        _ => None,
    }
}

fn asked<'a>(create: &TraceCreate, middle: &TraceLine, names: &'a StepNames) -> Option<Step<'a>> {
    let level = middle.level?;
    match (middle.command.as_str(), create.access, create.options) {
        ("query_info", LOOKS, 0) if level >> 8 == FILE => Some(Step::QueryPath {
            path: &names.path,
            level: InfoLevel::of_class(level as u8),
        }),
        ("set_info", DELETES, 0) if level == RENAME && middle.value == Some(0) => {
            Some(Step::Rename {
                from: &names.path,
                to: &names.to,
            })
        }
        ("query_directory", LISTS, options::FILE_DIRECTORY_FILE) => {
            let flags = middle.flags? as u8;
            let most = match flags & !RESTART_SCANS {
                0 if flags == RESTART_SCANS => MANY,
                RETURN_SINGLE_ENTRY => 1,
                _ => return None,
            };
            Some(Step::Find {
                pattern: &names.pattern,
                level: InfoLevel::of_class(u8::try_from(level).ok()?),
                most,
            })
        }
        _ => None,
    }
}
