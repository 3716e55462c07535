//! A workload made ready for drawing, and the order of requests in an action.

use std::sync::Arc;

use super::pattern::Lines;
use super::{Cursor, Operation};
use crate::plan::action::{Action, Range};
use crate::plan::{Access, FileSet, Requests, Scope, Workload, is_reader};
use crate::random::{GOLDEN_GAMMA, below, draw};
use crate::record::OpKind;
use crate::trace::Trace;

/// Probabilities are scaled to this, and compared with draws of 63 bits, so
/// that 0 % never and 100 % always happens.
pub(super) const CERTAIN: u64 = 1 << 63;

/// No file is as large, and locks from here on still end below 2^63.
const PAST_END: u64 = 1 << 62;

/// A workload made ready for drawing; all clients share one.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    drawn: Vec<Drawn>,
    /// What is drawn, then what is not.
    actions: Vec<Action>,
    /// Below the n-th of these, a draw has at most the n-th size.
    sizes_below: Vec<u64>,
    sizes: Vec<RequestSize>,
    pub(super) access: Access,
    pub(super) files: FileSet,
    pub(super) turns: Turns,
    /// Where clients are divided.
    roles: Option<Roles>,
    /// What is replayed instead.
    trace: Option<Arc<Trace>>,
    /// Whether each write goes on with a FLUSH.
    flushes_each_write: bool,
}

/// What the stream has to know of an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drawn {
    /// Below this, a draw is this action or one before.
    below: u64,
    pub(super) action: u8,
    pub(super) kind: OpKind,
    pub(super) range: Range,
}

/// What else than a draw decides on what comes next. One value, so that streams
/// of draws alone, which are most, pay for one look at it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Turns {
    /// Nothing does.
    Draws,
    /// Writes do, by their number.
    Flushes(FlushRule),
    /// Lines of a pattern say all.
    Lines(Box<Lines>),
}

/// What clients do where each does but one thing.
#[derive(Clone, Debug, PartialEq)]
struct Roles {
    readers_percent: f64,
    reader: Arc<Mix>,
    writer: Arc<Mix>,
}

/// A FLUSH after so many writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FlushRule {
    pub(super) every_writes: u32,
    pub(super) action: u8,
}

/// How a request of an action went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Went {
    /// The server did what it was asked.
    Well,
    /// The server took it up, and will answer later.
    Pending,
    /// The server did not.
    Wrong,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RequestSize {
    pub(super) bytes: u32,
    /// Multiples of `bytes` at which a request fits into a file.
    slots: u64,
}

impl RequestSize {
    fn of(bytes: u32, files: &FileSet) -> Self {
        Self {
            bytes,
            slots: files.size / u64::from(bytes),
        }
    }
}

/// What a draw is for. The draws of one request are that many positions of one
/// SplitMix64 sequence.
#[derive(Clone, Copy)]
enum Purpose {
    Kind,
    Size,
    File,
    Slot,
}

const PURPOSES: u64 = 4;

impl Mix {
    /// Prepares a workload out of a valid [`Plan`](crate::plan::Plan).
    #[must_use]
    pub fn new(workload: &Workload) -> Arc<Self> {
        let shares = workload.drawn();
        let below = thresholds(shares.iter().map(|(_, share)| *share), 1.0);
        // A plan has at most OPERATIONS_MAX of them.
        let drawn: Vec<_> = (0u8..)
            .zip(shares.iter().zip(below))
            .map(|(at, ((action, _), below))| Drawn {
                below,
                action: at,
                kind: action.first(),
                range: action.range(),
            })
            .collect();
        let flush = workload.flush_every_writes().map(|every_writes| FlushRule {
            every_writes,
            action: drawn.len() as u8,
        });
        let sizes = || workload.sizes.iter().filter(|size| size.weight > 0.0);
        let total: f64 = sizes().map(|size| size.weight).sum();
        let action_of = |kind| {
            let at = drawn.iter().find(|drawn| drawn.kind == kind);
            at.map_or(0, |drawn| drawn.action)
        };
        let turns = match (workload.pattern(), flush) {
            (Some(lines), _) => {
                let [read, write] = [OpKind::Read, OpKind::Write].map(action_of);
                Turns::Lines(Box::new(Lines::new(lines, read, write)))
            }
            (None, Some(flush)) => Turns::Flushes(flush),
            (None, None) => Turns::Draws,
        };
        let all = Self {
            drawn,
            turns,
            roles: None,
            flushes_each_write: workload.actions().contains(&Action::WriteFlush),
            actions: workload.actions(),
            sizes_below: thresholds(sizes().map(|size| size.weight), total),
            sizes: sizes()
                .map(|size| RequestSize::of(size.size, &workload.files))
                .collect(),
            access: workload.access,
            files: workload.files,
            trace: workload.replay().map(|replay| Arc::clone(&replay.trace)),
        };
        let roles = match workload.requests {
            Requests::Divided { readers_percent } => Some(Roles {
                readers_percent,
                reader: Arc::new(all.only(OpKind::Read)),
                writer: Arc::new(all.only(OpKind::Write)),
            }),
            _ => None,
        };
        Arc::new(Self { roles, ..all })
    }

    /// The same of one kind only.
    fn only(&self, kind: OpKind) -> Self {
        let drawn = self.drawn.iter().filter(|drawn| drawn.kind == kind);
        let alone = |drawn: &Drawn| Drawn {
            below: CERTAIN,
            ..*drawn
        };
        Self {
            drawn: drawn.map(alone).collect(),
            ..self.clone()
        }
    }

