//! A recorded operation, and the reasons why one cannot be replayed.

use std::time::Duration;

use smbench_protocol::NtStatus;
use thiserror::Error;

use super::QueriedInfo;
use crate::bounds::REQUEST_BYTES_MAX;

/// Stands for a status that was not recorded. No answer has it.
pub const ANY_STATUS: NtStatus = NtStatus(u32::MAX);

/// The largest number of records in a trace: 440 MB.
pub const RECORDS_MAX: usize = 1 << 24;
/// The largest number of different statuses.
pub(super) const STATUSES_MAX: usize = u16::MAX as usize;
/// The largest number of handles open at the same time: far more than any client
/// had.
pub(super) const HANDLES_MAX: u32 = 1 << 20;
/// The longest pause.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(86_400);

/// A handle with the number of the recording.
#[doc(hidden)]
pub type Handle = i64;

/// The information that a request asks for or sets.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InfoLevel {
    /// The information level of SMB1 (MS-CIFS 2.2.2.3).
    pub level: u16,
    /// The class of SMB2 with the same information (MS-FSCC 2.4, 2.5).
    pub class: u8,
}

impl InfoLevel {
    /// Levels from here on pass a class through to the file system (MS-SMB 2.2.2.3.5).
    pub const PASS_THROUGH: u16 = 1000;

    /// Returns the level that passes a class through.
    #[must_use]
    pub const fn of_class(class: u8) -> Self {
        Self {
            level: Self::PASS_THROUGH + class as u16,
            class,
        }
    }
}

/// Flags of a LOCK that locks a range for itself, and does not wait (MS-SMB2 2.2.26.1).
#[doc(hidden)]
pub const EXCLUSIVE_AT_ONCE: u8 = 0x12;

/// A recorded operation.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step<'a> {
    Create {
        path: &'a str,
        options: u32,
        disposition: u8,
        handle: Handle,
    },
    Close(Handle),
    Read {
        handle: Handle,
        offset: u64,
        length: u32,
        returned: u32,
    },
    Write {
        handle: Handle,
        offset: u64,
        length: u32,
        written: u32,
    },
    Flush(Handle),
    Lock {
        handle: Handle,
        offset: u64,
        length: u32,
        flags: u8,
    },
    Unlock {
        handle: Handle,
        offset: u64,
        length: u32,
    },
    Unlink(&'a str),
    Rename {
        from: &'a str,
        to: &'a str,
    },
    Mkdir(&'a str),
    Rmdir(&'a str),
    Deltree(&'a str),
    QueryPath {
        path: &'a str,
        level: InfoLevel,
    },
    QueryFile {
        handle: Handle,
        level: InfoLevel,
    },
    QueryFs {
        level: InfoLevel,
    },
    SetFile {
        handle: Handle,
        level: InfoLevel,
        /// The size that it sets; `None` if that was not recorded.
        size: Option<u64>,
    },
    Find {
        pattern: &'a str,
        level: InfoLevel,
        most: u32,
    },
    Sleep(Duration),
    Query {
        handle: Handle,
        info: QueriedInfo,
        class: u8,
        length: u32,
    },
    List {
        handle: Handle,
        pattern: &'a str,
        class: u8,
        flags: u8,
        length: u32,
    },
    RenameOpen {
        handle: Handle,
        to: &'a str,
        replaces: bool,
    },
    MarkDeleted {
        handle: Handle,
        is_pending: bool,
    },
    SetSecurity(Handle),
    Echo,
}

/// The reason why an operation cannot be replayed, as a lower-case clause.
#[doc(hidden)]
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StepError {
    #[error("handle {0} is not open here")]
    NotOpen(Handle),
    #[error("the name \"{name}\" {why}")]
    Name { name: String, why: &'static str },
    #[error("{0} bytes at once are more than any server takes, {REQUEST_BYTES_MAX}")]
    TooLarge(u32),
    #[error("the range ends beyond 2^63 bytes")]
    TooFar,
    #[error("CreateDisposition {0} is none: it is 0 to 5")]
    Disposition(u8),
    #[error("a sleep of {} is longer than {}", humantime::format_duration(*.0), humantime::format_duration(PAUSE_MAX))]
    Pause(Duration),
    #[error("there are more than {RECORDS_MAX} operations")]
    TooMany,
    #[error("there are more than {HANDLES_MAX} files open")]
    TooManyHandles,
    #[error("there are more than {STATUSES_MAX} different statuses")]
    TooManyStatuses,
    #[error("its time is before that of an earlier line")]
    Backwards,
}
