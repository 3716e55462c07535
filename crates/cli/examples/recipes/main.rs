//! The recipes of the chapter on the library, one in each file, and a program that carries
//! them out: `cargo run -p smbench --example recipes`.
//!
//! The chapter shows the files as they are. The tests carry the recipes out.

#![expect(clippy::print_stdout, reason = "that is what they are for")]
#![expect(unreachable_pub, reason = "a reader copies them")]

mod compare_runs;
mod embedded_server;
mod inside_tokio;
mod json;
mod merge_parts;
mod own_target;
mod plan_in_code;
mod profile_from_file;
mod results;
#[cfg(test)]
mod tests;
mod watch_and_cancel;

use std::error::Error;
use std::fs;
use std::time::Duration;

use smbench::lab::{EmbeddedOptions, EmbeddedServer};

fn main() -> Result<(), Box<dyn Error>> {
    let server = EmbeddedServer::start(EmbeddedOptions::default())?;
    let (url, password) = (&*server.url(), server.password());
    let folder = std::env::temp_dir().join(format!("smbench-recipes-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    plan_in_code::plan_in_code(url, password)?;
    profile_from_file::profile_from_file(url, password, &folder)?;
    watch_and_cancel::watch_and_cancel(url, password)?;
    inside_tokio::inside_tokio(url, password)?;
    own_target::own_target()?;
    results::results(url, password, &folder)?;
    compare_runs::compare_runs(url, password)?;
    merge_parts::merge_parts(url, password, Duration::from_secs(5))?;
    let plan = json::PLAN.replace("smb://alice@nas/bench", url);
    let result = json::json(&plan, password)?;
    print!("{result}");
    println!("at most {:.0} operations/s", json::highest_rate(&result)?);
    Ok(fs::remove_dir_all(&folder)?)
}
