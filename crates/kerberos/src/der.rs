//! The part of DER (X.690) that SPNEGO and Kerberos need.
//!
//! Functions that nest write elements. A cursor reads them: it checks every length
//! against the bytes that exist, so hostile bytes end in an error with an offset.
//!
//! Only low tag numbers and definite lengths are supported, because DER uses no
//! others for these protocols. Tokens are small and rare, so the code is simple
//! rather than free of copies.

use std::time::{Duration, SystemTime};

use crate::decode::DecodeError;

pub(super) const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OID: u8 = 0x06;
pub(super) const ENUMERATED: u8 = 0x0a;
const GENERALIZED_TIME: u8 = 0x18;
const GENERAL_STRING: u8 = 0x1b;
pub(super) const SEQUENCE: u8 = 0x30;

/// Returns the tag `[APPLICATION number]` of a constructed value.
pub(super) const fn application_tag(number: u8) -> u8 {
    0x60 | number
}

/// Returns the tag `[number]` of a constructed value.
pub(super) const fn context_tag(number: u8) -> u8 {
    0xa0 | number
}

/// Encodes one element: tag, length, content.
pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 6);
    out.push(tag);
    let len = content.len();
    if len < 0x80 {
        out.push(len as u8);
    } else {
        let bytes = len.to_be_bytes();
        let zeros = (len.leading_zeros() / 8) as usize;
        out.push(0x80 | (bytes.len() - zeros) as u8);
        out.extend_from_slice(&bytes[zeros..]);
    }
    out.extend_from_slice(content);
    out
}

pub(super) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    element(SEQUENCE, &parts.concat())
}

pub(super) fn application(number: u8, inner: &[u8]) -> Vec<u8> {
    element(application_tag(number), inner)
}

pub(super) fn context(number: u8, inner: &[u8]) -> Vec<u8> {
    element(context_tag(number), inner)
}

pub(super) fn integer(value: i64) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    // Drop the leading bytes that the sign makes redundant.
    let redundant = bytes
        .windows(2)
        .take_while(|pair| {
            matches!(pair, [0, next] if next & 0x80 == 0)
                || matches!(pair, [0xff, next] if next & 0x80 != 0)
        })
        .count();
    element(INTEGER, &bytes[redundant..])
}

pub(super) fn octets(bytes: &[u8]) -> Vec<u8> {
    element(OCTET_STRING, bytes)
}

pub(super) fn oid(encoded: &[u8]) -> Vec<u8> {
    element(OID, encoded)
}

pub(super) fn general_string(text: &str) -> Vec<u8> {
    element(GENERAL_STRING, text.as_bytes())
}

/// Encodes 32 flags. The first flag is the highest bit.
pub(super) fn flags(bits: u32) -> Vec<u8> {
    let mut content = vec![0];
    content.extend_from_slice(&bits.to_be_bytes());
    element(BIT_STRING, &content)
}

/// Encodes a time as `YYYYMMDDHHMMSSZ`. A time before 1970 or after 9999
/// becomes the nearest time that this form can express.
pub(super) fn time(at: SystemTime) -> Vec<u8> {
    let last = SystemTime::UNIX_EPOCH + Duration::from_secs(SECONDS_MAX);
    let at = at.clamp(SystemTime::UNIX_EPOCH, last);
    let mut text = humantime::format_rfc3339_seconds(at).to_string();
    text.retain(|c| !matches!(c, '-' | 'T' | ':'));
    element(GENERALIZED_TIME, text.as_bytes())
}

/// The last second of the year 9999, counted from 1970.
const SECONDS_MAX: u64 = 253_402_300_799;

