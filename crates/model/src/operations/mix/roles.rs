//! Mixes of which each client has only a part.

use std::sync::Arc;

use super::{ActionFacts, Mix};
use crate::action::Action;
use crate::kind::OpKind;
use crate::random::shares::thresholds;
use crate::workload::is_reader;

/// The two parts of a mix, and which client has which.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Roles {
    /// Clients that only read or only write.
    Divided {
        readers_percent: f64,
        reader: Arc<Mix>,
        writer: Arc<Mix>,
    },
    /// The first clients do the operations that are no watch, the others only watch.
    Watched {
        changers: u32,
        changer: Arc<Mix>,
        watcher: Arc<Mix>,
    },
}

impl Roles {
    /// Divides a mix of reads and writes.
    pub(super) fn divided(all: &Mix, readers_percent: f64) -> Self {
        Self::Divided {
            readers_percent,
            reader: Arc::new(all.only(OpKind::Read)),
            writer: Arc::new(all.only(OpKind::Write)),
        }
    }

    /// Divides a mix of watches and other operations; `None` if it has not both. `shares` are
    /// those of the actions that are drawn.
    pub(super) fn watched(all: &Mix, shares: &[(Action, f64)]) -> Option<Self> {
        let changers = shares.iter().find_map(|(action, _)| match action {
            Action::Watch { changers, .. } => Some(*changers),
            _ => None,
        })?;
        let is_other = |share: &&(Action, f64)| !matches!(share.0, Action::Watch { .. });
        let others = || shares.iter().filter(is_other).map(|(_, share)| *share);
        let below = thresholds(others(), others().sum());
        if below.is_empty() {
            return None;
        }
        let drawn = all.drawn.iter().filter(|drawn| drawn.kind != OpKind::Watch);
        let drawn = drawn
            .zip(below)
            .map(|(drawn, below)| ActionFacts { below, ..*drawn });
        Some(Self::Watched {
            changers,
            changer: Arc::new(Mix {
                drawn: drawn.collect(),
                ..all.clone()
            }),
            watcher: Arc::new(all.only(OpKind::Watch)),
        })
    }

    /// Returns the mix that a client draws from.
    pub(super) fn of(&self, client: u32) -> &Arc<Mix> {
        match self {
            Self::Divided {
                readers_percent,
                reader,
                ..
            } if is_reader(client, *readers_percent) => reader,
            Self::Divided { writer, .. } => writer,
            Self::Watched {
                changers, changer, ..
            } if client < *changers => changer,
            Self::Watched { watcher, .. } => watcher,
        }
    }
}
