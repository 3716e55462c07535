//! The worker loop and everything around it, with a driver that answers at once.
//!
//! Each case is a whole run on one thread, which ends after a number of operations.
//! The other costs of a run are almost the same for few and for many operations.

use std::task::{Context, Poll};
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::driver::{
    Busy, Call, Connector, Driver, Dropped, Null, NullDriver, Opened, Scratch, Sink,
};
use smbench_engine::run::SessionError;
use smbench_engine::run::{PlannedRun, Unobserved, execute};
use smbench_formats::profile;
use smbench_model::Nanos;
use smbench_model::bounds::PERIOD_MAX;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::ServerFacts;
use smbench_model::spec::{GeneratorSpec, RunOptions, WorkSpec};
use smbench_model::target::Target;

const PROFILE: &str = "file-server";
const CLIENTS: u64 = 4;

/// The null target, with a number of operations per client.
#[derive(Clone)]
struct Ending(u64);

struct EndingDriver {
    null: NullDriver,
    left: u64,
}

impl Connector for Ending {
    type Driver = EndingDriver;

    async fn open(&self, clients: &[u32]) -> Result<Opened<EndingDriver>, SessionError> {
        let null = Null.open(clients).await?;
        let driver = EndingDriver {
            null: null.driver,
            left: self.0,
        };
        Ok(Opened::new(driver, 0, null.session_setup))
    }
}

impl Driver for EndingDriver {
    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        self.null.submit(call, scratch, data)
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        match self.left {
            0 => Poll::Ready(Err(Dropped::Other(
                "the server closed the connection".into(),
            ))),
            _ => self.null.poll_receive(context, scratch),
        }
    }

    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        self.left = self.left.saturating_sub(received as u64);
        self.null.take_answers(received, now, scratch, sink)
    }
}

/// Returns a built-in profile for a run on one thread that its target ends.
pub(crate) fn endless(name: &str, clients: u64, options: RunOptions) -> Result<Profile, String> {
    without_end(load(name)?, clients, options)
}

fn load(name: &str) -> Result<Profile, String> {
    profile::load(name).map_err(|error| error.to_string())
}

/// Returns the profile for such a run.
fn without_end(mut profile: Profile, clients: u64, options: RunOptions) -> Result<Profile, String> {
    profile.spec.run = RunOptions {
        work: WorkSpec {
            clients: Some(clients.to_string().parse().map_err(|_| "a number")?),
            // Intervals are long, because the cost of their ends depends on the
            // machine's speed.
            duration: Some(PERIOD_MAX),
            ramp_up: Some(Duration::ZERO),
            ramp_down: Some(Duration::ZERO),
            ..options.work
        },
        generator: GeneratorSpec {
            threads: Some(1),
            ..options.generator
        },
        ..options
    };
    Ok(profile)
}

/// Runs `operations` operations with these options.
pub(crate) fn run(operations: u64, options: RunOptions) -> Result<(), String> {
    let profile = endless(PROFILE, CLIENTS, options)?;
    run_clients(operations, CLIENTS, &profile)
}

/// Runs `operations` operations of several equal populations, each with the work and the number
/// of clients of [`run`].
pub(crate) fn run_populations(operations: u64, populations: u8) -> Result<(), String> {
    let share = 100.0 / f64::from(populations);
    let table = |number| {
        format!(
            "[[population]]\nname = \"part{number}\"\nprofile = \"{PROFILE}\"\nshare = {share}\n"
        )
    };
    let tables: String = (0..populations).map(table).collect();
    let profile = Profile::parse("populations", &tables).map_err(|error| error.to_string())?;
    let profile = Profile {
        populations: vec![load(PROFILE)?; populations.into()],
        ..profile
    };
    let clients = CLIENTS * u64::from(populations);
    let profile = without_end(profile, clients, RunOptions::default())?;
    run_clients(operations, clients, &profile)
}

/// Runs `operations` operations of a profile with this many clients.
fn run_clients(operations: u64, clients: u64, profile: &Profile) -> Result<(), String> {
    let plan = Plan::of(profile, Target::none()).map_err(|error| error.to_string())?;
    let (server, cancel) = (ServerFacts::other("null://here"), Cancel::default());
    let target = Ending(operations / clients);
    let run = PlannedRun::of(&plan).drawn_on_target(server, target);
    let record = execute(run, &mut Unobserved, &cancel).map_err(|error| error.to_string())?;
    match record
        .load_points
        .first()
        .map(|point| point.ops.window_all().count())
    {
        Some(done) if done >= operations => Ok(()),
        done => Err(format!("{done:?} operations instead of {operations}")),
    }
}
