//! Requests of an access pattern. [`crate::access`] defines their meaning.
//!
//! The line of a burst depends on (seed, client, number of the burst). All other
//! random properties of a request depend on (seed, client, number of the request).
//! The beginnings of bursts, and the offsets of sequential requests, are folds over
//! the earlier ones.

use super::{Cursor, Operation};
use crate::Nanos;
use crate::access::AccessLine;
use crate::files::FileSet;
use crate::kind::OpKind;
use crate::random::shares::{CERTAIN, thresholds};
use crate::random::{below, draw};

/// The lines of a pattern, prepared for drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternLines {
    /// Upper bounds of draws. A draw below the n-th bound is the n-th line or an
    /// earlier one.
    below: Vec<u64>,
    lines: Vec<PatternLine>,
    /// Bytes of the largest request or reply.
    pub(super) largest: u32,
    /// Indices of the actions of the mix that reads and writes belong to.
    read: u32,
    write: u32,
}

#[derive(Clone, Debug, PartialEq)]
struct PatternLine {
    bytes: u32,
    reply: u32,
    /// Upper bound of draws that read.
    reads_below: u64,
    /// Upper bound of draws with a random offset.
    random_below: u64,
    align: u64,
    burst: u32,
    delay: Nanos,
}

/// The position of a client in a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// Number of bursts begun. After 2^32 bursts the lines repeat in the same
    /// order.
    bursts: u32,
    /// Index of the line of the current burst.
    line: u8,
    /// Requests that are left in the current burst.
    left: u32,
    /// Whether the reply to the last request is still missing.
    owes: Owes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Owes {
    #[default]
    Nothing,
    Reply,
}

/// The next step of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternStep {
    /// The first request of a burst, after this delay.
    Begins(Nanos),
    /// A further request of the burst.
    GoesOn,
    /// The reply to the previous request.
    Replies,
}

/// The use of a draw. Each request has `PURPOSES` positions of one SplitMix64
/// sequence, and each purpose has a position of its own. Draws of lines are counted
/// by burst.
#[derive(Clone, Copy)]
enum PatternDraw {
    Line,
    Direction,
    Access,
    File,
    Byte,
}

const PURPOSES: u64 = 8;

fn pick(key: u64, index: u64, purpose: PatternDraw) -> u64 {
    draw(key, index.wrapping_mul(PURPOSES) + purpose as u64)
}

impl PatternLines {
    /// Prepares the lines. `read` and `write` are the actions that requests belong
    /// to.
    pub(super) fn new(lines: &[AccessLine], read: u32, write: u32) -> Self {
        let weighted = || lines.iter().filter(|line| line.weight > 0.0);
        let total: f64 = weighted().map(|line| line.weight).sum();
        let part = |percent: f64| (percent / 100.0 * CERTAIN as f64) as u64;
        Self {
            below: thresholds(weighted().map(|line| line.weight), total),
            lines: weighted()
                .map(|line| PatternLine {
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

    /// Whether any line has a delay before its bursts.
    #[inline]
    pub fn has_delays(&self) -> bool {
        self.lines.iter().any(|line| line.delay > Nanos(0))
    }

    /// Moves the client with this key one request or reply further.
    #[inline]
    pub fn step(&self, key: u64, walk: &mut Walk) -> PatternStep {
        if walk.owes == Owes::Reply {
            walk.owes = Owes::Nothing;
            return PatternStep::Replies;
        }
        let begins = walk.left == 0;
        if begins {
            let share = pick(key, walk.bursts.into(), PatternDraw::Line) >> 1;
            // The index fits: there are at most PATTERN_LINES_MAX lines.
            walk.line = self.below.partition_point(|below| *below <= share) as u8;
            walk.bursts = walk.bursts.wrapping_add(1);
            walk.left = self.lines[usize::from(walk.line)].burst;
        }
        let line = &self.lines[usize::from(walk.line)];
        walk.left -= 1;
        if line.reply > 0 {
            walk.owes = Owes::Reply;
        }
        if begins {
            PatternStep::Begins(line.delay)
        } else {
            PatternStep::GoesOn
        }
    }

    /// Returns request or reply number `index` of the client with this key. `last`
    /// is the kind of the previous one.
    pub(super) fn next(
        &self,
        key: u64,
        index: u64,
        walk: &mut Walk,
        last: OpKind,
        cursor: &mut Cursor,
        files: &FileSet,
    ) -> Operation {
        let step = self.step(key, walk);
        let line = &self.lines[usize::from(walk.line)];
        let is = |purpose, below: u64| pick(key, index, purpose) >> 1 < below;
        let (kind, length) = match (step, last) {
            (PatternStep::Replies, OpKind::Read) => (OpKind::Write, line.reply),
            (PatternStep::Replies, _) => (OpKind::Read, line.reply),
            _ if is(PatternDraw::Direction, line.reads_below) => (OpKind::Read, line.bytes),
            _ => (OpKind::Write, line.bytes),
        };
        let fits = |offset: u64| offset + u64::from(length) <= files.size;
        if is(PatternDraw::Access, line.random_below) {
            cursor.file = match files.count {
                1 => 0,
                count => below(pick(key, index, PatternDraw::File), count.into()) as u32,
            };
            let byte = below(pick(key, index, PatternDraw::Byte), files.size);
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
