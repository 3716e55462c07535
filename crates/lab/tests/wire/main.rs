//! Both lab servers over the wire, driven by the real `smbclient`.
//!
//! Programs that are missing skip a test loudly, and fail it where `CI` is set.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod client;
mod embedded;
mod samba;
