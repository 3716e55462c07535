//! How the sessions of a run share TCP connections, where those come from, and
//! what each of them may use.

use smbench_protocol::credit::{MAX_CREDIT_TARGET, charge_for};
use thiserror::Error;

use crate::sources::SourceList;
use crate::units::Size;

/// The TCP connections of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// The most credits each holds and uses, 1 to [`MAX_CREDIT_TARGET`]; `None`
    /// for as many as its requests in flight need.
    pub credits: Option<u16>,
    /// Local addresses they come from, in turn; `None` leaves it to the system.
    pub sources: Option<SourceList>,
}

/// What is wrong with the connections asked for, and what would be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConnectionsProblem {
    /// Credits out of bounds.
    #[error("credits is {0}: give 1 to {MAX_CREDIT_TARGET}")]
    Credits(u16),
    /// A request that could never be sent.
    #[error(
        "credits is {credits}, but a request of {size:#} costs {charge}: give at least as many"
    )]
    TooFewCredits {
        /// The most credits to use.
        credits: u16,
        /// The largest request.
        size: Size,
        /// What it costs.
        charge: u16,
    },
    /// A frame of several requests that could never be sent.
    #[error(
        "credits is {credits}, but an operation sends requests that cost {charge} at once: give at least as many"
    )]
    TooFewForFrame {
        /// The most credits to use.
        credits: u16,
        /// What the requests cost together.
        charge: u16,
    },
}

impl Connections {
    /// The first thing wrong, with the option that says so. The largest request
    /// has `largest` bytes, and no operation costs more than `charge_max`.
    pub(super) fn check(
        &self,
        largest: u32,
        charge_max: u16,
    ) -> Result<(), (&'static str, ConnectionsProblem)> {
        let Some(credits) = self.credits else {
            return Ok(());
        };
        if !(1..=MAX_CREDIT_TARGET).contains(&credits) {
            return Err(("credits", ConnectionsProblem::Credits(credits)));
        }
        let charge = charge_for(largest);
        if charge > credits {
            let size = Size(largest.into());
            let problem = ConnectionsProblem::TooFewCredits {
                credits,
                size,
                charge,
            };
            return Err(("credits", problem));
        }
        if charge_max > credits {
            let charge = charge_max;
            let problem = ConnectionsProblem::TooFewForFrame { credits, charge };
            return Err(("credits", problem));
        }
        Ok(())
    }
}
