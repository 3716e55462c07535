//! What an operation waits for in other sessions: earlier operations on the same name,
//! unless both only look.
//!
//! An operation is earlier if it was sent and answered earlier, or if the answers show it. Each
//! waits only for those before it in one order of all, so nobody waits in a circle.
//! Sessions that work on different names run independently of each other. Within a
//! session, the recorded order holds anyway.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use smbench_model::trace::Awaited;

use super::effect::{NameShown, is_made};
use super::step::CLOSED_BY_END;
use crate::trace::TraceLine;

/// FILE_DIRECTORY_FILE and FILE_DELETE_ON_CLOSE (MS-SMB2 2.2.13).
const DELETE_ON_CLOSE: u32 = 0x1000;
/// All of ShareAccess: other opens are not restricted.
const SHARES_ALL: u32 = 7;
/// FILE_OPENED (MS-SMB2 2.2.14).
const OPENED: u32 = 1;

/// What an operation does to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// It commutes with others that look.
    Look,
    Change,
}

/// A name that an operation uses.
#[derive(Clone, Copy, Debug)]
struct NameUse {
    name: u32,
    effect: Effect,
    shown: NameShown,
}

/// A record of a track, with the numbers of the lines that it was made of.
pub(super) struct PlacedRecord {
    pub(super) track: u32,
    pub(super) record: u32,
    pub(super) sent: u64,
    pub(super) done: u64,
    pub(super) lines: Range<u32>,
}

/// An earlier operation on a name.
#[derive(Clone, Copy, Debug)]
struct EarlierUse {
    record: u32,
    done: u64,
    /// If it did not find the name, it came before the name was made, whenever it was answered.
    shown: NameShown,
    /// It made the name, so what was found below the name came after it, whenever it was
    /// answered.
    is_made: bool,
}

/// The last operations on a name.
#[derive(Default)]
struct NameHistory {
    changed: Option<(u32, EarlierUse)>,
    /// The last looks since then, by track.
    looked: HashMap<u32, EarlierUse>,
    /// Where the file ends.
    end: u64,
}

/// Finds what each record waits for. Records come in the order of sending.
#[derive(Default)]
pub(super) struct OrderFinder {
    names: HashMap<u32, NameHistory>,
    /// Opens that restrict others, or delete their file when they are closed.
    restricting: HashMap<u64, ()>,
    /// The last record of another track that a track has waited for.
    known: HashMap<(u32, u32), u32>,
    awaited: HashMap<u32, Vec<Awaited>>,
}

impl OrderFinder {
    /// Follows a record, which was made of these lines.
    pub(super) fn add(
        &mut self,
        record: &PlacedRecord,
        lines: &[TraceLine],
        parent: impl Fn(u32) -> Option<u32>,
    ) {
        let makes = lines.iter().any(is_made);
        for line in lines {
            for used in self.uses(line, &parent).into_iter().flatten() {
                let this = EarlierUse {
                    record: record.record,
                    done: record.done,
                    shown: used.shown,
                    is_made: makes,
                };
                self.touch(record.track, this, used);
            }
        }
    }

    /// Returns what each track waits for, in the order of its records.
    pub(super) fn finish(self) -> HashMap<u32, Vec<Awaited>> {
        self.awaited
    }

