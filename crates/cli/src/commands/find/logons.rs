//! `smbench find logons`: raises the rate of complete log-ons until too many fail.

use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec};
use smbench_report::doc::FindKind;

use super::{carry_out_one, check_outputs};
use crate::args::FindLogonsArgs;
use crate::failure::{Exit, Failure};
use crate::hosts::Hosts;
use crate::requests;
use crate::searching::Search;
use crate::searching::loads::{OptionNames, check_plan, spec};
use crate::searching::logons::LogonSearch;

pub(super) fn find(args: &FindLogonsArgs, hosts: &Hosts) -> Result<Exit, Failure> {
    check_outputs(&args.output)?;
    let spec = spec(
        FindKind::Logons,
        &args.search.range(),
        OptionNames::Settings,
    )?;
    let search = LogonSearch {
        until: args.until.clone(),
        slo: args.search.slo.clone(),
        hold: args.hold,
        clients: args.clients,
        arrivals: args.arrivals,
    };
    let options = RunOptions {
        work: search.work(&spec),
        generator: GeneratorSpec {
            threads: args.threads,
            ..GeneratorSpec::default()
        },
        sessions: SessionsSpec {
            source_ip: args.source_ip.clone(),
            ..SessionsSpec::default()
        },
    };
    let profile = LogonSearch::profile()?;
    let request = requests::of(&profile, options, &args.server, &args.output)?;
    let find = search.find(spec);
    check_plan(find.limits(), &request.draft)?;
    carry_out_one(
        request,
        Search::Load(find),
        &args.output,
        args.details,
        hosts,
    )
}