    /// What this client draws from.
    pub(super) fn of_client(self: &Arc<Self>, client: u32) -> Arc<Self> {
        Arc::clone(match &self.roles {
            Some(roles) if is_reader(client, roles.readers_percent) => &roles.reader,
            Some(roles) => &roles.writer,
            None => self,
        })
    }

    /// Whether any action can be drawn without those before it.
    pub(super) fn draws_apart(&self) -> bool {
        self.access == Access::Random && self.lines().is_none()
    }

    /// Whether delays of a pattern say when bursts begin.
    pub(crate) fn has_delays(&self) -> bool {
        self.lines().is_some_and(Lines::has_delays)
    }

    /// The lines of an access pattern.
    pub(crate) const fn lines(&self) -> Option<&Lines> {
        match &self.turns {
            Turns::Lines(lines) => Some(lines),
            Turns::Draws | Turns::Flushes(_) => None,
        }
    }

    /// What is replayed, where nothing is drawn.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_deref()
    }

    /// What an operation belongs to.
    #[must_use]
    pub fn action(&self, operation: &Operation) -> &Action {
        &self.actions[usize::from(operation.action)]
    }

    /// The first request of the first action that begins with this kind, on a
    /// file and range of it: what a [`Stream`](super::Stream) gives. `None` when
    /// no action does.
    #[must_use]
    pub fn operation(
        &self,
        kind: OpKind,
        file: u32,
        offset: u64,
        length: u32,
    ) -> Option<Operation> {
        let action = self
            .actions
            .iter()
            .position(|action| action.first() == kind)?;
        Some(Operation {
            kind,
            action: action as u8,
            file,
            offset,
            length,
        })
    }

    /// Everything that can happen; an [`Operation::action`] counts these.
    #[must_use]
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The request that follows on one that went like this; `None` when the
    /// action ends with it. What was opened is closed whatever went wrong in
    /// between, and what was not is not.
    #[must_use]
    pub fn after(&self, last: &Operation, went: Went) -> Option<Operation> {
        // Most requests are actions of their own, and need no look at the list.
        match last.kind {
            OpKind::Read | OpKind::Flush => return None,
            OpKind::Write if !self.flushes_each_write => return None,
            _ => {}
        }
        let kinds = self.action(last).kinds();
        let at = kinds.iter().position(|kind| *kind == last.kind)?;
        let rest = &kinds[at + 1..];
        let kind = match (last.kind, went) {
            // One that is answered at once has nothing to cancel.
            (OpKind::ChangeNotify, Went::Pending) => rest.first(),
            (OpKind::ChangeNotify, _) => None,
            (_, Went::Well) => rest.first(),
            (OpKind::Create, _) => None,
            (_, _) => rest.last().filter(|kind| **kind == OpKind::Close),
        };
        kind.map(|&kind| Operation { kind, ..*last })
    }

    /// Action `index` of the client with this key.
    pub(super) fn drawn(&self, key: u64, index: u64) -> Drawn {
        let share = pick(key, index, Purpose::Kind) >> 1;
        // Most workloads have two; a search would cost more than it saves.
        let at = self.drawn.iter().position(|drawn| share < drawn.below);
        self.drawn[at.unwrap_or(0)]
    }

    /// The size of that action.
    pub(super) fn size(&self, key: u64, index: u64) -> RequestSize {
        let share = pick(key, index, Purpose::Size) >> 1;
        let at = self.sizes_below.partition_point(|below| *below <= share);
        self.sizes[at]
    }

    /// File and offset of a random request of this size.
    pub(super) fn random_place(&self, key: u64, index: u64, size: RequestSize) -> (u32, u64) {
        let file = self.random_file(key, index);
        let slot = below(pick(key, index, Purpose::Slot), size.slots);
        (file, slot * u64::from(size.bytes))
    }

    pub(super) fn random_file(&self, key: u64, index: u64) -> u32 {
        match self.files.count {
            1 => 0,
            count => below(pick(key, index, Purpose::File), u64::from(count)) as u32,
        }
    }

    /// An offset behind all data. Drawn from 2^61, no two in flight are alike.
    #[expect(clippy::unused_self, reason = "all draws look the same")]
    pub(super) fn past_end(&self, key: u64, index: u64) -> u64 {
        PAST_END | pick(key, index, Purpose::Slot) >> 3
    }

    /// Where a client's sequential access starts.
    pub(super) fn start(&self, client: u32) -> Cursor {
        let of_lines = self
            .lines()
            .map(|lines| RequestSize::of(lines.largest, &self.files));
        let of_sizes = self.sizes.iter().max_by_key(|size| size.bytes).copied();
        let largest = of_lines.or(of_sizes);
        let (Scope::Shared, Some(largest)) = (self.files.scope, largest) else {
            return Cursor::default();
        };
        let along = u64::from(client).wrapping_mul(GOLDEN_GAMMA);
        let slot = below(along, largest.slots * u64::from(self.files.count));
        Cursor {
            file: (slot / largest.slots) as u32,
            offset: slot % largest.slots * u64::from(largest.bytes),
        }
    }
}

/// Sums of shares of `total`, scaled for comparison with draws.
pub(super) fn thresholds(shares: impl Iterator<Item = f64>, total: f64) -> Vec<u64> {
    let mut sum = 0.0;
    let mut below: Vec<u64> = shares
        .map(|share| {
            sum += share;
            scaled(sum / total)
        })
        .collect();
    // The sum of the shares can miss 1 by a rounding error.
    if let Some(last) = below.last_mut() {
        *last = CERTAIN;
    }
    below
}

fn scaled(share: f64) -> u64 {
    (share * CERTAIN as f64) as u64
}

fn pick(key: u64, index: u64, purpose: Purpose) -> u64 {
    draw(key, index.wrapping_mul(PURPOSES) + purpose as u64)
}
