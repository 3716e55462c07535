//! Measures throughput over the shaped link of `benches/gigabit.sh`.
//!
//! `smbench-gigabit iperf3 SERVER_NETNS ADDRESS SECONDS` and
//! `smbench-gigabit load SERVER_NETNS URL PROFILE CLIENTS SECONDS PID` run in
//! the load's namespace and print lines of JSON. `smbench-gigabit table DIR`
//! prints a summary of these lines, and whether the requirements are met.
//!
//! Link rates come from the shapers, which count the bytes that the link would
//! carry. The device's own counters see packets before they are split into frames.

mod iperf;
mod load;
mod sample;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let held = match words[..] {
        ["iperf3", netns, address, seconds] => iperf::run(netns, address, seconds).map(|()| true),
        ["load", netns, url, profile, clients, seconds, pid] => {
            load::run(netns, url, [profile, clients, seconds], pid).map(|()| true)
        }
        ["table", folder] => table::print(folder),
        _ => Err("usage: smbench-gigabit iperf3 | load | table".to_owned()),
    };
    match held {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            complain(&problem);
            ExitCode::from(4)
        }
    }
}

#[expect(clippy::print_stderr, reason = "this is a program")]
fn complain(problem: &str) {
    eprintln!("smbench-gigabit: {problem}");
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn say(line: &str) {
    println!("{line}");
}
