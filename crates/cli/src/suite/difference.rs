//! What tells one study from another, in words.

use serde::Serialize;
use serde_json::Value;
use smbench_report::doc::PlanDoc;
use smbench_report::study::StudyDoc;

/// In what a study is another one, if it is. What only a report shows may change.
pub(super) fn between_studies(old: &StudyDoc, new: &StudyDoc) -> Option<String> {
    let other = |what: &str, old: String, new: String| {
        (old != new).then(|| format!("{what} {old}, not {new}"))
    };
    let list = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>().join(", ");
    let points = |study: &StudyDoc| list(&mut study.load_points.iter().map(u32::to_string));
    let servers = |study: &StudyDoc| {
        list(&mut study.servers.iter().map(|server| {
            let place = match &server.url {
                Some(url) => std::slice::from_ref(url),
                None => &server.settings,
            };
            let told = [place, &server.client].concat();
            format!("`{}` ({})", server.name, told.join("; "))
        }))
    };
    other("the name", old.name.clone(), new.name.clone())
        .or_else(|| {
            let profiles = |study: &StudyDoc| list(&mut study.profiles.iter().cloned());
            other("profiles", profiles(old), profiles(new))
        })
        .or_else(|| other("servers", servers(old), servers(new)))
        .or_else(|| other("load points", points(old), points(new)))
        .or_else(|| other("passes", old.passes.to_string(), new.passes.to_string()))
        .or_else(|| {
            let version = |study: &StudyDoc| study.tool.version.clone();
            other("the release of smbench", version(old), version(new))
        })
}

/// At which key a plan is another one, if it is.
pub(super) fn between_plans(old: &PlanDoc, new: &PlanDoc) -> Option<String> {
    first_difference("plan", &json(old), &json(new))
}

/// A value as it is kept.
pub(super) fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value)
        .unwrap_or_else(|error| unreachable!("plain values have a JSON form: {error}"))
}

/// The first key at which two values differ, and both.
fn first_difference(key: &str, old: &Value, new: &Value) -> Option<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let keys = old.keys().chain(new.keys());
            // A digest differs whenever anything does, and says nothing.
            let mut keys = keys.filter(|name| *name != "digest");
            keys.find_map(|name| {
                let of = |values: &serde_json::Map<String, Value>| {
                    values.get(name).cloned().unwrap_or(Value::Null)
                };
                first_difference(&format!("{key}.{name}"), &of(old), &of(new))
            })
        }
        (old, new) if old == new => None,
        (old, new) => Some(format!("{key} {old}, not {new}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_difference_is_named_by_its_key() {
        let plan = json!({"a": 1, "digest": "x", "limits": {"b": [1, 2], "c": 2.0}});
        assert_eq!(first_difference("plan", &plan, &plan), None);
        for (new, expected) in [
            (
                json!({"a": 2, "limits": {"b": [1, 2], "c": 2.0}}),
                "plan.a 1, not 2",
            ),
            (
                json!({"a": 1, "limits": {"b": [1, 2], "c": 2.5}}),
                "plan.limits.c 2.0, not 2.5",
            ),
            (
                json!({"a": 1, "limits": {"c": 2.0}}),
                "plan.limits.b [1,2], not null",
            ),
            (
                json!({"a": 1, "limits": {"b": [1, 2], "c": 2.0}, "d": true}),
                "plan.d null, not true",
            ),
        ] {
            assert_eq!(
                first_difference("plan", &plan, &new).as_deref(),
                Some(expected)
            );
        }
    }
}
