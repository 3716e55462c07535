//! `smbench find sessions`: opens sessions until too many fail, and keeps them alive.

use smbench_engine::run::most_clients;
use smbench_model::login::Login;
use smbench_model::plan::Ramp;
use smbench_model::profile::Profile;
use smbench_model::spec::{GeneratorSpec, RunOptions, WorkSpec};
use smbench_model::target::Target;
use smbench_report::find::HeldMost;

use super::{carry_out_one, check_outputs, one};
use crate::args::FindSessionsArgs;
use crate::failure::{Exit, Failure};
use crate::output::complain;
use crate::request::{RunRequest, RunServer, embedded};
use crate::searching::Search;

/// The operation that proves that a session is alive.
const PROFILE: &str = "operations = [{ op = \"echo\", weight = 100 }]";

pub(super) fn find(args: &FindSessionsArgs) -> Result<Exit, Failure> {
    check_outputs(&args.output)?;
    // One session is that of the run.
    let request = request(args, args.max - 1)?;
    let (request, most) = within_this_machine(request, args)?;
    let search = Search::Sessions(args.until.clone(), most);
    carry_out_one(request, search, &args.output, args.details)
}

/// Checks the options for a search of at most `sessions`.
fn request(args: &FindSessionsArgs, sessions: u32) -> Result<RunRequest, Failure> {
    let profile = Profile::parse("sessions", PROFILE);
    let profile = profile.unwrap_or_else(|error| unreachable!("constant profile: {error}"));
    let options = RunOptions {
        work: WorkSpec {
            clients: Some(one(sessions)),
            think_time: Some(args.keep_alive),
            // One after another, so that the requests are spread evenly.
            ramp: Some(Ramp::Linear),
            ramp_up: Some(args.keep_alive),
            duration: Some(args.hold),
            ..WorkSpec::default()
        },
        generator: GeneratorSpec {
            setup_rate: args.setup_rate,
            threads: args.threads,
            ..GeneratorSpec::default()
        },
        sessions: args.connections.options(),
    };
    RunRequest::of(&profile, options, &args.server, &args.output)
}

/// Lowers the number of sessions to what this machine can hold, and says so.
fn within_this_machine(
    request: RunRequest,
    args: &FindSessionsArgs,
) -> Result<(RunRequest, HeldMost), Failure> {
    let target = match &request.server {
        RunServer::Embedded => embedded(),
        // Only its address matters here.
        RunServer::Given(server) => Target {
            login: Login::default(),
            ..server.target.clone()
        },
    };
    match most_clients(&request.plan(target))? {
        (_, None) => Ok((request, HeldMost::Asked)),
        (0, Some(error)) => Err(error.into()),
        (most, Some(error)) => {
            complain(format_args!(
                "the search ends at {most} sessions, as many as this machine can hold: {error}"
            ));
            let request = self::request(args, most)?;
            Ok((request, HeldMost::Machine(error.to_string())))
        }
    }
}
