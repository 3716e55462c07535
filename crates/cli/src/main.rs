//! The `smbench` command. It reads the command line, executes the command, and ends
//! with the documented exit code and at most one line about an error.
//!
//! Not here: how a run works ([`smbench_engine`]), and how results are presented
//! ([`smbench_report`]).

mod args;
mod calibrate;
mod child;
mod commands;
mod embedded;
mod exporter;
mod failure;
mod junit;
mod lab_facts;
mod live;
mod login;
mod output;
mod password;
mod progress;
mod request;
mod results;
mod searching;
mod signals;
mod study;
mod suite;
mod time_left;
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
