//! Counting with valgrind.

use std::process::Command;

use crate::cases::Case;

const FEW: u64 = 1_000;
const MANY: u64 = 11_000;

pub(crate) fn instructions_per_call(case: &Case) -> Result<f64, String> {
    let (few, many) = (instructions(case, FEW)?, instructions(case, MANY)?);
    let difference = many
        .checked_sub(few)
        .ok_or_else(|| format!("`{}` did less when called more often", case.name))?;
    Ok(difference as f64 / (MANY - FEW) as f64)
}

/// Instructions of a whole process that runs the case this many times.
fn instructions(case: &Case, calls: u64) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["run", case.name, &calls.to_string()])
        .output()
        .map_err(|error| format!("valgrind (Debian package valgrind): {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("`{}` failed under valgrind: {said}", case.name));
    }
    // "==4711== Collected : 123456".
    said.lines()
        .filter_map(|line| line.split_once("Collected : "))
        .find_map(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| format!("no count in what valgrind said: {said}"))
}
