//! What a shaped link carries, for `benches/gigabit.sh`, which makes the link.
//!
//! `smbench-gigabit iperf3 SERVER_NETNS ADDRESS SECONDS` and
//! `smbench-gigabit load SERVER_NETNS URL PROFILE CLIENTS SECONDS PID` run in
//! the load's namespace and print lines of JSON; `smbench-gigabit table DIR`
//! prints what all of them amount to, and whether the bars hold.
//!
//! Link rates are those of the shapers, which count what the link would carry:
//! the device's own counters see the packets before they are cut to frames.

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
