//! The names of commands in summaries and traces.

/// A command of SMB2 or of CIFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum CommandKey {
    /// The code in MS-SMB2 2.2.1.2.
    Smb2(u16),
    /// The code in MS-CIFS 2.2.2.1.
    Cifs(u8),
}

/// SMB2's commands by their codes.
const SMB2: [&str; 19] = [
    "negotiate",
    "session_setup",
    "logoff",
    "tree_connect",
    "tree_disconnect",
    "create",
    "close",
    "flush",
    "read",
    "write",
    "lock",
    "ioctl",
    "cancel",
    "echo",
    "query_directory",
    "change_notify",
    "query_info",
    "set_info",
    "oplock_break",
];

/// Codes and names of CIFS's commands that clients of this century send.
const CIFS: [(u8, &str); 39] = [
    (0x00, "cifs_create_directory"),
    (0x01, "cifs_delete_directory"),
    (0x02, "cifs_open"),
    (0x03, "cifs_create"),
    (0x04, "cifs_close"),
    (0x05, "cifs_flush"),
    (0x06, "cifs_delete"),
    (0x07, "cifs_rename"),
    (0x08, "cifs_query_information"),
    (0x09, "cifs_set_information"),
    (0x0a, "cifs_read"),
    (0x0b, "cifs_write"),
    (0x0c, "cifs_lock_byte_range"),
    (0x0d, "cifs_unlock_byte_range"),
    (0x10, "cifs_check_directory"),
    (0x12, "cifs_seek"),
    (0x22, "cifs_set_information2"),
    (0x23, "cifs_query_information2"),
    (0x24, "cifs_locking_andx"),
    (0x25, "cifs_transaction"),
    (0x26, "cifs_transaction_secondary"),
    (0x2b, "cifs_echo"),
    (0x2d, "cifs_open_andx"),
    (0x2e, "cifs_read_andx"),
    (0x2f, "cifs_write_andx"),
    (0x32, "cifs_transaction2"),
    (0x33, "cifs_transaction2_secondary"),
    (0x34, "cifs_find_close2"),
    (0x70, "cifs_tree_connect"),
    (0x71, "cifs_tree_disconnect"),
    (0x72, "cifs_negotiate"),
    (0x73, "cifs_session_setup_andx"),
    (0x74, "cifs_logoff_andx"),
    (0x75, "cifs_tree_connect_andx"),
    (0x80, "cifs_query_information_disk"),
    (0xa0, "cifs_nt_transact"),
    (0xa1, "cifs_nt_transact_secondary"),
    (0xa2, "cifs_nt_create_andx"),
    (0xa4, "cifs_nt_cancel"),
];

impl CommandKey {
    /// Returns the name: that of the specification in lower case, with `cifs_` in CIFS.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Smb2(code) => SMB2
                .get(usize::from(code))
                .map_or_else(|| format!("command_{code}"), |&name| name.to_owned()),
            Self::Cifs(code) => CIFS.iter().find(|(known, _)| *known == code).map_or_else(
                || format!("cifs_command_{code:02x}"),
                |(_, name)| (*name).to_owned(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use smbench_protocol::header::Command;

    use super::*;

    #[test]
    fn the_names_of_smb2_are_those_of_the_protocol() {
        for command in Command::ALL {
            let name = CommandKey::Smb2(command as u16).name();
            assert_eq!(name, command.name().to_ascii_lowercase());
        }
        assert_eq!(CommandKey::Cifs(0xfe).name(), "cifs_command_fe");
    }
}
