//! The searches of a suite: from a `[[find]]` table to what runs. They have the options and
//! defaults of `smbench find`. Not here: the steps of a search ([`crate::searching`]).

use std::time::Duration;

use smbench_formats::loadfile::Unknown;
use smbench_formats::profile;
use smbench_model::lists::clients::{CLIENTS_MAX, ClientList};
use smbench_model::profile::Profile;
use smbench_model::search::SearchSpec;
use smbench_model::spec::{RunOptions, WorkSpec};
use smbench_report::Find;
use smbench_report::doc::FindKind;
use smbench_report::find::{HeldLimit, HeldMost};
use smbench_report::study::StudySearchDoc;

use super::source::Source;
use super::spec::FindEntry;
use crate::failure::Failure;
use crate::searching::Search;
use crate::searching::defaults::{HOLD, KEEP_ALIVE, LOGON_CLIENTS, SearchRange, UNTIL};
use crate::searching::held::HeldSearch;
use crate::searching::loads::{self, OptionNames};
use crate::searching::logons::LogonSearch;

/// Longest times with `--quick`.
const QUICK_HOLD: Duration = Duration::from_secs(3);
const QUICK_KEEP_ALIVE: Duration = Duration::from_secs(1);
/// Highest number of probes of a search.
const PROBES_MAX: u32 = 1000;

/// How long the parts of a search take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchTimes {
    AsWritten,
    /// As `--quick` asks for.
    Quick,
}

impl SearchTimes {
    fn of(self, written: Duration, quick: Duration) -> Duration {
        match self {
            Self::AsWritten => written,
            Self::Quick => written.min(quick),
        }
    }
}

/// A search that is to run on each server.
#[derive(Clone, Debug)]
pub(super) struct SearchJob {
    pub(super) search: Search,
    pub(super) profile: Profile,
    pub(super) doc: StudySearchDoc,
    /// What the search sets of its work.
    fixed: WorkSpec,
    /// Its own options.
    pub(super) run: RunOptions,
}

impl SearchJob {
    /// Checks the search of a suite.
    pub(super) fn of(
        source: &Source,
        entry: &FindEntry,
        times: SearchTimes,
    ) -> Result<Self, Failure> {
        let refuse = |failure: Failure| {
            let origin = &source.origin;
            Failure::Usage(format!("suite {origin}, find `{}`: {failure}", entry.name))
        };
        if entry.name.trim().is_empty() {
            return Err(refuse(Failure::Usage("it needs a name".to_owned())));
        }
        check_keys(entry).map_err(refuse)?;
        let made = match entry.kind {
            FindKind::Sessions => of_sessions(entry, times),
            FindKind::Logons => of_logons(entry, times),
            FindKind::Rate | FindKind::Clients => of_load(source, entry),
        };
        made.map_err(refuse)
    }

    /// Returns the options of the search. `before` are those of the command line, and the
    /// times of `--quick`; `given` are those of the command line alone; `written` are those
    /// of the suite and the server.
    pub(super) fn options(
        &self,
        before: RunOptions,
        given: &RunOptions,
        written: RunOptions,
    ) -> RunOptions {
        let work = match self.doc.kind {
            FindKind::Rate | FindKind::Clients => {
                let work = RunOptions {
                    work: self.fixed.clone(),
                    ..RunOptions::default()
                };
                return before.or(work).or(written);
            }
            // The time of a rate, and its ramps.
            FindKind::Logons => WorkSpec {
                duration: given.work.duration.or(self.fixed.duration),
                ramp_up: before.work.ramp_up,
                ramp_down: before.work.ramp_down,
                ..self.fixed.clone()
            },
            // In the ramp-up the sessions send their first ECHO.
            FindKind::Sessions => WorkSpec {
                duration: given.work.duration.or(self.fixed.duration),
                ..self.fixed.clone()
            },
        };
        let others = RunOptions {
            work: WorkSpec::default(),
            ..before.or(written)
        };
        let mut options = RunOptions { work, ..others };
        if self.doc.kind == FindKind::Logons {
            // Each log-on has a connection of its own.
            let sessions = &mut options.sessions;
            (
                sessions.sessions_per_connection,
                sessions.connections_per_session,
            ) = (None, None);
        }
        options
    }
}

