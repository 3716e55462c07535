//! The options of `gate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use smbench_model::units::parse_duration;
use smbench_report::compare::Condition;
use smbench_runner::lab_facts::parse_option;

use super::document::DocumentArgs;
use super::server::SecretArgs;
use super::value::{not_a_server, paths, whole_within};

pub(super) const EXAMPLES: &str = "\
Examples:
  smbench lab samba -- smbench run -c 4 -d 3s --repeat 5 --json before.json
  smbench gate before.json --lab ~/samba/bin/smbd --fail-if 'p99 > +10%'
  git bisect run sh -c 'make || exit 125; smbench gate before.json --lab bin/smbd \\
    --baseline-smbd /usr/sbin/smbd --fail-if \"mean > +10%\"'

Each pass has a server of its own. The work and the load points are those of the baseline, whose
command is read again. With --baseline-smbd, passes of both builds alternate, so that other work of
this machine slows down both. Otherwise the passes of BASELINE count, and what has become slower
since then counts as a change.

Conditions have the form of `smbench compare`. After 3 passes each, the gate looks after every
pass. It passes if the passes could have shown such a change. It fails if the change is beyond the
limit, and so far from noise that one gate in 1000 of an unchanged build fails.

Exit codes, as `git bisect run` wants them:
  0    passed
  1    a condition failed
  2    invalid command line or baseline
  125  cannot tell: the passes do not suffice, the server did not start, or a pass is not valid
  130  interrupted";

pub(super) const USAGE: &str = "\
smbench gate [OPTIONS] --fail-if <CONDITION> <BASELINE> <URL>
       smbench gate [OPTIONS] --fail-if <CONDITION> <BASELINE> --lab <SMBD|URL>";

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// Result document of `smbench run`: the work, and the passes to compare with
    #[arg(value_name = "BASELINE", value_parser = baseline())]
    pub(crate) baseline: PathBuf,
    #[command(flatten)]
    pub(crate) candidate: CandidateArgs,
    #[command(flatten)]
    pub(crate) secrets: SecretArgs,
    /// Alternate with passes of this smbd, and compare with these instead of BASELINE's
    #[arg(long, value_name = "SMBD", requires = "lab", value_parser = paths())]
    pub(crate) baseline_smbd: Option<PathBuf>,
    /// Line for the global section of smb.conf of both, for example 'strict sync = no'; can be
    /// repeated
    #[arg(long = "option", value_name = "LINE", requires = "lab", value_parser = parse_option)]
    pub(crate) options: Vec<String>,
    /// Fail (exit code 1) if this change is shown, for example 'p99 > +10%' or 'throughput < -5%';
    /// can be repeated
    #[arg(long, value_name = "CONDITION", required = true)]
    pub(crate) fail_if: Vec<Condition>,
    /// Highest number of passes of each side, 3 or more
    #[arg(long, value_name = "NUMBER", default_value_t = 30, value_parser = whole_within(3..=1000))]
    pub(crate) passes: u32,
    /// Begin no further pass after this time
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    pub(crate) limit: Duration,
    /// Folder for the result documents; each pass adds one
    #[arg(long, value_name = "DIR", default_value = "smbench-results", value_parser = paths())]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) document: DocumentArgs,
}

/// Parses the path of the baseline, which comes before the server.
fn baseline() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text| {
        not_a_server(PathBuf::from(text))
            .map_err(|_| "write the file of the baseline before the URL of the server")
    })
}

/// The server to judge, in one of two ways.
#[derive(Debug, Args)]
#[group(id = "server", required = true, multiple = false)]
pub(crate) struct CandidateArgs {
    // Not doc comments, because rustdoc would treat the brackets as links. Strings, because
    // clap would repeat a password in its message about a bad value.
    #[arg(
        value_name = "URL",
        help = "Server to judge: smb://[DOMAIN;]USER@HOST[:PORT]/SHARE[/PATH]"
    )]
    pub(crate) url: Option<String>,
    #[arg(
        long,
        value_name = "SMBD|URL",
        help = "Build of Samba to judge: its smbd, or a program that runs one; or a URL"
    )]
    pub(crate) lab: Option<String>,
}

/// The server to judge.
pub(crate) enum Candidate<'a> {
    Smbd(&'a str),
    Url(&'a str),
}

impl CandidateArgs {
    /// Returns the server. One of the two is given.
    pub(crate) fn given(&self) -> Candidate<'_> {
        let is_url = |text: &&str| {
            text.contains("://") || text.starts_with(['\\']) || text.starts_with("//")
        };
        let lab = self.lab.as_deref();
        match (self.url.as_deref().or(lab.filter(is_url)), lab) {
            (Some(url), _) => Candidate::Url(url),
            (None, smbd) => Candidate::Smbd(smbd.unwrap_or_default()),
        }
    }
}
