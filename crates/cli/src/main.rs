//! The `smbench` command: reads the command line, does what it says, and ends
//! with the documented exit code and at most one line about what went wrong.
//!
//! Not here: what a run does ([`smbench_engine`]) and how it reads
//! ([`smbench_report`]).

mod args;
mod calibrate;
mod commands;
mod embedded;
mod failure;
mod fileio;
mod login;
mod output;
mod password;
mod progress;
mod request;
mod results;
mod signals;
mod study;
mod suite;
mod unsaved;
mod verdict;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = signals::survive_file_size_limit()
        .and_then(|()| args::parse())
        .and_then(commands::execute);
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::complain(args::without_urls(failure.to_string()));
            failure.exit().into()
        }
    }
}
