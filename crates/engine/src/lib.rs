//! SMB workload engine: Spec -> [`plan::Plan`] -> workers -> [`record`].

mod cancel;
pub mod clients;
pub mod clock;
pub mod pattern;
pub mod plan;
pub mod probe;
mod process;
pub mod profile;
mod random;
pub mod record;
pub mod run;
mod session;
mod share;
pub mod sources;
pub mod spec;
pub mod stream;
pub mod target;
pub mod units;
pub mod verify;

pub use cancel::Cancel;
pub use session::SessionError;
pub use share::Cleanup;
