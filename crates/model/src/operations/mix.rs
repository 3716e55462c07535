//! A workload prepared for drawing, and the order of requests in an action.

mod roles;

use std::sync::Arc;

use super::pattern::PatternLines;
use super::{Cursor, Operation};
use crate::access::Access;
use crate::action::{Action, Range};
use crate::files::{FileSet, Scope};
use crate::kind::OpKind;
use crate::random::shares::{CERTAIN, thresholds};
use crate::random::{GOLDEN_GAMMA, below, draw};
use crate::tree::Tree;
use crate::workload::{Requests, Workload};
use roles::Roles;

/// The first offset of locks past the end. No file is as large, and these locks
/// still end below 2^63.
const PAST_END: u64 = 1 << 62;

/// A workload prepared for drawing. All clients share one.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    drawn: Vec<ActionFacts>,
    /// The actions that are drawn, then the others.
    actions: Vec<Action>,
    /// Upper bounds of draws. A draw below the n-th bound has the n-th size or an
    /// earlier one.
    sizes_below: Vec<u64>,
    sizes: Vec<RequestSize>,
    pub(super) access: Access,
    pub(super) files: FileSet,
    pub(super) turns: Turns,
    /// The readers and writers, if clients are divided.
    roles: Option<Roles>,
    /// Whether a FLUSH follows each write.
    flushes_each_write: bool,
}

/// The properties of an action that the stream needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ActionFacts {
    /// Upper bound of draws of this action or an earlier one.
    below: u64,
    pub(super) action: u32,
    pub(super) kind: OpKind,
    pub(super) range: Range,
}

/// The rule that decides on the next request, other than a draw. It is one value,
/// so that streams of draws only, which are the most frequent, need a single check.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Turns {
    /// Nothing else; every request is drawn.
    Draws,
    /// The number of writes, after which a FLUSH follows.
    Flushes(FlushRule),
    /// Every request is drawn, for a file of a tree.
    Tree,
    /// The lines of a pattern alone.
    Lines(Box<PatternLines>),
}

/// A FLUSH after a number of writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FlushRule {
    pub(super) every_writes: u32,
    pub(super) action: u32,
}

