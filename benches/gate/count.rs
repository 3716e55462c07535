//! Counting with valgrind.

use std::process::{Command, Output};

use crate::cases::Case;
use crate::exchange::{COUNTED, Exchange, Part};

const FEW: u64 = 1_000;
const MANY: u64 = 11_000;
/// Signing 4 KiB can take a quarter of a million instructions.
const EXCHANGES: u64 = 100;

pub(crate) fn instructions_per_call(case: &Case) -> Result<f64, String> {
    let (few, many) = (instructions(case, FEW)?, instructions(case, MANY)?);
    let difference = many
        .checked_sub(few)
        .ok_or_else(|| format!("`{}` did less when called more often", case.name))?;
    Ok(difference as f64 / (MANY - FEW) as f64)
}

/// Of the marked part of an exchange; the process around it is not counted.
pub(crate) fn instructions_per_exchange(exchange: &Exchange, part: Part) -> Result<f64, String> {
    let mark = format!("--toggle-collect={COUNTED}");
    let (name, part) = (exchange.name(), part.name());
    let all = collected(&[&mark], &["exchange", &name, part, &EXCHANGES.to_string()])?;
    match all {
        0 => Err(format!("valgrind found nothing called {COUNTED}")),
        _ => Ok(all as f64 / EXCHANGES as f64),
    }
}

/// Instructions of a whole process that runs the case this many times.
fn instructions(case: &Case, calls: u64) -> Result<u64, String> {
    collected(&[], &["run", case.name, &calls.to_string()])
}

/// What processor valgrind shows to programs; cryptography picks its code by
/// it.
pub(crate) fn processor() -> Result<String, String> {
    let output = valgrind(&["--tool=none", "--quiet"], &["processor"])?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn collected(options: &[&str], arguments: &[&str]) -> Result<u64, String> {
    let tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let output = valgrind(&[&tool, options].concat(), arguments)?;
    let said = String::from_utf8_lossy(&output.stderr);
    // "==4711== Collected : 123456".
    said.lines()
        .filter_map(|line| line.split_once("Collected : "))
        .find_map(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| format!("no count in what valgrind said: {said}"))
}

/// Runs this program with `arguments` under valgrind.
fn valgrind(options: &[&str], arguments: &[&str]) -> Result<Output, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(options)
        .arg(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("valgrind (Debian package valgrind): {error}"))?;
    match output.status.success() {
        true => Ok(output),
        false => Err(format!(
            "`{}` failed under valgrind: {}{}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}
