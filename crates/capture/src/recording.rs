//! The folder of an imported capture as a recording that can be replayed.
//!
//! Each session with file operations is a track. All tracks work on the same names: the
//! tree that the capture implies is made before the first operation, so that statuses
//! come out as recorded. What is not replayed is counted by its name.

mod cifs_step;
mod effect;
mod ends;
mod fold;
mod folder;
mod order;
mod packed;
mod step;
mod track;
mod tree;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind::NotFound};
use std::time::Duration;

use aws_lc_rs::digest::{Context, SHA256};
use smbench_model::kind::OpKind;
use smbench_model::trace::{Awaited, RecordedTimes, Recording};
use thiserror::Error;

use effect::in_order_of_effect;
use ends::SessionEnds;
use folder::Lines;
pub(crate) use folder::of_summary;
use order::OrderFinder;
use packed::PackedLines;
use track::Track;
use tree::{PIPES, RecordedTree, TreeNode};

use crate::trace::{SESSION_END, SessionLine, TraceLine};

/// Names of the files in the folder of an import.
pub const TRACE_FILE: &str = "trace.jsonl.gz";
/// Names of the files in the folder of an import.
pub const TREE_FILE: &str = "tree.jsonl.gz";
/// Names of the files in the folder of an import.
pub const SESSIONS_FILE: &str = "sessions.jsonl.gz";
/// Names of the files in the folder of an import.
pub const SUMMARY_FILE: &str = "summary.json";

/// Lines of a trace that are read: as many as a replay may have records.
const LINES_MAX: usize = smbench_model::trace::RECORDS_MAX;

/// The reason why a folder cannot be replayed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// It is no folder of an import.
    #[error("{path} {found}: give the folder that `smbench import pcap` wrote")]
    NoFolder {
        /// The path as given.
        path: String,
        /// What is there instead.
        found: &'static str,
    },
    /// A file cannot be read.
    #[error("failed to read {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's reason.
        #[source]
        reason: io::Error,
    },
    /// A line is not valid.
    #[error("{path}, line {line}: {reason}")]
    Malformed {
        /// The file.
        path: String,
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// Nothing in the trace can be replayed.
    #[error("{path} has no operation that can be replayed: {skipped}{}", sealed(*.encrypted))]
    Empty {
        /// The folder.
        path: String,
        /// What was left out.
        skipped: String,
        /// Messages that remained encrypted.
        encrypted: u64,
    },
}

/// Reads the folder that an import wrote.
///
/// # Errors
/// If it is no such folder; if a file cannot be read, or has a line that is not valid; or if
/// nothing can be replayed.
pub fn read_recording(folder: &str) -> Result<Recording, RecordingError> {
    folder::check(folder)?;
    let mut hash = Context::new(&SHA256);
    let nodes: Vec<TreeNode> = Lines::open(folder, TREE_FILE)?.read(&mut hash)?;
    let mut lines = PackedLines::default();
    let trace = Lines::open(folder, TRACE_FILE)?;
    trace.each(&mut hash, |line: TraceLine| lines.push(&line))?;
    lines.begin_at_zero();
    let mut users = users(folder)?;
    let mut tree = RecordedTree::new(nodes);
    tree.names = folder::names(folder, &mut hash)?;
    let mut digest = [0; 32];
    digest.copy_from_slice(hash.finish().as_ref());
    let mut skipped: BTreeMap<String, u64> = BTreeMap::new();
    let lasts = by_session(&mut lines, &mut tree, &mut skipped);
    let prepared = tree.finish();
    let mut tracks: Vec<Track> = Vec::new();
    for (session, of_session) in lines.sessions() {
        let mut track = Track::new(session, of_session, lasts);
        track.of_user(users.remove(&session));
        if tracks.is_empty() {
            track.prepare(&tree, &prepared);
        }
        track.add(&lines, &tree);
        if track.has_records() {
            tracks.push(track);
        } else {
            for (what, count) in track.skipped {
                *skipped.entry(what).or_default() += count;
            }
        }
    }
    let mut awaited = awaited(&tracks, &lines, &tree);
    // Records have what they need of them.
    drop((lines, tree, prepared));
    let last = last_awaited(awaited.values().flatten());
    for (number, track) in (0..).zip(&mut tracks) {
        track.leave_closes(last.get(&number).copied());
    }
    let mut took: BTreeMap<OpKind, Vec<u64>> = BTreeMap::new();
    let traces = (0..).zip(tracks).map(|(number, mut track)| {
        track.wait_for(awaited.remove(&number).unwrap_or_default());
        track.finish(folder, &digest, &mut took)
    });
    let tracks = traces.collect();
    let recorded = took
        .into_iter()
        .filter_map(|(kind, times)| Some((kind, RecordedTimes::of(times)?)));
    let recording = Recording::of_capture(tracks, &skipped, recorded.collect());
    recording.ok_or_else(|| RecordingError::Empty {
        path: folder.to_owned(),
        skipped: listed(&skipped),
        encrypted: folder::encrypted(folder),
    })
}

/// Puts the lines of each session together in the order of sending, with a line for each file
/// that its end closed. Counts and removes what is of no session. Returns the last time.
fn by_session(
    lines: &mut PackedLines,
    tree: &mut RecordedTree,
    skipped: &mut BTreeMap<String, u64>,
) -> Duration {
    let mut ends = SessionEnds::default();
    let mut last_ns: HashMap<u32, u64> = HashMap::new();
    let mut lasts_ns = 0;
    lines.follow(|line, closed| {
        lasts_ns = line.done_ns().max(lasts_ns);
        let is_pipe = line.path.is_some_and(|path| tree.is_pipe(path));
        let Some(session) = line.session.filter(|_| !is_pipe) else {
            let what = match line.session {
                Some(_) => format!("{} of {PIPES}", line.command),
                None => line.command.clone(),
            };
            *skipped.entry(what).or_default() += 1;
            return false;
        };
        not_before(line, last_ns.entry(session).or_default());
        for one in ends.follow(session, line, |path| tree.share(path)) {
            tree.follow(&one);
            closed.push(one);
        }
        let is_request = line.command != SESSION_END;
        if is_request {
            tree.follow(line);
        }
        is_request
    });
    Duration::from_nanos(lasts_ns)
}

