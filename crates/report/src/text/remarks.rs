//! Problems: load points that are not valid, failures, differences, leftovers. Not
//! here: doubts about load points that are valid (`cautions`).

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools as _;
use smbench_model::kind::OpKind;
use smbench_model::record::RecycleBin;

use super::in_flight::{advice, in_words};
use crate::curve::{Curve, CurveRow};
use crate::doc::{LoadPointDoc, RefusedDirectoryDoc, RunDoc};
use crate::load::Load;
use crate::replayed::Replayed;
use crate::units::{bytes, counted, plain};

/// Highest number of drop-outs shown per load point; the document has them all.
const DROPOUTS_SHOWN: usize = 3;

/// Returns one or more lines for each pass that is not valid; empty if all are
/// valid.
#[must_use]
pub fn footnotes(curve: &Curve<'_>) -> String {
    curve
        .rows
        .iter()
        .flat_map(|row| row.invalid.iter().map(move |pass| footnote(row, pass)))
        .collect()
}

fn footnote(row: &CurveRow<'_>, pass: &LoadPointDoc) -> String {
    let verdict = if row.is_valid() {
        "left out of the averages"
    } else {
        "not valid"
    };
    let reason = pass.invalid_reason.as_deref().unwrap_or("no reason given");
    let mut text = format!(
        "! {}, pass {}: {verdict}: {}\n",
        pass.load(),
        pass.repeat,
        plain(reason)
    );
    text.extend(advice(pass).map(|words| format!("  {words}\n")));
    // A window without any answer has them in its reason.
    let in_flight = in_words(pass).filter(|_| !reason.contains(" in flight"));
    text.extend(in_flight.map(|words| format!("  {words}\n")));
    for dropout in pass.dropouts.iter().take(DROPOUTS_SHOWN) {
        text += &format!("  client {}: {}\n", dropout.client, plain(&dropout.reason));
    }
    let more = pass.dropouts.len().saturating_sub(DROPOUTS_SHOWN);
    if more > 0 {
        text += &format!("  and {}\n", counted(more as u64, "other"));
    }
    text
}

/// Returns the failures of the whole run, the caching granted to clients, and the
/// files left on the share. Empty if there is nothing to report.
#[must_use]
pub fn remarks(doc: &RunDoc) -> String {
    let replayed = Replayed::of(&doc.load_points).results();
    let replayed = replayed.map(|words| format!("replay: {words}\n"));
    remarks_with(
        &(replayed.unwrap_or_default() + &differences(&doc.load_points)),
        doc,
    )
}

/// Returns the same with these lines about operations that did not go as recorded.
pub(super) fn remarks_with(differences: &str, doc: &RunDoc) -> String {
    let mut text = failures(&doc.load_points) + &refused(&doc.load_points) + differences;
    text.extend(doc.load_points.iter().filter_map(cached));
    if let Some(noted) = &doc.noted {
        text += &format!(
            "state file: {} has {} of writes and flushes; the files stay in {}\n",
            plain(&noted.file),
            counted(noted.notes, "answer"),
            plain(&noted.directories.join(", "))
        );
    }
    if let Some(leftover) = &doc.leftover {
        text += &format!("left on the share: {}\n", plain(leftover));
    }
    if let Some(kept) = &doc.space_kept {
        text += &format!("left on the server: {}\n", plain(kept));
    }
    if let Some(reason) = &doc.space_unchecked {
        text += &format!(
            "free space: could not be checked after the deletions: {}\n",
            plain(reason)
        );
    }
    if let Some(words) = recycled(doc) {
        text += &format!("deletions: {words}\n");
    }
    for refusal in doc.recycle_bins.iter().filter_map(RecycleBin::refusal) {
        text += &format!("note: {}\n", plain(&refusal));
    }
    for unproven in doc.recycle_bins.iter().filter_map(RecycleBin::unproven) {
        text += &format!("left alone: {}\n", plain(&unproven));
    }
    text
}

/// Says that the server moved deleted files to a recycle bin, and what became of them.
/// `None` if it did not.
#[must_use]
pub fn recycled(doc: &RunDoc) -> Option<String> {
    let used = doc.recycle_bins.iter().filter(|bin| bin.is_used());
    let paths = used.clone().map(|bin| plain(&bin.path)).unique().join(", ");
    if paths.is_empty() {
        return None;
    }
    let files = used.clone().map(|bin| bin.files_removed).sum();
    let size = bytes(used.map(|bin| bin.bytes_removed).sum());
    let files = counted(files, "file");
    Some(format!(
        "the server moved deleted files to its recycle bin ({paths}); each deletion was a rename \
         for the server; smbench removed {files} ({size}) from the bin"
    ))
}

/// Returns how close the run comes to the limit of its generator, on one line of
/// any length; `None` if that is not known.
#[must_use]
pub fn reached(doc: &RunDoc) -> Option<String> {
    let reached = doc.calibration.as_ref()?.reached(doc)?;
    Some(plain(&reached.text))
}

