//! The command line of this program in messages and results, without secrets.

use std::ffi::OsString;
use std::ops::Range;
use std::sync::OnceLock;

use smbench_model::target::Target;

/// Hides URLs of this process's command line wherever a message repeats them. It
/// hides URLs with an account or a query, because these may contain a password or a
/// token.
pub fn without_urls(message: String) -> String {
    let written = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned());
    hide_urls(message, written)
}

/// Hides the URLs of these words in a message, like [`without_urls`].
pub fn hide_urls(message: String, written: impl Iterator<Item = String>) -> String {
    written.fold(message, |message, arg| {
        let message = match url_at(&arg) {
            Some(at) if arg[at..].contains(['@', '?']) => {
                let (slashes, _) = arg[at..].split_at(2);
                message.replace(arg[at..].trim_end(), &format!("{slashes}..."))
            }
            _ => message,
        };
        match password_in(&arg) {
            Some((_, password)) => without_pieces(message, &arg, &password),
            None => message,
        }
    })
}

/// Hides the parts of a word, between commas, that have a part of the password: parsers
/// of lists repeat such parts.
fn without_pieces(message: String, word: &str, password: &Range<usize>) -> String {
    let mut begin = 0;
    let mut message = message;
    for piece in word.split(',') {
        let range = begin..begin + piece.len();
        begin = range.end + 1;
        let piece = piece.trim();
        if range.start < password.end && password.start < range.end && !piece.is_empty() {
            message = message.replace(piece, "...");
        }
    }
    message
}

/// Returns where the slashes of a URL, or the backslashes of a UNC path, begin in a
/// word.
fn url_at(word: &str) -> Option<usize> {
    let begins = ["//", r"\\"].into_iter().filter_map(|two| word.find(two));
    begins.min()
}

/// Returns where the `smb:` before a position begins; the position without one.
fn scheme_at(word: &str, at: usize) -> usize {
    let begin = at.saturating_sub("smb:".len());
    let before = word.get(begin..at);
    if before.is_some_and(|text| text.eq_ignore_ascii_case("smb:")) {
        begin
    } else {
        at
    }
}

/// Finds `[smb:]//USER:PASSWORD@` in a word: at its begin, after `-t` or `-qt`, or after
/// `=`.
/// Any number of slashes of either kind counts, because shells remove backslashes.
/// Returns where the server's name begins, and the place of `:PASSWORD`.
pub fn password_in(word: &str) -> Option<(usize, Range<usize>)> {
    let is_short = word.starts_with('-') && !word.starts_with("--");
    let slashes = word.find(['/', '\\']).filter(|_| is_short);
    let short = slashes.map(|at| scheme_at(word, at));
    // Another scheme, such as that of a URL for metrics, is no name of a share.
    let short = short.filter(|&begin| !word[..begin].ends_with(':'));
    let option = word.find('=').map(|at| at + 1);
    let begins = [Some(0), short, option].into_iter().flatten();
    let mut found = begins.filter_map(|begin| {
        let rest = word[begin..].trim_start();
        let begin = word.len() - rest.len();
        let is_smb = rest
            .get(..4)
            .is_some_and(|text| text.eq_ignore_ascii_case("smb:"));
        let named = if is_smb { &rest[4..] } else { rest };
        let account = named.trim_start_matches(['/', '\\']);
        let colon = account.find([':', '@', '/', '\\'])?;
        if account.len() == named.len() || !account[colon..].starts_with(':') {
            return None;
        }
        let colon = word.len() - account.len() + colon;
        let at = word.rfind('@').filter(|at| *at > colon)?;
        Some((begin, colon..at))
    });
    found.next()
}

static OF_DOCUMENTS: OnceLock<Vec<String>> = OnceLock::new();

/// Sets the command line that results of this program have, of which the first word is its
/// name. Passwords in it are left out. Only the first call has an effect, and without one,
/// results have no command line: that of an embedding program may say what nobody may know.
pub fn disclose(words: impl IntoIterator<Item = OsString>) {
    let words = words.into_iter();
    let words = words.map(|word| without_secrets(&word.to_string_lossy()));
    // A later call is of the same program.
    let _ = OF_DOCUMENTS.set(words.collect());
}

