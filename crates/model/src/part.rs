//! The part of a run's clients that one process carries. Operations do not depend on it:
//! a client has the same number, and so the same operations, in any part.

use std::fmt;
use std::iter::StepBy;
use std::ops::Range;
use std::str::FromStr;

use thiserror::Error;

use crate::units::parse_whole;

/// The clients that this process carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientPart {
    /// All clients.
    #[default]
    All,
    /// Consecutive clients. Other processes carry the rest, as runs of their own.
    Range(ClientRange),
    /// The clients `host`, `host + of`, and so on. Other hosts carry the rest of this run.
    Host {
        /// Number of this host, from 0.
        host: u32,
        /// Number of hosts.
        of: u32,
    },
}

/// Whether the measurements of each part are kept for themselves, to be merged later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartRecords {
    /// No: hosts of one run merge them at once.
    #[default]
    Merged,
    /// Yes.
    Kept,
}

/// Clients of a run, as written: `0..500/1000`. The first number is from 0, the second is the
/// first client after the range, the third is the number of all clients. `1..60:3/60` is every
/// third client from client 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientRange {
    /// First client, from 0.
    pub from: u32,
    /// First client after the range.
    pub to: u32,
    /// Distance between two clients, at least 1.
    pub step: u32,
    /// Number of clients of the whole run.
    pub of: u32,
}

impl ClientRange {
    /// Returns the numbers of the clients at a load point of `clients` clients.
    pub fn clients(self, clients: u32) -> StepBy<Range<u32>> {
        let Self { from, to, step, .. } = self;
        (from.min(clients)..to.min(clients)).step_by(step.max(1) as usize)
    }

    /// Returns whether it has all or none of each group of so many consecutive clients.
    pub(crate) const fn has_whole(self, group: u32) -> bool {
        let Self { from, to, step, .. } = self;
        group <= 1 || (step <= 1 && from.is_multiple_of(group) && to.is_multiple_of(group))
    }
}

/// The text is not a range of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected FROM..TO/ALL with FROM < TO <= ALL, such as 0..500/1000")]
pub struct UnknownRange;

impl FromStr for ClientRange {
    type Err = UnknownRange;

    fn from_str(text: &str) -> Result<Self, UnknownRange> {
        let (range, of) = text.split_once('/').ok_or(UnknownRange)?;
        let (from, to) = range.split_once("..").ok_or(UnknownRange)?;
        let (to, step) = to.split_once(':').unwrap_or((to, "1"));
        let number = |text: &str| parse_whole::<u32>(text).map_err(|_| UnknownRange);
        let (from, to, step) = (number(from)?, number(to)?, number(step)?);
        let of = number(of)?;
        if from < to && to <= of && step > 0 {
            Ok(Self { from, to, step, of })
        } else {
            Err(UnknownRange)
        }
    }
}

impl fmt::Display for ClientRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, step, of } = self;
        match step {
            1 => write!(f, "{from}..{to}/{of}"),
            step => write!(f, "{from}..{to}:{step}/{of}"),
        }
    }
}

impl ClientPart {
    /// Returns the numbers of this part's clients at a load point of `clients` clients.
    pub fn clients(self, clients: u32) -> StepBy<Range<u32>> {
        match self {
            Self::All => (0..clients).step_by(1),
            Self::Range(range) => range.clients(clients),
            Self::Host { host, of } => (host.min(clients)..clients).step_by(of.max(1) as usize),
        }
    }

    /// Returns the number of this part's clients at a load point of `clients` clients.
    #[must_use]
    pub fn count(self, clients: u32) -> u32 {
        self.clients(clients).len() as u32
    }

    /// Returns the clients of this part as documents have them, if it is not all: `0..500/1000`,
    /// or `1..60:3/60` for every third of 60 clients from client 1 on.
    #[must_use]
    pub fn text(self, clients: u32) -> Option<String> {
        match self {
            Self::All => None,
            Self::Range(range) => Some(range.to_string()),
            Self::Host { host, of } => Some(
                ClientRange {
                    from: host,
                    to: clients,
                    step: of,
                    of: clients,
                }
                .to_string(),
            ),
        }
    }

    /// Returns the range, if this is one.
    #[must_use]
    pub const fn range(self) -> Option<ClientRange> {
        match self {
            Self::Range(range) => Some(range),
            Self::All | Self::Host { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_is_in_one_part() {
        let hosts = |of| (0..of).map(move |host| ClientPart::Host { host, of });
        let ranges = ["0..3/10", "3..4/10", "4..10/10"];
        let ranges = ranges.map(|range| ClientPart::Range(range.parse().unwrap()));
        let divisions = [hosts(1).collect(), hosts(3).collect(), ranges.to_vec()];
        for parts in divisions {
            let mut all: Vec<u32> = parts.iter().flat_map(|part| part.clients(10)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..10).collect::<Vec<_>>(), "{parts:?}");
            let counts: u32 = parts.iter().map(|part| part.count(10)).sum();
            assert_eq!(counts, 10, "{parts:?}");
        }
        let last = ClientPart::Host { host: 3, of: 4 };
        assert_eq!((last.count(3), last.count(4)), (0, 1));
    }

    #[test]
    fn ranges_are_read_as_they_are_written() {
        let range: ClientRange = "0..500/1000".parse().unwrap();
        assert_eq!(range.to_string(), "0..500/1000");
        let host = ClientPart::Host { host: 1, of: 3 };
        let text = host.text(60).unwrap();
        let range: ClientRange = text.parse().unwrap();
        assert_eq!((&text[..], range.to_string()), ("1..60:3/60", text.clone()));
        assert!(range.clients(60).eq(host.clients(60)));
        for wrong in [
            "", "1..2", "0..2:0/4", "2..2/4", "3..2/4", "0..5/4", "a..b/c", "0-5/9",
        ] {
            assert_eq!(wrong.parse::<ClientRange>(), Err(UnknownRange), "{wrong}");
        }
    }
}