/// Returns the users of the sessions. Folders of older imports do not name them.
fn users(folder: &str) -> Result<HashMap<u32, String>, RecordingError> {
    // The digest of a trace does not depend on its users.
    let mut hash = Context::new(&SHA256);
    let lines: Vec<SessionLine> = match Lines::open(folder, SESSIONS_FILE) {
        Ok(lines) => lines.read(&mut hash)?,
        Err(RecordingError::Unreadable { reason, .. }) if reason.kind() == NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let users = lines
        .into_iter()
        .filter_map(|line| Some((line.session, line.user?)));
    Ok(users.collect())
}

/// Lets a request be sent no earlier than the one before it, whatever the clocks of the
/// capture say. Its answer comes when it came.
fn not_before(line: &mut TraceLine, last_ns: &mut u64) {
    let early_ns = last_ns.saturating_sub(line.at_ns);
    line.at_ns += early_ns;
    line.took_ns = line.took_ns.map(|took| took.saturating_sub(early_ns));
    *last_ns = line.at_ns;
}

/// Returns what the records of each track wait for in the others.
fn awaited(
    tracks: &[Track],
    lines: &PackedLines,
    tree: &RecordedTree,
) -> HashMap<u32, Vec<Awaited>> {
    let mut finder = OrderFinder::default();
    if tracks.len() > 1 {
        // There may be millions: memory is taken once.
        let mut sent = Vec::with_capacity(tracks.iter().map(Track::record_count).sum());
        for (number, track) in (0..).zip(tracks) {
            sent.extend(track.placed(number));
        }
        sent.sort_unstable_by_key(|one| (lines.number(one.lines.start), one.track, one.record));
        let parent = |path| tree.parent(path);
        let mut own = Vec::new();
        for at in in_order_of_effect(&sent, lines, parent) {
            let record = &sent[at as usize];
            lines.read_all(record.lines.clone(), &mut own);
            finder.add(record, &own, parent);
        }
    }
    finder.finish()
}

/// Returns the last record of each track that others wait for.
fn last_awaited<'a>(awaited: impl Iterator<Item = &'a Awaited>) -> HashMap<u32, u32> {
    let mut last = HashMap::new();
    for Awaited { track, on, .. } in awaited {
        let known = last.entry(*track).or_insert(*on);
        *known = (*known).max(*on);
    }
    last
}

/// Says what helps where messages remained encrypted.
fn sealed(encrypted: u64) -> String {
    match encrypted {
        0 => String::new(),
        1 => "; 1 message is encrypted: import the capture with its key".to_owned(),
        count => format!("; {count} messages are encrypted: import the capture with their key"),
    }
}

/// Returns counts with their names.
fn listed(counts: &BTreeMap<String, u64>) -> String {
    let named = counts.iter().map(|(what, count)| format!("{count} {what}"));
    let named: Vec<_> = named.collect();
    if named.is_empty() {
        "it has no line".to_owned()
    } else {
        named.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::packed::tests::packed;
    use super::*;

    #[test]
    fn lines_are_put_together_by_session_with_what_its_end_closes() {
        let names = r#"{"name":"s"}|{"parent":1,"name":"f"}|{"name":"IPC$"}"#;
        let nodes = names
            .split('|')
            .map(|line| serde_json::from_str(line).unwrap());
        let mut tree = RecordedTree::new(nodes.collect());
        let line = |number, session, command: &str, path, handle| TraceLine {
            number,
            session,
            command: command.to_owned(),
            path,
            handle,
            status: Some("STATUS_SUCCESS".to_owned()),
            ..TraceLine::default()
        };
        let mut lines = packed(&[
            line(6, Some(1), "logoff", None, None),
            line(1, None, "negotiate", None, None),
            line(5, Some(2), "session_end", None, None),
            line(4, Some(2), "create", Some(2), Some(3)),
            line(3, Some(1), "create", Some(3), Some(2)),
            line(2, Some(1), "create", Some(2), Some(1)),
        ]);
        let mut skipped = BTreeMap::new();
        by_session(&mut lines, &mut tree, &mut skipped);
        assert!(lines.sessions().eq([(1, 0..3), (2, 3..5)]));
        let mut all = Vec::new();
        lines.read_all(0..5, &mut all);
        let found = all.iter().map(|line| {
            let command = line.command.as_str();
            (line.session.unwrap(), line.number, command, line.handle)
        });
        let closed = step::CLOSED_BY_END;
        let expected = [
            (1, 2, "create", Some(1)),
            (1, 6, "logoff", None),
            (1, 6, closed, Some(1)),
            (2, 4, "create", Some(3)),
            (2, 5, closed, Some(3)),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let expected = [("create of IPC$", 1), ("negotiate", 1)];
        assert_eq!(
            skipped,
            expected
                .map(|(what, count)| (what.to_owned(), count))
                .into()
        );
    }

    #[test]
    fn of_what_others_wait_for_in_a_track_the_last_record_counts() {
        let awaited = [(0, 4), (2, 1), (0, 7), (0, 5)];
        let awaited = awaited.map(|(track, on)| Awaited {
            record: 9,
            track,
            on,
        });
        assert_eq!(last_awaited(awaited.iter()), [(0, 7), (2, 1)].into());
    }
}
