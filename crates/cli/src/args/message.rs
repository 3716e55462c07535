//! The command line in messages and results, without secrets.

use smbench_model::target::Target;

/// Returns clap's message in one line. The usage that follows it becomes a hint at the
/// command's help, unless the message has a tip or the possible values.
pub(super) fn one_line(rendered: &str) -> String {
    let line = without_usage(rendered);
    let usage = rendered
        .lines()
        .find_map(|line| line.trim().strip_prefix("Usage: "));
    match usage {
        Some(usage) if !line.contains("; ") && !line.contains("[possible values") => {
            let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
            let command: Vec<_> = usage.split(' ').take_while(is_word).collect();
            format!("{line} (see {} --help)", command.join(" "))
        }
        _ => line,
    }
}

fn without_usage(rendered: &str) -> String {
    let message = rendered.strip_prefix("error: ").unwrap_or(rendered);
    message
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .fold(String::new(), |text, line| {
            match line.strip_prefix("tip: ") {
                Some(tip) => format!("{text}; {tip}"),
                None if text.is_empty() => line.to_owned(),
                None => format!("{text} {line}"),
            }
        })
}

/// Hides URLs of this process's command line wherever a message repeats them. It
/// hides URLs with an account or a query, because these may contain a password or a
/// token.
pub(crate) fn without_urls(message: String) -> String {
    let written = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned());
    hide_urls(message, written)
}

pub(super) fn hide_urls(message: String, written: impl Iterator<Item = String>) -> String {
    written.fold(message, |message, arg| match url_at(&arg) {
        Some(at) if arg[at..].contains(['@', '?']) => {
            let (slashes, _) = arg[at..].split_at(2);
            message.replace(&arg[at..], &format!("{slashes}..."))
        }
        _ => message,
    })
}

/// Returns where the slashes of a URL, or the backslashes of a UNC path, begin in a
/// word.
fn url_at(word: &str) -> Option<usize> {
    let begins = ["//", r"\\"].into_iter().filter_map(|two| word.find(two));
    begins.min()
}

/// Returns the command line of this process for results.
pub(crate) fn command_line() -> Vec<String> {
    let words = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned());
    words.map(|word| without_secrets(&word)).collect()
}

/// Removes secrets from the URL in a word. The URL of a share keeps its account,
/// but not the password. Any other URL loses account and query.
fn without_secrets(word: &str) -> String {
    let Some(at) = word.find("://") else {
        return without_password(word);
    };
    let is_scheme = |c: char| c.is_ascii_alphanumeric();
    let scheme = word[..at].trim_end_matches(is_scheme).len();
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

/// Removes the password from a word that may be `//USER:PASSWORD@HOST/SHARE`.
fn without_password(word: &str) -> String {
    let Some((option, unc)) = url_at(word).map(|at| word.split_at(at)) else {
        return word.to_owned();
    };
    match unc.rsplit_once('@') {
        Some((account, server)) => {
            let user = account.split(':').next().unwrap_or_default();
            format!("{option}{user}@{server}")
        }
        None => word.to_owned(),
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
            ("//ann:pass@files/bench", "//ann@files/bench"),
            ("--target=//ann:pa@ss@files/b", "--target=//ann@files/b"),
            (r"\\ann:pass@files\bench", r"\\ann@files\bench"),
        ] {
            assert_eq!(without_secrets(word), kept);
            assert!(!without_secrets(word).contains("ss@"));
        }
    }
}