/// Fails if the search has keys that belong to another kind.
fn check_keys(entry: &FindEntry) -> Result<(), Failure> {
    use FindKind::{Clients, Logons, Rate, Sessions};
    let keys: [(&str, bool, &[FindKind]); 10] = [
        ("until", entry.until.is_some(), &[Sessions, Logons]),
        ("hold", entry.hold.is_some(), &[Sessions, Logons]),
        ("keep_alive", entry.keep_alive.is_some(), &[Sessions]),
        ("profile", entry.profile.is_some(), &[Rate, Clients]),
        ("slo", !entry.slo.is_empty(), &[Rate, Clients, Logons]),
        ("start", entry.start.is_some(), &[Rate, Clients, Logons]),
        (
            "precision",
            entry.precision.is_some(),
            &[Rate, Clients, Logons],
        ),
        ("confirm", entry.confirm.is_some(), &[Rate, Clients, Logons]),
        ("probes", entry.probes.is_some(), &[Rate, Clients, Logons]),
        ("curve", entry.curve.is_some(), &[Rate]),
    ];
    let kind = entry.kind.key();
    let mut stray = keys.into_iter();
    let stray = stray.find(|(_, is_given, kinds)| *is_given && !kinds.contains(&entry.kind));
    if let Some((key, _, kinds)) = stray {
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.key()).collect();
        return Err(Failure::Usage(format!(
            "kind = \"{kind}\" has no {key}: that is for {}",
            kinds.join(", ")
        )));
    }
    let RunOptions {
        work,
        generator,
        sessions,
    } = &entry.run;
    let allowed: &[&str] = match entry.kind {
        Rate | Clients => return Ok(()),
        Logons => &["clients", "arrivals", "threads", "pin_threads"],
        Sessions => &["setup_rate", "threads", "pin_threads"],
    };
    let of_logons = |key: &&str| {
        let of_connections = ["sessions_per_connection", "connections_per_session"];
        entry.kind == Logons && of_connections.contains(key)
    };
    let others = work.given().chain(generator.given());
    let mut stray = others.filter(|key| !allowed.contains(key));
    let stray = stray.next().or_else(|| sessions.given().find(of_logons));
    match stray {
        Some(key) => Err(Failure::Usage(format!(
            "kind = \"{kind}\" has no {key} in its run: it takes {} and options of sessions",
            allowed.join(", ")
        ))),
        None => Ok(()),
    }
}

fn until(entry: &FindEntry) -> HeldLimit {
    let default = || UNTIL.parse();
    let limit = entry.until.clone().map_or_else(default, Ok);
    limit.unwrap_or_else(|error| unreachable!("valid default: {error}"))
}

/// Returns a time of the suite, or the default of `smbench find`.
fn time(written: Option<Duration>, default: &str) -> Duration {
    let default = || smbench_model::units::parse_duration(default);
    let time = written.map_or_else(default, Ok);
    time.unwrap_or_else(|error| unreachable!("valid default: {error}"))
}

