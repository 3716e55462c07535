//! Joins the answers to transactions that come in several messages (MS-CIFS 3.2.5.1.4).

use crate::cifs::command::transaction::TransactionPart;
use crate::wire::DecodeError;

/// The largest answer to a transaction in bytes.
const TOTAL_MAX: usize = 1024 * 1024;

/// Parameters and data of an answer.
#[derive(Debug, Default)]
pub(super) struct Joined {
    pub(super) parameters: Vec<u8>,
    pub(super) data: Vec<u8>,
}

/// An answer of which parts are missing.
#[derive(Debug)]
pub(super) struct Joining {
    pub(super) mid: u16,
    totals: (usize, usize),
    joined: Box<Joined>,
}

impl Joining {
    pub(super) fn new(mid: u16, part: &TransactionPart<'_>) -> Result<Self, DecodeError> {
        let totals = (part.total_parameters, part.total_data);
        if totals.0.saturating_add(totals.1) <= TOTAL_MAX {
            Ok(Self {
                mid,
                totals,
                joined: Box::default(),
            })
        } else {
            Err(wrong("transaction total"))
        }
    }

    /// Adds a part. Servers send the parts in order. A later part may lower the totals.
    pub(super) fn add(&mut self, part: &TransactionPart<'_>) -> Result<(), DecodeError> {
        let Joined { parameters, data } = &mut *self.joined;
        let totals = (part.total_parameters, part.total_data);
        let is_next = |part: &[u8], at: usize, so_far: usize| part.is_empty() || at == so_far;
        if !is_next(
            part.parameters,
            part.parameter_displacement,
            parameters.len(),
        ) || !is_next(part.data, part.data_displacement, data.len())
        {
            return Err(wrong("transaction part out of order"));
        }
        if totals.0 > self.totals.0 || totals.1 > self.totals.1 {
            return Err(wrong("transaction total that grows"));
        }
        if part.parameters.is_empty() && part.data.is_empty() {
            return Err(wrong("empty transaction part"));
        }
        self.totals = totals;
        parameters.extend_from_slice(part.parameters);
        data.extend_from_slice(part.data);
        Ok(())
    }

    pub(super) fn is_whole(&self) -> bool {
        (self.joined.parameters.len(), self.joined.data.len()) == self.totals
    }

    pub(super) fn into_joined(self) -> Box<Joined> {
        self.joined
    }
}

const fn wrong(what: &'static str) -> DecodeError {
    DecodeError { what, offset: 0 }
}
