//! The only functions that write to standard output and standard error.
//!
//! If the reader of standard output is gone, as in `smbench show FILE | head`, that
//! is not a failure: it has read all that it wanted.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use smbench_report::text::{Passage, Tone};
use smbench_report::units::plain;

use crate::failure::Failure;

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
    let text = passages.iter().map(|passage| match is_coloured {
        true => {
            let style = style(passage.tone);
            format!("{style}{}{style:#}", passage.text)
        }
        false => passage.text.clone(),
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

/// Writes a message to standard error, without characters that control a terminal.
pub(crate) fn complain(message: impl Display) {
    let text: Vec<_> = message.to_string().lines().map(plain).collect();
    // If standard error is gone, the message cannot be delivered.
    let _ = writeln!(io::stderr().lock(), "smbench: {}", text.join("\n"));
}
