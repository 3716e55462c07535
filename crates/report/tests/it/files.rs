//! Documents on disk: round trips, documents of old releases, and invalid files.

use std::error::Error as _;
use std::fs;
use std::path::Path;
use std::thread;

use proptest::prelude::*;
use serde_json::{Value, json};
use smbench_report::{RunDoc, render};

use crate::samples::{curve, document};

fn frozen() -> &'static Path {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/results/v1-curve.json"
    ))
}

/// Returns the result of loading these bytes, without the folder's name in
/// messages.
fn load(bytes: &[u8]) -> Result<RunDoc, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    fs::write(&path, bytes).unwrap();
    RunDoc::load(&path).map_err(|error| {
        let folder = format!("{}/", folder.path().display());
        error.to_string().replace(&folder, "")
    })
}

fn complaint(bytes: &[u8]) -> String {
    load(bytes).unwrap_err()
}

#[test]
fn saved_documents_load_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let doc = document(&curve());
    fs::write(&path, "an older document").unwrap();
    doc.save(&path).unwrap();
    assert_eq!(RunDoc::load(&path).unwrap(), doc);
    let names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["result.json"], "no temporary file stays behind");
}

#[test]
fn a_text_is_read_as_a_file_is() {
    let doc = document(&curve());
    assert_eq!(doc.to_json().parse::<RunDoc>().unwrap(), doc);
    let error = "{".parse::<RunDoc>().unwrap_err();
    let reason = error.source().unwrap().to_string();
    assert_eq!(
        error.to_string(),
        format!("read the text: not an smbench result: it is not JSON ({reason})")
    );
}

#[test]
fn documents_saved_at_once_under_one_name_do_not_mix() {
    const WRITERS: u32 = 4;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let doc = document(&curve());
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| (0..5).for_each(|_| doc.save(&path).unwrap()));
        }
    });
    assert_eq!(RunDoc::load(&path).unwrap(), doc);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_failed_save_names_the_file_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let occupied = folder.path().join("taken");
    fs::create_dir(&occupied).unwrap();
    let error = document(&curve()).save(&occupied).unwrap_err().to_string();
    assert!(
        error.starts_with("write ") && error.contains("taken"),
        "{error}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let missing = folder.path().join("no/such/result.json");
    assert!(document(&curve()).save(&missing).is_err());
}

