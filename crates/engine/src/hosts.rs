//! Several hosts that carry out one run together.
//!
//! Each host is a process of its own with a part of the clients. The first host plans,
//! claims the directory, makes and removes the files, and merges the measurements. The other
//! hosts follow it. To the coordinator of the first host, another host is one more worker: a
//! thread (`proxy`) hands in that host's recorders and result.
//!
//! * [`connect`] makes the two ends on top of a [`HostTransport`]: a [`HostPump`], which moves
//!   messages on a thread of its own, and the host's [`HostRole`].
//! * All instants of a message are of the other host's clock. `clock` relates the clocks.
//!
//! Not here: how messages travel (the crate `smbench-mpi`).

mod clock;
mod first;
mod message;
mod other;
pub(crate) mod proxy;
mod pump;

pub use clock::ClockRelation;
pub(crate) use first::HostChannel;
pub use first::{FirstHost, HostsError};
pub use message::{HostIdentity, HostMessage};
pub(crate) use message::{PointOrder, PopulationOrder, Refusal, RunOrder, SentPassword};
pub use other::OtherHost;
pub(crate) use other::{Order, Upstream};
pub use pump::{HostPump, HostRole, HostTransport, PumpTurn, connect};

use std::ops::Range;
use std::time::Duration;

use smbench_model::Nanos;

/// Whether the first host sends its password to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendPassword {
    /// Each host has its own source.
    #[default]
    No,
    /// It travels as the transport carries it.
    Yes,
}

/// The largest share of the window by which windows of hosts may be apart.
pub(crate) const APART_MAX: f64 = 0.01;
/// The fault of a host that is interrupted.
pub(crate) const INTERRUPTED: &str = "interrupted";
/// A host that is silent for this long is lost.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(5);
/// A host that is silent for this long under load stood still.
pub(crate) const STILL_MAX: Duration = Duration::from_millis(1500);
/// A host that is silent for this long after a cancel is lost. `mpirun` ends all ranks a second
/// after one was killed, and the load point must be saved before.
pub(crate) const SILENCE_AFTER_CANCEL: Duration = Duration::from_millis(450);
/// How often a host says that it is there, and looks whether others are.
const ALIVE_INTERVAL: Duration = Duration::from_millis(250);
/// The same after a cancel.
const ALIVE_INTERVAL_AFTER_CANCEL: Duration = Duration::from_millis(150);

/// Returns whether a window of one host that is this far from those of others must not be quoted.
pub(crate) fn is_too_far(apart: Nanos, window: &Range<Nanos>) -> bool {
    apart.0 as f64 > (window.end - window.start).0 as f64 * APART_MAX
}
