//! `smbench find sessions`: opens sessions until too many fail, and keeps them alive.

use smbench_model::login::Login;
use smbench_model::spec::{GeneratorSpec, RunOptions};
use smbench_model::target::Target;
use smbench_report::find::HeldMost;

use super::{carry_out_one, check_outputs};
use crate::args::FindSessionsArgs;
use crate::failure::{Exit, Failure};
use crate::hosts::Hosts;
use crate::output::complain;
use crate::request::{RunRequest, RunServer, embedded};
use crate::requests;
use crate::searching::Search;
use crate::searching::held::{HeldSearch, within_this_machine};
use crate::searching::loads::OptionNames;

pub(super) fn find(args: &FindSessionsArgs, hosts: &Hosts) -> Result<Exit, Failure> {
    check_outputs(&args.output)?;
    let search = HeldSearch {
        max: args.max,
        hold: args.hold,
        keep_alive: args.keep_alive,
    };
    search.check(OptionNames::Settings)?;
    let options = RunOptions {
        work: search.work(),
        generator: GeneratorSpec {
            setup_rate: args.setup_rate,
            threads: args.threads,
            ..GeneratorSpec::default()
        },
        sessions: args.connections.options(),
    };
    let profile = HeldSearch::profile();
    let mut request = requests::of(&profile, options, &args.server, &args.output)?;
    let most = bound(&mut request, hosts)?;
    let search = Search::Sessions(args.until.clone(), most);
    carry_out_one(request, search, &args.output, args.details, hosts)
}

/// Lowers the number of sessions to what this machine can hold, and says so.
fn bound(request: &mut RunRequest, hosts: &Hosts) -> Result<HeldMost, Failure> {
    let target = match &request.server {
        RunServer::Embedded => embedded(),
        // Only its address matters here.
        RunServer::Given(server) => Target {
            login: Login::default(),
            ..server.target.clone()
        },
    };
    let mut plan = hosts.with_part(request.plan(target));
    let (most, message) = within_this_machine(&mut plan)?;
    request.draft.only_mut().clients = plan.work.load_points();
    message.into_iter().for_each(complain);
    Ok(most)
}