    fn uses(
        &mut self,
        line: &TraceLine,
        parent: impl Fn(u32) -> Option<u32>,
    ) -> [Option<NameUse>; 4] {
        let Some(path) = line.path else {
            return [None; 4];
        };
        let is_done = line.status.as_deref() == Some("STATUS_SUCCESS");
        let directory = |name| NameUse {
            name,
            effect: Effect::Look,
            shown: NameShown::of_directory(line),
        };
        let above = parent(path).map(directory);
        let own = |effect| {
            Some(NameUse {
                name: path,
                effect,
                shown: NameShown::of_name(line),
            })
        };
        let to = line.to.map(|name| NameUse {
            name,
            effect: Effect::Change,
            shown: NameShown::Nothing,
        });
        if let Some(create) = &line.create {
            let restricts =
                create.share & SHARES_ALL != SHARES_ALL || create.options & DELETE_ON_CLOSE != 0;
            if let (true, Some(handle)) = (restricts, line.handle) {
                self.restricting.insert(handle, ());
            }
            let looks = match (is_done, line.status.as_deref()) {
                (true, _) => !restricts && matches!(create.action, None | Some(OPENED)),
                (_, Some("STATUS_SHARING_VIOLATION" | "STATUS_DELETE_PENDING")) => false,
                _ => true,
            };
            if let Some(size) = create.size.filter(|_| is_done) {
                self.names.entry(path).or_default().end = size;
            }
            let effect = if looks { Effect::Look } else { Effect::Change };
            return [own(effect), above, None, None];
        }
        match line.command.as_str() {
            "close" | "cifs_close" | CLOSED_BY_END => {
                let handle = line.handle.unwrap_or(0);
                match self.restricting.remove(&handle) {
                    Some(()) => [own(Effect::Change), above, None, None],
                    None => [own(Effect::Look), None, None, None],
                }
            }
            "write" | "cifs_write_andx" => {
                let (offset, length) = (line.offset.unwrap_or(0), line.length.unwrap_or(0));
                let end = offset.saturating_add(length);
                let known = &mut self.names.entry(path).or_default().end;
                let effect = if end > *known {
                    *known = end;
                    Effect::Change
                } else {
                    Effect::Look
                };
                [own(effect), None, None, None]
            }
            "set_info" => {
                if let Some(handle) = line.handle {
                    self.restricting.insert(handle, ());
                }
                let above_to = line.to.and_then(parent).map(directory);
                [own(Effect::Change), above, to, above_to]
            }
            "lock" | "cifs_locking_andx" => [own(Effect::Change), None, None, None],
            "cifs_delete" | "cifs_delete_directory" | "cifs_create_directory" | "cifs_rename" => {
                [own(Effect::Change), above, to, None]
            }
            // Those of CIFS by name find nothing in a directory that is not made yet.
            _ if line.handle.is_none() => [own(Effect::Look), above, None, None],
            _ => [own(Effect::Look), None, None, None],
        }
    }

    fn touch(&mut self, own: u32, this: EarlierUse, used: NameUse) {
        let history = self.names.entry(used.name).or_default();
        let answered = |(track, earlier): (u32, EarlierUse)| {
            let is_before = earlier.done <= this.done
                || earlier.shown == NameShown::Absent
                || (earlier.is_made && used.shown == NameShown::Present);
            (track != own && is_before).then_some((track, earlier.record))
        };
        let mut found: Vec<_> = history.changed.and_then(answered).into_iter().collect();
        if used.effect == Effect::Change {
            let looked = history.looked.drain();
            found.extend(looked.filter_map(answered));
            history.changed = Some((own, this));
        } else {
            history.looked.insert(own, this);
        }
        // Who waits for a record need not wait for those before it.
        found.sort_unstable_by_key(|&found| Reverse(found));
        for (track, on) in found {
            let known = self.known.entry((own, track)).or_insert(0);
            // Zero stands for nothing: the number is one more.
            if on < *known {
                continue;
            }
            *known = on + 1;
            self.awaited.entry(own).or_default().push(Awaited {
                record: this.record,
                track,
                on,
            });
        }
    }
}

/// When a request was sent and answered, in nanoseconds of the capture.
#[derive(Clone, Copy)]
pub(super) struct RequestTime {
    pub(super) sent: u64,
    pub(super) done: u64,
}

impl RequestTime {
    /// Returns the time from the first to the last request of an operation.
    pub(super) fn between(first: &TraceLine, last: &TraceLine) -> Self {
        Self {
            sent: first.at_ns,
            done: last.done_ns(),
        }
    }
}

