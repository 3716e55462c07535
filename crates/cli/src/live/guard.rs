//! A process that gives the terminal back if this one is killed.
//!
//! Its standard input is a pipe that only this process holds. If the pipe closes without
//! a final word, the guard leaves the screen and restores the settings. It ends in any
//! case when the pipe closes.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use super::terminal::is_readable;
use crate::child::end_within;

/// The guard. It ignores signals, also those for background processes that touch the
/// terminal. It keeps settings that another program has changed since: a shell may be
/// faster.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM PIPE TSTP TTIN TTOU
before=$(stty -g <&2) || exit
echo
read -r word || exec stty "$before" <&2
[ "$word" = covered ] || exit
during=$(stty -g <&2)
read -r word && exit
printf '\033[?1049l\033[?25h\033[0m' >&2
[ "$(stty -g <&2)" != "$during" ] || exec stty "$before" <&2
"#;

/// Longest time until the guard knows the settings.
const START_LIMIT: Duration = Duration::from_secs(5);
/// Longest time in which the guard may end without being killed.
const STOP_LIMIT: Duration = Duration::from_secs(1);

/// A running guard; dropping it ends it without effect.
#[derive(Debug)]
pub(super) struct TerminalGuard {
    process: Child,
    word: Option<ChildStdin>,
}

impl TerminalGuard {
    /// Starts the guard, and waits until it knows the settings of the terminal.
    pub(super) fn start() -> io::Result<Self> {
        let mut process = Command::new("sh")
            .args(["-c", SCRIPT, "smbench-terminal"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C in the terminal is for the run.
            .process_group(0)
            .spawn()?;
        let (word, ready) = (process.stdin.take(), process.stdout.take());
        let guard = Self { process, word };
        let silent = || io::Error::other("stty does not tell the settings of the terminal");
        let mut ready = ready.ok_or_else(silent)?;
        let answered = is_readable(ready.as_fd(), START_LIMIT) && ready.read(&mut [0])? > 0;
        if answered { Ok(guard) } else { Err(silent()) }
    }

    /// Tells the guard that the settings have been changed, and that the screen follows.
    pub(super) fn covered(&mut self) -> io::Result<()> {
        match &mut self.word {
            Some(word) => word.write_all(b"covered\n"),
            None => Ok(()),
        }
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        if let Some(mut word) = self.word.take() {
            // Fails if someone has killed the guard.
            let _ = word.write_all(b"left\n");
        }
        end_within(&mut self.process, STOP_LIMIT);
    }
}
