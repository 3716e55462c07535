//! Requests of an access pattern; what they mean is [`crate::plan::pattern`]'s.
//!
//! Which line a burst is of depends on (seed, client, number of the burst), all
//! else that is random about a request on (seed, client, number of the request).
//! Where bursts begin, and where a request begins that is not random, are folds
//! over those before.

use super::mix::{CERTAIN, thresholds};
use super::{Cursor, Operation};
use crate::clock::Nanos;
use crate::plan::{AccessLine, FileSet};
use crate::random::{below, draw};
use crate::record::OpKind;

/// The lines of a pattern, made ready for drawing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lines {
    /// Below the n-th of these, a draw is at most the n-th line.
    below: Vec<u64>,
    lines: Vec<Line>,
    /// Bytes of the largest request or reply.
    pub(super) largest: u32,
    /// Which actions of the mix requests are.
    read: u8,
    write: u8,
}

#[derive(Clone, Debug, PartialEq)]
struct Line {
    bytes: u32,
    reply: u32,
    /// Below this, a draw reads.
    reads_below: u64,
    /// Below this, a draw is random.
    random_below: u64,
    align: u64,
    burst: u32,
    delay: Nanos,
}

/// How far a client has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    /// Bursts begun; after 2^32 of them, lines come in the same order again.
    bursts: u32,
    /// That of the last one.
    line: u8,
    /// Requests that are left of it.
    left: u32,
    /// Whether the last request is owed its reply.
    owes: Owes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Owes {
    #[default]
    Nothing,
    Reply,
}

/// What a client does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The first request of a burst, after this delay.
    Begins(Nanos),
    /// A further one.
    GoesOn,
    /// The reply to the one before.
    Replies,
}

/// What a draw is for. The draws of one request are that many positions of one
/// SplitMix64 sequence; those for lines are counted by burst.
#[derive(Clone, Copy)]
enum Purpose {
    Line,
    Direction,
    Access,
    File,
    Byte,
}

const PURPOSES: u64 = 8;

fn pick(key: u64, index: u64, purpose: Purpose) -> u64 {
    draw(key, index.wrapping_mul(PURPOSES) + purpose as u64)
}

impl Lines {
    /// `read` and `write` are the actions that requests belong to.
    pub(super) fn new(lines: &[AccessLine], read: u8, write: u8) -> Self {
        let weighted = || lines.iter().filter(|line| line.weight > 0.0);
        let total: f64 = weighted().map(|line| line.weight).sum();
        let part = |percent: f64| (percent / 100.0 * CERTAIN as f64) as u64;
        Self {
            below: thresholds(weighted().map(|line| line.weight), total),
            lines: weighted()
                .map(|line| Line {
                    bytes: line.size,
                    reply: line.reply,
                    reads_below: part(line.read_percent),
                    random_below: part(line.random_percent),
                    align: line.align.into(),
                    burst: line.burst,
                    delay: line.delay.into(),
                })
                .collect(),
            largest: weighted()
                .map(|line| line.size.max(line.reply))
                .max()
                .unwrap_or(1),
            read,
            write,
        }
    }

    /// Whether anything passes before a burst.
    pub(crate) fn has_delays(&self) -> bool {
        self.lines.iter().any(|line| line.delay > Nanos(0))
    }

    /// Goes on by one request or reply of the client with this key.
    pub(crate) fn step(&self, key: u64, walk: &mut Walk) -> Step {
        if walk.owes == Owes::Reply {
            walk.owes = Owes::Nothing;
            return Step::Replies;
        }
        let begins = walk.left == 0;
        if begins {
            let share = pick(key, walk.bursts.into(), Purpose::Line) >> 1;
            // There are at most PATTERN_LINES_MAX.
            walk.line = self.below.partition_point(|below| *below <= share) as u8;
            walk.bursts = walk.bursts.wrapping_add(1);
            walk.left = self.lines[usize::from(walk.line)].burst;
        }
        let line = &self.lines[usize::from(walk.line)];
        walk.left -= 1;
        if line.reply > 0 {
            walk.owes = Owes::Reply;
        }
        match begins {
            true => Step::Begins(line.delay),
            false => Step::GoesOn,
        }
    }

    /// Request or reply number `index` of the client with this key, which comes
    /// after one that was a `last`.
    pub(super) fn next(
        &self,
        (key, index): (u64, u64),
        (walk, last): (&mut Walk, OpKind),
        cursor: &mut Cursor,
        files: &FileSet,
    ) -> Operation {
        let step = self.step(key, walk);
        let line = &self.lines[usize::from(walk.line)];
        let is = |purpose, below: u64| pick(key, index, purpose) >> 1 < below;
        let (kind, length) = match (step, last) {
            (Step::Replies, OpKind::Read) => (OpKind::Write, line.reply),
            (Step::Replies, _) => (OpKind::Read, line.reply),
            _ if is(Purpose::Direction, line.reads_below) => (OpKind::Read, line.bytes),
            _ => (OpKind::Write, line.bytes),
        };
        let fits = |offset: u64| offset + u64::from(length) <= files.size;
        if is(Purpose::Access, line.random_below) {
            cursor.file = match files.count {
                1 => 0,
                count => below(pick(key, index, Purpose::File), count.into()) as u32,
            };
            let byte = below(pick(key, index, Purpose::Byte), files.size);
            let aligned = byte.next_multiple_of(line.align);
            cursor.offset = if fits(aligned) { aligned } else { 0 };
        } else {
            cursor.offset = cursor.offset.next_multiple_of(line.align);
            if !fits(cursor.offset) {
                cursor.turn_over(files);
            }
        }
        let operation = Operation {
            kind,
            action: match kind {
                OpKind::Read => self.read,
                _ => self.write,
            },
            file: cursor.file,
            offset: cursor.offset,
            length,
        };
        cursor.offset += u64::from(length);
        operation
    }
}
