//! How the texts of the libraries name a setting here: by its flag.
//!
//! Not here: the texts, which name settings by [`smbench_model::setting`].

/// Returns the flag of a setting.
pub(crate) fn flag(setting: &str) -> String {
    format!("--{}", setting.replace('_', "-"))
}