#[test]
fn a_new_document_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.json", "b.json"].map(|name| folder.path().join(name));
    fs::write(&paths[0], "an older document").unwrap();
    let doc = document(&curve());
    let path = doc.save_under_free_name(paths.clone()).unwrap();
    assert_eq!(path, paths[1]);
    assert_eq!(RunDoc::load(&path).unwrap(), doc);
    assert_eq!(fs::read_to_string(&paths[0]).unwrap(), "an older document");
    let error = doc.save_under_free_name(paths).unwrap_err().to_string();
    assert!(error.contains("a.json: "), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn version_1_documents_still_load_and_render() {
    let doc = RunDoc::load(frozen()).unwrap();
    assert_eq!(doc.schema_version, 1);
    let text = render(&doc);
    assert!(
        text.contains("peak 65.5 Mbit/s (8.2 MB/s), 2001 ops/s at 8 clients"),
        "{text}"
    );
    // Reading an old document and writing it again loses no key.
    let old: Value = serde_json::from_slice(&fs::read(frozen()).unwrap()).unwrap();
    let new: Value = serde_json::from_str(&doc.to_json()).unwrap();
    assert_eq!(new, old);
}

#[test]
fn keys_of_later_builds_are_passed_over() {
    let mut value: Value = serde_json::from_slice(&fs::read(frozen()).unwrap()).unwrap();
    value["added_later"] = json!({"deep": [1, 2, 3]});
    value["load_points"][0]["added_later"] = json!(1);
    let create = value["load_points"][0]["ops"]["read"].clone();
    value["load_points"][0]["ops"]["create"] = create;
    let doc = load(value.to_string().as_bytes()).unwrap();
    assert!(doc.load_points[0].ops.contains_key("create"));
}

#[test]
fn every_bad_file_gets_one_clear_line() {
    let missing = Path::new("no-such-file.json");
    assert_eq!(
        RunDoc::load(missing).unwrap_err().to_string(),
        "read no-such-file.json: the file does not exist"
    );
    let cases: [(&[u8], &str); 7] = [
        (
            b"",
            "read result.json: not an smbench result: it is not JSON (EOF while parsing a value at line 1 column 0)",
        ),
        (
            b"{\n  \"schema_version\": 1,,\n}",
            "read result.json: not an smbench result: it is not JSON (key must be a string at line 2 column 23)",
        ),
        (
            b"\xff\xfe",
            "read result.json: not an smbench result: it is not JSON (expected value at line 1 column 1)",
        ),
        (
            b"{}",
            "read result.json: not an smbench result: it has no schema_version",
        ),
        (
            b"{\"schema_version\": 2, \"runs\": []}",
            "read result.json: written by a newer smbench: schema_version 2, this build reads 1",
        ),
        (
            b"{\"schema_version\": 0}",
            "read result.json: not a valid result: there is no schema_version 0",
        ),
        (
            b"{\"schema_version\": 1}",
            "read result.json: not a valid result: missing field `tool` at line 1 column 21",
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(complaint(bytes), expected);
    }
}

#[test]
fn contradictions_and_foreign_values_are_refused() {
    let original: Value = serde_json::from_slice(&fs::read(frozen()).unwrap()).unwrap();
    let with = |pointer: &str, new: Value| {
        let mut value = original.clone();
        *value.pointer_mut(pointer).unwrap() = new;
        complaint(value.to_string().as_bytes())
    };
    assert_eq!(
        with("/load_points/0/ops/read/count", json!(1)),
        "read result.json: not a valid result: load point of 1 client, pass 1: \
         read has count 1 but a histogram of 4000"
    );
    let bad_hdr = with("/load_points/0/ops/read/hdr", json!("AAAA"));
    assert!(
        bad_hdr.contains("the histogram is not in HdrHistogram's V2"),
        "{bad_hdr}"
    );
    let bad_outcome = with("/outcome", json!("two\nlines"));
    assert!(bad_outcome.contains("two?lines"), "{bad_outcome}");
    let negative = with("/load_points/0/errors", json!(-1));
    assert!(negative.contains("expected u64"), "{negative}");
}

/// Sets numbers and strings to the limits of each key's type.
fn hostile(value: &mut Value) {
    match value {
        Value::Object(map) => map
            .iter_mut()
            // A change of these two keys would make the document invalid before it
            // is rendered.
            .filter(|(key, _)| !["hdr", "schema_version"].contains(&key.as_str()))
            .for_each(|(_, value)| hostile(value)),
        Value::Array(items) => items.iter_mut().for_each(hostile),
        Value::Number(number) if number.is_f64() => *value = json!(f64::MAX),
        Value::String(text) if text.contains(' ') || text.contains(':') => {
            *value = json!("\u{1b}[2J\nsecond line");
        }
        _ => {}
    }
}

#[test]
fn hostile_values_render_without_escapes() {
    let mut value: Value = serde_json::from_slice(&fs::read(frozen()).unwrap()).unwrap();
    hostile(&mut value);
    for point in value["load_points"].as_array_mut().unwrap() {
        point["errors"] = json!(u64::MAX);
        point["ops"]["read"]["errors"] = json!(u64::MAX);
        point["bytes_read"] = json!(u64::MAX);
        point["clients"] = json!(u32::MAX);
        point["failures"] = json!([
            {"op": "read\u{7}", "status": "x\ny", "code": "\u{1b}[0m", "count": u64::MAX},
            {"op": "read\u{7}", "status": "x\ny", "code": "\u{1b}[0m", "count": u64::MAX},
        ]);
    }
    let doc = load(value.to_string().as_bytes()).unwrap();
    let text = render(&doc);
    assert!(text.contains("failed: read?, x?y (?[0m)"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    smbench_report::write_csv(&doc, std::io::sink()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_files_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = fs::read(frozen()).unwrap();
        // Without only its final newline, a document is still complete.
        let at = at.index(bytes.len() - 1);
        bytes[at] = byte;
        if let Ok(doc) = load(&bytes) {
            prop_assert!(render(&doc).ends_with('\n'));
        }
        bytes.truncate(at);
        prop_assert!(complaint(&bytes).starts_with("read result.json: not an smbench result: it is not JSON ("));
    }
}
