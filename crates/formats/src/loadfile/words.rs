//! The words of a line of a loadfile.

use smbench_model::trace::Verb;

use super::line::LineError;

/// The largest number of words in a line; known verbs need at most eight.
pub(super) const WORDS_MAX: usize = 16;

/// The words of a line, in their order.
#[derive(Default)]
pub(super) struct Words<'a>(pub(super) [&'a str; WORDS_MAX]);

/// Returns the beginning of a word, escaped, for a message.
pub(super) fn shown(word: &str) -> String {
    word.chars().take(60).flat_map(char::escape_debug).collect()
}

/// Whether the first word of a line is a time.
pub(super) fn is_time(first: &str) -> bool {
    first.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns the arguments of a line of 2002, which has no status, with the words that its
/// format leaves out. They are the levels that smbtorture used then.
pub(super) fn old_form<'a>(verb: Verb, arguments: &[&'a str]) -> Option<Words<'a>> {
    let left_out: &[&'static str] = match verb {
        Verb::QueryPath => &["1"],
        Verb::QueryFile => &["0x107"],
        Verb::Find => &["260", "1366", "0"],
        Verb::Unlink => &["0x6"],
        _ => return None,
    };
    let [only] = arguments else {
        return None;
    };
    let mut words = Words::default();
    words.0[0] = only;
    words.0[1..=left_out.len()].copy_from_slice(left_out);
    Some(words)
}

/// Splits a line into words, with names without their quotation marks. A comment
/// has no words.
pub(super) fn split<'a, 'w>(
    text: &'a str,
    words: &'w mut Words<'a>,
) -> Result<&'w [&'a str], LineError> {
    let mut rest = text.trim();
    let mut count = 0;
    while !(rest.is_empty() || count == 0 && rest.starts_with('#')) {
        let word;
        (word, rest) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or(LineError::Quote)?,
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        *words.0.get_mut(count).ok_or(LineError::TooLong)? = word;
        count += 1;
        rest = rest.trim_start();
    }
    Ok(&words.0[..count])
}
