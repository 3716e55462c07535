//! Settings of a run, in a few labelled lines.

use std::collections::BTreeSet;

use itertools::Itertools as _;
use smbench_model::kind::{Direction, OpKind};
use smbench_model::record::SplitSizes;
use smbench_model::setting::{SERVER_FLUSH, SERVER_WRITE};

use crate::doc::{
    FactSource, FlushDoc, LoadPointDoc, OutcomeDoc, RunDoc, ServerDoc, ServerLocation,
    SessionTermsDoc, TreeOriginDoc, WorkloadDoc, WritePolicyDoc,
};
use crate::plan;
use crate::units::{bytes as bytes_of, counted, plain};

/// Describes the run, its settings and its server, as labels of up to 8 characters
/// and texts without control characters. Notes on the server come last.
#[must_use]
pub fn facts(doc: &RunDoc) -> Vec<(&'static str, String)> {
    let [profile, load, data, window] = plan::facts(&doc.plan, doc.pacing);
    let server = ("server", server(doc));
    let mut facts = vec![("run", run(doc))];
    facts.extend(names(doc));
    facts.extend([profile, server, load, data, window]);
    facts.extend(split(doc).map(|words| ("split", words)));
    facts.extend(tree(doc).map(|words| ("tree", words.to_owned())));
    let software = doc.server.software.iter();
    facts.extend(software.map(|software| ("software", plain(software))));
    let build = doc.server.build.iter();
    facts.extend(build.map(|build| ("build", plain(&build.text()))));
    let mixed = doc.server.mixed_passes();
    facts.extend(mixed.map(|words| ("warning", plain(&words))));
    facts.extend(flushes(doc).map(|words| ("flushes", words)));
    facts.extend(writes(doc).map(|words| ("writes", words)));
    facts.extend(doc.server.notes.iter().map(|note| ("note", plain(note))));
    facts
}

/// Returns the user's label and note.
pub(super) fn names(doc: &RunDoc) -> impl Iterator<Item = (&'static str, String)> {
    // A note is what smbench remarks on a server.
    let names = [("label", &doc.label), ("remark", &doc.note)];
    names
        .into_iter()
        .filter_map(|(name, text)| Some((name, plain(text.as_deref()?))))
}

fn run(doc: &RunDoc) -> String {
    format!(
        "{}, {} {}, {}",
        plain(&doc.started),
        plain(&doc.tool.name),
        plain(&doc.tool.version),
        outcome(doc)
    )
}