/// Returns the command line for results, empty if the program has not set one.
pub(crate) fn command_line() -> Vec<String> {
    OF_DOCUMENTS.get().cloned().unwrap_or_default()
}

/// Removes secrets from the URL in a word. The URL of a share keeps its account,
/// but not the password. Any other URL loses account and query.
fn without_secrets(word: &str) -> String {
    if let Some((begin, password)) = password_in(word) {
        let (option, url) = word.split_at(begin);
        return match Target::parse(url) {
            Ok((target, _)) => format!("{option}{}", target.redacted()),
            Err(_) => format!("{}{}", &word[..password.start], &word[password.end..]),
        };
    }
    let Some(at) = word.find("://") else {
        return word.to_owned();
    };
    let is_scheme = |c: char| c.is_ascii_alphanumeric();
    // The letters of short options stand before the scheme without a gap.
    let scheme = match scheme_at(word, at + 1) {
        begin if begin <= at => begin,
        _ => word[..at].trim_end_matches(is_scheme).len(),
    };
    let (option, url) = word.split_at(scheme);
    if let Ok((target, _)) = Target::parse(url) {
        return format!("{option}{}", target.redacted());
    }
    // For any other URL, every part that may be secret is removed.
    let (scheme, rest) = url.split_at(at - scheme + "://".len());
    let (account, server) = match rest.rsplit_once('@') {
        Some((account, server)) => (Some(account), server),
        None => (None, rest),
    };
    if scheme.eq_ignore_ascii_case("smb://") {
        return match account.and_then(|account| account.split_once(':')) {
            Some((user, _)) => format!("{option}{scheme}{user}@{server}"),
            None => word.to_owned(),
        };
    }
    let account = account.map_or("", |_| "...@");
    match server.find(['?', '#']) {
        Some(query) => format!("{option}{scheme}{account}{}?...", &server[..query]),
        None => format!("{option}{scheme}{account}{server}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_kept_without_secrets() {
        for (word, kept) in [
            ("--clients", "--clients"),
            ("smb://ann@files/bench", "smb://ann@files/bench"),
            (
                "smb://W;ann:pass@files:99/bench/a",
                "smb://W;ann@files:99/bench/a",
            ),
            ("SMB://ann:p%40ss:x@files/bench", "smb://ann@files/bench"),
            (
                "--target=smb://ann:pass@files/bench",
                "--target=smb://ann@files/bench",
            ),
            (
                "nas=smb://ann:pa@ss@files/bench",
                "nas=smb://ann@files/bench",
            ),
            ("smb://ann:pa/ss@files/bench", "smb://ann@files/bench"),
            ("smb://ann:pa ss?@files", "smb://ann@files"),
            (
                "--server-metrics=http://u:pass@a:9/m",
                "--server-metrics=http://...@a:9/m",
            ),
            ("http://a:9100/metrics", "http://a:9100/metrics"),
            (
                "--server-metrics=http://a:9/m?token=pass",
                "--server-metrics=http://a:9/m?...",
            ),
            ("HTTP://pass@a?x=pass@b#pass", "HTTP://...@b?..."),
            ("http://a/m#pass", "http://a/m?..."),
            ("//files/bench", "//files/bench"),
            ("//ann:pass@files/bench", "smb://ann@files/bench"),
            ("--target=//ann:pa@ss@files/b", "--target=smb://ann@files/b"),
            (r"\\ann:pass@files\bench", "smb://ann@files/bench"),
            (r"\ann:pass@filesbench", r"\ann@filesbench"),
            (r"-tsmb:\\ann:pass@files\b", r"-tsmb:\\ann@files\b"),
            ("-tsmb://ann@files/bench", "-tsmb://ann@files/bench"),
            ("-qtsmb://ann:pass@files/b", "-qtsmb://ann@files/b"),
            ("-qt//ann:pass@files/b", "-qtsmb://ann@files/b"),
            ("-thttp://ann:pass@files/b", "-thttp://...@files/b"),
            ("//ann:pass@nas/b/x@y", "smb://ann@nas/b/x%40y"),
            ("/tmp/a:b@c", "/tmp/a:b@c"),
        ] {
            assert_eq!(without_secrets(word), kept);
            assert!(!without_secrets(word).contains("ss@"));
        }
    }
}
