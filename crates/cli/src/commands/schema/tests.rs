use std::time::SystemTime;

use serde_json::{Map, Value};
use smbench_formats::profile;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::record::{RunRecord, ServerFacts};
use smbench_model::spec::RunOptions;

use super::*;
use crate::lab_facts::Durability;
use crate::request::{disclosure, document, embedded as placeholder};

/// Returns the record of a run before its first load point.
fn record() -> RunRecord {
    let profile = profile::load(profile::DEFAULT).unwrap();
    let (options, limits) = (RunOptions::default(), Limits::default());
    let plan = Plan::resolve(&profile, &options, placeholder(), limits, 1).unwrap();
    let server = ServerFacts::other("smb://ann@files/data");
    RunRecord::new(&plan, server, SystemTime::UNIX_EPOCH)
}

/// Returns what is wrong with a value: a key that the schema does not have, or a key
/// that it requires.
fn problems(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let of = root.pointer(reference.trim_start_matches('#')).unwrap();
        return problems(root, of, value, place, found);
    }
    if let Some(any) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let of_each = any.iter().map(|schema| {
            let mut found = Vec::new();
            problems(root, schema, value, place, &mut found);
            found
        });
        found.extend(of_each.min_by_key(Vec::len).unwrap());
        return;
    }
    match value {
        Value::Object(members) => of_object(root, schema, members, place, found),
        Value::Array(elements) => {
            for element in elements {
                problems(
                    root,
                    &schema["items"],
                    element,
                    &format!("{place}[]"),
                    found,
                );
            }
        }
        value => {
            let name = match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::String(_) => "string",
                Value::Number(number) if number.is_f64() => "number",
                _ => "integer",
            };
            let is_listed = schema["enum"]
                .as_array()
                .is_some_and(|all| all.contains(value));
            let types = schema["type"].to_string();
            let is_number = name == "integer" && types.contains("number");
            let is_const = schema["const"] == *value && !value.is_null();
            if !(is_listed || is_const || is_number || types.contains(name)) {
                found.push(format!("{place}: {value} is not {schema}"));
            }
        }
    }
}

fn of_object(
    root: &Value,
    schema: &Value,
    members: &Map<String, Value>,
    place: &str,
    found: &mut Vec<String>,
) {
    for key in schema["required"].as_array().into_iter().flatten() {
        if !members.contains_key(key.as_str().unwrap()) {
            found.push(format!("{place}: {key} is missing"));
        }
    }
    for (key, member) in members {
        let place = format!("{place}.{key}");
        match (&schema["properties"][key], &schema["additionalProperties"]) {
            (Value::Null, of @ Value::Object(_)) => problems(root, of, member, &place, found),
            (Value::Null, _) => found.push(format!("{place} is not in the schema")),
            (of, _) => problems(root, of, member, &place, found),
        }
    }
}

fn check(of: SchemaOf, value: &Value) {
    let schema = described(of);
    let mut found = Vec::new();
    problems(&schema, &schema, value, "", &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_result_is_as_its_schema_says() {
    let doc = document(&record(), disclosure(Durability::default()));
    let doc: Value = serde_json::from_str(&doc.to_json()).unwrap();
    check(SchemaOf::Result, &doc);
}

#[test]
fn keys_are_described_without_links_to_code() {
    for of in [SchemaOf::Result, SchemaOf::Suite, SchemaOf::Profile] {
        let text = described(of).to_string();
        assert!(!text.contains("[`") && !text.contains("`]"), "{text}");
    }
    assert_eq!(without_link("at most [`A`](b::C), [`D`]."), "at most A, D.");
}
