//! The `smbench-mpi` command: `smbench` under `mpirun`, as one run on many machines. It has the
//! options of `smbench`. The first rank does what `smbench` does; the others carry their parts
//! of the clients.
//!
//! The main thread moves messages ([`transport`]), and a second one executes the command.

mod transport;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{self, ExitCode};
use std::thread;
use std::time::Duration;

use mpi::Threading;
use mpi::topology::Communicator as _;
use smbench::command::{HostOptions, HostsEnd, build, main_on_hosts, main_with};
use smbench_engine::hosts::{HostIdentity, HostRole, SendPassword, connect};
use smbench_report::doc::MachineDoc;

use crate::transport::Ranks;

/// The options that only this command has.
const SEND_PASSWORD: &str = "--send-password";
const PARTS: &str = "--parts";
/// The variable in which Open MPI tells a rank its number.
const RANK: &str = "OMPI_COMM_WORLD_RANK";
const OWN_HELP: &str = "\
smbench-mpi is smbench on several machines: mpirun -n 4 --hostfile hosts smbench-mpi run URL ...
`run`, `find`, `suite` and `fileio run` measure with all ranks. Start one rank per machine.
It has two options more than smbench:
  --send-password   Send the password of the first rank to the others
  --parts FOLDER    On each rank, also save its own part of the result in FOLDER

";
/// The exit code for a wrong command line.
const USAGE: u8 = 2;
/// Longest wait for the other ranks at the end.
const FINALIZE_MAX: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let (options, words) = own_options(env::args_os());
    // Servers that a command starts are no ranks.
    if words.get(1).is_some_and(|word| word == "lab") {
        return main_with(words);
    }
    if asks_for_help(&words) {
        return help(words);
    }
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        // Only a second initialisation is refused.
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    if world.size() == 1 {
        if options.parts.is_some() {
            tell("--parts is for several ranks: start smbench-mpi with mpirun");
            return ExitCode::from(USAGE);
        }
        return main_with(words);
    }
    tell_binding();
    let identity = HostIdentity {
        name: host_name(),
        build: build(),
        machine: serde_json::to_string(&MachineDoc::this()).unwrap_or_default(),
    };
    let (ranks, mailbox) = Ranks::new(&world);
    let (pump, role) = connect(mailbox, identity);
    let command = thread::Builder::new()
        .name("command".to_owned())
        .spawn(move || execute(role, options, words));
    let Ok(command) = command else {
        return ExitCode::FAILURE;
    };
    ranks.run(pump);
    let exit = command.join().unwrap_or(1);
    drop(universe);
    exit.into()
}

/// Says that this rank may not use all CPUs of its machine. Open MPI binds one or two ranks
/// to a core each, unless `--bind-to none` is given.
fn tell_binding() {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let all = cpus
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let usable = thread::available_parallelism().map_or(all, usize::from);
    if usable < all {
        tell(&format!(
            "host {} may use {usable} of its {all} CPUs: start all ranks with mpirun --bind-to none",
            host_name()
        ));
    }
}

fn tell(message: &str) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(io::stderr(), "smbench: {message}");
}

/// Executes the command. Ends the process itself if MPI could wait for a rank that is gone.
fn execute(role: HostRole, options: HostOptions, words: Vec<OsString>) -> u8 {
    let (exit, end) = main_on_hosts(role, options, words);
    if end == HostsEnd::Apart {
        process::exit(exit.into());
    }
    thread::spawn(move || {
        thread::sleep(FINALIZE_MAX);
        process::exit(exit.into());
    });
    exit
}

/// Returns whether a word before `--` asks for help or the version.
fn asks_for_help(words: &[OsString]) -> bool {
    let asks = |word: &OsString| {
        ["-h", "--help", "-V", "--version"]
            .iter()
            .any(|one| word == one)
    };
    let mut options = words.iter().take_while(|word| *word != "--");
    words.len() < 2 || words[1] == "help" || options.any(asks)
}

/// Prints the help of the command line, on one rank.
fn help(words: Vec<OsString>) -> ExitCode {
    if env::var_os(RANK).is_some_and(|rank| rank != "0") {
        return ExitCode::SUCCESS;
    }
    // A closed standard output is no failure here; the rest of the help would tell it.
    let _ = io::stdout().write_all(OWN_HELP.as_bytes());
    main_with(words)
}

/// Takes out the options that smbench does not have: `--send-password`, and `--parts FOLDER`.
/// Words after `--` are no options.
fn own_options(words: impl Iterator<Item = OsString>) -> (HostOptions, Vec<OsString>) {
    let mut options = HostOptions::default();
    let mut rest = Vec::new();
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        let text = word.to_str();
        let folder = text.and_then(|text| text.strip_prefix("--parts="));
        if let Some(folder) = folder {
            options.parts = Some(PathBuf::from(folder));
            continue;
        }
        match text {
            Some("--") => {
                rest.push(word);
                rest.extend(words);
                break;
            }
            Some(SEND_PASSWORD) => options.send_password = SendPassword::Yes,
            Some(PARTS) if words.peek().is_some() => {
                options.parts = words.next().map(PathBuf::from);
            }
            _ => rest.push(word),
        }
    }
    (options, rest)
}

fn host_name() -> String {
    mpi::environment::processor_name().unwrap_or_else(|_| "unnamed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn words_after_two_dashes_are_no_options() {
        let given = words("smbench-mpi run --parts=here --send-password -- --parts there -h");
        let (options, rest) = own_options(given.into_iter());
        assert_eq!(options.parts, Some(PathBuf::from("here")));
        assert_eq!(options.send_password, SendPassword::Yes);
        assert_eq!(rest, words("smbench-mpi run -- --parts there -h"));
        assert!(!asks_for_help(&rest));
    }

    #[test]
    fn help_and_version_are_asked_for_in_any_command() {
        for asking in [
            "smbench-mpi",
            "smbench-mpi help run",
            "smbench-mpi run -h",
            "smbench-mpi -V",
        ] {
            assert!(asks_for_help(&words(asking)), "{asking}");
        }
        assert!(!asks_for_help(&words("smbench-mpi run smb://nas/bench")));
    }
}
