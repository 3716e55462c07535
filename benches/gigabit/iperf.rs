//! Measurements with iperf3 over the link, one direction after the other.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sample::{CounterPlace, LinkRates};
use crate::say;

/// Start of a transfer that iperf3 omits (`-O`), because TCP is still speeding up.
const OMITTED: Duration = Duration::from_secs(1);
/// Time after which iperf3 is certainly past the omitted start.
const SETTLED: Duration = Duration::from_millis(1500);
/// Number of tries to reach the server while it starts.
const TRIES: u32 = 20;

/// The result of one direction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Goodput {
    /// `up` is the direction from the load to the server.
    pub(crate) direction: String,
    /// Application data in Mbit/s (10^6 bits).
    pub(crate) goodput_mbps: f64,
    pub(crate) link: LinkRates,
}

pub(crate) fn run(netns: &str, address: &str, seconds: &str) -> Result<(), String> {
    let seconds: u64 = seconds.parse().map_err(|_| "seconds is a number")?;
    for (direction, flag) in [("up", None), ("down", Some("--reverse"))] {
        let carried = direction_of(netns, address, seconds, direction, flag)?;
        say(&serde_json::to_string(&carried).map_err(|error| error.to_string())?);
    }
    Ok(())
}

fn direction_of(
    netns: &str,
    address: &str,
    seconds: u64,
    direction: &str,
    flag: Option<&str>,
) -> Result<Goodput, String> {
    let mut server = Command::new("ip")
        .args(["netns", "exec", netns, "iperf3", "--server", "--one-off"])
        .args(["--bind", address])
        .stdout(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let measured = (0..TRIES)
        .find_map(|_| {
            thread::sleep(Duration::from_millis(100));
            client(netns, address, seconds, flag).transpose()
        })
        .unwrap_or_else(|| Err("iperf3 found no server".to_owned()));
    // The server ends after one test. If no test ran, it must be killed.
    if measured.is_err() {
        let _ = server.kill();
    }
    let _ = server.wait();
    let (goodput_mbps, link) = measured?;
    Ok(Goodput {
        direction: direction.to_owned(),
        goodput_mbps,
        link,
    })
}

/// Returns `None` while the server does not listen yet.
fn client(
    netns: &str,
    address: &str,
    seconds: u64,
    flag: Option<&str>,
) -> Result<Option<(f64, LinkRates)>, String> {
    let place = CounterPlace {
        netns,
        server: None,
    };
    let mut client = Command::new("iperf3")
        .args(["--client", address, "--json", "--connect-timeout", "2000"])
        .args(["--time", &seconds.to_string()])
        .args(["--omit", &OMITTED.as_secs().to_string()])
        .args(flag)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    thread::sleep(SETTLED);
    if has_failed(&mut client) {
        return Ok(None);
    }
    let first = place.sample()?;
    thread::sleep(Duration::from_secs(seconds) - (SETTLED - OMITTED) * 2);
    let last = place.sample()?;
    let output = client.wait_with_output().map_err(failed)?;
    let value: Value = serde_json::from_slice(&output.stdout).map_err(failed)?;
    let received = value["end"]["sum_received"]["bits_per_second"].as_f64();
    let goodput = received.ok_or_else(|| format!("iperf3 failed: {}", value["error"]))?;
    Ok(Some((goodput * 1e-6, LinkRates::between(&first, &last)?)))
}

fn has_failed(client: &mut Child) -> bool {
    matches!(client.try_wait(), Ok(Some(_)))
}

fn failed(error: impl std::fmt::Display) -> String {
    format!("iperf3: {error}")
}
