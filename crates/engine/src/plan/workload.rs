//! What each client does: requests and their shares, the sizes they come in,
//! and the files they go to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::action::{Action, Range, WeightedAction};
use super::pattern::{AccessLine, read_share};
use crate::fileio::Fileio;
use crate::record::OpKind;
use crate::trace::Trace;

/// The operations of one client.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Request sizes and their share of the requests; weights sum to 100. Empty
    /// when nothing has a size, and of a pattern, whose lines have them.
    pub sizes: Vec<SizeWeight>,
    /// What is asked for.
    pub requests: Requests,
    /// How offsets follow each other; of a pattern, random where all are.
    pub access: Access,
    /// The files worked on.
    pub files: FileSet,
}

/// What is asked of the server, and in what proportion.
#[derive(Clone, Debug, PartialEq)]
pub enum Requests {
    /// Reads and writes, and a FLUSH now and then.
    Data {
        /// Share of reads among reads and writes, 0 to 100.
        read_percent: f64,
        /// A FLUSH after every this many writes of a client; `None` is never.
        flush_every_writes: Option<u32>,
    },
    /// Reads by some of the clients, writes by the others: no client does both.
    Divided {
        /// Share of clients that read, 0 to 100; see [`is_reader`].
        readers_percent: f64,
    },
    /// Any commands; weights sum to 100.
    Mix(Vec<WeightedAction>),
    /// Reads and writes as lines of an access pattern have them; weights sum to
    /// 100.
    Pattern(Vec<AccessLine>),
    /// What somebody did, in that order; each client for itself.
    Replay(Replay),
    /// What `sysbench fileio` does, by all clients together on shared files.
    Fileio(Fileio),
}

/// How reads and writes are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Every client does both.
    #[default]
    Requests,
    /// Each client only reads or only writes.
    Clients,
}

/// Whether `client` (from 0) is one of the readers, where these are
/// `readers_percent` of all: among the first n clients there are as many as that
/// is of n, rounded down. Of 50 percent, client 0 writes, 1 reads, 2 writes and so
/// on.
#[must_use]
pub fn is_reader(client: u32, readers_percent: f64) -> bool {
    let among = |clients: f64| (clients * readers_percent / 100.0).floor();
    among(f64::from(client) + 1.0) > among(f64::from(client))
}

/// How a trace is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// What is replayed.
    pub trace: Arc<Trace>,
    /// When operations begin.
    pub timing: Timing,
    /// How often each client goes through it, after which the load point ends;
    /// `None` is over and over until the window closes.
    pub loops: Option<u32>,
}

/// When operations of a replay begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timing {
    /// Each when the one before it has ended.
    #[default]
    Fast,
    /// Each when it began as it was recorded, or as soon after that as the one
    /// before it has ended.
    Recorded,
}

/// One request size of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeWeight {
    /// Bytes per request, at least 1.
    pub size: u32,
    /// Percent of requests that have this size.
    pub weight: f64,
}

/// Order of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Uniform over the offsets that are multiples of the request's size.
    Random,
    /// Each request starts where the client's previous one ended, then wraps.
    Sequential,
}

/// Files on the share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSet {
    /// Whether clients have files of their own.
    pub scope: Scope,
    /// Files per client, or in all when shared.
    pub count: u32,
    /// Bytes in each file.
    pub size: u64,
}

/// Who works on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Each client has its own files.
    Private,
    /// All clients work on the same files.
    Shared,
}

/// The reads of a workload that tells reads and writes apart, and no more.
const READ: Action = Action::Read { unbuffered: false };
const WRITE: Action = Action::Write {
    write_through: false,
    unbuffered: false,
};

impl Workload {
    /// Everything that is drawn, and its share, 0 to 1. What has none is not
    /// in it; a FLUSH that follows on writes is not drawn.
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

    /// Everything that can happen.
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

    /// Kinds of operations that can occur, each once.
    #[must_use]
    pub fn kinds(&self) -> Vec<OpKind> {
        if let Requests::Replay(replay) = &self.requests {
            return replay.trace.kinds();
        }
        let actions = self.actions();
        let mut kinds: Vec<_> = actions.iter().flat_map(Action::kinds).copied().collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// A FLUSH after every this many writes of a client; `None` is never.
    #[must_use]
    pub fn flush_every_writes(&self) -> Option<u32> {
        match self.requests {
            Requests::Data {
                flush_every_writes, ..
            } => flush_every_writes,
            _ => None,
        }
    }

    /// What is replayed, if something is.
    #[must_use]
    pub const fn replay(&self) -> Option<&Replay> {
        match &self.requests {
            Requests::Replay(replay) => Some(replay),
            _ => None,
        }
    }

    /// The lines of the access pattern, if it is one.
    #[must_use]
    pub fn pattern(&self) -> Option<&[AccessLine]> {
        match &self.requests {
            Requests::Pattern(lines) => Some(lines),
            _ => None,
        }
    }

    /// Bytes of the requests that can occur, those of a replay aside.
    pub fn request_sizes(&self) -> impl Iterator<Item = u32> {
        let lines = self.pattern().unwrap_or_default().iter();
        let of_lines = lines.flat_map(|line| [line.size, line.reply]);
        let sizes = self.sizes.iter().map(|size| size.size);
        sizes.chain(of_lines.filter(|&size| size > 0))
    }

    /// What is tested as `sysbench fileio` does, if that is so.
    #[must_use]
    pub const fn fileio(&self) -> Option<&Fileio> {
        match &self.requests {
            Requests::Fileio(test) => Some(test),
            _ => None,
        }
    }

    /// Whether clients have something to do when the load is over.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.fileio()
            .is_some_and(|test| test.actions().contains(&Action::FinalFlush))
    }

    /// Whether anything is done to files, so that they have to be there.
    #[must_use]
    pub fn uses_files(&self) -> bool {
        let mut actions = self.actions().into_iter();
        actions.any(|action| action.holds_file() || action.opens_file() || action.holds_directory())
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
