//! The tables, and the bars.

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::iperf;
use crate::load::Carried;
use crate::say;

const SERVERS: [(&str, &str); 2] = [("samba", "scratch Samba"), ("embedded", "embedded server")];
const SEQUENTIAL: &str = "sequential-64k";
const FILE_SERVER: &str = "file-server";
/// Clients that must fill the link with the file server's pattern.
const CLIENTS: u32 = 64;
/// Of iperf3's goodput, that sequential reads must reach.
const SEQUENTIAL_SHARE: f64 = 0.98;
/// Of iperf3's link rate, that the file server's pattern must reach.
const FILE_SERVER_SHARE: f64 = 0.95;
/// The generator may use less.
const GENERATOR_CORES: f64 = 0.5;

/// What iperf3 reached.
struct Yardstick {
    up: iperf::Carried,
    down: iperf::Carried,
}

/// Prints what a folder holds; whether the bars hold with one of the servers.
pub(crate) fn print(folder: &str) -> Result<bool, String> {
    let folder = Path::new(folder);
    let yardstick = Yardstick::load(folder)?;
    for carried in [&yardstick.up, &yardstick.down] {
        say(&format!(
            "iperf3, {:<4}  {:>6.1} Mbit/s of data, {:>6.1} Mbit/s on the link",
            carried.direction,
            carried.goodput_mbps,
            carried.link_mbps()
        ));
    }
    let mut held = [false; 2];
    for (server, shown) in SERVERS {
        let points: Vec<Carried> = lines(&folder.join(format!("{server}.jsonl")))?;
        say(&format!(
            "\n{shown}; down is from the server, shares are of iperf3's in the direction with more\n\
             {:<15} {:>7} {:>8} | data {:>6} {:>6} {:>6} | link {:>6} {:>6} {:>6} | generator   server",
            "profile", "clients", "ops/s", "down", "up", "share", "down", "up", "share"
        ));
        for point in &points {
            tell(point, &yardstick);
        }
        say("");
        for (held, met) in held.iter_mut().zip([
            judge_sequential(shown, &points, &yardstick)?,
            judge_file_server(shown, &points, &yardstick)?,
        ]) {
            *held |= met;
        }
    }
    Ok(held.iter().all(|held| *held))
}

fn tell(point: &Carried, yardstick: &Yardstick) {
    say(&format!(
        "{:<15} {:>7} {:>8.0} | {:>11.1} {:>6.1} {:>5.1}% | {:>11.1} {:>6.1} {:>5.1}% | {:.2} cores {:.2} cores",
        point.profile,
        point.clients,
        point.ops_per_s,
        point.down_mbps,
        point.up_mbps,
        100.0 * yardstick.goodput_share(point),
        point.link.down_mbps,
        point.link.up_mbps,
        100.0 * yardstick.link_share(point),
        point.generator_cores,
        point.link.server_cores,
    ));
}

fn judge_sequential(server: &str, points: &[Carried], by: &Yardstick) -> Result<bool, String> {
    let mut points = points.iter().filter(|point| point.profile == SEQUENTIAL);
    let best = points
        .clone()
        .max_by(|a, b| by.goodput_share(a).total_cmp(&by.goodput_share(b)))
        .ok_or_else(|| format!("{server}: no load point of {SEQUENTIAL}"))?;
    let enough = points.find(|point| by.goodput_share(point) >= SEQUENTIAL_SHARE);
    let shown = enough.unwrap_or(best);
    say(&format!(
        "{} {server}: sequential 64 KiB reads carry {:.1} % of iperf3's goodput with {} clients, at least {} %",
        verdict(enough.is_some()),
        100.0 * by.goodput_share(shown),
        shown.clients,
        100.0 * SEQUENTIAL_SHARE
    ));
    Ok(enough.is_some())
}

fn judge_file_server(server: &str, points: &[Carried], by: &Yardstick) -> Result<bool, String> {
    let point = points
        .iter()
        .find(|point| point.profile == FILE_SERVER && point.clients == CLIENTS)
        .ok_or_else(|| {
            format!("{server}: no load point of {FILE_SERVER} with {CLIENTS} clients")
        })?;
    let share = by.link_share(point);
    let met = share >= FILE_SERVER_SHARE && point.generator_cores < GENERATOR_CORES;
    say(&format!(
        "{} {server}: file-server with {CLIENTS} clients fills the busier direction to {:.1} %, at least {} %, with \
         {:.2} cores in the generator, below {GENERATOR_CORES}, and {:.2} in the server",
        verdict(met),
        100.0 * share,
        100.0 * FILE_SERVER_SHARE,
        point.generator_cores,
        point.link.server_cores
    ));
    Ok(met)
}

fn verdict(met: bool) -> &'static str {
    if met { "holds      " } else { "falls short" }
}

impl iperf::Carried {
    /// On the link in its direction.
    fn link_mbps(&self) -> f64 {
        self.link.busier_mbps()
    }
}

impl Yardstick {
    fn load(folder: &Path) -> Result<Self, String> {
        let mut carried: Vec<iperf::Carried> = lines(&folder.join("iperf3.jsonl"))?;
        let mut of = |direction: &str| {
            let at = carried.iter().position(|one| one.direction == direction);
            at.map(|at| carried.swap_remove(at))
                .ok_or_else(|| format!("iperf3 has nothing for {direction}"))
        };
        Ok(Self {
            up: of("up")?,
            down: of("down")?,
        })
    }

    /// iperf3 in the direction that a load point uses more.
    fn busier(&self, point: &Carried) -> &iperf::Carried {
        match point.link.up_mbps > point.link.down_mbps {
            true => &self.up,
            false => &self.down,
        }
    }

    fn goodput_share(&self, point: &Carried) -> f64 {
        point.up_mbps.max(point.down_mbps) / self.busier(point).goodput_mbps
    }

    fn link_share(&self, point: &Carried) -> f64 {
        point.link.busier_mbps() / self.busier(point).link_mbps()
    }
}

/// The values in a file with one on each line.
fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    let values = text.lines().map(serde_json::from_str);
    values
        .collect::<Result<_, _>>()
        .map_err(|error| failed(&error))
}
