//! `smbench lab`: starts a server that runs until it is interrupted, or until a command
//! that uses it has ended.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{env, io, process, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use smbench_lab::{
    EmbeddedOptions, EmbeddedServer, Fault, SambaOptions, ScratchSamba, ServicePace, ShareAccess,
};

use crate::args::{EmbeddedArgs, LabCommand, SambaArgs, TARGET_VARIABLE};
use crate::calibrate;
use crate::exit;
use crate::failure::{Exit, Failure};
use crate::lab_facts::{self, LabFacts};
use crate::output::{complain, print};
use crate::password::VARIABLE;
use crate::signals;

/// Interval between two checks whether the server and the command still run.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);
/// Time for the command to end after an interrupt from the terminal, which it gets too,
/// and after a SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

pub(super) fn lab(command: LabCommand) -> Result<Exit, Failure> {
    let (stop, stopped) = mpsc::channel();
    // Before the server starts, so that a signal during the start cleans up, too.
    let on_signal = stop.clone();
    let left = match &command {
        LabCommand::Samba(_) => format!(
            "; its folder, smbench-samba-*, may be left in {}",
            env::temp_dir().display()
        ),
        LabCommand::Embedded(_) | LabCommand::Loopback => String::new(),
    };
    signals::on_interrupt(move |times| match times {
        1 => request_stop(&on_signal),
        _ => {
            kill_command();
            complain(format_args!("aborted at once{left}"));
            process::exit(exit::code(Exit::Interrupted).into());
        }
    })?;
    let ended = match command {
        LabCommand::Embedded(args) => embedded(&args, stop, &stopped)?,
        LabCommand::Samba(args) => samba(&args, &stopped)?,
        LabCommand::Loopback => return calibrate::respond(),
    };
    match ended {
        None => Ok(Exit::Done),
        // A command can end with codes that smbench does not have.
        Some(status) => process::exit(code(status)),
    }
}

/// Returns the exit code of a command as a shell does.
fn code(status: ExitStatus) -> i32 {
    let signal = status.signal().map(|signal| 128 + signal);
    status
        .code()
        .or(signal)
        .unwrap_or(exit::code(Exit::Setup).into())
}

fn request_stop(stop: &Sender<()>) {
    // The receiver is gone while the server is being stopped.
    let _ = stop.send(());
}

/// Status of the command that used the server, if there was one.
type CommandStatus = Option<ExitStatus>;

fn embedded(
    args: &EmbeddedArgs,
    stop: Sender<()>,
    stopped: &Receiver<()>,
) -> Result<CommandStatus, Failure> {
    if args.stop_at_eof {
        thread::spawn(move || {
            // An unreadable input counts as ended.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            request_stop(&stop);
        });
    }
    let server = EmbeddedServer::start(EmbeddedOptions {
        capacity_bytes: args.capacity.map(|size| size.0),
        access: if args.read_only {
            ShareAccess::ReadOnly
        } else {
            ShareAccess::ReadWrite
        },
        fault: args
            .leak_per_open
            .and_then(|size| NonZeroU64::new(size.0))
            .map_or(Fault::None, Fault::LeakPerOpen),
        pace: match (args.service_time, args.max_rate) {
            (Some(time), _) => ServicePace::OneByOne(time),
            (None, Some(rate)) => ServicePace::Rate(rate),
            (None, None) => ServicePace::Unlimited,
        },
        max_connections: args.max_connections.map(|number| number.get() as usize),
        signing: args.signing,
        listen: SocketAddr::new(args.listen, args.port),
        ..EmbeddedOptions::default()
    })?;
    let access = RunningServer {
        name: "smbench's server",
        password: server.password(),
        facts: LabFacts::of_embedded(server.url()),
        url: server.url(),
    };
    let ended = serve(&access, &args.command, stopped, || Ok(()))?;
    server.stop();
    Ok(ended)
}