/// Returns for each record the first one that was sent after its answer. `chained` are the
/// records, in order, that wait for the one before, whenever it was answered: the requests of a
/// compound that are sent one by one.
pub(super) fn releases(times: &[RequestTime], chained: &[u32]) -> Vec<u32> {
    let mut chained = chained.iter().copied().peekable();
    let answered = times.iter().enumerate().map(|(at, time)| {
        let next = at + 1;
        if chained.next_if_eq(&(next as u32)).is_some() {
            return next as u32;
        }
        let later = times[next..].partition_point(|later| later.sent < time.done);
        (next + later) as u32
    });
    answered.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::trace::TraceCreate;

    pub(in crate::recording) fn create(
        path: u32,
        handle: u64,
        share: u32,
        action: u32,
    ) -> TraceLine {
        TraceLine {
            command: "create".to_owned(),
            path: Some(path),
            handle: Some(handle),
            status: Some("STATUS_SUCCESS".to_owned()),
            create: Some(Box::new(TraceCreate {
                share,
                action: Some(action),
                ..TraceCreate::default()
            })),
            ..TraceLine::default()
        }
    }

    fn close(path: u32, handle: u64) -> TraceLine {
        TraceLine {
            command: "close".to_owned(),
            path: Some(path),
            handle: Some(handle),
            status: Some("STATUS_SUCCESS".to_owned()),
            ..TraceLine::default()
        }
    }

    fn order(records: &[(u32, u32, TraceLine)]) -> HashMap<u32, Vec<Awaited>> {
        let mut finder = OrderFinder::default();
        for (at, (track, record, line)) in (0..).zip(records) {
            finder.add(
                &PlacedRecord {
                    track: *track,
                    record: *record,
                    sent: 10 * at,
                    done: 10 * at + 5,
                    lines: 0..1,
                },
                std::slice::from_ref(line),
                |path| (path > 1).then_some(1),
            );
        }
        finder.finish()
    }

    pub(in crate::recording) fn awaited(record: u32, track: u32, on: u32) -> Awaited {
        Awaited { record, track, on }
    }

    #[test]
    fn sessions_wait_for_what_others_changed_and_for_nothing_else() {
        let found = order(&[
            (0, 0, create(2, 1, 7, 2)),
            (1, 0, create(3, 2, 7, 1)),
            (1, 1, create(2, 3, 7, 1)),
            (0, 1, close(2, 1)),
            (2, 0, create(2, 4, 0, 1)),
            (2, 1, close(2, 4)),
            (1, 2, create(2, 5, 7, 1)),
        ]);
        let of = |track: u32| found.get(&track).cloned().unwrap_or_default();
        assert_eq!(of(0), []);
        assert_eq!(of(1), [awaited(1, 0, 0), awaited(2, 2, 1)]);
        assert_eq!(of(2), [awaited(0, 1, 1), awaited(0, 0, 1)]);
    }

    #[test]
    fn a_look_by_name_in_cifs_waits_for_the_directory() {
        let find = TraceLine {
            command: "cifs_transaction2".to_owned(),
            path: Some(3),
            status: Some("STATUS_OBJECT_NAME_NOT_FOUND".to_owned()),
            ..TraceLine::default()
        };
        // The directory of all names is name 1.
        let found = order(&[(0, 0, create(1, 1, 7, 2)), (1, 0, find)]);
        assert_eq!(found.get(&1), Some(&vec![awaited(0, 0, 0)]));
    }

    #[test]
    fn a_record_waits_for_those_that_were_answered_before_it() {
        let times = [(0, 10), (1, 5), (6, 20), (10, 11), (10, 12)]
            .map(|(sent, done)| RequestTime { sent, done });
        assert_eq!(releases(&times, &[]), [3, 2, 5, 5, 5]);
        // Those of a compound that are sent one by one wait for each other.
        assert_eq!(releases(&times, &[2, 3]), [3, 2, 3, 5, 5]);
    }
}
