//! SMB workload engine: Spec -> [`plan::Plan`] -> workers -> [`record`].

pub mod clients;
pub mod clock;
pub mod pattern;
pub mod plan;
pub mod profile;
mod random;
pub mod record;
pub mod spec;
pub mod stream;
pub mod target;
pub mod units;
pub mod verify;