fn samba(args: &SambaArgs, stopped: &Receiver<()>) -> Result<CommandStatus, Failure> {
    let cifs = args.cifs.then(|| ScratchSamba::CIFS.to_owned());
    let lines: Vec<_> = args.options.iter().cloned().chain(cifs).collect();
    let server = ScratchSamba::start(SambaOptions {
        smbd: args.smbd.clone(),
        signing: args.signing,
        listen: args.listen,
        extra_global: lines.clone(),
        ..SambaOptions::default()
    })?;
    let access = RunningServer {
        name: "A temporary Samba",
        password: server.password(),
        facts: LabFacts::of_samba(&server, &lines),
        url: server.url(),
    };
    let still_runs = || {
        if server.has_exited() {
            let said = server.log_tail();
            Err(Failure::io("keep the server running")(io::Error::other(
                format!("smbd has ended by itself; the end of its log:\n{said}"),
            )))
        } else {
            Ok(())
        }
    };
    let ended = serve(&access, &args.command, stopped, still_runs)?;
    server.stop()?;
    Ok(ended)
}

/// A server that runs, with all that a command needs to use it.
struct RunningServer<'a> {
    /// Name at the start of a sentence.
    name: &'a str,
    url: String,
    password: &'a str,
    facts: LabFacts,
}

/// Waits until the command has ended, or without one until a stop is requested.
fn serve(
    server: &RunningServer<'_>,
    command: &[OsString],
    stopped: &Receiver<()>,
    still_runs: impl Fn() -> Result<(), Failure>,
) -> Result<CommandStatus, Failure> {
    let mut child = match command {
        [] => {
            announce(server)?;
            None
        }
        [program, args @ ..] => {
            let mut command = Command::new(program);
            let facts = server.facts.to_variable();
            let facts = facts.map_err(Failure::io("describe the server"))?;
            let child = command
                .args(args)
                .env(TARGET_VARIABLE, &server.url)
                .env(VARIABLE, server.password)
                .env(lab_facts::VARIABLE, facts)
                .spawn();
            let program = program.display();
            let failed = |error| Failure::Usage(format!("failed to run {program}: {error}"));
            let child = child.map_err(failed)?;
            COMMAND.store(child.id() as i32, Ordering::Relaxed);
            Some(RunningCommand(child))
        }
    };
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(WATCH_INTERVAL) {
        if let Some(status) = child.as_mut().and_then(RunningCommand::status) {
            return Ok(Some(status));
        }
        still_runs()?;
    }
    Ok(child.map(RunningCommand::end))
}

/// Process of the command that uses the server; 0 if there is none.
static COMMAND: AtomicI32 = AtomicI32::new(0);

fn kill_command() {
    let process = COMMAND.load(Ordering::Relaxed);
    if process > 0 {
        // Fails if it has just ended.
        let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
    }
}

/// The command that uses the server. It is killed if the server fails.
struct RunningCommand(Child);

impl RunningCommand {
    fn status(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    fn send(&self, signal: Signal) {
        // Fails if it has just ended.
        let _ = kill(Pid::from_raw(self.0.id() as i32), signal);
    }

    /// Waits for its end after a stop was requested.
    fn end(mut self) -> ExitStatus {
        // Without a terminal, only smbench got the signal.
        let interrupted = io::stdin().is_terminal();
        let signals = [Signal::SIGTERM, Signal::SIGKILL];
        if !interrupted {
            self.send(Signal::SIGTERM);
        }
        for signal in &signals[usize::from(!interrupted)..] {
            let deadline = Instant::now() + GRACE;
            while Instant::now() < deadline {
                if let Some(status) = self.status() {
                    return status;
                }
                thread::sleep(WATCH_INTERVAL);
            }
            self.send(*signal);
        }
        let killed = ExitStatus::from_raw(Signal::SIGKILL as i32);
        self.0.wait().unwrap_or(killed)
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        COMMAND.store(0, Ordering::Relaxed);
        // Fails if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prints the two lines that scripts read, and tells people what to do with them.
fn announce(server: &RunningServer<'_>) -> Result<(), Failure> {
    let RunningServer {
        name,
        url,
        password,
        ..
    } = server;
    print(&format!("{url}\n{VARIABLE}={password}\n"))?;
    // Not if a program reads the lines, such as a run that has started its own server.
    if io::stdout().is_terminal() && io::stderr().is_terminal() {
        complain(format_args!(
            "{name} is running (Ctrl-C stops and deletes it). In another terminal:\n  \
             export {VARIABLE}={password}\n  smbench run {url}"
        ));
    }
    Ok(())
}
