//! The work of a run: what its clients do, how many they are, and for how long. Not
//! here: the requests of a client ([`crate::workload`]).

mod check;
mod digest;
mod population;
mod problem;
mod searched;
mod shares;
mod staged;

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::bounds::{DURATION_MIN, PERIOD_MAX, REPEAT_MAX};
use crate::contents::Verify;
use crate::digest::digested;
use crate::event::{PlannedEvent, default_window};
use crate::lists::clients::ClientList;
use crate::lists::rates::RateList;
use crate::load::{LoadModel, Ramp, Rate, Spacing};
use crate::options::{duration, from_text, options};
use crate::stages::Stages;
use crate::unit::LoadUnit;
use crate::units::Size;
use crate::workload::{Timing, Workload};
pub use population::Population;
pub use problem::WorkProblem;
pub(crate) use shares::divided;

/// Default number of clients of a run with several rates.
const CLIENTS_AT_RATES: u32 = 64;
/// Default length of the measured window.
pub(crate) const WINDOW: Duration = Duration::from_secs(3);
/// Default time limit of work that ends when it is done.
const LIMIT: Duration = Duration::from_secs(3600);

options! {
    /// The options of the work as written.
    WorkSpec {
        /// Clients at each load point, each 1 to
        /// [`CLIENTS_MAX`](crate::lists::clients::CLIENTS_MAX); 1, 4, 8 and 16 when
        /// absent, 64 with several rates.
        clients: ClientList,
        /// Units at each load point, where the profile has a unit. Ten load points, of 1 to 10
        /// units, when absent.
        units: ClientList,
        /// Requests that each client keeps in flight, 1 to
        /// [`OUTSTANDING_MAX`](crate::bounds::OUTSTANDING_MAX); 1 when
        /// absent. With a rate or a think time it is a maximum. A loadfile has always 1.
        outstanding: u32,
        /// Operations per second, such as `5000` or `50/client`, from
        /// [`RATE_MIN`](crate::load::RATE_MIN) to [`RATE_MAX`](crate::load::RATE_MAX).
        /// Several, such as `1000..5000:1000`, make a load point each, of one number of
        /// clients. A closed loop when absent.
        rate: RateList,
        /// How arrivals at a rate are spaced: `constant` (when absent) or `poisson`.
        arrivals: Spacing,
        /// Mean time between the end of an operation and the next one, at most
        /// [`THINK_TIME_MAX`](crate::load::THINK_TIME_MAX); none when absent.
        #[serde(deserialize_with = "duration")]
        #[written(String)]
        think_time: Duration,
        /// How think times vary: `fixed` (when absent) or `exponential`.
        think_distribution: Spacing,
        /// When operations of a replay begin: `fast` (when absent) or `recorded`.
        timing: Timing,
        /// How many times as fast as recorded a replay is, at most 1000; 1 when absent.
        speed: f64,
        /// How often each client replays the recording, or works through its files in a mix
        /// of nothing but `stat`, `copy_in`, `copy_out`, `lookup_missing`, `list` or `walk`; at
        /// least once. The load point then ends. When absent, clients repeat it until the window
        /// and the ramp-down are over. Without a window, a capture is replayed once.
        loops: u32,
        /// How the number of clients or the rate changes under one load, such as
        /// `2m:50,10m:500,2m:0` or `10m:5000/s` ([`Stages`]). Each stage is a load point.
        /// `clients`, or `rate` for a rate, is then the level at the start; 0 when absent.
        #[serde(deserialize_with = "from_text")]
        #[written(String)]
        stages: Stages,
        /// Length of a soak: one load of one number of clients, with a row per minute and trends
        /// of what it shows. None when absent.
        #[serde(deserialize_with = "duration")]
        #[written(String)]
        soak: Duration,
        /// How clients begin: `full` (when absent) or `linear`, which requires a
        /// ramp-up.
        ramp: Ramp,
        /// Length of the measured window, [`DURATION_MIN`] to [`PERIOD_MAX`]; when absent 3 s,
        /// or with events until 30 s after the last one. With `loops` and in a `fileio` test
        /// it is only a limit, and 1 h when absent.
        #[serde(deserialize_with = "duration")]
        #[written(String)]
        duration: Duration,
        /// Longest window, at most [`PERIOD_MAX`]: the window is extended until the load is
        /// steady ([`Steadiness`](crate::steadiness::Steadiness)). Never extended when absent.
        #[serde(deserialize_with = "duration")]
        #[written(String)]
        until_steady: Duration,
        /// Time under load before the window, at most [`PERIOD_MAX`]. With a linear
        /// `ramp` clients join in it. Otherwise the load is full. When absent it is
        /// 1 s, but 0 with `loops` and in a `fileio` test.
        #[serde(deserialize_with = "duration")]
        #[written(String)]
        ramp_up: Duration,
        /// Time at full load after the window, at most [`PERIOD_MAX`]. When absent it
        /// is 500 ms, but 0 with `loops` and in a `fileio` test.
        #[serde(deserialize_with = "duration")]
        #[written(String)]
        ramp_down: Duration,
        /// Passes over the series of load points, 1 to [`REPEAT_MAX`]; 1 when absent.
        repeat: u32,
        /// Seed of every random choice, any number; 1 when absent.
        seed: u64,
        /// Whether data is verified; `true` or `false` in a file.
        #[serde(deserialize_with = "verify")]
        #[written(bool)]
        verify: Verify,
    }
    never in a file {
        /// Bytes in each file; overrides `[files]`.
        file_size: Size,
        /// What is done at instants of each window. Files are passed on, so they have none.
        event: Vec<PlannedEvent>,
    }
}

