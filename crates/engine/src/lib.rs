//! SMB workload engine: Spec -> [`plan::Plan`] -> workers -> [`record`].

mod cancel;
pub mod clients;
pub mod clock;
pub mod driver;
mod kerberos;
pub mod login;
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
pub use kerberos::TicketError;
pub use session::{SessionError, Who};
pub use share::Cleanup;
