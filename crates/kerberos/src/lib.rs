//! Kerberos 5 (RFC 4120) for clients of file servers: tickets from KDCs, and
//! their use in GSS-API tokens (RFC 4121).
//!
//! It is written by hand on the crate's cryptography. The existing Rust
//! libraries support neither keytabs nor caches nor HMAC-SHA-2, and panic on
//! some malformed tokens. Nothing here does I/O or reads a clock.
//!
//! In the order of use: a [`TicketRequest`] of a [`Principal`] starts from a
//! password, a [`Keytab`] or a [`CredentialCache`]. It advances by [`TicketStep`]s to a
//! [`ServiceTicket`].
//!
//! A [`RecordedLogon`] is what a third party sees that has the server's keytab.
//!
//! Not here: FAST, PKINIT, user-to-user, and the encryption types DES and RC4.

mod ccache;
mod context;
mod cts;
mod decode;
mod der;
mod enctype;
mod error;
mod file;
mod keytab;
mod messages;
mod principal;
mod recorded;
mod request;
#[doc(hidden)]
pub mod spnego;
mod ticket;

pub use ccache::CredentialCache;
#[doc(hidden)]
pub use context::Initiator;
pub use decode::DecodeError;
pub use error::KerberosError;
pub use file::MalformedFile;
pub use keytab::Keytab;
pub use principal::Principal;
pub use recorded::RecordedLogon;
pub use request::{TicketRequest, TicketStep};
pub use ticket::ServiceTicket;

/// Decodes `bytes` as each message part that is only readable with a key, for
/// the fuzz targets.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub fn decode_opened(bytes: &[u8]) {
    let _ = messages::reply::ReplyPart::decode(bytes);
    let _ = messages::reply::ApReplyPart::decode(bytes);
    let _ = messages::reply::etype_info(bytes);
}

#[cfg(test)]
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8).unwrap())
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}
