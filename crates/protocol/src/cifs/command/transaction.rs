//! The frame of SMB_COM_TRANSACTION2 and of SMB_COM_NT_TRANSACT (MS-CIFS
//! 2.2.4.46, 2.2.4.62): parameters and data, each at an offset of its own.
//!
//! A request always has one part, because all requests of this crate fit one
//! message. A response may have several.
//!
//! Not here: the joining of a response's parts.

use super::{CIFS_HEADER_LEN, close_body};
use crate::wire::{DecodeError, Reader};

/// The fixed values of a TRANSACTION2 request (MS-CIFS 2.2.4.46.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Transaction2 {
    /// The only setup word: a subcommand (MS-CIFS 2.2.6).
    pub(super) subcommand: u16,
    /// MaxParameterCount: the largest length of the response's parameters.
    pub(super) max_parameters: u16,
    /// MaxDataCount: the largest length of the response's data.
    pub(super) max_data: u16,
}

impl Transaction2 {
    /// Appends the body to `out`. `parameters` and `data` append their part.
    #[inline]
    pub(super) fn encode(
        self,
        out: &mut Vec<u8>,
        parameters: impl FnOnce(&mut Vec<u8>),
        data: impl FnOnce(&mut Vec<u8>),
    ) {
        const WORDS: usize = 15;
        const BYTE_COUNT: usize = 1 + 2 * WORDS;
        let start = out.len();
        out.extend_from_slice(&[0; BYTE_COUNT + 2]);
        // The name is empty. Its null is part of the padding of the parameters.
        let parameters = append(out, start, parameters);
        let data = append(out, start, data);
        close_body(out, start + BYTE_COUNT);
        let body = &mut out[start..];
        body[0] = WORDS as u8;
        // The casts are safe, because the message fits its buffer.
        let mut put = |at: usize, value: usize| {
            body[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
        };
        put(1, parameters.len);
        put(3, data.len);
        put(5, self.max_parameters.into());
        put(7, self.max_data.into());
        // MaxSetupCount, Flags and Timeout stay zero.
        put(19, parameters.len);
        put(21, parameters.offset);
        put(23, data.len);
        put(25, data.offset);
        put(27, 1);
        put(29, self.subcommand.into());
    }
}

/// The fixed values of an NT_TRANSACT request (MS-CIFS 2.2.4.62.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct NtTransact<'a> {
    /// Function: a subcommand (MS-CIFS 2.2.7).
    pub(super) function: u16,
    /// The setup words.
    pub(super) setup: &'a [u8],
    /// MaxParameterCount: the largest length of the response's parameters.
    pub(super) max_parameters: u32,
    /// MaxDataCount: the largest length of the response's data.
    pub(super) max_data: u32,
}

impl NtTransact<'_> {
    /// Appends the body to `out`. `parameters` and `data` append their part.
    #[inline]
    pub(super) fn encode(
        self,
        out: &mut Vec<u8>,
        parameters: impl FnOnce(&mut Vec<u8>),
        data: impl FnOnce(&mut Vec<u8>),
    ) {
        const FIXED: usize = 39;
        let start = out.len();
        out.extend_from_slice(&[0; FIXED]);
        out.extend_from_slice(self.setup);
        let byte_count = out.len();
        out.extend_from_slice(&[0, 0]);
        let parameters = append(out, start, parameters);
        let data = append(out, start, data);
        close_body(out, byte_count);
        let body = &mut out[start..];
        let setup_words = (self.setup.len() / 2) as u8;
        body[0] = 19 + setup_words;
        // The casts are safe, because the message fits its buffer.
        let mut put = |at: usize, value: usize| {
            body[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
        };
        // MaxSetupCount stays zero.
        put(4, parameters.len);
        put(8, data.len);
        put(12, self.max_parameters as usize);
        put(16, self.max_data as usize);
        put(20, parameters.len);
        put(24, parameters.offset);
        put(28, data.len);
        put(32, data.offset);
        body[36] = setup_words;
        body[37..39].copy_from_slice(&self.function.to_le_bytes());
    }
}

/// The place of parameters or data in a message.
struct Span {
    offset: usize,
    len: usize,
}

/// Appends what `write` appends, at an offset that is a multiple of 4 (MS-CIFS
/// 2.2.4.46.1, Pad1 and Pad2).
#[inline]
fn append(out: &mut Vec<u8>, start: usize, write: impl FnOnce(&mut Vec<u8>)) -> Span {
    let offset = (CIFS_HEADER_LEN + out.len() - start).next_multiple_of(4);
    let at = start + offset - CIFS_HEADER_LEN;
    out.resize(at, 0);
    write(out);
    Span {
        offset,
        len: out.len() - at,
    }
}

