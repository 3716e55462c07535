//! Figures of sysbench for this machine, if it is installed. Its `cpu` and
//! `threads` tests run with their defaults and a time limit. The figures are part
//! of the disclosure; smbench itself does not use them.

use std::io::{ErrorKind, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use smbench_report::doc::{SysbenchDoc, SysbenchTestDoc};

const PROGRAM: &str = "sysbench";
/// Duration of each test, and the longest time that sysbench may take for it.
const TIME_OPTION: &str = "--time=1";
const LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Highest number of bytes of output that are read.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// Runs both tests.
pub(super) fn measured(cores: u32) -> SysbenchDoc {
    measured_by(PROGRAM, cores, LIMIT)
}

fn measured_by(program: &str, cores: u32, limit: Duration) -> SysbenchDoc {
    let version = match output(program, &["--version"], limit) {
        // `sysbench 1.0.20`
        Ok(text) => text.split_whitespace().nth(1).map(str::to_owned),
        Err(reason) => {
            return SysbenchDoc {
                not_measured: Some(reason),
                ..SysbenchDoc::default()
            };
        }
    };
    let mut doc = SysbenchDoc {
        version,
        ..SysbenchDoc::default()
    };
    // The defaults: one thread computing primes, and the same with one thread per
    // core.
    let all = format!("--threads={cores}");
    for (test, options) in [
        ("cpu", vec![TIME_OPTION]),
        ("cpu", vec![TIME_OPTION, &all]),
        ("threads", vec![TIME_OPTION, "--threads=128"]),
    ] {
        let mut args = vec![test];
        args.extend(&options);
        args.push("run");
        let found = output(program, &args, limit).and_then(|text| {
            let found = parse(test, &text);
            found.ok_or_else(|| format!("sysbench {test} answered with something else"))
        });
        match found {
            Ok(found) => doc.tests.push(SysbenchTestDoc {
                options: options.iter().map(|&option| option.to_owned()).collect(),
                ..found
            }),
            Err(reason) => doc.not_measured = Some(reason),
        }
    }
    doc
}

/// Returns the standard output of a program. Ends the program when the time limit
/// is reached.
fn output(program: &str, args: &[&str], limit: Duration) -> Result<String, String> {
    let started = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(format!("{PROGRAM} not installed"));
        }
        Err(error) => return Err(format!("{PROGRAM} cannot be run: {error}")),
    };
    let (send, read) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut text = Vec::new();
            // The output decides, no matter how reading ended.
            let _ = stdout.take(OUTPUT_BYTES_MAX).read_to_end(&mut text);
            let _ = send.send(String::from_utf8_lossy(&text).into_owned());
        });
    }
    let deadline = Instant::now() + limit;
    let ended = ended(&mut child, deadline)?;
    let left = deadline.saturating_duration_since(Instant::now());
    let text = read.recv_timeout(left.max(POLL_INTERVAL));
    match (ended, text) {
        (true, Ok(text)) => Ok(text),
        _ => Err(format!("{PROGRAM} {} failed", args.join(" "))),
    }
}

/// Returns whether a process succeeded. Kills a process that has not ended in time.
fn ended(child: &mut Child, deadline: Instant) -> Result<bool, String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if Instant::now() < deadline => thread::sleep(POLL_INTERVAL),
            _ => {
                // Fails only if the process has just ended.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{PROGRAM} did not end in time"));
            }
        }
    }
}

/// Parses the final report of sysbench 0.5 to 1.1; `None` if a figure is missing.
fn parse(test: &str, text: &str) -> Option<SysbenchTestDoc> {
    let value = |name: &str| -> Option<f64> {
        let mut lines = text.lines().map(str::trim);
        let rest = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let value: f64 = rest.trim().trim_end_matches('s').parse().ok()?;
        (value.is_finite() && value >= 0.0).then_some(value)
    };
    // Only the cpu test prints a rate.
    let rate = || {
        let seconds = value("total time")?;
        (seconds > 0.0).then_some(value("total number of events")? / seconds)
    };
    Some(SysbenchTestDoc {
        test: test.to_owned(),
        options: Vec::new(),
        events_per_s: value("events per second").or_else(rate)?,
        latency_min_ms: value("min")?,
        latency_avg_ms: value("avg")?,
        latency_max_ms: value("max")?,
        latency_p95_ms: value("95th percentile")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of sysbench 1.0.20.
    const THREADS: &str = "\
General statistics:
    total time:                          1.0004s
    total number of events:              2199

Latency (ms):
         min:                                    0.28
         avg:                                    0.45
         max:                                    5.87
         95th percentile:                        0.60
         sum:                                  997.38
";

    #[test]
    fn figures_are_found_in_an_end_report() {
        let found = parse("threads", THREADS).unwrap();
        assert!((found.events_per_s - 2199.0 / 1.0004).abs() < 1e-9);
        assert_eq!((found.latency_min_ms, found.latency_max_ms), (0.28, 5.87));
        assert_eq!((found.latency_avg_ms, found.latency_p95_ms), (0.45, 0.60));
        let cpu = format!("CPU speed:\n    events per second:  1780.90\n\n{THREADS}");
        assert_eq!(parse("cpu", &cpu).unwrap().events_per_s, 1780.90);
        for wrong in ["", "min: 1", &THREADS.replace("0.28", "nan")] {
            assert_eq!(parse("threads", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_program_that_is_missing_fails_lies_or_hangs_is_named_and_left() {
        for (program, says) in [
            ("/no/such/sysbench", "sysbench not installed"),
            ("false", "sysbench --version failed"),
            ("echo", "sysbench threads answered with something else"),
        ] {
            let doc = measured_by(program, 2, LIMIT);
            assert_eq!(doc.tests, [], "{program}");
            assert_eq!(doc.not_measured.unwrap(), says);
        }
        let hangs = output("sleep", &["600"], Duration::from_millis(50));
        assert_eq!(hangs.unwrap_err(), "sysbench did not end in time");
    }
}