/// The result of a request of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestResult {
    /// The server did it.
    Well,
    /// The server accepted it and will answer later.
    Pending,
    /// The server has no more names to list.
    Exhausted,
    /// The server did not do it.
    Wrong,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RequestSize {
    pub(super) bytes: u32,
    /// The number of multiples of `bytes` at which a request fits into a file.
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

/// The use of a draw. Each request has `PURPOSES` positions of one SplitMix64
/// sequence, and each purpose has a position of its own.
#[derive(Clone, Copy)]
enum MixDraw {
    Kind,
    Size,
    File,
    Slot,
}

const PURPOSES: u64 = 4;

impl Mix {
    /// Prepares the workload of a valid [`Plan`](crate::plan::Plan).
    #[must_use]
    pub fn new(workload: &Workload) -> Arc<Self> {
        let shares = workload.drawn();
        let below = thresholds(shares.iter().map(|(_, share)| *share), 1.0);
        let drawn: Vec<_> = (0..)
            .zip(shares.iter().zip(below))
            .map(|(at, ((action, _), below))| ActionFacts {
                below,
                action: at,
                kind: action.first(),
                range: action.range(),
            })
            .collect();
        let flush = workload.flush_every_writes().map(|every_writes| FlushRule {
            every_writes,
            action: drawn.len() as u32,
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
                Turns::Lines(Box::new(PatternLines::new(lines, read, write)))
            }
            (None, Some(flush)) => Turns::Flushes(flush),
            (None, None) if workload.files.tree().is_some() => Turns::Tree,
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
            files: workload.files.clone(),
        };
        let roles = match workload.requests {
            Requests::Divided { readers_percent } => Some(Roles::divided(&all, readers_percent)),
            _ => Roles::watched(&all, &shares),
        };
        Arc::new(Self { roles, ..all })
    }

    /// Returns this mix with the actions of one kind only.
    fn only(&self, kind: OpKind) -> Self {
        let drawn = self.drawn.iter().filter(|drawn| drawn.kind == kind);
        let alone = |drawn: &ActionFacts| ActionFacts {
            below: CERTAIN,
            ..*drawn
        };
        Self {
            drawn: drawn.map(alone).collect(),
            ..self.clone()
        }
    }

    /// Returns the mix that this client draws from.
    pub(super) fn of_client(self: &Arc<Self>, client: u32) -> Arc<Self> {
        let roles = self.roles.as_ref();
        Arc::clone(roles.map_or(self, |roles| roles.of(client)))
    }

    /// Whether any action can be drawn without the earlier ones.
    pub(super) fn draws_apart(&self) -> bool {
        self.access == Access::Random && self.lines().is_none()
    }

    /// Whether the delays of a pattern determine when bursts begin.
    #[doc(hidden)]
    #[inline]
    pub fn has_delays(&self) -> bool {
        self.lines().is_some_and(PatternLines::has_delays)
    }

    /// Returns the lines of an access pattern.
    #[doc(hidden)]
    #[inline]
    pub const fn lines(&self) -> Option<&PatternLines> {
        match &self.turns {
            Turns::Lines(lines) => Some(lines),
            Turns::Draws | Turns::Flushes(_) | Turns::Tree => None,
        }
    }

    /// Returns the action that an operation belongs to.
    #[inline]
    #[must_use]
    pub fn action(&self, operation: &Operation) -> &Action {
        &self.actions[operation.action as usize]
    }

    /// Returns the first request of the first action that begins with this kind, on
    /// a range of a file. A [`Stream`](super::Stream) returns such requests. `None`
    /// if no action begins with this kind.
    #[must_use]
    pub fn operation(
        &self,
        kind: OpKind,
        file: u32,
        offset: u64,
        length: u32,
    ) -> Option<Operation> {
        let mut actions = self.actions.iter();
        let action = actions.position(|action| action.first() == kind)?;
        Some(Operation {
            kind,
            action: action as u32,
            file,
            offset,
            length,
        })
    }

    /// Returns the files worked on.
    #[inline]
    #[must_use]
    pub const fn files(&self) -> &FileSet {
        &self.files
    }

    /// Returns every action that can occur. [`Operation::action`] is an index of
    /// this list.
    #[must_use]
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Returns the request after one with this result, or `None` when the action
    /// ends. An opened file is closed even if a request in between fails. A file
    /// that was not opened is not closed.
    #[inline]
    #[must_use]
    pub fn after(&self, last: &Operation, went: RequestResult) -> Option<Operation> {
        // Most requests are a whole action, so that no look-up is needed.
        match last.kind {
            OpKind::Read | OpKind::Flush => return None,
            OpKind::Write if !self.flushes_each_write => return None,
            kind if kind.is_step() => return self.after_step(last, went),
            _ => {}
        }
        let kinds = self.action(last).kinds();
        let at = kinds.iter().position(|kind| *kind == last.kind)?;
        let rest = &kinds[at + 1..];
        let kind = match (last.kind, went) {
            // A notification that is answered at once has nothing to cancel.
            (OpKind::ChangeNotify | OpKind::Watch, RequestResult::Pending) => rest.first(),
            (OpKind::ChangeNotify | OpKind::Watch, _) => None,
            (_, RequestResult::Well) => rest.first(),
            (OpKind::Create, _) => None,
            (_, _) => rest.last().filter(|kind| **kind == OpKind::Close),
        };
        kind.map(|&kind| Operation { kind, ..*last })
    }

    /// Returns action `index` of the client with this key.
    pub(super) fn drawn(&self, key: u64, index: u64) -> ActionFacts {
        let share = pick(key, index, MixDraw::Kind) >> 1;
        // Most workloads have two actions, for which a binary search would be
        // slower.
        let at = self.drawn.iter().position(|drawn| share < drawn.below);
        self.drawn[at.unwrap_or(0)]
    }

    /// Returns the size of action `index`.
    pub(super) fn size(&self, key: u64, index: u64) -> RequestSize {
        let share = pick(key, index, MixDraw::Size) >> 1;
        let at = self.sizes_below.partition_point(|below| *below <= share);
        self.sizes[at]
    }

    /// Returns file and offset of a random request of this size.
    pub(super) fn random_place(&self, key: u64, index: u64, size: RequestSize) -> (u32, u64) {
        let file = self.random_file(key, index);
        let slot = below(pick(key, index, MixDraw::Slot), size.slots);
        (file, slot * u64::from(size.bytes))
    }

    pub(super) fn random_file(&self, key: u64, index: u64) -> u32 {
        match self.files.count {
            1 => 0,
            count => below(pick(key, index, MixDraw::File), u64::from(count)) as u32,
        }
    }

    /// Returns a file of a tree, as popular as the tree says.
    pub(super) fn popular_file(&self, tree: &Tree, key: u64, index: u64) -> u32 {
        tree.popular(pick(key, index, MixDraw::File))
    }

    /// Returns a directory of a tree, as popular as the tree says.
    pub(super) fn popular_directory(&self, tree: &Tree, key: u64, index: u64) -> u32 {
        tree.popular_directory(pick(key, index, MixDraw::File))
    }

    /// Returns offset and length of a random request of this size in a file of this many
    /// bytes. A request on a smaller file has its size.
    #[expect(clippy::unused_self, reason = "all draws look the same")]
    pub(super) fn place_in(
        &self,
        bytes: u64,
        size: RequestSize,
        key: u64,
        index: u64,
    ) -> (u64, u32) {
        let slots = bytes / u64::from(size.bytes);
        if slots == 0 {
            return (0, bytes as u32);
        }
        let slot = below(pick(key, index, MixDraw::Slot), slots);
        (slot * u64::from(size.bytes), size.bytes)
    }

    /// Returns an offset behind all data. It is drawn from 2^61 values, so that no
    /// two in flight are equal.
    #[expect(clippy::unused_self, reason = "all draws look the same")]
    pub(super) fn past_end(&self, key: u64, index: u64) -> u64 {
        PAST_END | pick(key, index, MixDraw::Slot) >> 3
    }

    /// Returns where a client's sequential access starts.
    pub(super) fn start(&self, client: u32) -> Cursor {
        let along = u64::from(client).wrapping_mul(GOLDEN_GAMMA);
        if let Some(tree) = self.files.tree() {
            let [file, directory] =
                [tree.files(), tree.directories()].map(|count| below(along, count.into()) as u32);
            return Cursor {
                file,
                directory,
                offset: 0,
            };
        }
        let of_lines = self
            .lines()
            .map(|lines| RequestSize::of(lines.largest, &self.files));
        let of_sizes = self.sizes.iter().max_by_key(|size| size.bytes).copied();
        let largest = of_lines.or(of_sizes);
        let (Scope::Shared, Some(largest)) = (self.files.scope, largest) else {
            return Cursor::default();
        };
        let slot = below(along, largest.slots * u64::from(self.files.count));
        Cursor {
            file: (slot / largest.slots) as u32,
            directory: 0,
            offset: slot % largest.slots * u64::from(largest.bytes),
        }
    }
}

fn pick(key: u64, index: u64, purpose: MixDraw) -> u64 {
    draw(key, index.wrapping_mul(PURPOSES) + purpose as u64)
}
