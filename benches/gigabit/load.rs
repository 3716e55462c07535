//! Load points of smbench over the link.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use smbench_benches::plan_for;
use smbench_engine::Cancel;
use smbench_engine::run::{Observer, Progress, Stage, execute};
use smbench_model::kind::Direction;
use smbench_model::record::RunRecord;
use smbench_model::sessions::Mode;
use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec, WorkSpec};

use crate::sample::{CounterPlace, LinkRates, Sample};
use crate::say;

/// The result of one load point.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PointResult {
    pub(crate) profile: String,
    pub(crate) clients: u32,
    pub(crate) ops_per_s: f64,
    /// Written application data in Mbit/s (10^6 bits).
    pub(crate) up_mbps: f64,
    /// Read application data in Mbit/s (10^6 bits).
    pub(crate) down_mbps: f64,
    /// CPU seconds per second of the generator.
    pub(crate) generator_cores: f64,
    pub(crate) link: LinkRates,
}

/// Reads the counters during the windows. Keeps the first and the last reading
/// of each load point.
struct CounterWatch<'a> {
    place: CounterPlace<'a>,
    /// The first and last reading, by load point.
    seen: Vec<(Sample, Sample)>,
    problem: Option<String>,
}

impl Observer for CounterWatch<'_> {
    fn progress(&mut self, progress: &Progress) {
        let Progress::Running {
            point,
            stage: Stage::Measuring,
            ..
        } = progress
        else {
            return;
        };
        let sample = match self.place.sample() {
            Ok(sample) => sample,
            Err(problem) => {
                self.problem = Some(problem);
                return;
            }
        };
        match self.seen.get_mut(point.number as usize - 1) {
            Some((_, last)) => *last = sample,
            None => self.seen.push((sample, sample)),
        }
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

pub(crate) fn run(netns: &str, url: &str, what: [&str; 3], pid: &str) -> Result<(), String> {
    let [profile, clients, seconds] = what;
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no number"));
    let options = RunOptions {
        work: WorkSpec {
            clients: Some(
                clients
                    .parse()
                    .map_err(|error| format!("{clients}: {error}"))?,
            ),
            duration: Some(Duration::from_secs(number(seconds)?)),
            ramp_up: Some(Duration::from_secs(1)),
            ramp_down: Some(Duration::from_millis(500)),
            ..WorkSpec::default()
        },
        generator: GeneratorSpec {
            threads: Some(1),
            ..GeneratorSpec::default()
        },
        sessions: SessionsSpec {
            sign: Some(Mode::Off),
            ..SessionsSpec::default()
        },
    };
    let password = std::env::var("SMBENCH_PASSWORD").map_err(|_| "SMBENCH_PASSWORD is not set")?;
    let plan = plan_for(url, &password, profile, &options)?;
    let mut watch = CounterWatch {
        place: CounterPlace {
            netns,
            server: Some(
                pid.parse()
                    .map_err(|_| format!("`{pid}` is no process id"))?,
            ),
        },
        seen: Vec::new(),
        problem: None,
    };
    let record =
        execute(&plan, &mut watch, &Cancel::default()).map_err(|error| error.to_string())?;
    if let Some(problem) = watch.problem {
        return Err(problem);
    }
    for (point, (first, last)) in record.load_points.iter().zip(&watch.seen) {
        if let Some(why) = &point.invalid {
            return Err(format!("{} clients: {why}", point.clients));
        }
        let window_s = point.window.as_secs_f64();
        let mbps = |direction| point.ops.window_bytes(direction) as f64 * 8e-6 / window_s;
        let cpu = point.client.cpu_user + point.client.cpu_system;
        let carried = PointResult {
            profile: plan.work.profile.clone(),
            clients: point.clients,
            ops_per_s: point.ops.window_all().count() as f64 / window_s,
            up_mbps: mbps(Direction::Write),
            down_mbps: mbps(Direction::Read),
            generator_cores: cpu.as_secs_f64() / window_s,
            link: LinkRates::between(first, last)?,
        };
        say(&serde_json::to_string(&carried).map_err(|error| error.to_string())?);
    }
    Ok(())
}
