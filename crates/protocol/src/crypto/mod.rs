//! Keys and signatures (MS-SMB2 3.1.4.1, 3.1.4.2). No encryption yet.

mod kdf;
mod signing;

pub use kdf::{PreauthHash, signing_key_311};
pub use signing::Signer;
