//! The keys of documents and their types.

use std::collections::BTreeSet;

use serde_json::Value;
use smbench_report::RunDoc;

use super::json;
use crate::samples::{curve, document};

/// Keys that only some documents have, with a value for each.
const OPTIONAL: &str = include_str!("../../../../../fixtures/results/v1-optional.json");
/// The paths of all keys, sorted. Keys may be added; none may vanish.
const KEYS: &str = include_str!("../../../../../fixtures/results/v1-keys.txt");

/// Keys whose value is an object by names: kinds of operations, verbs, percentiles.
const BY_NAME: [&str; 8] = [
    "granted",
    "latency_noise_ns",
    "load_points[].ops",
    "replay.operations",
    "replay.skipped",
    "series.hdr",
    "series.ops",
    "whole",
];

const INTEGERS: [&str; 15] = [
    "schema_version",
    "plan.seed",
    "plan.outstanding",
    "plan.bytes_on_share",
    "load_points[].clients",
    "load_points[].repeat",
    "load_points[].clients_served",
    "load_points[].bytes_read",
    "load_points[].bytes_written",
    "load_points[].errors",
    "load_points[].setup.sessions",
    "load_points[].client.max_rss_bytes",
    "load_points[].whole.*.count",
    "peak.clients",
    "peak.within_95_percent_clients",
];

const NUMBERS: [&str; 18] = [
    "load_points[].window_s",
    "load_points[].throughput_mbps",
    "load_points[].ops_per_s",
    "load_points[].credit_starved_s",
    "load_points[].held_back_s",
    "load_points[].generator.machine_busy_share",
    "load_points[].generator.held_back_share",
    "load_points[].generator.credit_starved_share",
    "load_points[].generator.workers[].cpu_share",
    "load_points[].generator.workers[].waiting_share",
    "load_points[].drain_s",
    "load_points[].setup.elapsed_s",
    "load_points[].setup.sessions_per_s",
    "load_points[].client.cpu_user_s",
    "load_points[].client.cpu_system_s",
    "load_points[].client.cpu_us_per_op",
    "peak.throughput_mbps",
    "peak.latency_mean_ns",
];

const STRINGS: [&str; 13] = [
    "plan.profile",
    "plan.digest",
    "server.url",
    "server.dialect",
    "server.signing",
    "server.encryption",
    "server.flush",
    "server.where",
    "loop",
    "outcome",
    "started",
    "load_points[].setup.hdr",
    "load_points[].ops.*.hdr",
];

const BOOLEANS: [&str; 3] = [
    "load_points[].valid",
    "load_points[].generator_limited",
    "load_points[].generator.limited",
];

/// Returns the values at a path like `load_points[].ops.*.count`.
fn at<'a>(root: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![root];
    for key in path.split('.') {
        let (name, each) = match key.strip_suffix("[]") {
            Some(name) => (name, true),
            None => (key, false),
        };
        found = found
            .into_iter()
            .flat_map(|value| match name {
                "*" => value.as_object().unwrap().values().collect(),
                _ => vec![
                    value
                        .get(name)
                        .unwrap_or_else(|| panic!("{path}: no {name}")),
                ],
            })
            .flat_map(|value| {
                if each {
                    value.as_array().unwrap().iter().collect()
                } else {
                    vec![value]
                }
            })
            .collect();
    }
    found
}

#[test]
fn contracted_keys_have_their_types() {
    let json = json(&document(&curve()));
    let check = |path: &str, has_type: fn(&Value) -> bool| {
        let values = at(&json, path);
        assert!(!values.is_empty(), "{path}");
        assert!(values.into_iter().all(has_type), "{path}");
    };
    let check_all = |paths: &[&str], has_type: fn(&Value) -> bool| {
        paths.iter().for_each(|path| check(path, has_type));
    };
    check_all(&INTEGERS, Value::is_u64);
    check_all(&NUMBERS, Value::is_f64);
    check_all(&STRINGS, Value::is_string);
    check_all(&BOOLEANS, Value::is_boolean);
    for op in ["read", "write", "flush"] {
        for totals in ["ops", "whole"] {
            for key in ["count", "bytes", "errors"] {
                check(&format!("load_points[].{totals}.{op}.{key}"), Value::is_u64);
            }
        }
    }
    for summary in [
        "latency_ns",
        "setup.latency_ns",
        "ops.*.service_ns",
        "ops.*.response_ns",
    ] {
        check(&format!("load_points[].{summary}.mean"), Value::is_f64);
        for key in ["min", "max", "p50", "p90", "p95", "p99", "p999"] {
            check(&format!("load_points[].{summary}.{key}"), Value::is_u64);
        }
    }
    for lateness in ["generator.lateness_ns", "generator.workers[].lateness_ns"] {
        for key in ["p50", "p99", "max"] {
            check(&format!("load_points[].{lateness}.{key}"), Value::is_u64);
        }
    }
}

/// Adds the values of `more` to an object, also to each element of its arrays.
fn add(json: &mut Value, more: &Value) {
    match (json, more) {
        (Value::Object(into), Value::Object(parts)) => {
            for (key, part) in parts {
                add(into.entry(key.clone()).or_insert(Value::Null), part);
            }
        }
        (Value::Array(into), Value::Object(_)) => {
            into.iter_mut().for_each(|element| add(element, more));
        }
        (json, more) => *json = more.clone(),
    }
}

/// Collects the paths of all keys of a value. Names that are no keys become `*`.
fn collect(path: &str, json: &Value, into: &mut BTreeSet<String>) {
    match json {
        Value::Object(parts) => {
            let is_by_name = BY_NAME.iter().any(|key| path.ends_with(key));
            for (name, part) in parts {
                let name = if is_by_name { "*" } else { name };
                let path = match path {
                    "" => name.to_owned(),
                    path => format!("{path}.{name}"),
                };
                into.insert(path.clone());
                collect(&path, part, into);
            }
        }
        Value::Array(elements) => {
            let path = format!("{path}[]");
            elements.iter().for_each(|part| collect(&path, part, into));
        }
        _ => {}
    }
}

/// A key that is renamed or no longer written is missing here. A new key belongs into
/// the list, and into the optional ones if not every document has it.
#[test]
fn no_key_is_lost_or_renamed() {
    let mut full = json(&document(&curve()));
    add(&mut full, &serde_json::from_str(OPTIONAL).unwrap());
    for point in full["load_points"].as_array_mut().unwrap() {
        let read = &mut point["ops"]["read"];
        read["response_hdr"] = read["hdr"].clone();
        for key in ["in_flight", "in_flight_ns_min", "in_flight_ns_max"] {
            read[key] = 1.into();
        }
    }
    let doc: RunDoc = serde_json::from_value(full).unwrap();
    let mut found = BTreeSet::new();
    collect("", &json(&doc), &mut found);
    let frozen: BTreeSet<String> = KEYS.lines().map(str::to_owned).collect();
    let lost: Vec<_> = frozen.difference(&found).collect();
    let new: Vec<_> = found.difference(&frozen).collect();
    assert!(lost.is_empty(), "lost: {lost:#?}");
    assert!(new.is_empty(), "not in the list: {new:#?}");
}
