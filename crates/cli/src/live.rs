//! The full screen of `--live`: what a run has measured so far.
//!
//! The observer of the run stores figures under a lock that no worker takes. A thread
//! owns the terminal: it reads the keys and draws the figures twice a second. So the
//! load costs the same with and without the screen.
//!
//! Invariant: from [`LiveScreen::cover`] to [`LiveScreen::leave`] nothing else writes to
//! the terminal; [`crate::output`] holds messages back. Not here: the progress line,
//! which takes over when the user leaves the screen.

mod charts;
mod draw;
mod guard;
mod state;
mod terminal;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use smbench_engine::run::{MeasuredInterval, Progress};
use smbench_report::RunDoc;

use self::draw::Colouring;
use self::state::LiveFigures;
pub(crate) use self::state::{LiveTitle, Remaining};
use self::terminal::{KeyPress, TerminalSession};
use crate::failure::Failure;
use crate::output;

/// Name of the thread that owns the terminal.
const THREAD: &str = "live";
/// Longest wait for a key.
const KEY_LIMIT: Duration = Duration::from_millis(250);
/// Number of waits from one drawing to the next.
const WAITS: u32 = 2;
/// Longest wait for a drawing that a stalled terminal does not take.
const LEAVE_LIMIT: Duration = Duration::from_secs(2);
const LEAVE_INTERVAL: Duration = Duration::from_millis(5);

/// The screen; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct LiveScreen(Arc<LiveShared>);

#[derive(Debug)]
struct LiveShared {
    colouring: Colouring,
    since: Instant,
    figures: Mutex<LiveFigures>,
    session: Mutex<Option<TerminalSession>>,
    /// Number of sessions so far. A thread ends with its own.
    sessions: AtomicU64,
    /// Whether the screen covers the terminal.
    is_shown: AtomicBool,
    /// Whether the user has left the screen, or the terminal is gone.
    is_left: AtomicBool,
}

impl LiveScreen {
    /// Returns a screen that does not cover the terminal yet.
    pub(crate) fn on_terminal() -> Result<Self, Failure> {
        terminal::check()?;
        let screen = Self(Arc::new(LiveShared {
            colouring: Colouring::of_terminal(),
            since: Instant::now(),
            figures: Mutex::default(),
            session: Mutex::default(),
            sessions: AtomicU64::new(0),
            is_shown: AtomicBool::new(false),
            is_left: AtomicBool::new(false),
        }));
        screen.leave_on_panic();
        Ok(screen)
    }

    /// Makes a panic visible. Other threads continue without the screen.
    fn leave_on_panic(&self) {
        let (screen, report) = (self.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |panic| {
            match thread::current().name() {
                // It may hold the lock.
                Some(THREAD) => terminal::show_text(),
                _ => screen.leave(),
            }
            report(panic);
        }));
    }

    /// Covers the terminal for a run. Does nothing once the user has left the screen.
    pub(crate) fn cover(&self, title: LiveTitle) -> Result<(), Failure> {
        let shared = &self.0;
        if shared.is_left.load(Ordering::SeqCst) {
            return Ok(());
        }
        *self.figures() = LiveFigures::of(title);
        let number = shared.sessions.fetch_add(1, Ordering::SeqCst) + 1;
        let failed = || Failure::io("show the full screen");
        let mut session = self.session();
        output::hold();
        let opened = TerminalSession::open(number).inspect_err(|_| output::release());
        *session = Some(opened.map_err(failed())?);
        shared.is_shown.store(true, Ordering::SeqCst);
        drop(session);
        let screen = self.clone();
        let attend = move || {
            let attended = AssertUnwindSafe(|| screen.attend(number));
            if panic::catch_unwind(attended).is_err() {
                screen.0.is_left.store(true, Ordering::SeqCst);
                screen.leave();
            }
        };
        let thread = thread::Builder::new().name(THREAD.to_owned());
        match thread.spawn(attend) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.leave();
                Err(failed()(error))
            }
        }
    }

    /// Returns whether the screen covers the terminal.
    pub(crate) fn is_shown(&self) -> bool {
        self.0.is_shown.load(Ordering::SeqCst)
    }

    /// Stores the phase of the run.
    pub(crate) fn progress(&self, progress: &Progress, phase: String, remaining: Remaining) {
        if self.is_shown() {
            let now_s = self.now_s();
            self.figures().progress(progress, phase, remaining, now_s);
        }
    }

    /// Stores the operations of an interval.
    pub(crate) fn interval(&self, interval: &MeasuredInterval<'_>) {
        if self.is_shown() {
            self.figures().interval(interval);
        }
    }

    /// Stores the finished load points.
    pub(crate) fn points(&self, doc: &RunDoc) {
        if self.is_shown() {
            self.figures().points(doc);
        }
    }

    /// Gives the terminal back and prints the messages that were held back.
    pub(crate) fn leave(&self) {
        let Some(mut session) = self.session_within(LEAVE_LIMIT) else {
            return;
        };
        if session.take().is_some() {
            output::release();
            self.0.is_shown.store(false, Ordering::SeqCst);
        }
    }

    /// Reads keys and draws until the screen is left.
    fn attend(&self, number: u64) {
        for wait in 0_u32.. {
            if wait.is_multiple_of(WAITS) && !self.draw(number) {
                return;
            }
            match terminal::next_key(KEY_LIMIT) {
                KeyPress::None => {}
                KeyPress::Leave | KeyPress::TerminalLost => {
                    self.0.is_left.store(true, Ordering::SeqCst);
                    self.leave();
                    return;
                }
            }
        }
    }

    /// Draws the figures. Returns whether the session of this number is still open.
    fn draw(&self, number: u64) -> bool {
        let view = self.figures().view(self.now_s());
        let mut session = self.session();
        let session = session.as_mut().filter(|session| session.number == number);
        let Some(session) = session else {
            return false;
        };
        session.draw(|buffer| draw::draw(&view, self.0.colouring, buffer));
        true
    }

    fn now_s(&self) -> f64 {
        self.0.since.elapsed().as_secs_f64()
    }

    fn figures(&self) -> MutexGuard<'_, LiveFigures> {
        let figures = self.0.figures.lock();
        figures.unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self) -> MutexGuard<'_, Option<TerminalSession>> {
        let session = self.0.session.lock();
        session.unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the session; `None` if that takes longer. The guard process then restores
    /// the terminal.
    fn session_within(&self, limit: Duration) -> Option<MutexGuard<'_, Option<TerminalSession>>> {
        let deadline = Instant::now() + limit;
        loop {
            match self.0.session.try_lock() {
                Ok(session) => return Some(session),
                Err(TryLockError::Poisoned(session)) => return Some(session.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(LEAVE_INTERVAL),
            }
        }
    }
}
