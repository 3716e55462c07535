//! What two runs did not have in common, besides their numbers.
//!
//! Documents are compared key by key as they are written, so that a key which a
//! later release adds is not overlooked: one of the plan that is not known here
//! counts as a difference of the work. So does what of a replay the one server did as
//! recorded and the other did not.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::curve::Row;
use crate::doc::RunDoc;
use crate::published::CpuOf;
use crate::replayed::{Replayed, is_other_work};
use crate::units::{counted, percent};

/// A key that has another value in the other run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Where it is in a result document: `plan.outstanding`. Of what was done otherwise
    /// than recorded, which is of load points: `not as recorded: flush`.
    pub key: String,
    /// The baseline's value; `null` where it has none.
    pub baseline: Value,
    /// The other's.
    pub other: Value,
}

impl Difference {
    /// Whether the two were to do other operations; of the work's differences only.
    pub(super) fn is_of_planned_work(&self) -> bool {
        !SAME_OPERATIONS.contains(&&self.key[..]) && !self.key.starts_with(NOT_AS_RECORDED)
    }
}

/// How far the load points and passes reach is seen in what is compared; the
/// digest is looked at when nothing else differs. What memory a generator has
/// differs by some KiB from one start of its machine to the next, and bears on no
/// number.
const NOT_COMPARED: [&str; 5] = [
    "machine.memory_bytes",
    "plan.digest",
    "plan.load_points",
    "plan.repeat",
    "plan.bytes_on_share",
];

/// What of a plan does not change the work: sessions and the generator.
const SETTINGS: [&str; 16] = [
    "plan.ciphers",
    "plan.connections_per_session",
    "plan.credits",
    "plan.dialect",
    "plan.driver",
    "plan.encryption",
    "plan.limits.connect_s",
    "plan.limits.operation_s",
    "plan.limits.setup_s",
    "plan.oplock",
    "plan.pin_threads",
    "plan.sessions_per_connection",
    "plan.setup_rate",
    "plan.signing",
    "plan.signing_algorithm",
    "plan.source_ip",
];

/// The name of the profile, which by itself makes no other work.
pub(super) const PROFILE: &str = "plan.profile";

/// Differences of the work that leave its operations the same: how long they were
/// measured, and which random choices were made. `fileio` chooses another seed for
/// each run unless it is given one.
const SAME_OPERATIONS: [&str; 6] = [
    PROFILE,
    "plan.duration_s",
    "plan.ramp",
    "plan.ramp_down_s",
    "plan.ramp_up_s",
    "plan.seed",
];

/// What begins the key of a difference that is not of the plan, but of what servers
/// answered in a replay.
const NOT_AS_RECORDED: &str = "not as recorded: ";

/// Whose CPU time that of the server is: of processes, the whole machine, or both.
const SERVER_CPU: &str = "server_cpu.scope";

/// Where passes were not of the same server.
const OTHERWISE: &str = "server.otherwise";

/// Keys that documents of older releases lack, whatever those runs did; of a machine
/// any may be missing that it did not tell.
const UNTOLD_BEFORE: [&str; 9] = [
    "plan.ciphers",
    "plan.connections_per_session",
    "plan.driver",
    "plan.encryption",
    "plan.pin_threads",
    "plan.sessions_per_connection",
    "plan.signing_algorithm",
    "server.auth",
    SERVER_CPU,
];

/// Differences of settings, and of the work.
pub(super) fn between(baseline: &RunDoc, other: &RunDoc) -> (Vec<Difference>, Vec<Difference>) {
    let [one, two] = [baseline, other].map(facts);
    let keys: BTreeSet<_> = one.keys().chain(two.keys()).collect();
    let mut differences = Vec::new();
    for key in keys {
        let [baseline, other] =
            [&one, &two].map(|facts| facts.get(key).cloned().unwrap_or_default());
        let may_be_untold = UNTOLD_BEFORE.contains(&&key[..]) || is_of_machine(key);
        let is_untold = may_be_untold && (baseline.is_null() || other.is_null());
        if baseline != other && !is_untold && !NOT_COMPARED.contains(&&key[..]) {
            differences.push(Difference {
                key: key.clone(),
                baseline,
                other,
            });
        }
    }
    let (settings, mut workload): (Vec<_>, Vec<_>) = differences
        .into_iter()
        .partition(|difference| is_setting(&difference.key));
    let same = |key: &str| one.get(key) == two.get(key);
    // Where it ran is in no digest.
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
            baseline: json!(baseline.plan.digest),
            other: json!(other.plan.digest),
        });
    }
    (settings, workload)
}

/// Kinds of operations of which the one run did another share otherwise than recorded
/// than the other, at load points that are compared; as far as they ever lie apart.
pub(super) fn of_replays(compared: &[(&Row<'_>, &Row<'_>)]) -> Vec<Difference> {
    let mut widest: BTreeMap<String, (f64, Difference)> = BTreeMap::new();
    for &(one, two) in compared {
        let replayed = [one, two].map(|row| Replayed::of([row]));
        for kind in replayed.iter().flat_map(Replayed::kinds) {
            let [share, other] = [&replayed[0], &replayed[1]].map(|part| part.share(kind));
            let apart = (share - other).abs();
            let is_known = widest.get(kind).is_some_and(|(known, _)| *known >= apart);
            if is_known || !is_other_work(share, other) {
                continue;
            }
            let told = |share: f64, row: &Row<'_>| {
                let clients = counted(row.clients.into(), "client");
                json!(format!("{} of all at {clients}", percent(share * 100.0)))
            };
            let difference = Difference {
                key: format!("{NOT_AS_RECORDED}{kind}"),
                baseline: told(share, one),
                other: told(other, two),
            };
            widest.insert(kind.to_owned(), (apart, difference));
        }
    }
    let widest = widest.into_values();
    widest.map(|(_, difference)| difference).collect()
}

fn is_of_machine(key: &str) -> bool {
    key.starts_with("machine.")
}

fn is_setting(key: &str) -> bool {
    key.starts_with("server.")
        || is_of_machine(key)
        || key == SERVER_CPU
        || key == "tool.version"
        || key == "plan.threads"
        || SETTINGS.contains(&key)
}

/// All that a document tells besides numbers, by key.
fn facts(run: &RunDoc) -> Map<String, Value> {
    let value = |part: Result<Value, serde_json::Error>| {
        part.unwrap_or_else(|error| unreachable!("plain values always have a JSON form: {error}"))
    };
    let mut facts = Map::new();
    flatten("plan", value(serde_json::to_value(&run.plan)), &mut facts);
    flatten(
        "server",
        value(serde_json::to_value(&run.server)),
        &mut facts,
    );
    facts.remove(OTHERWISE);
    let mixed = run.mixed_passes().map(Value::from);
    flatten(OTHERWISE, mixed.unwrap_or_default(), &mut facts);
    flatten("loop", value(serde_json::to_value(run.pacing)), &mut facts);
    flatten("tool", value(serde_json::to_value(&run.tool)), &mut facts);
    flatten(
        "machine",
        value(serde_json::to_value(&run.machine)),
        &mut facts,
    );
    let scope = CpuOf::over(&run.load_points).map(CpuOf::name);
    flatten(SERVER_CPU, json!(scope), &mut facts);
    facts
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