fn verify<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Verify>, D::Error> {
    Ok(Some(if bool::deserialize(deserializer)? {
        Verify::ReadBack
    } else {
        Verify::Off
    }))
}

impl WorkSpec {
    /// Drops the load model if the options of `chosen` have one. One load model
    /// replaces another as a whole.
    pub(crate) fn without_load_of(mut self, chosen: &Self) -> Self {
        if chosen.think_time.is_some() {
            (self.rate, self.arrivals) = (None, None);
        }
        if chosen.rate.is_some() || chosen.has_stages_of_rate() {
            (self.think_time, self.think_distribution) = (None, None);
        }
        self
    }
}

digested! {
    /// The work of a run. Runs of equal work can be compared.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Work {
        /// Name of the profile the work came from.
        pub profile: String => none,
        /// The populations of clients, which are under load at the same time; at least one.
        /// Most runs have one.
        pub populations: Vec<Population> => with(digest::add_populations),
        /// What load points count in place of clients, if the profile says so.
        pub unit: Option<LoadUnit> => none,
        /// How often the whole series of load points is run, 1 to [`REPEAT_MAX`].
        pub repeat: u32 => always("repeat", repeat),
        /// Longest window, if it is extended until the load is steady; at least `duration`.
        pub until_steady: Option<Duration>
            => given("until_steady_ns", until_steady.map(|most| most.as_nanos())),
        /// How the load changes under one load point of all its clients, if it does. Each stage
        /// is then recorded as a load point of its own.
        pub stages: Option<Stages> => given("stages", stages.as_ref().map(Stages::to_string)),
        /// Unmeasured time under load before the measured window, 0 to [`PERIOD_MAX`].
        /// With [`Ramp::Linear`] it is more than 0, and clients join in it. Otherwise
        /// the load is full.
        pub ramp_up: Duration => always("ramp_up_ns", ramp_up.as_nanos()),
        /// Length of the measured window, [`DURATION_MIN`] to [`PERIOD_MAX`].
        pub duration: Duration => always("duration_ns", duration.as_nanos()),
        /// Unmeasured time at full load after the measured window, 0 to [`PERIOD_MAX`].
        pub ramp_down: Duration => always("ramp_down_ns", ramp_down.as_nanos()),
        /// Seed of every random choice.
        pub seed: u64 => always("seed", seed),
        /// What is done at instants of each window, in their order.
        pub events: Vec<PlannedEvent> => given("events", digest::texts(events)),
    }
}

impl Work {
    /// Returns the only population. Ask it only where a plan has one, or was made from one of
    /// several ([`Plan::alone`](crate::Plan::alone)).
    ///
    /// # Panics
    /// If there is none, or more than one: what is true of one would be said of all.
    #[must_use]
    pub fn only(&self) -> &Population {
        let [population] = &self.populations[..] else {
            unreachable!("only a plan with one population is asked for it");
        };
        population
    }

    /// Returns the only population, where a plan may have several. `why` says what needs one.
    ///
    /// # Errors
    /// [`WorkProblem::Populations`], unless there is exactly one.
    pub fn sole(&self, why: &'static str) -> Result<&Population, WorkProblem> {
        match &self.populations[..] {
            [population] => Ok(population),
            _ => Err(WorkProblem::Populations(why)),
        }
    }

    /// Returns the only population, to change it.
    ///
    /// # Panics
    /// As [`Self::only`].
    pub fn only_mut(&mut self) -> &mut Population {
        let [population] = &mut self.populations[..] else {
            unreachable!("only a plan with one population is asked for it");
        };
        population
    }

    /// Returns the clients of all populations together at each load point, in the order they
    /// run.
    #[must_use]
    pub fn load_points(&self) -> Vec<u32> {
        let mut points = Vec::new();
        for population in &self.populations {
            points.resize(points.len().max(population.clients.len()), 0);
            for (sum, clients) in points.iter_mut().zip(&population.clients) {
                *sum += clients;
            }
        }
        points
    }

    /// Returns the rates of the load points, where they differ in it; otherwise none.
    #[must_use]
    pub fn rates(&self) -> &[Rate] {
        match &self.populations[..] {
            [population] => &population.rates,
            _ => &[],
        }
    }

    /// Returns the seed of the random choices of the only population.
    #[must_use]
    pub fn drawing_seed(&self) -> u64 {
        self.only().seed(self.seed)
    }

