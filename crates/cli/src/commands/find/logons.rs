//! `smbench find logons`: raises the rate of complete log-ons until too many fail.

use smbench_formats::profile;
use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec, WorkSpec};
use smbench_report::Find;
use smbench_report::doc::FindKind;

use super::{carry_out_one, check_limits, check_outputs, one, spec};
use crate::args::FindLogonsArgs;
use crate::failure::{Exit, Failure};
use crate::request::RunRequest;
use crate::searching::{Search, total};

/// The built-in profile whose only operation is a complete log-on.
const PROFILE: &str = "logons";

pub(super) fn find(args: &FindLogonsArgs) -> Result<Exit, Failure> {
    check_outputs(&args.output)?;
    let spec = spec(FindKind::Logons, &args.search)?;
    let options = RunOptions {
        work: WorkSpec {
            clients: Some(one(args.clients)),
            rate: Some(total(spec.start).into()),
            arrivals: args.arrivals,
            duration: Some(args.hold),
            ..WorkSpec::default()
        },
        generator: GeneratorSpec {
            threads: args.threads,
            ..GeneratorSpec::default()
        },
        sessions: SessionsSpec {
            source_ip: args.source_ip.clone(),
            ..SessionsSpec::default()
        },
    };
    let profile = profile::load(PROFILE)?;
    let request = RunRequest::of(&profile, options, &args.server, &args.output)?;
    let failures = args.until.on_operations();
    let limits = [vec![failures], args.search.slo.clone()].concat();
    check_limits(&limits, &request.draft)?;
    let find = Find::new(FindKind::Logons, spec, limits);
    carry_out_one(request, Search::Load(find), &args.output, args.details)
}
