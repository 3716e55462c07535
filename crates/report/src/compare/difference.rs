//! What two runs did not have in common, besides their numbers.
//!
//! Documents are compared key by key as they are written, so that a key which a
//! later release adds is not overlooked: one of the plan that is not known here
//! counts as a difference of the work.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::doc::RunDoc;

/// A key that has another value in the other run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Where it is in a result document: `plan.outstanding`.
    pub key: String,
    /// The baseline's value; `null` where it has none.
    pub baseline: Value,
    /// The other's.
    pub other: Value,
}

/// How far the load points and passes reach is seen in what is compared; the
/// digest is looked at when nothing else differs.
const NOT_COMPARED: [&str; 4] = [
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

/// Keys that documents of older releases lack, whatever those runs did.
const UNTOLD_BEFORE: [&str; 8] = [
    "plan.ciphers",
    "plan.connections_per_session",
    "plan.driver",
    "plan.encryption",
    "plan.pin_threads",
    "plan.sessions_per_connection",
    "plan.signing_algorithm",
    "server.auth",
];

/// Differences of settings, and of the work.
pub(super) fn between(baseline: &RunDoc, other: &RunDoc) -> (Vec<Difference>, Vec<Difference>) {
    let [one, two] = [baseline, other].map(facts);
    let keys: BTreeSet<_> = one.keys().chain(two.keys()).collect();
    let mut differences = Vec::new();
    for key in keys {
        let [baseline, other] =
            [&one, &two].map(|facts| facts.get(key).cloned().unwrap_or_default());
        let is_untold =
            UNTOLD_BEFORE.contains(&&key[..]) && (baseline.is_null() || other.is_null());
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
    if settings.is_empty()
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

fn is_setting(key: &str) -> bool {
    key.starts_with("server.")
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
    flatten("loop", value(serde_json::to_value(run.pacing)), &mut facts);
    flatten("tool", value(serde_json::to_value(&run.tool)), &mut facts);
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
