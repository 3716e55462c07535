//! Differences between two runs, apart from their numbers.
//!
//! Documents are compared key by key as they are written, so that no key of a later
//! release is overlooked. An unknown key of the plan counts as a difference of the
//! work. A replay also counts as different work if one server did operations as
//! recorded that the other did not.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::curve::CurveRow;
use crate::doc::{PlanDoc, PopulationDoc, RunDoc};
use crate::replayed::{Replayed, is_other_work};
use crate::server_cpu::CpuOf;
use crate::units::percent;

/// A key whose value differs between two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// Path of the key in a result document: `plan.outstanding`. Deviations from a
    /// recording belong to load points: `not as recorded: flush`.
    pub key: String,
    /// The baseline's value; `null` if it has none.
    pub baseline: Value,
    /// The other run's value; `null` if it has none.
    pub other: Value,
}

impl Difference {
    /// Returns whether the two plans have different operations. Only for
    /// differences of the work.
    pub(super) fn is_of_planned_work(&self) -> bool {
        self.key != PROFILE && !self.key.starts_with(NOT_AS_RECORDED)
    }
}

/// Keys that are not compared. The comparison itself shows which load points and
/// passes the runs have. The digest is only compared if nothing else differs. A
/// machine's memory differs by some KiB from one boot to the next, and affects no
/// number.
const NOT_COMPARED: [&str; 6] = [
    "machine.memory_bytes",
    "plan.digest",
    "plan.load_points",
    "plan.repeat",
    "plan.bytes_on_share",
    "server.write.source",
];

/// Key of the profile's name.
pub(super) const PROFILE: &str = "plan.profile";

/// Keys of a population that its sessions have, in place of those of the plan.
const OF_SESSIONS: [&str; 6] = [
    "credits",
    "dialect",
    "encryption",
    "oplock",
    "signing",
    "source_ip",
];

/// Keys of how long operations are measured, of the random choices, and of what makes a load point
/// of units valid. They leave the operations the same, so they are settings. Without a given seed, `fileio` chooses
/// another one for each run.
const SAME_OPERATIONS: [&str; 9] = [
    "plan.duration_s",
    "plan.ramp",
    "plan.ramp_down_s",
    "plan.ramp_up_s",
    "plan.seed",
    "plan.unit.mean_latency_ns",
    "plan.unit.mean_percent",
    "plan.unit.slowest_percent",
    "plan.until_steady_s",
];

/// Start of a key that belongs to the servers' answers in a replay, not to the
/// plan.
const NOT_AS_RECORDED: &str = "not as recorded: ";

/// Key that says what the server's CPU time includes: processes, the whole machine,
/// or both.
const SERVER_CPU: &str = "server_cpu.scope";

/// Key of the number of machines that generated the load.
const HOSTS: &str = "hosts";

/// Key of passes with a different server.
const OTHERWISE: &str = "server.otherwise";

/// Keys that documents of older releases lack in any case. Any key of a machine may
/// also be missing, because the system did not provide its value.
const UNTOLD_BEFORE: [&str; 11] = [
    "plan.ciphers",
    "plan.connections_per_session",
    "plan.driver",
    "plan.encryption",
    "plan.pin_threads",
    "plan.sessions_per_connection",
    "plan.signing_algorithm",
    "server.auth",
    "server.tree",
    "server.write.policy",
    SERVER_CPU,
];

/// Returns the differences of settings, and those of the work.
pub(super) fn between(baseline: &RunDoc, other: &RunDoc) -> (Vec<Difference>, Vec<Difference>) {
    let [one, two] = [baseline, other].map(facts);
    let keys: BTreeSet<_> = one.keys().chain(two.keys()).collect();
    // A search for a rate chooses no clients: another number of them is other work.
    let finds = [baseline, other].map(|run| run.find.as_ref());
    let are_at_rates = finds
        .iter()
        .all(|find| find.is_some_and(|find| find.kind.is_rate()));
    let is_not_compared =
        |key: &str| NOT_COMPARED.contains(&key) && !(are_at_rates && key == "plan.load_points");
    let mut differences = Vec::new();
    for key in keys {
        let [baseline, other] =
            [&one, &two].map(|facts| facts.get(key).cloned().unwrap_or_default());
        let may_be_untold = UNTOLD_BEFORE.contains(&&key[..]) || is_of_machine(key);
        let is_untold = may_be_untold && (baseline.is_null() || other.is_null());
        if baseline != other && !is_untold && !is_not_compared(key) {
            differences.push(Difference {
                key: key.clone(),
                baseline,
                other,
            });
        }
    }
    let settings = [baseline, other].map(|run| settings_of(&run.plan));
    let (mut settings, mut workload): (Vec<_>, Vec<_>) = differences
        .into_iter()
        .partition(|difference| is_setting(&difference.key, &settings));
    // Another name alone is not other work.
    if workload.iter().all(|difference| difference.key == PROFILE) {
        settings.append(&mut workload);
    }
    let same = |key: &str| one.get(key) == two.get(key);
    // No digest contains where the run took place.
    let is_planned =
        |difference: &Difference| !is_of_machine(&difference.key) && difference.key != SERVER_CPU;
    if !settings.iter().any(is_planned)
        && workload.is_empty()
        && same("plan.load_points")
        && same("plan.repeat")
        && !same("plan.digest")
    {
        workload.push(Difference {
            key: "plan.digest".to_owned(),
            baseline: json(&baseline.plan.digest),
            other: json(&other.plan.digest),
        });
    }
    (settings, workload)
}