/// One message of a response to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionPart<'a> {
    /// Length of the whole response's parameters in bytes. A later part may
    /// state a smaller number than an earlier one.
    pub total_parameters: usize,
    /// Length of the whole response's data in bytes. A later part may state a
    /// smaller number than an earlier one.
    pub total_data: usize,
    /// The parameters in this message.
    pub parameters: &'a [u8],
    /// Their place in the whole parameters.
    pub parameter_displacement: usize,
    /// The data in this message.
    pub data: &'a [u8],
    /// Its place in the whole data.
    pub data_displacement: usize,
}

impl<'a> TransactionPart<'a> {
    /// Reads a TRANSACTION2 response in `message` (MS-CIFS 2.2.4.46.2).
    ///
    /// # Errors
    /// Returns an error if a field is missing, if parameters or data lie outside
    /// the message, or if they exceed their total.
    #[inline]
    pub fn decode_trans2(message: &'a [u8]) -> Result<Self, DecodeError> {
        let (mut reader, bytes_at) = Self::words(message, 10, 18)?;
        let mut word = || reader.u16("TRANSACTION2 field").map(usize::from);
        let (total_parameters, total_data) = (word()?, word()?);
        word()?;
        let parameters = Window::read(&mut word)?;
        let data = Window::read(&mut word)?;
        Self::new(
            message,
            bytes_at,
            [total_parameters, total_data],
            [parameters, data],
        )
    }

    /// Reads an NT_TRANSACT response in `message` (MS-CIFS 2.2.4.62.2).
    ///
    /// # Errors
    /// The errors of [`TransactionPart::decode_trans2`].
    pub fn decode_nt_transact(message: &'a [u8]) -> Result<Self, DecodeError> {
        let (reader, bytes_at) = Self::words(message, 18, 35)?;
        let mut reader = reader.ahead(3);
        let mut word = || reader.u32("NT_TRANSACT field").map(|value| value as usize);
        let (total_parameters, total_data) = (word()?, word()?);
        let parameters = Window::read(&mut word)?;
        let data = Window::read(&mut word)?;
        Self::new(
            message,
            bytes_at,
            [total_parameters, total_data],
            [parameters, data],
        )
    }

    /// Returns whether the message has all parameters and all data.
    #[must_use]
    #[inline]
    pub const fn is_whole(&self) -> bool {
        self.parameters.len() == self.total_parameters && self.data.len() == self.total_data
    }

    /// Checks WordCount, which counts `fixed` words and the setup words, whose
    /// number is at `setup_count` in the words. Returns a reader at the words, and
    /// the offset of the bytes after ByteCount.
    #[inline]
    fn words(
        message: &'a [u8],
        fixed: usize,
        setup_count: usize,
    ) -> Result<(Reader<'a>, usize), DecodeError> {
        let mut reader = Reader::at(message, CIFS_HEADER_LEN);
        let before_words = reader;
        let words = usize::from(reader.u8("transaction word count")?);
        let setup_words = reader.ahead(setup_count).u8("transaction setup count")?;
        if words != fixed + usize::from(setup_words) {
            return Err(before_words.error("transaction word count"));
        }
        Ok((reader, CIFS_HEADER_LEN + 1 + 2 * words + 2))
    }

    #[inline]
    fn new(
        message: &'a [u8],
        bytes_at: usize,
        [total_parameters, total_data]: [usize; 2],
        [parameters, data]: [Window; 2],
    ) -> Result<Self, DecodeError> {
        Ok(Self {
            total_parameters,
            total_data,
            parameters: parameters.of(
                message,
                bytes_at,
                total_parameters,
                "transaction parameters",
            )?,
            parameter_displacement: parameters.displacement,
            data: data.of(message, bytes_at, total_data, "transaction data")?,
            data_displacement: data.displacement,
        })
    }
}

/// Count, offset and displacement of a part's parameters or data.
#[derive(Clone, Copy)]
struct Window {
    count: usize,
    offset: usize,
    displacement: usize,
}

impl Window {
    #[inline]
    fn read(mut word: impl FnMut() -> Result<usize, DecodeError>) -> Result<Self, DecodeError> {
        Ok(Self {
            count: word()?,
            offset: word()?,
            displacement: word()?,
        })
    }

    /// Returns the bytes of this window.
    #[inline]
    fn of<'a>(
        self,
        message: &'a [u8],
        bytes_at: usize,
        total: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let words = Reader::at(message, CIFS_HEADER_LEN + 1);
        let fits = self
            .displacement
            .checked_add(self.count)
            .is_some_and(|end| end <= total);
        // Without bytes the offset has no meaning. Servers send zero, or the end
        // of the message.
        match self.count {
            _ if !fits => Err(words.error(what)),
            0 => Ok(&[]),
            _ if self.offset < bytes_at => Err(words.error(what)),
            count => words.slice(self.offset, count, what),
        }
    }
}
