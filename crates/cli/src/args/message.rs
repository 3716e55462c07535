//! What is said of a command line that makes no sense: one line, and nothing
//! secret in it.

/// What clap has to say, without the usage it repeats below.
pub(super) fn one_line(rendered: &str) -> String {
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

/// Hides URLs of this process's command line that name an account, and so may
/// hold a password, wherever the message repeats them.
pub(crate) fn without_urls(message: String) -> String {
    let written = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned());
    hide_urls(message, written)
}

pub(super) fn hide_urls(message: String, written: impl Iterator<Item = String>) -> String {
    written.fold(message, |message, arg| match arg.find("://") {
        Some(at) if arg[at..].contains('@') => message.replace(&arg[at..], "://..."),
        _ => message,
    })
}
