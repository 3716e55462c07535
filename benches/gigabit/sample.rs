//! Counters of the link and of a server's processes.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The shaped devices: first the load's, then the server's.
const DEVICES: [&str; 2] = ["load0", "serve0"];

/// Ticks per second of the times in `/proc/<pid>/stat`. USER_HZ is 100 on every
/// architecture except Alpha, and does not depend on the kernel's own tick rate.
const TICKS_PER_S: f64 = 100.0;

/// Shortest time between two readings of a rate.
const SHORTEST: Duration = Duration::from_millis(500);

/// The place where counters are read.
pub(crate) struct CounterPlace<'a> {
    /// The server's network namespace. The load's is the namespace of this process.
    pub(crate) netns: &'a str,
    /// The server's first process, if its CPU time is needed.
    pub(crate) server: Option<u32>,
}

/// Counters at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    up_bytes: CounterReading,
    down_bytes: CounterReading,
    server_cpu_s: CounterReading,
}

/// A counter and the time of its reading.
#[derive(Clone, Copy, Debug)]
struct CounterReading {
    at: Instant,
    value: f64,
}

impl CounterReading {
    /// Reads a counter. This starts a program, which can be slow on a busy
    /// machine. So the middle of that time counts as the time of the reading.
    fn take(read: impl FnOnce() -> Result<f64, String>) -> Result<Self, String> {
        let before = Instant::now();
        let value = read()?;
        Ok(Self {
            at: before + before.elapsed() / 2,
            value,
        })
    }

    /// Returns the counter's growth per second until `later`.
    fn rate(&self, later: &Self) -> f64 {
        (later.value - self.value) / (later.at - self.at).as_secs_f64()
    }
}

/// Rates between two samples.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct LinkRates {
    /// From the load to the server, in Mbit/s (10^6 bits) of Ethernet frames.
    pub(crate) up_mbps: f64,
    /// From the server to the load, in the same unit.
    pub(crate) down_mbps: f64,
    /// CPU seconds per second of all processes of the server.
    pub(crate) server_cores: f64,
}

impl CounterPlace<'_> {
    pub(crate) fn sample(&self) -> Result<Sample, String> {
        let [load, serve] = DEVICES;
        Ok(Sample {
            up_bytes: CounterReading::take(|| shaped(&["-s", "-j", "qdisc", "show", "dev", load]))?,
            down_bytes: CounterReading::take(|| {
                shaped(&["-n", self.netns, "-s", "-j", "qdisc", "show", "dev", serve])
            })?,
            server_cpu_s: CounterReading::take(|| self.server.map_or(Ok(0.0), cpu_of_tree))?,
        })
    }
}

impl LinkRates {
    pub(crate) fn between(first: &Sample, last: &Sample) -> Result<Self, String> {
        if last.up_bytes.at - first.up_bytes.at < SHORTEST {
            return Err("too short a time to count bytes in: measure 4 seconds or more".into());
        }
        let mbps = |first: &CounterReading, last: &CounterReading| first.rate(last) * 8e-6;
        Ok(Self {
            up_mbps: mbps(&first.up_bytes, &last.up_bytes),
            down_mbps: mbps(&first.down_bytes, &last.down_bytes),
            server_cores: first.server_cpu_s.rate(&last.server_cpu_s),
        })
    }

    /// Returns the rate of the direction with more data.
    pub(crate) fn busier_mbps(&self) -> f64 {
        self.up_mbps.max(self.down_mbps)
    }
}

/// Returns the number of bytes that a device's shaper has let through.
fn shaped(arguments: &[&str]) -> Result<f64, String> {
    let output = Command::new("tc").args(arguments).output();
    let output = output.map_err(|error| format!("tc: {error}"))?;
    let unreadable = || format!("tc {} printed no bytes of a tbf", arguments.join(" "));
    let value: Value = serde_json::from_slice(&output.stdout).map_err(|_| unreadable())?;
    let disciplines = value.as_array().ok_or_else(unreadable)?;
    disciplines
        .iter()
        .find(|discipline| discipline["kind"] == "tbf")
        .and_then(|discipline| discipline["bytes"].as_f64())
        .ok_or_else(unreadable)
}

/// Returns the CPU seconds of a process and all its descendants, including
/// those that have ended.
fn cpu_of_tree(root: u32) -> Result<f64, String> {
    let processes: BTreeMap<u32, Process> = fs::read_dir("/proc")
        .map_err(|error| format!("/proc: {error}"))?
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((pid, Process::read(pid)?))
        })
        .collect();
    let is_below = |pid: &u32| {
        let mut at = *pid;
        // A chain of parents ends at 0. The limit keeps an inconsistent reading
        // from causing an endless loop.
        for _ in 0..64 {
            if at == root {
                return true;
            }
            match processes.get(&at) {
                Some(process) => at = process.parent,
                None => return false,
            }
        }
        false
    };
    if !processes.contains_key(&root) {
        return Err(format!("the server's process {root} is gone"));
    }
    let tree = processes.iter().filter(|(pid, _)| is_below(pid));
    let ticks: u64 = tree.map(|(_, process)| process.ticks).sum();
    Ok(ticks as f64 / TICKS_PER_S)
}

struct Process {
    parent: u32,
    /// Ticks of the process, and of the children that it has waited for.
    ticks: u64,
}

impl Process {
    /// Reads `/proc/<pid>/stat`; see proc(5).
    fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may contain any character.
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = fields.get(11..15)?;
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            ticks: ticks
                .iter()
                .filter_map(|field| field.parse::<u64>().ok())
                .sum(),
        })
    }
}
