//! What answers show about names, and in which order the server carried operations out.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::num::NonZeroU32;

use super::order::PlacedRecord;
use super::packed::PackedLines;
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
            Some("STATUS_OBJECT_NAME_COLLISION") => Self::Present,
            Some("STATUS_SUCCESS") => match &line.create {
                Some(create) if create.action.is_some_and(|action| action != CREATED) => {
                    Self::Present
                }
                _ => Self::Nothing,
            },
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

/// Returns whether the status of a request shows that its handle was open.
pub(super) fn is_open_shown(status: &str) -> bool {
    !matches!(
        status,
        "STATUS_FILE_CLOSED"
            | "STATUS_INVALID_HANDLE"
            | "STATUS_INVALID_PARAMETER"
            | "STATUS_USER_SESSION_DELETED"
            | "STATUS_NETWORK_NAME_DELETED"
    )
}

/// Returns whether an operation made its name.
pub(super) fn is_made(line: &TraceLine) -> bool {
    let is_done = line.status.as_deref() == Some("STATUS_SUCCESS");
    let by_create = line.create.as_ref();
    let is_new = by_create.is_some_and(|create| create.action == Some(CREATED));
    is_done && (is_new || line.command == "cifs_create_directory")
}

/// Two records of different tracks: the server carried one out before the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Precedence {
    first: u32,
    then: u32,
}

/// Returns the order in which the server carried records out, as far as their answers show it.
/// They come in the order of sending, and that of each track stays.
///
/// Of two records that were under way at the same time, one may make a name that the other one
/// looks for. The answer then shows which of the two came first.
pub(super) fn in_order_of_effect(
    sent: &[PlacedRecord],
    lines: &PackedLines,
    parent: impl Fn(u32) -> Option<u32>,
) -> Vec<u32> {
    // Records under way that found a name, and the last one that made it, by name.
    let mut found: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut made: HashMap<u32, u32> = HashMap::new();
    let mut shown = Vec::new();
    let mut own = Vec::new();
    for (at, record) in (0..).zip(sent) {
        let is_beside = |other: &u32| {
            let other = &sent[*other as usize];
            other.done > record.sent && other.track != record.track
        };
        lines.read_all(record.lines.clone(), &mut own);
        for line in &own {
            let Some(path) = line.path else {
                continue;
            };
            if is_made(line) {
                let found = found.remove(&path).unwrap_or_default().into_iter();
                let found = found.filter(is_beside);
                shown.extend(found.map(|then| Precedence { first: at, then }));
                made.insert(path, at);
            }
            let above = parent(path).map(|above| (above, NameShown::of_directory(line)));
            for (name, answer) in above.into_iter().chain([(path, NameShown::of_name(line))]) {
                let maker = made.get(&name).copied().filter(is_beside);
                match answer {
                    NameShown::Present => {
                        shown.extend(maker.map(|first| Precedence { first, then: at }));
                        let found = found.entry(name).or_default();
                        found.retain(|&other| sent[other as usize].done > record.sent);
                        found.push(at);
                    }
                    NameShown::Absent => {
                        shown.extend(maker.map(|then| Precedence { first: at, then }));
                    }
                    NameShown::Nothing => {}
                }
            }
        }
    }
    in_order(sent, shown)
}

