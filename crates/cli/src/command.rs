//! The entries of the `smbench` command. It reads the command line, executes the command, and ends
//! with the documented exit code and at most one line about an error.
//!
//! Not here: what makes, watches, saves and repeats runs ([`smbench_runner`]), and how
//! results are presented ([`smbench_report`]).

use std::ffi::OsString;
use std::process::ExitCode;

use smbench_engine::hosts::HostRole;
use smbench_model::setting;
use smbench_runner::command_line;
pub use smbench_runner::hosts::{HostOptions, HostsEnd};

use crate::failure::{Exit, Failure};
use crate::hosts::{Follower, Hosts};
use crate::output::MessageLines;
use crate::{advice, args, commands, exit, output, signals};

/// Executes the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    main_with(std::env::args_os().collect())
}

/// Executes a command line, of which the first word is the name of the program.
#[must_use]
pub fn main_with(words: Vec<OsString>) -> ExitCode {
    introduce();
    let outcome = signals::survive_file_size_limit()
        .and_then(|()| args::parse_words(words))
        .and_then(|command| commands::execute(command, &Hosts::Alone));
    ExitCode::from(ended(outcome))
}

/// Returns the version of this program and the commit that it is built from. All hosts of a run
/// must have the same.
#[must_use]
pub fn build() -> String {
    format!(
        "{} ({})",
        env!("CARGO_PKG_VERSION"),
        env!("SMBENCH_BUILT_FROM")
    )
}

/// Executes the command line of this process as one of several hosts, with the words that
/// follow the program's name. Returns the exit code, and how the hosts have ended.
#[must_use]
pub fn main_on_hosts(role: HostRole, options: HostOptions, words: Vec<OsString>) -> (u8, HostsEnd) {
    introduce();
    match role {
        HostRole::First(first) => {
            let first = first.with_password(options.send_password);
            let hosts = Hosts::First(first, options);
            let outcome = signals::survive_file_size_limit()
                .and_then(|()| args::parse_words(words))
                .and_then(|command| hosts.prepare().map(|()| command))
                .and_then(|command| commands::execute(command, &hosts));
            (ended(outcome), hosts.end())
        }
        HostRole::Other(other) => {
            let hosts = Hosts::Other(Follower::new(other, options));
            match follow(&hosts, words) {
                Ok(exit) => (exit::code(exit), HostsEnd::Together),
                failed => (ended(failed), HostsEnd::Apart),
            }
        }
    }
}

/// Says how this program writes settings, and what results have as its command line.
fn introduce() {
    setting::spell(advice::flag);
    command_line::disclose(std::env::args_os());
}

/// Follows the first host. What is wrong with the command line, that host says, too.
fn follow(hosts: &Hosts, words: Vec<OsString>) -> Result<Exit, Failure> {
    let outcome = args::parse_quietly(words)
        .and_then(|command| hosts.prepare().map(|()| command))
        .and_then(|command| commands::follow(command, hosts));
    match outcome {
        Ok(exit) => Ok(exit),
        Err(failure @ Failure::Run(_)) => Err(failure),
        Err(failure) => match hosts.follower() {
            Some(follower) => {
                follower.excuse(&failure, &MessageLines, &signals::cancel_on_interrupt)
            }
            None => Err(failure),
        },
    }
}

/// Returns the exit code, after a message about a failure.
fn ended(outcome: Result<Exit, Failure>) -> u8 {
    exit::code(outcome.unwrap_or_else(|failure| {
        output::complain(args::without_urls(failure.to_string()));
        failure.exit()
    }))
}
