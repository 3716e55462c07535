//! Captures of real traffic, as recorded and damaged.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod damage;
mod encrypted;
mod packets;
mod recording;
mod refused;
mod slices;
mod tshark;
