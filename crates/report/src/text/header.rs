//! Settings of a run, in a few labelled lines.

use smbench_model::record::OpKind;

use crate::doc::{FlushDoc, LoadPointDoc, OutcomeDoc, RunDoc, ServerDoc, ServerLocation};
use crate::plan;
use crate::units::{counted, plain};

/// Describes the run, its settings and its server, as labels of up to 8 characters
/// and texts without control characters. Notes on the server come last.
#[must_use]
pub fn facts(doc: &RunDoc) -> Vec<(&'static str, String)> {
    let [profile, load, data, window] = plan::facts(&doc.plan, doc.pacing);
    let server = ("server", server(&doc.server));
    let mut facts = vec![("run", run(doc)), profile, server, load, data, window];
    let software = doc.server.software.iter();
    facts.extend(software.map(|software| ("software", plain(software))));
    let mixed = doc.server.mixed_passes();
    facts.extend(mixed.map(|told| ("warning", plain(&told))));
    facts.extend(flushes(doc).map(|told| ("flushes", told)));
    facts.extend(doc.server.notes.iter().map(|note| ("note", plain(note))));
    facts
}

fn run(doc: &RunDoc) -> String {
    let outcome = match doc.outcome {
        OutcomeDoc::Complete => complete(&doc.load_points),
        OutcomeDoc::Interrupted => "interrupted".to_owned(),
        OutcomeDoc::Aborted => "aborted".to_owned(),
    };
    let reason = doc.outcome_reason.as_ref();
    let reason = reason.map_or_else(String::new, |reason| format!(": {}", plain(reason)));
    format!(
        "{}, {} {}, {outcome}{reason}",
        plain(&doc.started),
        plain(&doc.tool.name),
        plain(&doc.tool.version)
    )
}

fn complete(points: &[LoadPointDoc]) -> String {
    match points.iter().filter(|point| !point.valid).count() {
        0 => "complete".to_owned(),
        invalid => format!(
            "complete, {invalid} of {} not valid",
            counted(points.len() as u64, "load point")
        ),
    }
}

fn server(server: &ServerDoc) -> String {
    let place = match server.place {
        ServerLocation::Remote => "",
        ServerLocation::Embedded => " (embedded)",
    };
    let auth = server.auth.as_ref();
    let auth = auth.map(|auth| format!(", auth {}", plain(auth)));
    if server.dialect == "none" {
        return format!("{}{place}, not SMB", plain(&server.url));
    }
    format!(
        "{}{place}, SMB {}{}, signing {}, encryption {}",
        plain(&server.url),
        plain(&server.dialect),
        auth.unwrap_or_default(),
        plain(&server.signing),
        plain(&server.encryption)
    )
}

/// Explains how the server handles a FLUSH. The unknown case is only reported if
/// the run has flushes.
fn flushes(doc: &RunDoc) -> Option<String> {
    let flushes = |point: &LoadPointDoc| point.whole.contains_key(OpKind::Flush.name());
    let told = match doc.server.flush? {
        FlushDoc::Honours => match doc.server.idle_flushes() {
            Some(idle) => return Some(format!("honoured, but {}", plain(&idle))),
            None => "honoured: on stable storage before they are answered",
        },
        FlushDoc::Ignores => "ignored: answered without writing",
        FlushDoc::Unknown if doc.load_points.iter().any(flushes) => {
            "nobody has said whether the server honours them"
        }
        FlushDoc::Unknown => return None,
    };
    Some(told.to_owned())
}
