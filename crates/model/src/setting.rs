//! Settings in texts for people. A setting has one name, its key in profiles. How its
//! users write it, as `--file-size` or `file_size=`, is of the program that they use.
//!
//! Texts are kept: in records, in documents and in messages between hosts. So a program
//! says once, before all texts, how it writes a setting.

use std::fmt;
use std::sync::OnceLock;

static SPELLING: OnceLock<fn(&str) -> String> = OnceLock::new();

/// Sets how this program writes the key of a setting. Only the first call has an effect.
pub fn spell(spelling: fn(&str) -> String) {
    // A later call has the same spelling.
    let _ = SPELLING.set(spelling);
}

/// Returns a setting as the users of this program write it: its key, unless the program
/// has set another spelling.
pub fn spelled(key: &str) -> String {
    SPELLING.get().map_or(key.to_owned(), |spell| spell(key))
}

/// A text that names settings by their keys: `see @dialect, or leave out @sign off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice(pub &'static str);

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.0.split('@');
        f.write_str(parts.next().unwrap_or_default())?;
        parts.try_for_each(|part| {
            let end = part.find(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
            let (key, rest) = part.split_at(end.unwrap_or(part.len()));
            write!(f, "{}{rest}", spelled(key))
        })
    }
}

macro_rules! settings {
    ($($name:ident $text:literal)*) => {
        $(#[doc = concat!("The setting `", $text, "`.")]
        pub const $name: Advice = Advice($text);)*
    };
}

settings! {
    ACCESS "@access"  CLIENTS "@clients"  CLIENT_RANGE "@client_range"
    CONNECTIONS_PER_SESSION "@connections_per_session"  DETAILS "@details"
    DIALECT "@dialect"  DRIVER "@driver"  DURATION "@duration"  FAIL_IF "@fail_if"  FILE_NUM "@file_num"
    FILE_SIZE "@file_size"  FILE_TOTAL_SIZE "@file_total_size"  FORCE "@force"  HOLD "@hold"
    KDC "@kdc"  OPLOCK "@oplock"  OUT "@out"  OUTSTANDING "@outstanding"  RATE "@rate"
    READ "@read"  REALM "@realm"  REPEAT "@repeat"  SERVER_FLUSH "@server_flush"
    SERVER_METRICS "@server_metrics"  SERVER_WRITE "@server_write"  SIZE "@size"
    SKIP_UNKNOWN "@skip_unknown"  SOURCE_IP "@source_ip"  THREADS "@threads"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_spelling_a_text_has_the_keys() {
        let advice = Advice("; see @dialect, or leave out @sign off (@file_size)");
        let text = "; see dialect, or leave out sign off (file_size)";
        assert_eq!(advice.to_string(), text);
    }
}
