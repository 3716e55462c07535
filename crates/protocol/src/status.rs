//! NTSTATUS values that a client meets, by number and by name (MS-ERREF 2.3).
//!
//! The type wraps the wire value and is not an enum. A server may send any of
//! thousands of codes, and an unknown code must be counted like any other.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A 32-bit NTSTATUS as sent in the SMB2 header (MS-SMB2 2.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NtStatus(pub u32);

macro_rules! statuses {
    ($($constant:ident = $value:literal, $name:literal;)+) => {
        impl NtStatus {
            $(
                #[doc = $name]
                pub const $constant: Self = Self($value);
            )+

            /// Returns the symbolic name, for the codes that a file server
            /// commonly sends.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($name),)+
                    _ => None,
                }
            }

            /// Returns the status with this symbolic name, if
            /// [`NtStatus::name`] knows it.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self($value)),)+
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    SUCCESS = 0x0000_0000, "STATUS_SUCCESS";
    PENDING = 0x0000_0103, "STATUS_PENDING";
    NOTIFY_CLEANUP = 0x0000_010B, "STATUS_NOTIFY_CLEANUP";
    NOTIFY_ENUM_DIR = 0x0000_010C, "STATUS_NOTIFY_ENUM_DIR";
    BUFFER_OVERFLOW = 0x8000_0005, "STATUS_BUFFER_OVERFLOW";
    NO_MORE_FILES = 0x8000_0006, "STATUS_NO_MORE_FILES";
    STOPPED_ON_SYMLINK = 0x8000_002D, "STATUS_STOPPED_ON_SYMLINK";
    UNSUCCESSFUL = 0xC000_0001, "STATUS_UNSUCCESSFUL";
    NOT_IMPLEMENTED = 0xC000_0002, "STATUS_NOT_IMPLEMENTED";
    INVALID_INFO_CLASS = 0xC000_0003, "STATUS_INVALID_INFO_CLASS";
    INFO_LENGTH_MISMATCH = 0xC000_0004, "STATUS_INFO_LENGTH_MISMATCH";
    INVALID_HANDLE = 0xC000_0008, "STATUS_INVALID_HANDLE";
    INVALID_PARAMETER = 0xC000_000D, "STATUS_INVALID_PARAMETER";
    NO_SUCH_FILE = 0xC000_000F, "STATUS_NO_SUCH_FILE";
    INVALID_DEVICE_REQUEST = 0xC000_0010, "STATUS_INVALID_DEVICE_REQUEST";
    END_OF_FILE = 0xC000_0011, "STATUS_END_OF_FILE";
    MORE_PROCESSING_REQUIRED = 0xC000_0016, "STATUS_MORE_PROCESSING_REQUIRED";
    NO_MEMORY = 0xC000_0017, "STATUS_NO_MEMORY";
    ACCESS_DENIED = 0xC000_0022, "STATUS_ACCESS_DENIED";
    BUFFER_TOO_SMALL = 0xC000_0023, "STATUS_BUFFER_TOO_SMALL";
    OBJECT_NAME_INVALID = 0xC000_0033, "STATUS_OBJECT_NAME_INVALID";
    OBJECT_NAME_NOT_FOUND = 0xC000_0034, "STATUS_OBJECT_NAME_NOT_FOUND";
    OBJECT_NAME_COLLISION = 0xC000_0035, "STATUS_OBJECT_NAME_COLLISION";
    OBJECT_PATH_INVALID = 0xC000_0039, "STATUS_OBJECT_PATH_INVALID";
    OBJECT_PATH_NOT_FOUND = 0xC000_003A, "STATUS_OBJECT_PATH_NOT_FOUND";
    OBJECT_PATH_SYNTAX_BAD = 0xC000_003B, "STATUS_OBJECT_PATH_SYNTAX_BAD";
    SHARING_VIOLATION = 0xC000_0043, "STATUS_SHARING_VIOLATION";
    QUOTA_EXCEEDED = 0xC000_0044, "STATUS_QUOTA_EXCEEDED";
    EAS_NOT_SUPPORTED = 0xC000_004F, "STATUS_EAS_NOT_SUPPORTED";
    NONEXISTENT_EA_ENTRY = 0xC000_0051, "STATUS_NONEXISTENT_EA_ENTRY";
    NO_EAS_ON_FILE = 0xC000_0052, "STATUS_NO_EAS_ON_FILE";
    FILE_LOCK_CONFLICT = 0xC000_0054, "STATUS_FILE_LOCK_CONFLICT";
    LOCK_NOT_GRANTED = 0xC000_0055, "STATUS_LOCK_NOT_GRANTED";
    DELETE_PENDING = 0xC000_0056, "STATUS_DELETE_PENDING";
    NO_LOGON_SERVERS = 0xC000_005E, "STATUS_NO_LOGON_SERVERS";
    PRIVILEGE_NOT_HELD = 0xC000_0061, "STATUS_PRIVILEGE_NOT_HELD";
    NO_SUCH_USER = 0xC000_0064, "STATUS_NO_SUCH_USER";
    WRONG_PASSWORD = 0xC000_006A, "STATUS_WRONG_PASSWORD";
    LOGON_FAILURE = 0xC000_006D, "STATUS_LOGON_FAILURE";
    ACCOUNT_RESTRICTION = 0xC000_006E, "STATUS_ACCOUNT_RESTRICTION";
    INVALID_LOGON_HOURS = 0xC000_006F, "STATUS_INVALID_LOGON_HOURS";
    INVALID_WORKSTATION = 0xC000_0070, "STATUS_INVALID_WORKSTATION";
    PASSWORD_EXPIRED = 0xC000_0071, "STATUS_PASSWORD_EXPIRED";
    ACCOUNT_DISABLED = 0xC000_0072, "STATUS_ACCOUNT_DISABLED";
    RANGE_NOT_LOCKED = 0xC000_007E, "STATUS_RANGE_NOT_LOCKED";
    DISK_FULL = 0xC000_007F, "STATUS_DISK_FULL";
    INSUFFICIENT_RESOURCES = 0xC000_009A, "STATUS_INSUFFICIENT_RESOURCES";
    MEDIA_WRITE_PROTECTED = 0xC000_00A2, "STATUS_MEDIA_WRITE_PROTECTED";
    IO_TIMEOUT = 0xC000_00B5, "STATUS_IO_TIMEOUT";
    FILE_IS_A_DIRECTORY = 0xC000_00BA, "STATUS_FILE_IS_A_DIRECTORY";
    NOT_SUPPORTED = 0xC000_00BB, "STATUS_NOT_SUPPORTED";
    NETWORK_NAME_DELETED = 0xC000_00C9, "STATUS_NETWORK_NAME_DELETED";
    NETWORK_ACCESS_DENIED = 0xC000_00CA, "STATUS_NETWORK_ACCESS_DENIED";
    BAD_NETWORK_NAME = 0xC000_00CC, "STATUS_BAD_NETWORK_NAME";
    TOO_MANY_SESSIONS = 0xC000_00CE, "STATUS_TOO_MANY_SESSIONS";
    REQUEST_NOT_ACCEPTED = 0xC000_00D0, "STATUS_REQUEST_NOT_ACCEPTED";
    NOT_SAME_DEVICE = 0xC000_00D4, "STATUS_NOT_SAME_DEVICE";
    INTERNAL_ERROR = 0xC000_00E5, "STATUS_INTERNAL_ERROR";
    DIRECTORY_NOT_EMPTY = 0xC000_0101, "STATUS_DIRECTORY_NOT_EMPTY";
    NOT_A_DIRECTORY = 0xC000_0103, "STATUS_NOT_A_DIRECTORY";
    CANCELLED = 0xC000_0120, "STATUS_CANCELLED";
    CANNOT_DELETE = 0xC000_0121, "STATUS_CANNOT_DELETE";
    FILE_DELETED = 0xC000_0123, "STATUS_FILE_DELETED";
    FILE_CLOSED = 0xC000_0128, "STATUS_FILE_CLOSED";
    INVALID_LEVEL = 0xC000_0148, "STATUS_INVALID_LEVEL";
    LOGON_TYPE_NOT_GRANTED = 0xC000_015B, "STATUS_LOGON_TYPE_NOT_GRANTED";
    ILLEGAL_CHARACTER = 0xC000_0161, "STATUS_ILLEGAL_CHARACTER";
    INVALID_DEVICE_STATE = 0xC000_0184, "STATUS_INVALID_DEVICE_STATE";
    ACCOUNT_EXPIRED = 0xC000_0193, "STATUS_ACCOUNT_EXPIRED";
    FS_DRIVER_REQUIRED = 0xC000_019C, "STATUS_FS_DRIVER_REQUIRED";
    USER_SESSION_DELETED = 0xC000_0203, "STATUS_USER_SESSION_DELETED";
    INSUFF_SERVER_RESOURCES = 0xC000_0205, "STATUS_INSUFF_SERVER_RESOURCES";
    CONNECTION_DISCONNECTED = 0xC000_020C, "STATUS_CONNECTION_DISCONNECTED";
    PASSWORD_MUST_CHANGE = 0xC000_0224, "STATUS_PASSWORD_MUST_CHANGE";
    NOT_FOUND = 0xC000_0225, "STATUS_NOT_FOUND";
    CONNECTION_REFUSED = 0xC000_0236, "STATUS_CONNECTION_REFUSED";
    ACCOUNT_LOCKED_OUT = 0xC000_0234, "STATUS_ACCOUNT_LOCKED_OUT";
    PATH_NOT_COVERED = 0xC000_0257, "STATUS_PATH_NOT_COVERED";
    NETWORK_SESSION_EXPIRED = 0xC000_035C, "STATUS_NETWORK_SESSION_EXPIRED";
    AUTHENTICATION_FIREWALL_FAILED = 0xC000_0413, "STATUS_AUTHENTICATION_FIREWALL_FAILED";
    NTLM_BLOCKED = 0xC000_0418, "STATUS_NTLM_BLOCKED";
    SERVER_UNAVAILABLE = 0xC000_0466, "STATUS_SERVER_UNAVAILABLE";
    FILE_NOT_AVAILABLE = 0xC000_0467, "STATUS_FILE_NOT_AVAILABLE";
}