/// A cursor over the elements of one nesting level.
#[derive(Clone, Copy)]
pub(super) struct Der<'a> {
    message: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Der<'a> {
    pub(super) const fn new(message: &'a [u8]) -> Self {
        Self {
            message,
            at: 0,
            end: message.len(),
        }
    }

    const fn error(&self, what: &'static str) -> DecodeError {
        DecodeError {
            what,
            offset: self.at,
        }
    }

    /// Returns the undecoded bytes from here to the end of the level.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.message[self.at..self.end]
    }

    /// Returns the next element's tag and its content.
    fn next(&mut self, what: &'static str) -> Result<(u8, Self), DecodeError> {
        let error = self.error(what);
        let &[tag, first, ..] = self.rest() else {
            return Err(error);
        };
        let mut begin = self.at + 2;
        let len = if first < 0x80 {
            usize::from(first)
        } else {
            // More than four bytes of length exceed any message. A count of
            // zero is the indefinite form, which DER does not allow.
            let count = usize::from(first & 0x7f);
            let digits = self.message[begin..self.end].get(..count).ok_or(error)?;
            if !(1..=4).contains(&count) {
                return Err(error);
            }
            begin += count;
            digits
                .iter()
                .fold(0, |len, &digit| len << 8 | usize::from(digit))
        };
        let end = begin.checked_add(len).filter(|&end| end <= self.end);
        let end = end.ok_or(error)?;
        self.at = end;
        let inner = Self {
            message: self.message,
            at: begin,
            end,
        };
        Ok((tag, inner))
    }

    /// Returns the content of the next element, which must have this tag.
    pub(super) fn expect(&mut self, tag: u8, what: &'static str) -> Result<Self, DecodeError> {
        let error = self.error(what);
        match self.next(what)? {
            (found, inner) if found == tag => Ok(inner),
            _ => Err(error),
        }
    }

    /// Returns the content of the next element if it has this tag. Returns
    /// `None` at another element and at the end.
    pub(super) fn optional(
        &mut self,
        tag: u8,
        what: &'static str,
    ) -> Result<Option<Self>, DecodeError> {
        if self.rest().first() == Some(&tag) {
            self.expect(tag, what).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Returns the fields of a message: a sequence with the tag `[APPLICATION number]`.
    pub(super) fn message(
        bytes: &'a [u8],
        number: u8,
        what: &'static str,
    ) -> Result<Self, DecodeError> {
        Self::new(bytes)
            .expect(application_tag(number), what)?
            .sequence(what)
    }

    /// Returns the content of the field `[number]`.
    pub(super) fn field(&mut self, number: u8, what: &'static str) -> Result<Self, DecodeError> {
        self.expect(context_tag(number), what)
    }

    /// Decodes the content of the field `[number]` with `decode`, or returns `None`
    /// if it is missing.
    pub(super) fn optional_field<T>(
        &mut self,
        number: u8,
        what: &'static str,
        decode: impl FnOnce(&mut Self, &'static str) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        let field = self.optional(context_tag(number), what)?;
        field.map(|mut field| decode(&mut field, what)).transpose()
    }

    /// Passes over the field `[number]`, if it is there.
    pub(super) fn skip_field(&mut self, number: u8, what: &'static str) -> Result<(), DecodeError> {
        self.optional(context_tag(number), what).map(|_| ())
    }

    pub(super) fn sequence(&mut self, what: &'static str) -> Result<Self, DecodeError> {
        self.expect(SEQUENCE, what)
    }

    pub(super) fn integer(&mut self, what: &'static str) -> Result<i64, DecodeError> {
        let error = self.error(what);
        let bytes = self.expect(INTEGER, what)?.rest();
        if bytes.is_empty() || bytes.len() > 8 {
            return Err(error);
        }
        let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1 };
        Ok(bytes
            .iter()
            .fold(sign, |value, &byte| value << 8 | i64::from(byte)))
    }

    pub(super) fn octets(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        Ok(self.expect(OCTET_STRING, what)?.rest())
    }

    /// Reads an object identifier and returns its encoded form.
    pub(super) fn oid(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        Ok(self.expect(OID, what)?.rest())
    }

    /// Reads a string as bytes, because its character set is unknown.
    pub(super) fn string_bytes(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        Ok(self.expect(GENERAL_STRING, what)?.rest())
    }

    pub(super) fn string(&mut self, what: &'static str) -> Result<&'a str, DecodeError> {
        let error = self.error(what);
        str::from_utf8(self.string_bytes(what)?).map_err(|_| error)
    }

    pub(super) fn time(&mut self, what: &'static str) -> Result<SystemTime, DecodeError> {
        let error = self.error(what);
        let text = self.expect(GENERALIZED_TIME, what)?.rest();
        parse_time(text).ok_or(error)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.at == self.end
    }
}

/// Reads a time of this form. The epoch means "no time" in requests, but it is a
/// valid time here.
fn parse_time(text: &[u8]) -> Option<SystemTime> {
    let digits = str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if digits.len() != 14 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (date, time) = digits.split_at(8);
    let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
    let (hour, minute, second) = (&time[..2], &time[2..4], &time[4..]);
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    humantime::parse_rfc3339(&text).ok()
}

#[cfg(test)]
mod tests;
