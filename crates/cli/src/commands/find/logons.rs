//! `smbench find logons`: raises the rate of complete log-ons until too many fail.

use smbench_formats::profile;
use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec, WorkSpec};
use smbench_report::doc::FindKind;
use smbench_report::{Find, Threshold};

use super::{Search, carry_out_one, one, spec, total};
use crate::args::FindLogonsArgs;
use crate::failure::{Exit, Failure};
use crate::request::RunRequest;

/// The built-in profile whose only operation is a complete log-on.
const PROFILE: &str = "logons";

pub(super) fn find(args: &FindLogonsArgs) -> Result<Exit, Failure> {
    let spec = spec(FindKind::Logons, &args.search)?;
    let options = RunOptions {
        work: WorkSpec {
            clients: Some(one(args.clients)),
            rate: Some(total(spec.start)),
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
    let failures = Threshold::failed_below(args.until.share() * 100.0);
    let limits = [vec![failures], args.search.slo.clone()].concat();
    let find = Find::new(FindKind::Logons, spec, limits);
    carry_out_one(request, Search::Load(find), &args.output, args.details)
}