/// Says how a run ended.
pub(super) fn outcome(doc: &RunDoc) -> String {
    let outcome = match doc.outcome {
        // A search breaks some load points on purpose.
        OutcomeDoc::Complete if doc.find.is_some() => "complete".to_owned(),
        OutcomeDoc::Complete => complete(&doc.load_points),
        OutcomeDoc::Interrupted => "interrupted".to_owned(),
        OutcomeDoc::Aborted => "aborted".to_owned(),
    };
    let reason = doc.outcome_reason.as_ref();
    let reason = reason.map_or_else(String::new, |reason| format!(": {}", plain(reason)));
    outcome + &reason
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

fn server(doc: &RunDoc) -> String {
    let place = match doc.server.place {
        ServerLocation::Remote => "",
        ServerLocation::Embedded => " (embedded)",
    };
    format!("{}{place}, {}", plain(&doc.server.url), negotiated(doc))
}

/// Describes what the sessions of a run negotiated: `office: SMB 3.1.1, ...; backup: ...` where
/// those of its populations differ.
pub(super) fn negotiated(doc: &RunDoc) -> String {
    let server = &doc.server;
    let words = |of: &SessionTermsDoc| session(&server.of_population(&of.population));
    let different: Vec<_> = server.sessions.iter().map(words).unique().collect();
    if different.len() < 2 {
        return session(server);
    }
    let of_some = |some: &String| {
        let alike = server.sessions.iter().filter(|of| words(of) == *some);
        let names = alike.map(|of| plain(&of.population)).join(", ");
        format!("{names}: {some}")
    };
    different.iter().map(of_some).join("; ")
}

/// Describes what sessions negotiated.
fn session(server: &ServerDoc) -> String {
    if server.dialect == "none" {
        return "not SMB".to_owned();
    }
    let auth = server.auth.as_ref();
    let auth = auth.map(|auth| format!(", {}", plain(auth)));
    let protection = |done: &str, algorithm: &str| match algorithm {
        "off" => format!("not {done}"),
        algorithm => format!("{done} ({})", plain(algorithm)),
    };
    // Nothing in CIFS shows whether someone changed the NEGOTIATE.
    let negotiation = if server.is_cifs() {
        ", negotiation not protected"
    } else {
        ""
    };
    format!(
        "{}{}, {}, {}{negotiation}",
        plain(&server.protocol()),
        auth.unwrap_or_default(),
        protection("signed", &server.signing),
        protection("encrypted", &server.encryption)
    )
}

/// Highest number of split sizes shown.
const SIZES_SHOWN: usize = 3;

/// Says which operations took several requests: `1 MiB in 16 requests`. Names the populations
/// where those differ in it. `None` if there were none.
pub(super) fn split(doc: &RunDoc) -> Option<String> {
    let sessions = &doc.server.sessions;
    if sessions.is_empty() {
        return split_of(doc.server.split?, &doc.plan.workloads().collect::<Vec<_>>());
    }
    let mut parts = sessions.iter().filter_map(|of| {
        let mut populations = doc.plan.populations.iter();
        let population = populations.find(|one| one.name == of.population)?;
        let words = split_of(of.split?, &[&population.workload])?;
        Some(format!("{}: {words}", plain(&of.population)))
    });
    let words = parts.join("; ");
    (!words.is_empty()).then_some(words)
}

/// Says which operations of these workloads took several requests of these sizes.
fn split_of(sizes: SplitSizes, workloads: &[&WorkloadDoc]) -> Option<String> {
    let SplitSizes { read, write } = sizes;
    let words = |direction, max: Option<u32>| {
        let max = max?.max(1);
        let workloads = workloads.iter();
        let sizes: BTreeSet<_> = workloads.flat_map(|one| one.sizes_of(direction)).collect();
        let sizes = sizes.into_iter();
        let larger: Vec<_> = sizes.filter(|bytes| *bytes > max).collect();
        let shown = larger.iter().take(SIZES_SHOWN).map(|bytes| {
            let requests = counted(bytes.div_ceil(max).into(), "request");
            format!("{} in {requests}", bytes_of(u64::from(*bytes)))
        });
        let more = larger.len().saturating_sub(SIZES_SHOWN);
        let more = (more > 0).then(|| format!("{more} more"));
        let words = shown.chain(more).join(", ");
        (!words.is_empty()).then_some(words)
    };
    match (words(Direction::Read, read), words(Direction::Write, write)) {
        (Some(reads), Some(writes)) if reads == writes => Some(reads),
        (Some(reads), Some(writes)) => Some(format!("reads of {reads}; writes of {writes}")),
        (Some(reads), None) => Some(format!("reads of {reads}")),
        (None, Some(writes)) => Some(format!("writes of {writes}")),
        (None, None) => None,
    }
}

/// Says where the tree of the run comes from. `None` if its files are in none.
pub(super) fn tree(doc: &RunDoc) -> Option<&'static str> {
    Some(match doc.server.tree? {
        TreeOriginDoc::Prepared => "prepared before the run",
        TreeOriginDoc::Own => "made by the run",
    })
}

/// Explains how the server handles a FLUSH. The unknown case is only reported if
/// the run has flushes.
pub(super) fn flushes(doc: &RunDoc) -> Option<String> {
    let flushes = |point: &LoadPointDoc| point.whole.contains_key(OpKind::Flush.name());
    let words = match doc.server.flush? {
        FlushDoc::Honours => match doc.server.idle_flushes() {
            Some(idle) => return Some(format!("honoured, but {}", plain(&idle))),
            None => "honoured: on stable storage before they are answered",
        },
        FlushDoc::Ignores => "ignored by the server",
        FlushDoc::Unknown if doc.load_points.iter().any(flushes) => {
            return Some(format!("policy unknown (see {SERVER_FLUSH})"));
        }
        FlushDoc::Unknown => return None,
    };
    Some(words.to_owned())
}

/// Explains whether the WRITEs of a run waited for stable storage. `None` if it has none,
/// or if an older release did not record what servers do.
pub(super) fn writes(doc: &RunDoc) -> Option<String> {
    doc.server.flush?;
    if !doc.writes() {
        return None;
    }
    let Some(write) = doc.server.write else {
        return Some(format!("policy unknown (see {SERVER_WRITE})"));
    };
    let words = match write.policy {
        WritePolicyDoc::Waits => "wait: on stable storage before they are answered",
        WritePolicyDoc::Buffers => "buffered: answered before they are on stable storage",
    };
    Some(match write.source {
        FactSource::Known => words.to_owned(),
        FactSource::Given => format!("{words} (given, not measured)"),
    })
}
