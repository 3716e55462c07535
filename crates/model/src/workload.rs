//! The work of each client: its requests and their shares, their sizes, and their
//! files.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Access, AccessLine, SizeWeight, read_share};
use crate::action::{Action, Range, WeightedAction};
use crate::fileio::Fileio;
use crate::files::FileSet;
use crate::kind::{Direction, OpKind};
use crate::trace::Recording;
use crate::tree::Tree;

/// The operations of one client.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Request sizes and their share of the requests; weights sum to 100. Empty
    /// when no request has a size. Also empty for a pattern, because its lines have
    /// the sizes.
    pub sizes: Vec<SizeWeight>,
    /// The requests to the server.
    pub requests: Requests,
    /// The order of offsets. For a pattern it is random if all its lines are fully
    /// random.
    pub access: Access,
    /// The files worked on.
    pub files: FileSet,
}

/// The requests to the server, and their proportions.
#[derive(Clone, Debug, PartialEq)]
pub enum Requests {
    /// Reads and writes, and FLUSHes at an interval of writes.
    Data {
        /// Share of reads among reads and writes, 0 to 100.
        read_percent: f64,
        /// Number of a client's writes after which it sends a FLUSH; `None` for
        /// never.
        flush_every_writes: Option<u32>,
    },
    /// Reads by some of the clients and writes by the others. No client does both.
    Divided {
        /// Percent of the clients that read, 0 to 100; see [`is_reader`].
        readers_percent: f64,
    },
    /// Any commands; weights sum to 100.
    Mix(Vec<WeightedAction>),
    /// Reads and writes of an access pattern, by its lines; weights sum to 100.
    Pattern(Vec<AccessLine>),
    /// A recording, replayed in its order by each client separately.
    Replay(Replay),
    /// The operations of `sysbench fileio`, by all clients together on shared
    /// files.
    Fileio(Fileio),
}

/// Whether `client` (from 0) reads, if `readers_percent` of the clients are
/// readers.
///
/// Among the first n clients, `readers_percent` of n are readers, rounded down. At
/// 50 percent client 0 writes, client 1 reads, client 2 writes and so on.
#[must_use]
pub fn is_reader(client: u32, readers_percent: f64) -> bool {
    let among = |clients: f64| (clients * readers_percent / 100.0).floor();
    among(f64::from(client) + 1.0) > among(f64::from(client))
}

/// How a trace is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The recording.
    pub recording: Arc<Recording>,
    /// When operations begin.
    pub timing: Timing,
    /// How many times as fast as recorded, if the times are the recorded ones.
    pub speed: f64,
    /// How often each client replays the recording, after which the load point
    /// ends. `None` repeats it until the window closes.
    pub loops: Option<u32>,
}

/// When operations of a replay begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Timing {
    /// As soon as the previous operation has ended.
    #[default]
    Fast,
    /// At its recorded time, or as soon as the previous operation has ended if that
    /// is later.
    Recorded,
}

smbench_protocol::named! {
    /// A capture of NetBench clients. Generated traces follow its statistics.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum NetbenchCapture {
        /// Clients cached nothing: they read small pieces, again and again.
        WithoutCache => "without-cache",
        /// Clients had oplocks and cached. The server sees mainly opens, names and
        /// large requests.
        Oplocks => "oplocks",
    }
}

/// The plain read of a workload without a mix.
const READ: Action = Action::Read { unbuffered: false };
const WRITE: Action = Action::Write {
    write_through: false,
    unbuffered: false,
};

impl Workload {
    /// Returns the actions that are drawn, and the share of each, 0 to 1. Actions
    /// with share 0 are left out. A FLUSH after writes is not drawn.
    #[must_use]
    pub fn drawn(&self) -> Vec<(Action, f64)> {
        let drawn = match &self.requests {
            Requests::Data { read_percent, .. }
            | Requests::Divided {
                readers_percent: read_percent,
            } => {
                let reads = read_percent / 100.0;
                vec![(READ, reads), (WRITE, 1.0 - reads)]
            }
            Requests::Mix(actions) => {
                let total: f64 = actions.iter().map(|entry| entry.weight).sum();
                let share = |entry: &WeightedAction| (entry.action.clone(), entry.weight / total);
                actions.iter().map(share).collect()
            }
            Requests::Pattern(lines) => {
                let reads = read_share(lines);
                vec![(READ, reads), (WRITE, 1.0 - reads)]
            }
            Requests::Replay(_) | Requests::Fileio(_) => Vec::new(),
        };
        drawn
            .into_iter()
            .filter(|(_, share)| *share > 0.0)
            .collect()
    }