impl NtStatus {
    /// Returns whether the two severity bits mean "error" (MS-ERREF 2.3).
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.0 >> 30 == 0b11
    }

    /// Returns whether this answers an open of a name that does not exist. Some servers say that
    /// there is no such file.
    #[must_use]
    pub const fn names_nothing(self) -> bool {
        matches!(self, Self::OBJECT_NAME_NOT_FOUND | Self::NO_SUCH_FILE)
    }

    /// Returns whether this answers an open of a path that does not exist: its name does not, or
    /// a directory before that.
    #[must_use]
    pub const fn leads_nowhere(self) -> bool {
        self.names_nothing() || matches!(self, Self::OBJECT_PATH_NOT_FOUND)
    }

    /// Returns whether the server can have no such name, so that nothing has it.
    #[must_use]
    pub const fn refuses_name(self) -> bool {
        matches!(self, Self::OBJECT_NAME_INVALID | Self::ILLEGAL_CHARACTER)
    }
}

impl fmt::Display for NtStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "NTSTATUS 0x{:08X}", self.0),
        }
    }
}

impl fmt::Debug for NtStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} (0x{:08X})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_its_number_and_its_name() {
        for (number, name) in [
            (0xC000_00E5, "STATUS_INTERNAL_ERROR"),
            (0xC000_019C, "STATUS_FS_DRIVER_REQUIRED"),
            (0xC000_0225, "STATUS_NOT_FOUND"),
        ] {
            assert_eq!(NtStatus(number).name(), Some(name));
            assert_eq!(NtStatus::from_name(name), Some(NtStatus(number)));
        }
    }
}
