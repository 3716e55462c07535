mod digests;
mod refusals;

use clap::Parser;

use super::*;
use crate::args::SuiteArgs;
use crate::requests::SuiteAccounts;

#[derive(Debug, Parser)]
struct SuiteLine {
    #[command(flatten)]
    args: SuiteArgs,
}

/// Resolves a suite with these options.
fn resolved(name_or_path: &str, options: &[&str]) -> Result<Suite, Failure> {
    let line = [&["suite", name_or_path], options].concat();
    let args = SuiteLine::parse_from(line).args;
    Suite::resolve(
        &Source::load(name_or_path)?,
        &args.options(),
        &SuiteAccounts,
    )
}

/// A scratch Samba serves CIFS where its clients speak it.
#[test]
fn samba_serves_cifs_where_it_is_asked_for() {
    let settings = |options: &[&str]| {
        let suite = resolved("veritest-2004", options).unwrap();
        let servers = suite.study.servers.into_iter();
        servers.map(|server| server.settings).collect::<Vec<_>>()
    };
    let cifs = "server min protocol = NT1";
    for settings in settings(&["--dialect", "cifs"]) {
        assert!(settings.iter().any(|line| line == cifs), "{settings:?}");
    }
    for settings in settings(&[]) {
        assert!(!settings.iter().any(|line| line == cifs), "{settings:?}");
    }
}
