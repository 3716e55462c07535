//! What answers show about names, and in which order the server carried operations out.

use std::collections::HashMap;

use super::order::PlacedRecord;
use crate::trace::TraceLine;

/// FILE_CREATED (MS-SMB2 2.2.14).
const CREATED: u32 = 2;

/// What the answer of an operation shows about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameShown {
    /// The name was not there.
    Absent,
    /// It was there.
    Present,
    Nothing,
}

impl NameShown {
    /// Returns what an answer shows about the name that was asked for.
    pub(super) fn of_name(line: &TraceLine) -> Self {
        match line.status.as_deref() {
            Some("STATUS_OBJECT_NAME_NOT_FOUND" | "STATUS_OBJECT_PATH_NOT_FOUND") => Self::Absent,
            _ => Self::Nothing,
        }
    }

    /// Returns what an answer shows about the directory of that name.
    pub(super) fn of_directory(line: &TraceLine) -> Self {
        match line.status.as_deref() {
            Some("STATUS_OBJECT_PATH_NOT_FOUND") => Self::Absent,
            Some("STATUS_SUCCESS" | "STATUS_OBJECT_NAME_NOT_FOUND") => Self::Present,
            _ => Self::Nothing,
        }
    }
}

/// Returns whether an operation made its name.
pub(super) fn is_made(line: &TraceLine) -> bool {
    let is_done = line.status.as_deref() == Some("STATUS_SUCCESS");
    let by_create = line.create.as_ref();
    let is_new = by_create.is_some_and(|create| create.action == Some(CREATED));
    is_done && (is_new || line.command == "cifs_create_directory")
}

/// Puts records in the order in which the server carried them out, as far as their answers show
/// it. They come in the order of sending, and that of each track stays.
///
/// A record may find a directory that another one makes, although it was sent earlier, if both
/// were under way at the same time. It then follows the other one.
pub(super) fn in_order_of_effect<'a>(
    sent: Vec<PlacedRecord<'a>>,
    parent: impl Fn(u32) -> Option<u32>,
) -> Vec<PlacedRecord<'a>> {
    // Records under way that found a directory, by its name.
    let mut found: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut places: Vec<usize> = (0..sent.len()).map(|at| 2 * at).collect();
    for (at, record) in sent.iter().enumerate() {
        for line in record.lines {
            let Some(path) = line.path else {
                continue;
            };
            if is_made(line) {
                let found = found.remove(&path).unwrap_or_default().into_iter();
                let others = found.filter(|&other| {
                    sent[other].done > record.sent && sent[other].track != record.track
                });
                others.for_each(|other| places[other] = 2 * at + 1);
            }
            if NameShown::of_directory(line) == NameShown::Present
                && let Some(above) = parent(path)
            {
                let found = found.entry(above).or_default();
                found.retain(|&other| sent[other].done > record.sent);
                found.push(at);
            }
        }
    }
    let mut last: HashMap<u32, usize> = HashMap::new();
    for (place, record) in places.iter_mut().zip(&sent) {
        let last = last.entry(record.track).or_default();
        *last = (*last).max(*place);
        *place = *last;
    }
    let mut placed: Vec<_> = places.into_iter().zip(sent).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, record)| record).collect()
}

#[cfg(test)]
mod tests {
    use super::super::order::OrderFinder;
    use super::super::order::tests::{awaited, create};
    use super::*;

    #[test]
    fn who_finds_a_directory_that_was_just_made_waits_for_it() {
        let missed = TraceLine {
            path: Some(3),
            status: Some("STATUS_OBJECT_NAME_NOT_FOUND".to_owned()),
            ..create(3, 2, 7, 1)
        };
        let record = |track, record, times: [u64; 2], line| PlacedRecord {
            track,
            record,
            sent: times[0],
            done: times[1],
            lines: std::slice::from_ref(line),
        };
        let (make, next) = (create(1, 1, 7, 2), create(2, 3, 7, 2));
        let parent = |path| (path > 1).then_some(1);
        let order = |done: u64| {
            let sent = vec![
                record(1, 0, [0, done], &missed),
                record(0, 0, [5, 15], &make),
                record(1, 1, [20, 30], &next),
            ];
            let placed = in_order_of_effect(sent, parent);
            let mut finder = OrderFinder::default();
            placed.iter().for_each(|one| finder.add(one, parent));
            let tracks: Vec<_> = placed.iter().map(|one| one.track).collect();
            (tracks, finder.finish())
        };
        // Both were under way at the same time.
        let (tracks, found) = order(10);
        assert_eq!(tracks, [0, 1, 1]);
        assert_eq!(found.get(&1), Some(&vec![awaited(0, 0, 0)]));
        assert_eq!(found.get(&0), None);
        // The first one was answered before the other was sent, so another directory was there.
        let (tracks, found) = order(4);
        assert_eq!(tracks, [1, 0, 1]);
        assert_eq!(found.get(&0), Some(&vec![awaited(0, 1, 0)]));
    }
}