fn of_sessions(entry: &FindEntry, times: SearchTimes) -> Result<SearchJob, Failure> {
    let max = entry.max.unwrap_or(f64::from(CLIENTS_MAX));
    if max.fract() != 0.0 || !(2.0..=f64::from(CLIENTS_MAX)).contains(&max) {
        return Err(Failure::Usage(format!(
            "max is {max}: give 2 to {CLIENTS_MAX} sessions"
        )));
    }
    let held = HeldSearch {
        max: max as u32,
        hold: times.of(time(entry.hold, HOLD), QUICK_HOLD),
        keep_alive: times.of(time(entry.keep_alive, KEEP_ALIVE), QUICK_KEEP_ALIVE),
    };
    held.check(OptionNames::Keys)?;
    let until = until(entry);
    Ok(SearchJob {
        doc: StudySearchDoc {
            profile: entry.name.clone(),
            kind: FindKind::Sessions,
            limit: vec![until.to_string()],
            start: None,
            max,
            precision: None,
            confirmations: None,
            confirmations_of: None,
            probes: None,
            curve: None,
        },
        search: Search::Sessions(until, HeldMost::Asked),
        profile: HeldSearch::profile(),
        fixed: held.work(),
        run: entry.run.clone(),
    })
}

fn of_logons(entry: &FindEntry, times: SearchTimes) -> Result<SearchJob, Failure> {
    let spec = spec(entry)?;
    let clients = match entry.run.work.clients.as_ref().map(ClientList::as_slice) {
        None => LOGON_CLIENTS,
        Some([clients]) => *clients,
        Some(_) => {
            let message = "clients: a search for log-ons has one number of clients";
            return Err(Failure::Usage(message.to_owned()));
        }
    };
    let logons = LogonSearch {
        until: until(entry),
        slo: entry.slo.clone(),
        hold: times.of(time(entry.hold, HOLD), QUICK_HOLD),
        clients,
        arrivals: entry.run.work.arrivals,
    };
    let fixed = logons.work(&spec);
    Ok(of_find(
        entry,
        logons.find(spec),
        LogonSearch::profile()?,
        fixed,
    ))
}

fn of_load(source: &Source, entry: &FindEntry) -> Result<SearchJob, Failure> {
    let spec = spec(entry)?;
    loads::check(entry.kind, &entry.run.work, &entry.slo, OptionNames::Keys)?;
    let name = entry.profile.as_deref().unwrap_or(profile::DEFAULT);
    let profile = source.profile(name, Unknown::Refuse)?;
    let fixed = loads::work(entry.kind, &spec, entry.run.work.clients.clone());
    let (slo, names) = (entry.slo.clone(), OptionNames::Keys);
    let find = loads::find(entry.kind, spec, slo, entry.curve, names)?;
    Ok(of_find(entry, find, profile, fixed))
}

/// Returns the range of a search for a load.
fn spec(entry: &FindEntry) -> Result<SearchSpec, Failure> {
    let default = SearchRange::default();
    let args = SearchRange {
        precision: entry.precision.unwrap_or(default.precision),
        confirm: entry.confirm.unwrap_or(default.confirm),
        start: entry.start,
        max: entry.max,
        probes: entry.probes.unwrap_or(default.probes),
    };
    if !(1..=PROBES_MAX).contains(&args.probes) {
        let probes = args.probes;
        return Err(Failure::Usage(format!(
            "probes is {probes}: give 1 to {PROBES_MAX}"
        )));
    }
    loads::spec(entry.kind, &args, OptionNames::Keys)
}

fn of_find(entry: &FindEntry, find: Find, profile: Profile, fixed: WorkSpec) -> SearchJob {
    let spec = *find.spec();
    SearchJob {
        doc: StudySearchDoc {
            profile: entry.name.clone(),
            kind: entry.kind,
            limit: find.limits().iter().map(ToString::to_string).collect(),
            start: Some(spec.start),
            max: spec.max,
            precision: Some(spec.precision),
            confirmations: Some(spec.confirmations.held),
            confirmations_of: Some(spec.confirmations.of),
            probes: Some(spec.probes_max),
            curve: find.curve_points(),
        },
        search: Search::Load(find),
        profile,
        fixed,
        run: RunOptions {
            // Those that the search has read.
            work: WorkSpec {
                clients: None,
                ..entry.run.work.clone()
            },
            ..entry.run.clone()
        },
    }
}