    /// Returns every action that can occur.
    #[must_use]
    pub fn actions(&self) -> Vec<Action> {
        if let Requests::Fileio(test) = &self.requests {
            return test.actions();
        }
        let drawn = self.drawn().into_iter().map(|(action, _)| action);
        drawn
            .chain(self.flush_every_writes().map(|_| Action::Flush))
            .collect()
    }

    /// Returns the kinds of operations that can occur, each once.
    #[must_use]
    pub fn kinds(&self) -> Vec<OpKind> {
        if let Requests::Replay(replay) = &self.requests {
            return replay.recording.kinds();
        }
        let actions = self.actions();
        let mut kinds: Vec<_> = actions.iter().flat_map(Action::kinds).copied().collect();
        kinds.extend(actions.iter().filter_map(Action::whole));
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Returns the number of a client's writes after which it sends a FLUSH; `None`
    /// for never.
    #[must_use]
    pub fn flush_every_writes(&self) -> Option<u32> {
        match self.requests {
            Requests::Data {
                flush_every_writes, ..
            } => flush_every_writes,
            _ => None,
        }
    }

    /// Returns the replay, if the workload is one.
    #[must_use]
    pub const fn replay(&self) -> Option<&Replay> {
        match &self.requests {
            Requests::Replay(replay) => Some(replay),
            _ => None,
        }
    }

    /// Returns the clients that these numbers stand for: in a replay of a capture they are
    /// copies of all recorded clients.
    pub(crate) fn clients(&self, mut written: Vec<u32>) -> Vec<u32> {
        let replay = self.replay();
        let per_copy = replay.map_or(1, |replay| replay.recording.clients_per_copy());
        for clients in &mut written {
            *clients = clients.saturating_mul(per_copy);
        }
        written
    }

    /// Returns the operation that shows what other clients do, and the fewest clients for it.
    /// Watches alone show what others than clients do.
    pub(crate) fn needs_others(&self) -> Option<(&'static str, u32)> {
        let actions = self.actions();
        let is_watch = |action: &Action| matches!(action, Action::Watch { .. });
        if actions.iter().all(is_watch) {
            return None;
        }
        let fewest = |action: &Action| Some((action.name(), action.changers()?.saturating_add(1)));
        let of_others = actions.iter().filter_map(fewest);
        of_others.max_by_key(|(_, clients)| *clients)
    }

    /// Returns the fewest clients with which each operation has something to show.
    #[must_use]
    pub fn fewest_clients(&self) -> u32 {
        self.needs_others().map_or(1, |(_, clients)| clients)
    }

    /// Returns the requests that a client has in flight if nothing else is asked for.
    pub(crate) fn in_flight(&self) -> u32 {
        let replay = self.replay();
        replay.map_or(1, |replay| replay.recording.in_flight())
    }

    /// Returns the lines of the access pattern, if the workload is one.
    #[must_use]
    pub fn pattern(&self) -> Option<&[AccessLine]> {
        match &self.requests {
            Requests::Pattern(lines) => Some(lines),
            _ => None,
        }
    }

    /// Returns the bytes of the requests that can occur, except those of a replay.
    pub fn request_sizes(&self) -> impl Iterator<Item = u32> {
        let lines = self.pattern().unwrap_or_default().iter();
        let of_lines = lines.flat_map(|line| [line.size, line.reply]);
        let sizes = self.sizes.iter().map(|size| size.size);
        let of_files = [Direction::Read, Direction::Write].map(|to| self.whole_file(to));
        let of_files = of_files.into_iter().flatten();
        sizes
            .chain(of_lines.filter(|&size| size > 0))
            .chain(of_files)
    }

    /// Returns the bytes of a file, if actions carry whole files in this direction.
    fn whole_file(&self, direction: Direction) -> Option<u32> {
        let mut actions = self.actions().into_iter();
        let carries = actions.any(|action| action.carries_file() == Some(direction));
        // A plan with larger files is refused.
        carries.then_some(self.files.size.min(u32::MAX.into()) as u32)
    }

    /// Returns the bytes of the requests that can occur in one direction, except those of a
    /// replay.
    pub fn request_sizes_of(&self, direction: Direction) -> impl Iterator<Item = u32> {
        let lines = self.pattern().unwrap_or_default().iter();
        let of_lines = lines.flat_map(move |line| {
            let (reads, writes) = (line.read_percent > 0.0, line.read_percent < 100.0);
            // A reply goes in the other direction.
            let (asks, replies) = match direction {
                Direction::Read => (reads, writes),
                Direction::Write => (writes, reads),
            };
            [(asks, line.size), (replies, line.reply)]
        });
        let of_lines = of_lines.filter_map(|(occurs, size)| (occurs && size > 0).then_some(size));
        let sizes = self.sizes.iter().map(|size| size.size);
        sizes.chain(of_lines).chain(self.whole_file(direction))
    }

    /// Returns whether each operation works on one of several files or directories as a whole.
    pub(crate) fn chooses_files(&self) -> bool {
        let chooses = |action: &Action| match action.range() {
            Range::WholeFile => self.files.count > 1,
            Range::Directory => self.files.directories() > 1,
            _ => false,
        };
        let is_mix = matches!(self.requests, Requests::Mix(_)) && !self.walks();
        is_mix && self.actions().iter().any(chooses)
    }

    /// Returns the actions of each client that work through its files so often; `None` where
    /// that has no meaning, because not every action works on a file as a whole. A listing
    /// works through a directory. Of a walk, it is the number of walks of a whole tree.
    #[must_use]
    pub fn actions_of(&self, loops: u32) -> Option<u64> {
        let Requests::Mix(_) = &self.requests else {
            return None;
        };
        let ranges: Vec<_> = self.actions().iter().map(Action::range).collect();
        if self.walks() {
            return Some(loops.into());
        }
        let are_all = |is: fn(&Range) -> bool| ranges.iter().all(is);
        if are_all(|range| *range == Range::Directory) {
            Some(u64::from(self.files.directories()) * u64::from(loops))
        } else if are_all(|range| matches!(range, Range::WholeFile | Range::NewFile)) {
            Some(u64::from(self.files.count) * u64::from(loops))
        } else {
            None
        }
    }

    /// Whether any action takes several requests that are measured as a whole too, or succeeds
    /// when the server refuses it.
    #[must_use]
    pub fn has_steps(&self) -> bool {
        let mut actions = self.actions().into_iter();
        actions.any(|action| {
            action.whole().is_some() || matches!(action, Action::LookupMissing { .. })
        })
    }

    /// Whether clients walk a tree, which decides on their operations.
    #[must_use]
    pub fn walks(&self) -> bool {
        let mut actions = self.actions().into_iter();
        actions.any(|action| matches!(action, Action::Walk { .. }))
    }

    /// Returns the `fileio` test, if the workload is one.
    #[must_use]
    pub const fn fileio(&self) -> Option<&Fileio> {
        match &self.requests {
            Requests::Fileio(test) => Some(test),
            _ => None,
        }
    }

    /// Whether clients have operations to do after the load.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.fileio()
            .is_some_and(|test| test.actions().contains(&Action::FinalFlush))
    }

