//! TRANSACTION2: the frame of requests and responses (MS-CIFS 2.2.4.46).

use super::{CIFS_HEADER_LEN, align, body, push_bytes};
use crate::wire::{DecodeError, Reader};

/// Number of words of a request with one setup word, and of a response without.
const REQUEST_WORDS: usize = 15;
const RESPONSE_WORDS: usize = 10;

/// What a server may return at most, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionLimits {
    /// MaxParameterCount.
    pub parameters: u16,
    /// MaxDataCount.
    pub data: u16,
}

/// Appends the body of a TRANSACTION2 request. `parameters` and `data` append both parts.
#[inline]
pub fn encode_transaction2(
    subcommand: u16,
    limits: TransactionLimits,
    out: &mut Vec<u8>,
    parameters: impl FnOnce(&mut Vec<u8>),
    data: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len() - CIFS_HEADER_LEN;
    let words_at = out.len();
    let mut words = [0u8; 1 + 2 * REQUEST_WORDS];
    words[0] = REQUEST_WORDS as u8;
    words[5..7].copy_from_slice(&limits.parameters.to_le_bytes());
    words[7..9].copy_from_slice(&limits.data.to_le_bytes());
    // SetupCount, then the subcommand.
    words[27] = 1;
    words[29..31].copy_from_slice(&subcommand.to_le_bytes());
    out.extend_from_slice(&words);
    let mut put = [0u16; 4];
    push_bytes(out, |out| {
        // Name, which is empty.
        out.push(0);
        align(4, start, out);
        let parameters_at = out.len();
        parameters(out);
        put[0] = (out.len() - parameters_at) as u16;
        put[1] = (parameters_at - start) as u16;
        align(4, start, out);
        let data_at = out.len();
        data(out);
        put[2] = (out.len() - data_at) as u16;
        put[3] = (data_at - start) as u16;
    });
    let [parameters, parameters_at, data, data_at] = put.map(u16::to_le_bytes);
    let words = &mut out[words_at..];
    words[1..3].copy_from_slice(&parameters);
    words[3..5].copy_from_slice(&data);
    words[19..21].copy_from_slice(&parameters);
    words[21..23].copy_from_slice(&parameters_at);
    words[23..25].copy_from_slice(&data);
    words[25..27].copy_from_slice(&data_at);
}

/// One message of the response to a TRANSACTION2 or NT_TRANSACT. Most responses have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionPart<'a> {
    /// Bytes of the parameters of all messages together.
    pub total_parameters: usize,
    /// Bytes of the data of all messages together.
    pub total_data: usize,
    /// The parameters in this message.
    pub parameters: &'a [u8],
    /// Where they belong among all parameters.
    pub parameters_at: usize,
    /// The data in this message.
    pub data: &'a [u8],
    /// Where it belongs in all data.
    pub data_at: usize,
}

/// The counts of a response part, as they lie in the words.
pub(super) struct PartCounts {
    pub(super) totals: [usize; 2],
    /// Count, offset in the message and displacement of parameters, then of data.
    pub(super) parts: [[usize; 3]; 2],
}

impl<'a> TransactionPart<'a> {
    /// Reads a message of the response to a TRANSACTION2. A failure has no words; it is an
    /// empty part.
    ///
    /// # Errors
    /// If a part lies outside the message, or exceeds its total.
    pub fn decode2(message: &'a [u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "TRANSACTION2 response";
        let body = body(message, 0, WHAT)?;
        if body.word_count == 0 {
            return Ok(Self::EMPTY);
        }
        let before = body.words;
        let mut words = before;
        if body.word_count < RESPONSE_WORDS {
            return Err(before.error(WHAT));
        }
        let mut next = || words.u16(WHAT).map(usize::from);
        let totals = [next()?, next()?];
        next()?;
        let parts = [[next()?, next()?, next()?], [next()?, next()?, next()?]];
        Self::cut(&PartCounts { totals, parts }, before)
    }

    const EMPTY: Self = Self {
        total_parameters: 0,
        total_data: 0,
        parameters: &[],
        parameters_at: 0,
        data: &[],
        data_at: 0,
    };

    pub(super) const fn empty() -> Self {
        Self::EMPTY
    }

    /// Cuts the parts out of the message that `at` reads.
    pub(super) fn cut(counts: &PartCounts, at: Reader<'a>) -> Result<Self, DecodeError> {
        let one = |total: usize, [count, offset, displacement]: [usize; 3]| {
            let fits = displacement
                .checked_add(count)
                .is_some_and(|end| end <= total);
            match (fits, count) {
                (false, _) => Err(at.error("transaction part beyond its total")),
                // Without bytes, the offset means nothing.
                (true, 0) => Ok(&[][..]),
                (true, count) => at.slice(offset, count, "transaction part"),
            }
        };
        let [total_parameters, total_data] = counts.totals;
        let [parameters, data] = counts.parts;
        Ok(Self {
            total_parameters,
            total_data,
            parameters: one(total_parameters, parameters)?,
            parameters_at: parameters[2],
            data: one(total_data, data)?,
            data_at: data[2],
        })
    }

    /// Returns whether this message is the whole response.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.parameters.len() == self.total_parameters && self.data.len() == self.total_data
    }
}
