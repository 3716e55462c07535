//! Searches for a rate or for clients: their range, and the work of their probes.

use std::ops::RangeInclusive;

use smbench_model::lists::clients::{CLIENTS_MAX, ClientList};
use smbench_model::load::{RATE_MAX, RATE_MIN};
use smbench_model::plan::Plan;
use smbench_model::search::{Grain, SearchSpec};
use smbench_model::setting;
use smbench_model::spec::WorkSpec;
use smbench_model::unit::LoadUnit;
use smbench_report::doc::FindKind;
use smbench_report::{Find, Threshold};

use super::defaults::SearchRange;
use super::total;
use crate::failure::Failure;

/// Clients of a search for a rate.
const CLIENTS: u32 = 64;
/// First loads.
const FIRST_RATE: f64 = 1000.0;
const FIRST_LOGONS: f64 = 100.0;
const FIRST_CLIENTS: f64 = 4.0;
/// Clients that a search probes at most.
const MOST_CLIENTS: f64 = 1000.0;

/// How messages name an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionNames {
    /// As the users of this program write a setting.
    Settings,
    /// As a key of a file: `max`.
    Keys,
}

impl OptionNames {
    /// Returns the name of the option with this key.
    pub fn of(self, key: &str) -> String {
        match self {
            Self::Settings => setting::spelled(key),
            Self::Keys => key.to_owned(),
        }
    }
}

/// Returns the range and the precision of a search.
pub fn spec(kind: FindKind, args: &SearchRange, names: OptionNames) -> Result<SearchSpec, Failure> {
    let (min, first, most, top, grain) = match kind {
        FindKind::Rate => (1.0, FIRST_RATE, RATE_MAX, RATE_MAX, Grain::Fine),
        FindKind::Logons => (1.0, FIRST_LOGONS, RATE_MAX, RATE_MAX, Grain::Fine),
        FindKind::Clients | FindKind::Sessions => (
            1.0,
            FIRST_CLIENTS,
            MOST_CLIENTS,
            f64::from(CLIENTS_MAX),
            Grain::Steps(1),
        ),
    };
    let max = args.max.unwrap_or(most);
    let start = args.start.unwrap_or(first.min(max));
    for (key, load) in [("max", max), ("start", start)] {
        let name = names.of(key);
        if !(RATE_MIN.max(min)..=top).contains(&load) {
            let (least, most) = (kind.print(min), kind.print(top));
            let message = format!("{name} {load} is not from {least} to {most}");
            return Err(Failure::Usage(message));
        }
        if kind == FindKind::Clients && load.fract() != 0.0 {
            return Err(Failure::Usage(format!(
                "{name} {load} is not a number of clients"
            )));
        }
    }
    if start > max {
        let (start_name, max_name) = (names.of("start"), names.of("max"));
        return Err(Failure::Usage(format!(
            "{start_name} {start} is more than {max_name} {max}"
        )));
    }
    Ok(SearchSpec {
        start,
        min,
        max,
        grain,
        precision: args.precision,
        confirmations: args.confirm,
        probes_max: args.probes,
    })
}

/// Fewest and most points of a load curve.
const CURVE_POINTS: RangeInclusive<u32> = 2..=100;

/// Begins a search. `curve` is the number of points of the load curve after it.
pub fn find(
    kind: FindKind,
    spec: SearchSpec,
    slo: Vec<Threshold>,
    curve: Option<u32>,
    names: OptionNames,
) -> Result<Find, Failure> {
    let name = names.of("curve");
    match curve {
        Some(_) if kind != FindKind::Rate => Err(Failure::Usage(format!(
            "{name}: the points of a load curve are rates, so the search must be for a rate"
        ))),
        Some(points) if !CURVE_POINTS.contains(&points) => Err(Failure::Usage(format!(
            "{name} {points}: give {} to {} points",
            CURVE_POINTS.start(),
            CURVE_POINTS.end()
        ))),
        points => Ok(Find::new(kind, spec, slo).with_curve(points)),
    }
}

/// Refuses options that contradict a search for a rate or for clients.
pub fn check(
    kind: FindKind,
    work: &WorkSpec,
    slo: &[Threshold],
    names: OptionNames,
) -> Result<(), Failure> {
    let refused = |key: &str, why: &str| {
        let name = names.of(key);
        Err(Failure::Usage(format!("{name}: {why}")))
    };
    let max = names.of("max");
    if work.units.is_some() {
        return refused(
            "units",
            &format!("the search chooses the clients, up to {max}: drop it"),
        );
    }
    match (kind, work.clients.as_ref().map(ClientList::as_slice)) {
        (FindKind::Clients, Some(_)) => {
            return refused("clients", &format!("the search chooses them, up to {max}"));
        }
        (FindKind::Rate, Some(points)) if points.len() != 1 => {
            return refused("clients", "a search for a rate has one number of clients");
        }
        _ => {}
    }
    if work.rate.is_some() && kind == FindKind::Rate {
        let start = names.of("start");
        return refused(
            "rate",
            &format!("the search chooses it, from {start} to {max}"),
        );
    }
    if work.repeat.is_some() {
        let confirm = names.of("confirm");
        return refused(
            "repeat",
            &format!("the search repeats probes, see {confirm}"),
        );
    }
    if slo.is_empty() && kind == FindKind::Clients {
        let slo = match names {
            OptionNames::Settings => format!("{} 'p99 < 10ms'", names.of("slo")),
            OptionNames::Keys => "slo = [\"p99 < 10ms\"]".to_owned(),
        };
        return refused("slo", &format!("give a condition, such as {slo}"));
    }
    Ok(())
}