/// Describes the caching granted to clients, how much of it was taken back, and what it leaves out
/// of sums.
fn cached(point: &LoadPointDoc) -> Option<String> {
    let caching = point.caching.as_ref()?;
    let granted = caching.granted.iter();
    let granted = granted.map(|(name, opens)| format!("{opens} {}", plain(name)));
    let granted = match granted.collect_vec() {
        opens if opens.is_empty() => "no open asked for one".to_owned(),
        opens => format!("granted {}", opens.join(", ")),
    };
    let listings = caching.listings.map_or_else(String::new, |listings| {
        format!(
            "; {} kept, {} at the end; {}",
            counted(listings.kept, "listing"),
            listings.held,
            counted(listings.stale, "stale answer")
        )
    });
    let answered = point.ops.get(OpKind::ListCached.name());
    let answered = answered.filter(|op| op.count > 0).map(|op| {
        let listings = counted(op.count, "listing");
        format!("; not in ops/s and response times: {listings} from memory")
    });
    let answered = answered.unwrap_or_default();
    Some(format!(
        "oplocks: {}: {granted}; {}{listings}{answered}\n",
        point.load(),
        counted(caching.breaks, "break")
    ))
}

/// Returns a line per operation and cause, over all load points, ramps included.
fn failures(points: &[LoadPointDoc]) -> String {
    let mut causes: BTreeMap<(String, String), (u64, BTreeSet<Load>)> = BTreeMap::new();
    for point in points {
        for failure in &point.failures {
            let cause = cause(&failure.status, failure.code.as_deref());
            let (count, points) = causes.entry((plain(&failure.op), cause)).or_default();
            *count = count.saturating_add(failure.count);
            points.insert(point.load());
        }
    }
    let line = |((op, cause), (count, points)): ((String, String), (u64, BTreeSet<Load>))| {
        let (times, points) = (counted(count, "time"), numbers(&points));
        format!("failed: {op}, {cause}: {times}, at load points {points}\n")
    };
    causes.into_iter().map(line).collect()
}

/// Returns a line per directory that walks left out, over all load points.
fn refused(points: &[LoadPointDoc]) -> String {
    let all = points.iter().flat_map(|point| &point.refused_directories);
    let all: Vec<_> = all.unique_by(|refused| &refused.path).collect();
    let shown = all.iter().take(REFUSED_SHOWN);
    let line = |of: &&RefusedDirectoryDoc| {
        format!("refused: {}, {}\n", plain(&of.path), plain(&of.status))
    };
    let mut text: String = shown.map(line).collect();
    let more = all.len().saturating_sub(REFUSED_SHOWN);
    if more > 0 {
        text += &format!("and {more} more; the document has up to 100 of each load point\n");
    }
    text
}

/// Highest number of refused directories shown.
const REFUSED_SHOWN: usize = 10;

/// Lists the numbers of load points, without their unit.
fn numbers(points: &BTreeSet<Load>) -> String {
    points.iter().map(|load| load.print()).join(", ")
}

/// Returns a line per difference between the recording and the replay, over all
/// load points.
fn differences(points: &[LoadPointDoc]) -> String {
    type DifferenceKey<'a> = (&'a str, &'a str, &'a str);
    let mut all: BTreeMap<DifferenceKey<'_>, (u64, BTreeSet<Load>)> = BTreeMap::new();
    for point in points {
        for found in &point.differences {
            let key = (&*found.op, &*found.recorded, &*found.seen);
            let (count, points) = all.entry(key).or_default();
            *count = count.saturating_add(found.count);
            points.insert(point.load());
        }
    }
    let line =
        |((op, recorded, seen), (count, points)): (DifferenceKey<'_>, (u64, BTreeSet<Load>))| {
            format!(
                "differs from the recording: {}, expected {}, got {}: {}, at load points {}\n",
                plain(op),
                plain(recorded),
                plain(seen),
                counted(count, "time"),
                numbers(&points)
            )
        };
    let more = all.len().saturating_sub(DIFFERENCES_SHOWN);
    let lines = all.into_iter();
    let lines = lines.sorted_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let mut text: String = lines.take(DIFFERENCES_SHOWN).map(line).collect();
    if more > 0 {
        text += &format!("and {}\n", counted(more as u64, "other difference"));
    }
    text
}

/// Highest number of differences shown; the document has them all.
const DIFFERENCES_SHOWN: usize = 10;

/// Returns `STATUS_DISK_FULL (0xC000007F)`, or just one of the two if they are
/// equal.
pub(super) fn cause(status: &str, code: Option<&str>) -> String {
    let status = plain(status);
    match code.map(plain) {
        Some(code) if code != status => format!("{status} ({code})"),
        _ => status,
    }
}
