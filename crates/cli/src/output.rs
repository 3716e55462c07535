//! The only functions that write to standard output and standard error, beside the
//! full screen of `--live`. That screen holds back messages.
//!
//! If the reader of standard output is gone, as in `smbench show FILE | head`, that
//! is not a failure: it has read all that it wanted.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use smbench_report::text::{Passage, Tone};
use smbench_report::units::plain;

use crate::failure::Failure;
use crate::observer::RunObserver;

/// Messages that are held back; `None` if messages are printed at once.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::io("write to standard output")(error))
        }
        _ => Ok(()),
    }
}

/// Writes text with colours to standard output. They are left out if it is no terminal,
/// or if the variable `NO_COLOR` is set.
pub(crate) fn print_coloured(passages: &[Passage]) -> Result<(), Failure> {
    let is_coloured = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let text = passages.iter().map(|passage| {
        if is_coloured {
            let style = style(passage.tone);
            format!("{style}{}{style:#}", passage.text)
        } else {
            passage.text.clone()
        }
    });
    print(&text.collect::<String>())
}

const fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Peak => Style::new().bold(),
        Tone::Caution => AnsiColor::Yellow.on_default(),
        Tone::Problem => AnsiColor::Red.on_default(),
    }
}

/// Writes a message to standard error, without characters that control a terminal. If
/// messages are held back, it follows later.
pub(crate) fn complain(message: impl Display) {
    let text: Vec<_> = message.to_string().lines().map(plain).collect();
    let text = text.join("\n");
    match &mut *lock_held() {
        Some(held) => held.push(text),
        None => write(&text),
    }
}

/// Holds back messages until [`release`].
pub(crate) fn hold() {
    lock_held().get_or_insert_default();
}

/// Returns the messages that are held back.
pub(crate) fn held() -> Vec<String> {
    lock_held().clone().unwrap_or_default()
}

/// Writes the messages that were held back. Later ones are written at once.
pub(crate) fn release() {
    let held = lock_held().take();
    held.unwrap_or_default().iter().for_each(|text| write(text));
}

/// Writes what other hosts and searches tell as messages.
pub(crate) struct MessageLines;

impl RunObserver for MessageLines {
    fn note(&self, text: &str) {
        complain(text);
    }
}

fn lock_held() -> MutexGuard<'static, Option<Vec<String>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(message: &str) {
    // If standard error is gone, the message cannot be delivered.
    let _ = writeln!(io::stderr().lock(), "smbench: {message}");
}
