//! The parts of one run: which clients each has, and its name.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use itertools::Itertools as _;
use smbench_model::part::ClientRange;

use super::error::MergeError;
use super::matching;
use crate::doc::{RunDoc, ServerLocation, ToolDoc};
use crate::units::plain;

/// The document of a part of a run, as it was saved.
#[derive(Clone, Debug)]
pub struct SavedPart {
    /// Path of the document, which messages name.
    pub path: String,
    /// The document.
    pub doc: RunDoc,
}

/// The document of a part whose clients are known.
pub(super) struct Part {
    /// Path of the document.
    pub(super) path: String,
    /// Name of the machine, unique among the parts.
    pub(super) name: String,
    pub(super) range: ClientRange,
    pub(super) doc: RunDoc,
}

/// Checks that the documents are the parts of one run, all of them. Sorts them by their
/// clients.
pub(super) fn of_one_run(saved: Vec<SavedPart>) -> Result<Vec<Part>, MergeError> {
    if saved.len() < 2 {
        return Err(MergeError::TooFew(saved.len()));
    }
    let parts = saved.into_iter().map(part);
    let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
    parts.sort_by_key(|part| (part.range.from, part.range.to));
    for (one, other) in parts.iter().tuple_windows() {
        matching::check(one, other)?;
    }
    cover(&parts)?;
    name(&mut parts);
    Ok(parts)
}

fn part(SavedPart { path, doc }: SavedPart) -> Result<Part, MergeError> {
    let Some(range) = &doc.plan.generator.client_range else {
        return Err(MergeError::NotAPart { path });
    };
    let this = ToolDoc::this();
    if doc.tool != this {
        return Err(MergeError::Release {
            path,
            release: doc.tool.version,
            this: this.version,
        });
    }
    let range = range.parse::<ClientRange>();
    let range = range.map_err(|error| {
        MergeError::damaged(&path, format!("plan.client_range is wrong: {error}"))
    })?;
    if doc.find.is_some() {
        return Err(MergeError::Search { path });
    }
    if doc.server.place == ServerLocation::Embedded {
        return Err(MergeError::OwnServer { path });
    }
    let test = doc.plan.workload.fileio.as_ref();
    if test.is_some_and(|test| test.events > 0) {
        return Err(MergeError::Events { path });
    }
    let is_measured =
        !doc.load_points.is_empty() && doc.load_points.iter().all(|point| point.window_s > 0.0);
    if is_measured {
        Ok(Part {
            path,
            name: String::new(),
            range,
            doc,
        })
    } else {
        Err(MergeError::NotMeasured { path })
    }
}

/// Checks that each client is in exactly one of the parts.
fn cover(parts: &[Part]) -> Result<(), MergeError> {
    let all = parts.first().map_or(0, |part| part.range.of);
    let mut carriers: Vec<Option<&Part>> = vec![None; all as usize];
    for part in parts {
        let is_taken = |client: &u32| carriers[*client as usize].is_some();
        let both: Vec<_> = part.range.clients(all).filter(is_taken).collect();
        let first = both.first().and_then(|client| carriers[*client as usize]);
        if let Some(before) = first {
            return Err(MergeError::Overlap {
                one: before.path.clone(),
                other: part.path.clone(),
                clients: clients(&ranges(&both), all),
            });
        }
        for client in part.range.clients(all) {
            carriers[client as usize] = Some(part);
        }
    }
    let is_missing = |client: &u32| carriers[*client as usize].is_none();
    let missing: Vec<_> = (0..all).filter(is_missing).collect();
    let verb = match &missing[..] {
        [] => return Ok(()),
        [_] => "is",
        _ => "are",
    };
    let clients = format!("{} {verb}", clients(&ranges(&missing), all));
    Err(MergeError::Missing { clients })
}

/// Joins consecutive numbers, which are sorted.
fn ranges(numbers: &[u32]) -> Vec<Range<u32>> {
    let each = numbers.iter().map(|&number| number..number + 1);
    let joined = each.coalesce(|one, next| {
        if one.end == next.start {
            Ok(one.start..next.end)
        } else {
            Err((one, next))
        }
    });
    joined.collect()
}

/// Names clients: `clients 500 to 999 of 1000`.
fn clients(ranges: &[Range<u32>], all: u32) -> String {
    let numbers = ranges.iter().map(|range| match range.len() {
        1 => range.start.to_string(),
        _ => format!("{} to {}", range.start, range.end.saturating_sub(1)),
    });
    let noun = match ranges {
        [one] if one.len() == 1 => "client",
        _ => "clients",
    };
    format!("{noun} {} of {all}", numbers.format(", "))
}

/// Names the parts by their labels. A label that several parts have names the run, so these
/// are named after their files. Equal names get a number.
fn name(parts: &mut [Part]) {
    let labels = parts.iter().filter_map(|part| part.doc.label.clone());
    let counts = labels.counts();
    let mut taken = BTreeSet::new();
    for part in parts {
        let label = part.doc.label.as_ref();
        let label = label.filter(|label| counts.get(*label) == Some(&1));
        let stem = || {
            let path = Path::new(&part.path);
            let stem = path.file_stem().unwrap_or(path.as_os_str());
            stem.to_string_lossy().into_owned()
        };
        let name = plain(&label.cloned().unwrap_or_else(stem));
        let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
        let mut names = [name.clone()].into_iter().chain(numbered);
        part.name = names.find(|name| !taken.contains(name)).unwrap_or_default();
        taken.insert(part.name.clone());
    }
}
