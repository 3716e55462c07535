//! The words of this command in texts of the libraries: how they name a setting, by its flag,
//! and which command removes what is left.
//!
//! Not here: the texts, which name settings by [`smbench_model::setting`].

use smbench_protocol::DialectRange;

/// Returns the flag of a setting.
pub(crate) fn flag(setting: &str) -> String {
    format!("--{}", setting.replace('_', "-"))
}

/// Returns advice about files left on a share, as the tail of a sentence.
pub(crate) fn left_behind(url: &str, dialects: DialectRange) -> String {
    format!(
        "; files may be left on the share, remove them with: {}",
        cleanup_command(url, dialects)
    )
}

/// Returns the command that removes left-over files from a share.
pub(crate) fn cleanup_command(url: &str, dialects: DialectRange) -> String {
    if dialects.has_cifs() {
        format!("smbench cleanup '{url}' --dialect {dialects}")
    } else {
        format!("smbench cleanup '{url}'")
    }
}
