//! NT_TRANSACT: security descriptors and notifications (MS-CIFS 2.2.4.62, 2.2.7).

use super::transaction::{PartCounts, TransactionPart};
use super::{CIFS_HEADER_LEN, FileNumber, align, body, push_bytes};
use crate::wire::DecodeError;

/// Functions (MS-CIFS 2.2.2.2).
const SET_SECURITY_DESC: u16 = 3;
const NOTIFY_CHANGE: u16 = 4;
const QUERY_SECURITY_DESC: u16 = 6;
/// Number of words without setup words.
const REQUEST_WORDS: usize = 19;
const RESPONSE_WORDS: usize = 18;

/// Whether a watch includes the directories below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchDepth {
    /// The directory alone.
    Directory,
    /// Everything below it.
    Tree,
}

/// Appends the body of a request that waits for changes in a directory. `filter` has the
/// CompletionFilter bits.
pub fn encode_notify(
    directory: FileNumber,
    filter: u32,
    depth: WatchDepth,
    parameters_max: u32,
    out: &mut Vec<u8>,
) {
    let mut setup = [0u8; 8];
    setup[..4].copy_from_slice(&filter.to_le_bytes());
    setup[4..6].copy_from_slice(&directory.0.to_le_bytes());
    setup[6] = u8::from(depth == WatchDepth::Tree);
    encode(
        NOTIFY_CHANGE,
        &setup,
        (parameters_max, 0),
        out,
        |_| (),
        |_| (),
    );
}

/// Appends the body of a query of the parts of a security descriptor that `information`
/// names (SECURITY_INFORMATION).
pub fn encode_query_security(file: FileNumber, information: u32, data_max: u32, out: &mut Vec<u8>) {
    let parameters = |out: &mut Vec<u8>| push_security(file, information, out);
    encode(
        QUERY_SECURITY_DESC,
        &[],
        (4, data_max),
        out,
        parameters,
        |_| (),
    );
}

/// Appends the body of a change of these parts of a security descriptor.
pub fn encode_set_security(
    file: FileNumber,
    information: u32,
    descriptor: &[u8],
    out: &mut Vec<u8>,
) {
    let parameters = |out: &mut Vec<u8>| push_security(file, information, out);
    let data = |out: &mut Vec<u8>| out.extend_from_slice(descriptor);
    encode(SET_SECURITY_DESC, &[], (0, 0), out, parameters, data);
}

fn push_security(file: FileNumber, information: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&file.0.to_le_bytes());
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(&information.to_le_bytes());
}

fn encode(
    function: u16,
    setup: &[u8],
    (parameters_max, data_max): (u32, u32),
    out: &mut Vec<u8>,
    parameters: impl FnOnce(&mut Vec<u8>),
    data: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len() - CIFS_HEADER_LEN;
    let words_at = out.len();
    let mut words = [0u8; 1 + 2 * REQUEST_WORDS];
    words[0] = (REQUEST_WORDS + setup.len() / 2) as u8;
    words[12..16].copy_from_slice(&parameters_max.to_le_bytes());
    words[16..20].copy_from_slice(&data_max.to_le_bytes());
    words[36] = (setup.len() / 2) as u8;
    words[37..39].copy_from_slice(&function.to_le_bytes());
    out.extend_from_slice(&words);
    out.extend_from_slice(setup);
    let mut put = [0u32; 4];
    push_bytes(out, |out| {
        align(4, start, out);
        let parameters_at = out.len();
        parameters(out);
        put[0] = (out.len() - parameters_at) as u32;
        put[1] = (parameters_at - start) as u32;
        align(4, start, out);
        let data_at = out.len();
        data(out);
        put[2] = (out.len() - data_at) as u32;
        put[3] = (data_at - start) as u32;
    });
    let [parameters, parameters_at, data, data_at] = put.map(u32::to_le_bytes);
    let words = &mut out[words_at..];
    words[4..8].copy_from_slice(&parameters);
    words[8..12].copy_from_slice(&data);
    words[20..24].copy_from_slice(&parameters);
    words[24..28].copy_from_slice(&parameters_at);
    words[28..32].copy_from_slice(&data);
    words[32..36].copy_from_slice(&data_at);
}

impl<'a> TransactionPart<'a> {
    /// Reads a message of the response to an NT_TRANSACT; see
    /// [`decode2`](TransactionPart::decode2).
    ///
    /// # Errors
    /// If a part lies outside the message, or exceeds its total.
    pub fn decode_nt(message: &'a [u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "NT_TRANSACT response";
        let body = body(message, 0, WHAT)?;
        if body.word_count == 0 {
            return Ok(Self::empty());
        }
        let before = body.words;
        let mut words = before;
        if body.word_count < RESPONSE_WORDS {
            return Err(before.error(WHAT));
        }
        words.bytes(3, WHAT)?;
        let mut next = || words.u32(WHAT).map(|count| count as usize);
        let totals = [next()?, next()?];
        let parts = [[next()?, next()?, next()?], [next()?, next()?, next()?]];
        Self::cut(&PartCounts { totals, parts }, before)
    }
}
