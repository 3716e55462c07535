//! Keys, signatures and encryption (MS-SMB2 3.1.4.1 to 3.1.4.3).
//!
//! All of it works in the caller's buffer and allocates nothing per message.

mod aead;
mod cbc;
mod kdf;
mod mark;
mod signing;
mod transform;

pub use aead::{Aead, Decrypted, NONCE_LEN_MAX, TAG_LEN};
pub use kdf::{KeySource, PreauthHash};
pub(crate) use mark::ChannelMark;
pub use mark::Repetition;
pub use signing::Signer;
pub use transform::{NONCE_SEED_LEN, TRANSFORM_HEADER_LEN, TRANSFORM_PROTOCOL_ID, Transform};
