//! The terminal under the screen: its settings, its keys and its second page.
//!
//! The screen is on standard error. Standard output may be a file or a pipe.
//!
//! Invariant: the terminal is given back when the session is dropped. If this process is
//! killed, the guard does it. Keys are read here and not by crossterm, which would read
//! from a terminal that is gone again and again.

use std::env;
use std::io::{self, BufWriter, IsTerminal as _, Stderr, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{
    InputFlags, LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};
use nix::unistd::read;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;

use super::guard::TerminalGuard;
use crate::failure::Failure;

/// Goes to the second page of the terminal, and hides the cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
/// Goes back, shows the cursor, and ends all colours.
const LEAVE: &[u8] = b"\x1b[?1049l\x1b[?25h\x1b[0m";
/// More bytes than most drawings have.
const DRAWING: usize = 64 << 10;

/// Whether the terminal shows its second page.
static IS_COVERED: AtomicBool = AtomicBool::new(false);

/// Fails unless the user can see a screen and has keys.
pub(super) fn check() -> Result<(), Failure> {
    let refused = |reason: &str| Err(Failure::Usage(format!("--live needs a terminal: {reason}")));
    if !io::stdin().is_terminal() {
        return refused("standard input is not a terminal");
    }
    if !io::stderr().is_terminal() {
        return refused("standard error is not a terminal");
    }
    match env::var("TERM").as_deref() {
        Ok("dumb") => refused("TERM=dumb has no full screen"),
        Ok("") | Err(_) => refused("the variable TERM is not set"),
        Ok(_) => Ok(()),
    }
}

/// What the user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyPress {
    None,
    /// Leave the screen.
    Leave,
    /// There is no user any more.
    TerminalLost,
}

/// Waits for a key. Ctrl-C is none: it sends SIGINT, as without the screen.
pub(super) fn next_key(limit: Duration) -> KeyPress {
    let stdin = io::stdin();
    let mut keys = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    match poll(&mut keys, timeout(limit)) {
        Ok(0) | Err(_) => return KeyPress::None,
        Ok(_) => {}
    }
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    if keys[0]
        .revents()
        .is_some_and(|found| found.intersects(gone))
    {
        return KeyPress::TerminalLost;
    }
    let mut typed = [0; 64];
    match read(&stdin, &mut typed) {
        Ok(0) => KeyPress::TerminalLost,
        Ok(length) => meaning(&typed[..length]),
        Err(_) => KeyPress::None,
    }
}

/// Returns the meaning of typed bytes. The other keys begin with an escape character.
fn meaning(typed: &[u8]) -> KeyPress {
    if typed.first() != Some(&b'\x1b') && typed.iter().any(|key| b"qQ".contains(key)) {
        KeyPress::Leave
    } else {
        KeyPress::None
    }
}

/// Waits until something can be read, or the other end is gone.
pub(super) fn is_readable(from: BorrowedFd<'_>, limit: Duration) -> bool {
    let mut from = [PollFd::new(from, PollFlags::POLLIN)];
    poll(&mut from, timeout(limit)).is_ok_and(|ready| ready > 0)
}

fn timeout(limit: Duration) -> PollTimeout {
    PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX)
}

/// The covered terminal; dropping it gives the terminal back.
#[derive(Debug)]
pub(super) struct TerminalSession {
    pub(super) number: u64,
    // They end in this order.
    terminal: Terminal<CrosstermBackend<BufWriter<ScreenOutput>>>,
    _page: SecondPage,
    _keys: KeySettings,
    _guard: TerminalGuard,
}

impl TerminalSession {
    pub(super) fn open(number: u64) -> io::Result<Self> {
        let mut guard = TerminalGuard::start()?;
        let keys = KeySettings::change()?;
        guard.covered()?;
        let page = SecondPage::show();
        let output = BufWriter::with_capacity(DRAWING, ScreenOutput(io::stderr()));
        Ok(Self {
            number,
            terminal: Terminal::new(CrosstermBackend::new(output))?,
            _page: page,
            _keys: keys,
            _guard: guard,
        })
    }

    /// Draws on the screen what has changed.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) {
        // Fails if the terminal does not tell its size. The next drawing may succeed.
        let _ = self.terminal.draw(|frame| draw(frame.buffer_mut()));
    }
}

/// Standard error without failures. The loss of the terminal shows in its keys, and
/// ratatui would report a failure on standard error itself, and panic.
#[derive(Debug)]
struct ScreenOutput(Stderr);

impl Write for ScreenOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

/// The second page of the terminal, which has no history.
#[derive(Debug)]
struct SecondPage;

impl SecondPage {
    fn show() -> Self {
        IS_COVERED.store(true, Ordering::SeqCst);
        let _ = ScreenOutput(io::stderr()).write_all(ENTER);
        Self
    }
}

impl Drop for SecondPage {
    fn drop(&mut self) {
        show_text();
    }
}

/// Shows the first page of the terminal again, once.
pub(super) fn show_text() {
    if IS_COVERED.swap(false, Ordering::SeqCst) {
        let _ = ScreenOutput(io::stderr()).write_all(LEAVE);
    }
}

/// The settings of the keys before the screen.
#[derive(Debug)]
struct KeySettings {
    before: Termios,
}

impl KeySettings {
    /// Makes single keys readable. Ctrl-C and Ctrl-\ still send signals. Ctrl-Z does not: a
    /// stopped process could not give the terminal back.
    fn change() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut keys = before.clone();
        keys.input_flags.remove(InputFlags::IXON);
        keys.local_flags
            .remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::IEXTEN);
        // Otherwise Ctrl-C discards the rest of a drawing.
        keys.local_flags.insert(LocalFlags::NOFLSH);
        for (key, value) in [
            (SpecialCharacterIndices::VSUSP, 0),
            (SpecialCharacterIndices::VMIN, 1),
            (SpecialCharacterIndices::VTIME, 0),
        ] {
            keys.control_chars[key as usize] = value;
        }
        tcsetattr(io::stdin(), SetArg::TCSANOW, &keys)?;
        Ok(Self { before })
    }
}

impl Drop for KeySettings {
    fn drop(&mut self) {
        // Fails only if the terminal is gone.
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_q_leaves_the_screen() {
        for typed in [&b"q"[..], b"Q", b"xq"] {
            assert_eq!(meaning(typed), KeyPress::Leave, "{typed:?}");
        }
        for typed in [&b"x"[..], b"\x1b", b"\x1b[A", b"\x1bOq", b"\x1a"] {
            assert_eq!(meaning(typed), KeyPress::None, "{typed:?}");
        }
    }
}
