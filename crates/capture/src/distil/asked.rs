//! What a request of a trace is in a profile: its command, its bytes and its class of
//! information.

use smbench_model::action::QueryClass;
use smbench_model::bounds::REQUEST_BYTES_MAX;
use smbench_model::kind::OpKind;

use crate::trace::TraceLine;

/// The largest file of a profile.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 40;

/// Classes of SET_INFO that need no open of their own.
pub(super) const ATTRIBUTES: [&str; 3] = ["basic", "allocation", "end_of_file"];

/// Returns whether sizes of a command are compared.
pub(super) fn is_sized(command: &str) -> bool {
    matches!(command, "read" | "write")
}

/// Whether a READ found no byte, because it began at the end of the file. No READ of a profile
/// does. A server of CIFS answers without an error.
pub(super) fn is_at_end(line: &TraceLine) -> bool {
    let is_refused = line.status.as_deref() == Some("STATUS_END_OF_FILE");
    command_of(line) == "read" && (is_refused || line.moved == Some(0))
}

/// Whether a LOCK is of a range that no file of a profile has.
pub(super) fn is_past_end(line: &TraceLine) -> bool {
    line.offset.is_some_and(|offset| offset >= FILE_BYTES_MAX)
        || line.length.is_some_and(|length| length > REQUEST_BYTES_MAX)
}

/// Returns the bytes of a request that a profile asks for, if there are any. A READ has those
/// that it found: files of a profile never end within a request.
pub(super) fn bytes_of(line: &TraceLine) -> Option<u64> {
    let asked = line.length?;
    let found = match (command_of(line), line.moved) {
        ("read", _) if is_at_end(line) => 0,
        ("read", Some(found)) => found.min(asked),
        _ => asked,
    };
    Some(found).filter(|&bytes| bytes > 0)
}

/// Returns the name of a command in SMB2.
pub(super) fn command_of(line: &TraceLine) -> &str {
    match line.command.as_str() {
        "cifs_read_andx" => "read",
        "cifs_write_andx" => "write",
        "cifs_nt_create_andx" => "create",
        "cifs_close" => "close",
        "cifs_flush" => "flush",
        "cifs_echo" => "echo",
        other => other
            .strip_prefix("cifs_")
            .map_or(other, |short| match short {
                "negotiate" | "tree_disconnect" => short,
                "session_setup_andx" => "session_setup",
                "logoff_andx" => "logoff",
                "tree_connect_andx" => "tree_connect",
                _ => other,
            }),
    }
}

/// Returns the name of the class of information, if a profile has it.
pub(super) fn info_name(line: &TraceLine) -> Option<String> {
    let level = line.level?;
    let (kind, class) = (level >> 8, level as u8);
    let of_kind = |kind| {
        let class = QueryClass::numbered(kind, class)?;
        let name = serde_json::to_value(class).ok()?;
        Some(name.as_str()?.to_owned())
    };
    match (line.command.as_str(), kind) {
        ("query_info", 1) => of_kind(OpKind::QueryFile),
        ("query_info", 2) => of_kind(OpKind::QueryFs),
        ("query_info" | "set_info", 3) => Some("security".to_owned()),
        ("set_info", 1) => {
            let name = match class {
                4 => "basic",
                10 => "rename",
                13 | 64 => "delete",
                19 => "allocation",
                20 => "end_of_file",
                _ => return None,
            };
            Some(name.to_owned())
        }
        ("query_directory", _) => {
            let name = match class {
                1 => "directory",
                2 => "full_directory",
                3 => "both_directory",
                12 => "names",
                38 => "id_full_directory",
                _ => "id_both_directory",
            };
            Some(name.to_owned())
        }
        _ => None,
    }
}