/// Returns an order of records that has these precedences and those of each track. Where they
/// contradict each other, the record that was sent first goes first.
fn in_order(sent: &[PlacedRecord], mut known: Vec<Precedence>) -> Vec<u32> {
    let all = 0..sent.len() as u32;
    if known.is_empty() {
        return all.collect();
    }
    known.sort_unstable();
    let mut awaited = vec![0_u32; sent.len()];
    for one in &known {
        awaited[one.then as usize] += 1;
    }
    // The next record of the same track. It is not the first of all.
    let mut next: Vec<Option<NonZeroU32>> = vec![None; sent.len()];
    let mut last: HashMap<u32, u32> = HashMap::new();
    for (at, record) in (0..).zip(sent) {
        if let Some(before) = last.insert(record.track, at) {
            next[before as usize] = NonZeroU32::new(at);
            awaited[at as usize] += 1;
        }
    }
    let free = all.filter(|&at| awaited[at as usize] == 0);
    let mut free: BinaryHeap<_> = free.map(Reverse).collect();
    let mut is_left = vec![true; sent.len()];
    let mut placed = Vec::with_capacity(sent.len());
    let mut oldest = 0;
    while placed.len() < sent.len() {
        let at = free.pop().map(|Reverse(at)| at).unwrap_or_else(|| {
            let gone = is_left[oldest..].iter().take_while(|&&left| !left);
            oldest += gone.count();
            oldest as u32
        });
        // One that was placed against a precedence may become free later.
        if !std::mem::take(&mut is_left[at as usize]) {
            continue;
        }
        placed.push(at);
        let from = known.partition_point(|one| one.first < at);
        let shown = known[from..].iter().take_while(|one| one.first == at);
        let following = next[at as usize].map(NonZeroU32::get);
        for then in shown.map(|one| one.then).chain(following) {
            let awaited = &mut awaited[then as usize];
            *awaited -= 1;
            if *awaited == 0 {
                free.push(Reverse(then));
            }
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use smbench_model::trace::Awaited;

    use super::super::order::OrderFinder;
    use super::super::order::tests::{awaited, create};
    use super::super::packed::tests::packed;
    use super::*;

    /// Returns a record of a line with this number, with the times of its request and its answer.
    fn record(track: u32, record: u32, [sent, done]: [u64; 2], line: u32) -> PlacedRecord {
        PlacedRecord {
            track,
            record,
            sent,
            done,
            lines: line..line + 1,
        }
    }

    /// Returns the tracks in the order of their records, and what each waits for.
    fn order(
        sent: &[PlacedRecord],
        lines: &[&TraceLine],
        parent: impl Fn(u32) -> Option<u32>,
    ) -> (Vec<u32>, HashMap<u32, Vec<Awaited>>) {
        let placed = in_order_of_effect(sent, &packed(lines.iter().copied()), &parent);
        let placed = placed.into_iter().map(|at| &sent[at as usize]);
        let mut finder = OrderFinder::default();
        let tracks = placed.map(|one| {
            let line = lines[one.lines.start as usize];
            finder.add(one, std::slice::from_ref(line), &parent);
            one.track
        });
        (tracks.collect(), finder.finish())
    }

    #[test]
    fn who_finds_a_directory_that_was_just_made_waits_for_it() {
        let missed = TraceLine {
            path: Some(3),
            status: Some("STATUS_OBJECT_NAME_NOT_FOUND".to_owned()),
            ..create(3, 2, 7, 1)
        };
        let (make, next) = (create(1, 1, 7, 2), create(2, 3, 7, 2));
        let parent = |path| (path > 1).then_some(1);
        let order = |done: u64| {
            let sent = [
                record(1, 0, [0, done], 0),
                record(0, 0, [5, 15], 1),
                record(1, 1, [20, 30], 2),
            ];
            order(&sent, &[&missed, &make, &next], parent)
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

    #[test]
    fn who_misses_a_name_that_is_just_made_comes_first() {
        for (missing, status) in [
            (1, "STATUS_OBJECT_NAME_NOT_FOUND"),
            (3, "STATUS_OBJECT_PATH_NOT_FOUND"),
        ] {
            let missed = TraceLine {
                path: Some(missing),
                status: Some(status.to_owned()),
                ..create(missing, 2, 7, 1)
            };
            let found = create(4, 4, 7, 2);
            let make = create(1, 1, 7, 2);
            let parent = |path| (path > 1).then_some(1);
            let order = |done: u64| {
                let sent = [
                    record(0, 0, [0, done], 0),
                    record(2, 0, [5, 40], 1),
                    record(1, 0, [10, 30], 2),
                ];
                order(&sent, &[&make, &found, &missed], parent)
            };
            // Both were under way at the same time.
            let (tracks, awaits) = order(20);
            assert_eq!(tracks, [1, 0, 2]);
            assert_eq!(awaits.get(&0), Some(&vec![awaited(0, 1, 0)]));
            assert_eq!(awaits.get(&1), None);
            assert_eq!(awaits.get(&2), Some(&vec![awaited(0, 0, 0)]));
            // The name was made before, so it was removed since.
            let (tracks, awaits) = order(8);
            assert_eq!(tracks, [0, 2, 1]);
            assert_eq!(awaits.get(&1), Some(&vec![awaited(0, 0, 0)]));
        }
    }

    #[test]
    fn who_finds_a_file_that_is_just_made_waits_for_it() {
        let collision = TraceLine {
            status: Some("STATUS_OBJECT_NAME_COLLISION".to_owned()),
            ..create(3, 1, 7, 1)
        };
        for found in [create(3, 1, 7, 1), collision] {
            let make = create(3, 2, 7, CREATED);
            let sent = [record(0, 0, [0, 30], 0), record(1, 0, [5, 15], 1)];
            let (_, awaits) = order(&sent, &[&found, &make], |_| None);
            assert_eq!(awaits.get(&0), Some(&vec![awaited(0, 1, 0)]));
            assert_eq!(awaits.get(&1), None);
        }
    }

    #[test]
    fn answers_that_contradict_each_other_leave_the_order_of_sending() {
        let sent = [record(0, 0, [0, 1], 0), record(1, 0, [0, 1], 1)];
        let one = |first, then| Precedence { first, then };
        assert_eq!(in_order(&sent, vec![one(1, 0), one(0, 1)]), [0, 1]);
    }

    #[test]
    fn a_directory_that_was_found_while_it_was_made_is_not_prepared() {
        use super::super::tree::{RecordedTree, TreeNode};
        let nodes = || -> Vec<TreeNode> {
            let lines = [
                r#"{"name": "share"}"#,
                r#"{"parent": 1, "name": "made", "directory": true}"#,
                r#"{"parent": 2, "name": "file"}"#,
            ];
            lines.map(|line| serde_json::from_str(line).unwrap()).into()
        };
        let prepared = |found_until: u64| {
            let mut tree = RecordedTree::new(nodes());
            let found = TraceLine {
                at_ns: 0,
                took_ns: Some(found_until),
                ..create(3, 2, 7, CREATED)
            };
            let made = TraceLine {
                at_ns: 10,
                took_ns: Some(10),
                ..create(2, 1, 7, CREATED)
            };
            tree.follow(&found);
            tree.follow(&made);
            tree.finish().len()
        };
        assert_eq!(prepared(30), 0);
        // It was there, and somebody removed it out of the capture's sight.
        assert_eq!(prepared(5), 1);
    }
}
