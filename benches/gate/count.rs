//! Counts of instructions with valgrind.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::cases::Case;
use crate::codecs::{self, APART, CALLS};
use crate::exchange::{COUNTED, CountedPart, Exchange};

const FEW: u64 = 1_000;
/// Number of calls of a long run. A run of the worker loop has costs that
/// differ between short and long runs, above all timer ticks. Divided by this
/// number of calls, they are below one percent of a call.
const MANY: u64 = 801_000;
/// Number of exchanges, which is small because signing 4 KiB can take a quarter
/// of a million instructions.
const EXCHANGES: u64 = 100;

pub(crate) fn instructions_per_call(case: &Case) -> Result<f64, String> {
    let (few, many) = (instructions(case, FEW)?, instructions(case, MANY)?);
    let difference = many
        .checked_sub(few)
        .ok_or_else(|| format!("`{}` did less when called more often", case.name))?;
    Ok(difference as f64 / (MANY - FEW) as f64)
}

/// Counts the marked part of an exchange, without the rest of the process.
pub(crate) fn instructions_per_exchange(
    exchange: &Exchange,
    part: CountedPart,
) -> Result<f64, String> {
    let mark = format!("--toggle-collect={COUNTED}");
    let (name, part) = (exchange.name(), part.name());
    let all = collected(&[&mark], &["exchange", &name, part, &EXCHANGES.to_string()])?;
    match all {
        0 => Err(format!("valgrind found nothing called {COUNTED}")),
        _ => Ok(all as f64 / EXCHANGES as f64),
    }
}

/// Counts all codecs, in their order. One process runs them and dumps the
/// counts of each separately.
pub(crate) fn instructions_per_codec() -> Result<Vec<f64>, String> {
    let dumps = Dumps::new()?;
    let options = [
        "--tool=callgrind".to_owned(),
        format!("--callgrind-out-file={}", dumps.file("").display()),
        format!("--toggle-collect={COUNTED}"),
        format!("--dump-after={APART}"),
    ];
    valgrind(&options.each_ref().map(String::as_str), &["codecs"], None)?;
    let numbered = (1..).zip(codecs::ALL);
    let counts = numbered.map(|(number, codec)| {
        let path = dumps.file(&format!(".{number}"));
        let dump =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // The line is "totals: 123456".
        let counted = dump
            .lines()
            .filter_map(|line| line.strip_prefix("totals: "))
            .find_map(|count| count.trim().parse::<u64>().ok());
        match counted {
            None | Some(0) => Err(format!("valgrind counted nothing of `{}`", codec.name)),
            Some(all) => Ok(all as f64 / CALLS as f64),
        }
    });
    counts.collect()
}

/// A temporary folder for valgrind's dumps.
struct Dumps(PathBuf);

impl Dumps {
    fn new() -> Result<Self, String> {
        let name = format!("smbench-gate-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self(folder))
    }

    fn file(&self, number: &str) -> PathBuf {
        self.0.join(format!("counts{number}"))
    }
}

impl Drop for Dumps {
    fn drop(&mut self) {
        // If this fails, only a few kilobytes remain.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Counts the instructions of a whole process that runs the case `calls` times.
fn instructions(case: &Case, calls: u64) -> Result<u64, String> {
    collected(&[], &["run", case.name, &calls.to_string()])
}

/// Returns the processor that valgrind emulates. Cryptography chooses its code
/// by it.
pub(crate) fn processor() -> Result<String, String> {
    let output = valgrind(&["--tool=none", "--quiet"], &["processor"], None)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Instructions and cache misses of a process.
pub(crate) struct CacheEvents {
    pub(crate) instructions: u64,
    pub(crate) first_level_misses: u64,
}

/// Counts a whole process with simulated caches. The variable is of its environment.
pub(crate) fn cache_events(
    options: &[&str],
    arguments: &[&str],
    name: &str,
    value: &str,
) -> Result<CacheEvents, String> {
    // Instructions, reads, writes, and the misses of each in the first level.
    match collected_events(options, arguments, Some((name, value)))?[..] {
        [instructions, _, _, of_code, of_reads, of_writes, ..] => Ok(CacheEvents {
            instructions,
            first_level_misses: of_code + of_reads + of_writes,
        }),
        _ => Err("valgrind simulated no caches".to_owned()),
    }
}

fn collected(options: &[&str], arguments: &[&str]) -> Result<u64, String> {
    Ok(collected_events(options, arguments, None)?[0])
}

/// Returns what callgrind counted, instructions first.
fn collected_events(
    options: &[&str],
    arguments: &[&str],
    variable: Option<(&str, &str)>,
) -> Result<Vec<u64>, String> {
    let tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let output = valgrind(&[&tool, options].concat(), arguments, variable)?;
    let said = String::from_utf8_lossy(&output.stderr);
    // The line is "==4711== Collected : 123456", with more numbers if there are caches.
    let mut lines = said.lines();
    let counts = lines.find_map(|line| line.split_once("Collected : "));
    let counts = counts.map(|(_, counts)| counts.split_whitespace());
    let counts: Vec<u64> = counts
        .and_then(|counts| counts.map(|count| count.parse().ok()).collect())
        .unwrap_or_default();
    if counts.is_empty() {
        Err(format!("no count in what valgrind said: {said}"))
    } else {
        Ok(counts)
    }
}

/// Runs this program with `arguments` under valgrind, with a further variable.
fn valgrind(
    options: &[&str],
    arguments: &[&str],
    variable: Option<(&str, &str)>,
) -> Result<Output, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(options)
        .arg(program)
        .args(arguments)
        .envs(variable)
        .output()
        .map_err(|error| format!("valgrind (Debian package valgrind): {error}"))?;
    if output.status.success() {
        Ok(output)
    } else {
        Err(format!(
            "`{}` failed under valgrind: {}{}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}
