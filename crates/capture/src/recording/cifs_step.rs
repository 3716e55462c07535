//! A line of a trace of CIFS as an operation of a replay. Most name their file, as lines of
//! loadfiles do.

use smbench_model::trace::{Handle, InfoLevel, Step, level};
use smbench_protocol::NtStatus;
use smbench_protocol::command::lock::lock_flags;

use super::step::{self, StepNames};
use crate::cifs::trans2;
use crate::trace::TraceLine;

/// Returns the operation of a line, or why it is not replayed.
pub(super) fn step<'a>(
    line: &TraceLine,
    names: &'a StepNames,
    status: NtStatus,
) -> Result<Step<'a>, String> {
    let handle = line.handle.map_or(-1, |handle| handle as Handle);
    let path = names.path.as_str();
    let of_smb2 = match line.command.as_str() {
        "cifs_nt_create_andx" => "create",
        "cifs_close" => "close",
        "cifs_flush" => "flush",
        "cifs_read_andx" => "read",
        "cifs_write_andx" => "write",
        "cifs_locking_andx" if line.flags.is_some() => "lock",
        "cifs_transaction2" => return transaction2(line, handle, names),
        "cifs_delete" if line.path.is_some() => return Ok(Step::Unlink(path)),
        "cifs_create_directory" if line.path.is_some() => return Ok(Step::Mkdir(path)),
        "cifs_delete_directory" if line.path.is_some() => return Ok(Step::Rmdir(path)),
        "cifs_rename" if line.to.is_some() => {
            return Ok(Step::Rename {
                from: path,
                to: &names.to,
            });
        }
        other => return Err(other.to_owned()),
    };
    let mut step = step::of_command(of_smb2, line, names, status)?;
    // Its time limit ended. SMB2 has none, so the lock would wait for ever.
    if let Step::Lock { flags, .. } = &mut step
        && status != NtStatus::SUCCESS
    {
        *flags |= lock_flags::FAIL_IMMEDIATELY as u8;
    }
    Ok(step)
}

fn transaction2<'a>(
    line: &TraceLine,
    handle: Handle,
    names: &'a StepNames,
) -> Result<Step<'a>, String> {
    let both = line.level.unwrap_or(0);
    let (subcommand, number) = ((both >> 16) as u16, both as u16);
    let level = |class_of: fn(u32) -> Option<u8>| {
        let class = class_of(number.into());
        let unknown = || format!("cifs_transaction2 0x{subcommand:02x} of level {number}");
        let level = class.map(|class| InfoLevel {
            level: number,
            class,
        });
        level.ok_or_else(unknown)
    };
    Ok(match subcommand {
        trans2::FIND_FIRST2 => Step::Find {
            pattern: &names.pattern,
            level: level(level::listing)?,
            most: line.value.unwrap_or(1366) as u32,
        },
        trans2::QUERY_FS_INFORMATION => Step::QueryFs {
            level: level(level::file_system)?,
        },
        trans2::QUERY_PATH_INFORMATION if line.path.is_some() => Step::QueryPath {
            path: &names.path,
            level: level(level::query)?,
        },
        trans2::QUERY_FILE_INFORMATION => Step::QueryFile {
            handle,
            level: level(level::query)?,
        },
        trans2::SET_FILE_INFORMATION => Step::SetFile {
            handle,
            level: level(level::set)?,
            size: None,
        },
        other => return Err(format!("cifs_transaction2 0x{other:02x}")),
    })
}