/// Returns the kinds of operations whose share that did not go as recorded differs
/// between the runs. Of all compared load points, the largest difference counts.
pub(super) fn of_replays(compared: &[(&CurveRow<'_>, &CurveRow<'_>)]) -> Vec<Difference> {
    let mut widest: BTreeMap<String, (f64, Difference)> = BTreeMap::new();
    for &(one, two) in compared {
        let replayed = [one, two].map(|row| Replayed::of(row.passes.iter().copied()));
        for kind in replayed.iter().flat_map(Replayed::kinds) {
            let [share, other] = [&replayed[0], &replayed[1]].map(|part| part.share(kind));
            let apart = (share - other).abs();
            let is_known = widest.get(kind).is_some_and(|(known, _)| *known >= apart);
            if is_known || !is_other_work(share, other) {
                continue;
            }
            let text = |share: f64, row: &CurveRow<'_>| {
                let load = row.load();
                json(&format!("{} of all at {load}", percent(share * 100.0)))
            };
            let difference = Difference {
                key: format!("{NOT_AS_RECORDED}{kind}"),
                baseline: text(share, one),
                other: text(other, two),
            };
            widest.insert(kind.to_owned(), (apart, difference));
        }
    }
    let widest = widest.into_values();
    widest.map(|(_, difference)| difference).collect()
}

fn is_of_machine(key: &str) -> bool {
    key.starts_with("machine.") || key == HOSTS
}

/// Returns the values of a plan that do not change the work, by key: those of its
/// sessions, its generator and its limits.
fn settings_of(plan: &PlanDoc) -> Map<String, Value> {
    let mut settings = sessions_of_populations(plan);
    flatten("plan", json(&plan.sessions), &mut settings);
    flatten("plan", json(&plan.generator), &mut settings);
    flatten("plan.limits", json(&plan.limits), &mut settings);
    settings
}

/// Returns the values of the sessions of populations that are not those of the plan, by key.
fn sessions_of_populations(plan: &PlanDoc) -> Map<String, Value> {
    let of_plan = json(&plan.sessions);
    let mut all = Map::new();
    for population in &plan.populations {
        let own = json(population);
        for key in OF_SESSIONS {
            let value = match (own.get(key), of_plan.get(key)) {
                (Some(own), planned) if Some(own) != planned => own.clone(),
                // A population always has the caching that it asks for.
                (None, Some(_)) if key == "oplock" => Value::from("none"),
                _ => continue,
            };
            let name = &population.name;
            all.insert(format!("plan.populations.{name}.{key}"), value);
        }
    }
    all
}

fn is_setting(key: &str, of_plans: &[Map<String, Value>; 2]) -> bool {
    key.starts_with("server.")
        || is_of_machine(key)
        || key == SERVER_CPU
        || key == "tool.version"
        || SAME_OPERATIONS.contains(&key)
        || of_plans.iter().any(|settings| settings.contains_key(key))
}

/// Returns all values of a document apart from numbers, by key.
fn facts(run: &RunDoc) -> Map<String, Value> {
    let mut facts = sessions_of_populations(&run.plan);
    flatten("plan", json(&of_any_load(&run.plan)), &mut facts);
    flatten("server", json(&run.server), &mut facts);
    facts.remove(OTHERWISE);
    let mixed = run.server.mixed_passes().map(Value::from);
    flatten(OTHERWISE, mixed.unwrap_or_default(), &mut facts);
    flatten("loop", json(&run.pacing), &mut facts);
    flatten("tool", json(&run.tool), &mut facts);
    flatten("machine", json(&run.machine), &mut facts);
    flatten(HOSTS, json(&run.hosts.len().max(1)), &mut facts);
    let scope = CpuOf::over(&run.load_points).map(CpuOf::name);
    flatten(SERVER_CPU, json(&scope), &mut facts);
    facts
}

/// Returns a plan without what follows from its load points: the clients of populations that have
/// a part of them. Those of others are the same at each load point. Populations also lack what
/// [`sessions_of_populations`] returns.
fn of_any_load(plan: &PlanDoc) -> PlanDoc {
    let mut plan = plan.clone();
    for population in &mut plan.populations {
        *population = PopulationDoc {
            bytes_on_share: 0,
            ..population.without_sessions()
        };
        if population.share.is_some() || population.per_unit.is_some() {
            population.clients.clear();
        }
        population.clients.dedup();
    }
    plan
}

fn json(part: &impl Serialize) -> Value {
    serde_json::to_value(part)
        .unwrap_or_else(|error| unreachable!("plain values always have a JSON form: {error}"))
}

fn flatten(key: &str, value: Value, into: &mut Map<String, Value>) {
    match value {
        Value::Object(parts) => {
            for (name, part) in parts {
                flatten(&format!("{key}.{name}"), part, into);
            }
        }
        Value::Null => {}
        value => {
            into.insert(key.to_owned(), value);
        }
    }
}
