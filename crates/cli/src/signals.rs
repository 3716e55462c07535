//! SIGINT, SIGTERM and SIGHUP as calls on a separate thread.
//!
//! An ignored SIGHUP stays ignored: `nohup smbench` continues without its terminal.
//! SIGXFSZ has no effect.

use std::fs;
use std::future::pending;
use std::io;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use smbench_engine::Cancel;
use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::code;
use crate::failure::{Exit, Failure};
use crate::output::complain;
use crate::progress::ProgressLine;
use crate::unsaved::Unsaved;

/// Longest wait of a user who leaves at once. If the server answers, a load point
/// ends within some milliseconds, and saving it takes as long.
const SAVING_LIMIT: Duration = Duration::from_secs(1);

/// Makes a write beyond the file size limit (`ulimit -f`) fail with EFBIG. By default
/// SIGXFSZ kills the process.
///
/// The handler stays for the life of the process. A child process starts with the
/// default action: `exec` resets handlers, but would keep an ignored signal.
pub(crate) fn survive_file_size_limit() -> Result<(), Failure> {
    let runtime = listening()?;
    let _inside = runtime.enter();
    let kind = SignalKind::from_raw(Signal::SIGXFSZ as i32);
    // The handler outlives the stream and the runtime.
    let _stream = signal(kind).map_err(failed())?;
    Ok(())
}

fn failed() -> impl FnOnce(io::Error) -> Failure {
    Failure::io("catch signals")
}

/// Returns a runtime that can catch signals.
fn listening() -> Result<Runtime, Failure> {
    let mut builder = runtime::Builder::new_current_thread();
    builder.enable_io().build().map_err(failed())
}

/// Calls `react` with 1 on the first SIGINT, SIGTERM or SIGHUP, with 2 on the next
/// SIGINT or SIGTERM, and so on. Signals are caught from when this function
/// returns.
pub(crate) fn on_interrupt(mut react: impl FnMut(u32) + Send + 'static) -> Result<(), Failure> {
    let runtime = listening()?;
    let (mut interrupt, mut terminate, mut hang_up) = {
        let _inside = runtime.enter();
        let catch = |kind| signal(kind).map_err(failed());
        (
            catch(SignalKind::interrupt())?,
            catch(SignalKind::terminate())?,
            if is_hang_up_ignored() {
                None
            } else {
                Some(catch(SignalKind::hangup())?)
            },
        )
    };
    let listen = async move {
        let mut seen = SignalCount::default();
        loop {
            let hung_up = async {
                match &mut hang_up {
                    Some(hang_up) => hang_up.recv().await,
                    None => pending().await,
                }
            };
            let caught = tokio::select! {
                biased;
                _ = interrupt.recv() => Caught::Interrupt,
                _ = terminate.recv() => Caught::Terminate,
                _ = hung_up => Caught::HangUp,
            };
            if let Some(times) = seen.count(caught) {
                react(times);
            }
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(listen))
        .map_err(failed())?;
    Ok(())
}

#[derive(Clone, Copy)]
enum Caught {
    Interrupt,
    Terminate,
    HangUp,
}

/// The signals caught so far.
#[derive(Default)]
struct SignalCount {
    times: u32,
    /// Whether the first signal was a hang-up, and no SIGTERM has followed.
    began_with_hang_up: bool,
}

impl SignalCount {
    /// Counts a signal. Returns the number of stop requests so far; `None` if this
    /// signal is not another one. Shell and terminal both signal a lost terminal,
    /// and a SIGTERM may follow. Together these are one stop request.
    fn count(&mut self, caught: Caught) -> Option<u32> {
        let is_first = self.times == 0;
        let counts = match caught {
            Caught::Interrupt => true,
            Caught::Terminate => !std::mem::take(&mut self.began_with_hang_up),
            Caught::HangUp => {
                self.began_with_hang_up |= is_first;
                is_first
            }
        };
        counts.then(|| {
            self.times += 1;
            self.times
        })
    }
}

/// Returns whether this process was started to outlive its terminal.
fn is_hang_up_ignored() -> bool {
    // If the system does not provide this, a lost terminal stops the command in
    // good order.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores_hang_up(&status)
}

/// Returns whether a `/proc/PID/status` lists SIGHUP, which is signal 1, among the
/// ignored signals (proc_pid_status(5)).
fn ignores_hang_up(status: &str) -> bool {
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

/// Stops the run in good order on the first signal. On the second, ends the process
/// as soon as all results are saved, and prints `remedy`.
///
/// The caller marks unsaved results in the returned value.
pub(crate) fn stop_on_interrupt(
    cancel: &Cancel,
    line: &ProgressLine,
    remedy: String,
) -> Result<Unsaved, Failure> {
    let (cancel, line) = (cancel.clone(), line.clone());
    let unsaved = Unsaved::default();
    let measured = unsaved.clone();
    on_interrupt(move |times| {
        if times == 1 {
            cancel.cancel();
            line.suspended(|| {
                complain(
                    "stopping: waiting for requests in flight, then cleaning up; press Ctrl-C \
                     again to leave at once",
                );
            });
        } else {
            measured.wait(SAVING_LIMIT);
            line.clear();
            complain(format_args!("aborted at once{remedy}"));
            std::process::exit(code(Exit::Interrupted).into());
        }
    })?;
    Ok(unsaved)
}

/// Returns a cancellation that the first signal asks for.
pub(crate) fn cancel_on_interrupt() -> Result<Cancel, Failure> {
    let cancel = Cancel::default();
    let asked = cancel.clone();
    on_interrupt(move |_| asked.cancel())?;
    Ok(cancel)
}

/// Ends a command that only removes files, on the first signal. The command can be
/// repeated, no matter how much was removed before.
pub(crate) fn leave_on_interrupt(line: &ProgressLine) -> Result<(), Failure> {
    let line = line.clone();
    on_interrupt(move |_| {
        line.clear();
        complain("interrupted: files may be left; the same command removes the rest");
        std::process::exit(code(Exit::Interrupted).into());
    })
}

#[cfg(test)]
mod tests {
    use super::Caught::{HangUp, Interrupt, Terminate};
    use super::{SignalCount, ignores_hang_up};

    #[test]
    fn a_lost_terminal_is_reported_several_times_and_asks_once() {
        for (caught, counts) in [
            (vec![HangUp, HangUp, Terminate], vec![Some(1), None, None]),
            (
                vec![HangUp, Terminate, Terminate],
                vec![Some(1), None, Some(2)],
            ),
            (vec![HangUp, Interrupt], vec![Some(1), Some(2)]),
            (
                vec![Terminate, HangUp, Terminate],
                vec![Some(1), None, Some(2)],
            ),
            (vec![Interrupt, Interrupt], vec![Some(1), Some(2)]),
        ] {
            let mut seen = SignalCount::default();
            let counted: Vec<_> = caught.into_iter().map(|one| seen.count(one)).collect();
            assert_eq!(counted, counts);
        }
    }

    #[test]
    fn nohup_is_recognised() {
        let status =
            |mask: &str| format!("Name:\tsmbench\nSigBlk:\t1\nSigIgn:\t{mask}\nSigCgt:\t1\n");
        for mask in ["0000000000000001", "0000000000001003"] {
            assert!(ignores_hang_up(&status(mask)), "{mask}");
        }
        for mask in ["0000000000001000", "0000000000000000", "x"] {
            assert!(!ignores_hang_up(&status(mask)), "{mask}");
        }
        assert!(!ignores_hang_up(""));
    }
}