/// Returns what a search sets of the work of its probes. `clients` are those of a search
/// for a rate.
pub fn work(kind: FindKind, spec: &SearchSpec, clients: Option<ClientList>) -> WorkSpec {
    let (clients, rate) = match kind {
        FindKind::Rate | FindKind::Logons => {
            let clients = clients.unwrap_or_else(|| one(CLIENTS));
            (clients, Some(total(spec.start).into()))
        }
        FindKind::Clients | FindKind::Sessions => (one(spec.max as u32), None),
    };
    WorkSpec {
        clients: Some(clients),
        rate,
        repeat: Some(1),
        ..WorkSpec::default()
    }
}

/// Begins a search for clients at a load that each population has clients at, or a search for the
/// rate of the population of this name. A search for clients of a plan with one population probes
/// at least as many as its work needs.
pub fn among_populations(
    find: Find,
    plan: &mut Plan,
    searched: Option<&str>,
) -> Result<Find, Failure> {
    let refused = |why: &str| {
        Err(Failure::Usage(format!(
            "there are several populations: {why}"
        )))
    };
    if plan.work.unit.is_some() && find.kind() != FindKind::Clients {
        let why = "load points of units have clients with rates: only a search for clients is \
                   possible";
        return Err(Failure::Usage(why.to_owned()));
    }
    if let Some(name) = searched {
        let first = total(find.spec().start);
        let given = plan.work.search_rate(name, first);
        given.map_err(|problem| Failure::Usage(problem.to_string()))?;
        if plan.work.load_points().len() != 1 {
            let clients = OptionNames::Settings.of("clients");
            let why = format!("{clients}: a search for a rate has one number of clients");
            return Err(Failure::Usage(why));
        }
        return Ok(find.of_population(name));
    }
    match &plan.work.populations[..] {
        [only] if plan.work.unit.is_none() => Ok(match find.kind() {
            FindKind::Clients => find.at_least(only.workload.fewest_clients()),
            FindKind::Rate | FindKind::Logons | FindKind::Sessions => find,
        }),
        _ if find.kind() != FindKind::Clients => {
            let name = OptionNames::Settings.of("population");
            refused(&format!(
                "name the one whose rate is searched for with {name}"
            ))
        }
        all if all.iter().all(|one| one.share.is_none()) => {
            refused("give one a share, so that the search can change its clients")
        }
        _ => {
            let most = find.spec().max as u32;
            let least = || (1..=most).find(|clients| plan.work.divided(*clients).is_some());
            match &plan.work.unit {
                Some(LoadUnit { name, clients, .. }) => {
                    let fewer = format!("one unit {name} has {clients} clients: search up to more");
                    find.in_steps(*clients).ok_or(Failure::Usage(fewer))
                }
                None => least().map_or_else(
                    || refused("the most clients are too few for all"),
                    |least| Ok(find.at_least(least)),
                ),
            }
        }
    }
}

/// Checks that the plan of a search measures the values of its conditions, and has one
/// rate at most.
pub fn check_plan(limits: &[Threshold], plan: &Plan) -> Result<(), Failure> {
    let rates = plan.work.populations.iter().map(|one| one.rates.len());
    if let Some(count) = rates.max().filter(|count| *count > 1) {
        return Err(Failure::Usage(format!(
            "there are {count} rates: a search for clients has one"
        )));
    }
    if let Some(limit) = limits.iter().find(|limit| limit.holds_under_more_load()) {
        return Err(Failure::Usage(format!(
            "`{limit}` holds as soon as the load is too high: a search needs the opposite, such as \
             'p99 < 10ms' or 'errors < 1%'"
        )));
    }
    let checked = limits.iter().try_for_each(|limit| limit.check(plan));
    checked.map_err(|error| Failure::Usage(error.to_string()))
}

/// Returns the list of one load point.
pub fn one(clients: u32) -> ClientList {
    let list = clients.to_string().parse::<ClientList>();
    list.unwrap_or_else(|error| unreachable!("one number: {error}"))
}

#[cfg(test)]
mod tests {
    use smbench_model::limits::Limits;
    use smbench_model::profile::Profile;
    use smbench_model::spec::RunOptions;
    use smbench_model::target::Target;

    use super::*;

    #[test]
    fn a_search_for_clients_probes_none_that_has_no_other() {
        let range = SearchRange {
            start: Some(1.0),
            ..SearchRange::default()
        };
        for (name, least) in [("neighbour", 2.0), ("list", 1.0)] {
            let spec = spec(FindKind::Clients, &range, OptionNames::Keys).unwrap();
            let options = RunOptions {
                work: work(FindKind::Clients, &spec, None),
                ..RunOptions::default()
            };
            let profile = Profile::builtin(name).unwrap();
            let target = Target::with_password("smb://ann@files.example/bench", "").unwrap();
            let plan = Plan::resolve(&profile, &options, target, Limits::default(), 2);
            let find = Find::new(FindKind::Clients, spec, Vec::new());
            let find = among_populations(find, &mut plan.unwrap(), None).unwrap();
            assert_eq!(
                (find.spec().min, find.spec().start),
                (least, least),
                "{name}"
            );
        }
    }
}
