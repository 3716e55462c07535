//! The target for result documents. Every document that loads can be printed,
//! saved and loaded again.

use std::path::Path;

use smbench_report::{RunDoc, render, write_csv};

use crate::FuzzTarget;

/// Targets of this module.
pub const TARGETS: &[FuzzTarget] = &[("result_document", result_document)];

/// Loads a result document, prints it, saves it and loads it again.
pub fn result_document(data: &[u8]) {
    let path = Path::new("fuzzed.json");
    let Ok(doc) = RunDoc::parse(data, path) else {
        return;
    };
    assert!(!render(&doc).is_empty());
    write_csv(&doc, std::io::sink()).expect("a sink takes everything");
    let saved = doc.to_json();
    let again = RunDoc::parse(saved.as_bytes(), path).expect("what was saved loads");
    assert_eq!(again.to_json(), saved);
}