    /// Returns the clients of each load point, and its rate where load points differ in it,
    /// in the order they run.
    #[must_use]
    pub fn loads(&self) -> Vec<(u32, Option<Rate>)> {
        let clients = self.load_points().into_iter();
        match self.rates() {
            [] => clients.map(|clients| (clients, None)).collect(),
            rates => clients
                .flat_map(|clients| rates.iter().map(move |rate| (clients, Some(*rate))))
                .collect(),
        }
    }

    /// Fills in the defaults.
    pub(crate) fn of(
        written: WorkSpec,
        profile: String,
        workload: Workload,
        load: LoadModel,
        rates: Vec<Rate>,
    ) -> Self {
        let mut events = written.event.unwrap_or_default();
        events.sort_by_key(|event| event.at);
        // A counted replay and a `fileio` test end when their work is done; the
        // duration is only a limit.
        let (ramp_up, duration, ramp_down) =
            if written.loops.is_some() || workload.fileio().is_some() {
                (Duration::ZERO, LIMIT, Duration::ZERO)
            } else {
                (
                    Duration::from_secs(1),
                    default_window(&events).unwrap_or(WINDOW),
                    Duration::from_millis(500),
                )
            };
        let population = Population {
            name: None,
            profile: profile.clone(),
            share: None,
            per_unit: None,
            caching: None,
            session: None,
            credits: None,
            sources: None,
            count: written.loops.and_then(|loops| workload.actions_of(loops)),
            clients: workload.clients(match written.clients {
                Some(list) => list.into(),
                None if !rates.is_empty() => vec![CLIENTS_AT_RATES],
                None => {
                    let fewest = workload.fewest_clients();
                    let mut points = [1, 4, 8, 16].map(|clients| fewest.max(clients)).to_vec();
                    points.dedup();
                    points
                }
            }),
            outstanding: written.outstanding.unwrap_or_else(|| workload.in_flight()),
            workload,
            load,
            rates,
            stages: None,
            start: Duration::ZERO,
            ramp: written.ramp.unwrap_or_default(),
            verify: written.verify.unwrap_or_default(),
        };
        Self {
            profile,
            populations: vec![population],
            unit: None,
            repeat: written.repeat.unwrap_or(1),
            ramp_up: written.ramp_up.unwrap_or(ramp_up),
            duration: written.duration.unwrap_or(duration),
            until_steady: written.until_steady,
            stages: None,
            ramp_down: written.ramp_down.unwrap_or(ramp_down),
            seed: written.seed.unwrap_or(1),
            events,
        }
    }

    /// Finds the first number out of bounds. The error names its option.
    pub(crate) fn check(&self) -> Result<(), (&'static str, WorkProblem)> {
        for population in &self.populations {
            population.check()?;
        }
        Population::check_together(&self.populations).map_err(|problem| ("clients", problem))?;
        match self.repeat {
            0 => return Err(("repeat", WorkProblem::RepeatZero)),
            1..=REPEAT_MAX => {}
            repeat => return Err(("repeat", WorkProblem::RepeatTooLarge(repeat))),
        }
        if self.duration < DURATION_MIN {
            return Err(("duration", WorkProblem::DurationShort(self.duration)));
        }
        let is_counted = self.populations.iter().any(|one| one.count.is_some());
        if is_counted && !(self.ramp_up + self.ramp_down).is_zero() {
            let why = "everything is measured; give 0s for ramp_up and ramp_down";
            return Err(("count", WorkProblem::Count(why)));
        }
        let mut ramps = self.populations.iter().map(|population| population.ramp);
        if ramps.any(|ramp| ramp == Ramp::Linear) && self.ramp_up.is_zero() {
            return Err(("ramp", WorkProblem::NoRampUp));
        }
        let end = self.ramp_up + self.duration;
        if let Some(late) = self.populations.iter().find(|one| one.start >= end) {
            let (name, start) = (late.name.clone(), late.start);
            let name = name.unwrap_or_default();
            return Err(("start", WorkProblem::StartLate { name, start, end }));
        }
        for (name, period) in [
            ("duration", self.duration),
            ("until_steady", self.until_steady.unwrap_or_default()),
            ("ramp_up", self.ramp_up),
            ("ramp_down", self.ramp_down),
        ] {
            if period > PERIOD_MAX {
                return Err((name, WorkProblem::PeriodTooLong { name, period }));
            }
        }
        self.check_events().map_err(|problem| ("event", problem))?;
        self.check_until_steady()
            .map_err(|problem| ("until_steady", problem))
    }

    /// Returns whether the window ends when the work is done, as in a replay with
    /// `loops`.
    fn ends_with_its_work(&self) -> bool {
        let mut populations = self.populations.iter();
        populations.any(Population::ends_with_its_work)
    }

    /// Returns whether clients have work to do after the load, such as final flushes.
    #[must_use]
    pub fn closes(&self) -> bool {
        let mut populations = self.populations.iter();
        populations.any(|population| population.workload.closes())
    }

    /// Returns the length of the longest possible window.
    #[must_use]
    pub fn longest_window(&self) -> Duration {
        self.until_steady.unwrap_or(self.duration)
    }

    /// Returns the number of load points of a pass.
    #[must_use]
    pub fn points_per_pass(&self) -> usize {
        self.loads().len()
    }
}
