//! Whether two documents can be parts of one run.

use serde_json::{Value, json};

use super::error::MergeError;
use super::part::Part;
use crate::doc::{PlanDoc, RunDoc, ServerDoc};

/// Checks that two documents have the same work, sessions and server.
pub(super) fn check(one: &Part, other: &Part) -> Result<(), MergeError> {
    let paths = || (one.path.clone(), other.path.clone());
    let of = (one.range.of, other.range.of);
    if of.0 != of.1 {
        let (one, other) = paths();
        return Err(MergeError::OtherClients { one, other, of });
    }
    let digests = (one.doc.plan.digest.clone(), other.doc.plan.digest.clone());
    if digests.0 != digests.1 {
        let (one, other) = paths();
        return Err(MergeError::OtherWork {
            one,
            other,
            digests,
        });
    }
    match first_difference("", &common(&one.doc), &common(&other.doc)) {
        None => Ok(()),
        Some((key, values)) => {
            let (one, other) = paths();
            Err(MergeError::OtherValue {
                one,
                other,
                key,
                values,
            })
        }
    }
}

/// Returns what all parts of a run have in common.
fn common(doc: &RunDoc) -> Value {
    let points = doc.load_points.iter().map(|point| {
        json!({
            "repeat": point.repeat,
            "interval_s": point.series.as_ref().map(|series| series.interval_s),
            "offered": point.offered.is_some(),
            "rate_missed": point.rated().is_some(),
            "caching": point.caching.is_some(),
            "verification": point.verification.is_some(),
        })
    });
    json!({
        "loop": doc.pacing,
        "plan": common_plan(&doc.plan),
        "server": common_server(&doc.server),
        "load_points": points.collect::<Vec<_>>(),
    })
}

/// Returns the plan without what may differ from one machine to another.
fn common_plan(plan: &PlanDoc) -> PlanDoc {
    let mut plan = plan.clone();
    plan.generator.threads = 0;
    plan.generator.pin_threads = None;
    plan.generator.setup_rate = None;
    plan.generator.client_range = None;
    plan.generator.before_point = None;
    plan.generator.after_point = None;
    plan.generator.until_quiet_s = None;
    plan.sessions.source_ip = None;
    plan.bytes_on_share = 0;
    if let Some(replay) = &mut plan.workload.replay {
        // A path. The digest covers its contents.
        replay.source.clear();
    }
    plan
}

/// Returns the server without remarks.
fn common_server(server: &ServerDoc) -> ServerDoc {
    ServerDoc {
        notes: Vec::new(),
        ..server.clone()
    }
}

/// Returns the first key whose values differ, and the two values.
fn first_difference(key: &str, one: &Value, other: &Value) -> Option<(String, (String, String))> {
    let below = |name: &str| match key {
        "" => name.to_owned(),
        key => format!("{key}.{name}"),
    };
    match (one, other) {
        (Value::Object(left), Value::Object(right)) => {
            let all = left.keys().chain(right.keys());
            let value = |of: &serde_json::Map<String, Value>, name| of.get(name).cloned();
            let mut found = all.filter_map(|name| {
                let left = value(left, name).unwrap_or_default();
                let right = value(right, name).unwrap_or_default();
                first_difference(&below(name), &left, &right)
            });
            found.next()
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let mut pairs = left.iter().zip(right).enumerate();
            pairs.find_map(|(at, (left, right))| {
                first_difference(&format!("{key}[{at}]"), left, right)
            })
        }
        (one, other) if one == other => None,
        _ => Some((key.to_owned(), (value_in_words(one), value_in_words(other)))),
    }
}

fn value_in_words(value: &Value) -> String {
    match value {
        Value::Null => "absent".to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
