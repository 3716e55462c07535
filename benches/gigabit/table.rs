//! The result tables and the requirements.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::iperf;
use crate::load::PointResult;
use crate::say;

const SERVERS: [(&str, &str); 2] = [("samba", "scratch Samba"), ("embedded", "embedded server")];
const SEQUENTIAL: &str = "sequential-64k";
const FILE_SERVER: &str = "file-server";
/// Number of clients that must fill the link with the file server's pattern.
const CLIENTS: u32 = 64;
/// Share of iperf3's goodput that sequential reads must reach.
const SEQUENTIAL_SHARE: f64 = 0.98;
/// Share of iperf3's link rate that the file server's pattern must reach.
const FILE_SERVER_SHARE: f64 = 0.95;
/// Limit for the generator's CPU use in cores.
const GENERATOR_CORES: f64 = 0.5;

/// The results of iperf3.
struct Yardstick {
    up: iperf::Goodput,
    down: iperf::Goodput,
}

/// The results of a server in one round, and of iperf3 directly before.
struct Round {
    yardstick: Yardstick,
    points: Vec<PointResult>,
}

/// A load point over all rounds.
struct LoadPoint<'a> {
    profile: &'a str,
    clients: u32,
    rounds: Vec<(&'a PointResult, &'a Yardstick)>,
}

/// Prints the results in a folder. Returns whether each requirement is met with
/// at least one of the servers.
pub(crate) fn print(folder: &str) -> Result<bool, String> {
    let folder = Path::new(folder);
    let mut held = [false; 2];
    for (server, shown) in SERVERS {
        let rounds = rounds(folder, server)?;
        say(&format!("{shown}, medians of {} rounds", rounds.len()));
        for direction in [
            |by: &Yardstick| by.down.clone(),
            |by: &Yardstick| by.up.clone(),
        ] {
            let carried: Vec<_> = rounds
                .iter()
                .map(|round| direction(&round.yardstick))
                .collect();
            say(&format!(
                "iperf3, {:<4}  {:>6.1} Mbit/s of data, {:>6.1} Mbit/s on the link",
                carried[0].direction,
                median(carried.iter().map(|one| one.goodput_mbps)),
                median(carried.iter().map(iperf::Goodput::link_mbps)),
            ));
        }
        say(&format!(
            "down is from the server, shares are of iperf3's in the direction with more\n\
             {:<15} {:>7} {:>8} | data {:>6} {:>6} {:>6} | link {:>6} {:>6} {:>6} | generator   server",
            "profile", "clients", "ops/s", "down", "up", "share", "down", "up", "share"
        ));
        let points = LoadPoint::of(&rounds);
        for point in &points {
            point.tell();
        }
        say("");
        for (held, met) in held.iter_mut().zip([
            judge_sequential(shown, &points)?,
            judge_file_server(shown, &points)?,
        ]) {
            *held |= met;
        }
        say("");
    }
    Ok(held.iter().all(|held| *held))
}

/// Returns the median. There must be at least one value.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

impl<'a> LoadPoint<'a> {
    /// Returns all load points in the order of the first round. Each round must
    /// have all of them.
    fn of(rounds: &'a [Round]) -> Vec<Self> {
        let of = |first: &'a PointResult| LoadPoint {
            profile: &first.profile,
            clients: first.clients,
            rounds: rounds
                .iter()
                .filter_map(|round| {
                    let same = |one: &&PointResult| {
                        (&one.profile, one.clients) == (&first.profile, first.clients)
                    };
                    Some((round.points.iter().find(same)?, &round.yardstick))
                })
                .collect(),
        };
        let first = rounds.iter().take(1);
        first
            .flat_map(|round| round.points.iter().map(of))
            .collect()
    }

    fn over(&self, of: impl Fn(&PointResult) -> f64) -> f64 {
        median(self.rounds.iter().map(|(point, _)| of(point)))
    }

    /// Returns the lowest, the median and the highest share over all rounds.
    fn share(&self, of: impl Fn(&Yardstick, &PointResult) -> f64) -> [f64; 3] {
        let shares = self.rounds.iter().map(|(point, by)| of(by, point));
        [
            shares.clone().fold(f64::INFINITY, f64::min),
            median(shares.clone()),
            shares.fold(0.0, f64::max),
        ]
    }

    fn goodput_share(&self) -> [f64; 3] {
        self.share(Yardstick::goodput_share)
    }

    fn link_share(&self) -> [f64; 3] {
        self.share(Yardstick::link_share)
    }

    fn tell(&self) {
        say(&format!(
            "{:<15} {:>7} {:>8.0} | {:>11.1} {:>6.1} {:>5.1}% | {:>11.1} {:>6.1} {:>5.1}% | {:.2} cores {:.2} cores",
            self.profile,
            self.clients,
            self.over(|point| point.ops_per_s),
            self.over(|point| point.down_mbps),
            self.over(|point| point.up_mbps),
            100.0 * self.goodput_share()[1],
            self.over(|point| point.link.down_mbps),
            self.over(|point| point.link.up_mbps),
            100.0 * self.link_share()[1],
            self.over(|point| point.generator_cores),
            self.over(|point| point.link.server_cores),
        ));
    }
}