    /// Whether clients do nothing but log on and off, on a new connection each time.
    #[must_use]
    pub fn is_of_log_ons(&self) -> bool {
        self.actions().contains(&Action::Session)
    }

    /// Whether any action works on files, so that they must exist.
    #[must_use]
    pub fn uses_files(&self) -> bool {
        let mut actions = self.actions().into_iter();
        actions.any(|action| action.uses_files())
    }

    /// Returns the tree whose files must exist, if the files are in one.
    #[must_use]
    pub fn used_tree(&self) -> Option<&Arc<Tree>> {
        self.files.tree().filter(|_| self.uses_files())
    }

    /// Returns the tree that each client copies to the server, if files are copied and are in
    /// one.
    #[must_use]
    pub fn copied_tree(&self) -> Option<&Arc<Tree>> {
        let tree = self.files.tree();
        tree.filter(|_| self.actions().contains(&Action::CopyIn))
    }

    /// Whether any action has the size of a request.
    #[must_use]
    pub fn uses_sizes(&self) -> bool {
        let mut actions = self.actions().into_iter();
        actions.any(|action| action.range() == Range::Request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_spread_evenly() {
        let readers = |percent| (0..8).filter(move |&client| is_reader(client, percent));
        assert_eq!(readers(0.0).count(), 0);
        assert_eq!(readers(100.0).count(), 8);
        assert_eq!(readers(50.0).collect::<Vec<_>>(), [1, 3, 5, 7]);
        assert_eq!(readers(25.0).collect::<Vec<_>>(), [3, 7]);
    }
}
