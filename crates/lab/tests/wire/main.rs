//! Tests of both lab servers over the network, with the real `smbclient`.
//!
//! A missing program skips a test with a message. With `CI` set, it fails the test.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod client;
mod embedded;
mod samba;