fn judge_sequential(server: &str, points: &[LoadPoint<'_>]) -> Result<bool, String> {
    let mut points = points.iter().filter(|point| point.profile == SEQUENTIAL);
    let share = |point: &LoadPoint<'_>| point.goodput_share()[1];
    let best = points
        .clone()
        .max_by(|one, other| share(one).total_cmp(&share(other)))
        .ok_or_else(|| format!("{server}: no load point of {SEQUENTIAL}"))?;
    let enough = points.find(|point| share(point) >= SEQUENTIAL_SHARE);
    let shown = enough.unwrap_or(best);
    say(&format!(
        "{} {server}: sequential 64 KiB reads carry {} of iperf3's goodput with {} clients, at least {} %",
        verdict(enough.is_some()),
        spread(shown.goodput_share()),
        shown.clients,
        100.0 * SEQUENTIAL_SHARE
    ));
    Ok(enough.is_some())
}

fn judge_file_server(server: &str, points: &[LoadPoint<'_>]) -> Result<bool, String> {
    let point = points
        .iter()
        .find(|point| point.profile == FILE_SERVER && point.clients == CLIENTS)
        .ok_or_else(|| {
            format!("{server}: no load point of {FILE_SERVER} with {CLIENTS} clients")
        })?;
    let share = point.link_share();
    let cores = point.over(|point| point.generator_cores);
    let met = share[1] >= FILE_SERVER_SHARE && cores < GENERATOR_CORES;
    say(&format!(
        "{} {server}: file-server with {CLIENTS} clients fills the busier direction to {}, at least {} %, with \
         {cores:.2} cores in the generator, below {GENERATOR_CORES}, and {:.2} in the server",
        verdict(met),
        spread(share),
        100.0 * FILE_SERVER_SHARE,
        point.over(|point| point.link.server_cores)
    ));
    Ok(met)
}

fn spread([lowest, median, highest]: [f64; 3]) -> String {
    let percent = |share: f64| 100.0 * share;
    format!(
        "{:.1} % ({:.1} to {:.1})",
        percent(median),
        percent(lowest),
        percent(highest)
    )
}

fn verdict(met: bool) -> &'static str {
    if met { "holds      " } else { "falls short" }
}

impl iperf::Goodput {
    /// Returns the link rate in the measured direction.
    fn link_mbps(&self) -> f64 {
        self.link.busier_mbps()
    }
}

impl Yardstick {
    fn load(path: &Path) -> Result<Self, String> {
        let mut carried: Vec<iperf::Goodput> = lines(path)?;
        let mut of = |direction: &str| {
            let at = carried.iter().position(|one| one.direction == direction);
            at.map(|at| carried.swap_remove(at))
                .ok_or_else(|| format!("{}: nothing for {direction}", path.display()))
        };
        Ok(Self {
            up: of("up")?,
            down: of("down")?,
        })
    }

    /// Returns iperf3's result for the direction that a load point uses more.
    fn busier(&self, point: &PointResult) -> &iperf::Goodput {
        if point.link.up_mbps > point.link.down_mbps {
            &self.up
        } else {
            &self.down
        }
    }

    fn goodput_share(&self, point: &PointResult) -> f64 {
        point.up_mbps.max(point.down_mbps) / self.busier(point).goodput_mbps
    }

    fn link_share(&self, point: &PointResult) -> f64 {
        point.link.busier_mbps() / self.busier(point).link_mbps()
    }
}

/// Loads all rounds of a server, in their order.
fn rounds(folder: &Path, server: &str) -> Result<Vec<Round>, String> {
    let file =
        |round: u32, what: &str| folder.join(format!("round-{round:02}-{server}{what}.jsonl"));
    let paths: Vec<(PathBuf, PathBuf)> = (1..)
        .map(|round| (file(round, ""), file(round, "-iperf3")))
        .take_while(|(points, _)| points.exists())
        .collect();
    if paths.is_empty() {
        return Err(format!("{}: nothing of {server}", folder.display()));
    }
    let load = |(points, iperf3): &(PathBuf, PathBuf)| {
        Ok(Round {
            yardstick: Yardstick::load(iperf3)?,
            points: lines(points)?,
        })
    };
    paths.iter().map(load).collect()
}

/// Reads the values in a file with one value per line.
fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    let values = text.lines().map(serde_json::from_str);
    values
        .collect::<Result<_, _>>()
        .map_err(|error| failed(&error))
}
