//! Targets of your own. This module has the traits to implement so that the
//! engine's load models, clock and record work on something other than its SMB
//! clients.
//!
//! A [`Connector`] sets up a [`Driver`] for each group of clients. The plan says
//! how many clients there are and how they are grouped
//! ([`Connections::sessions_per_connection`](smbench_model::sessions::Connections)). The worker
//! loop submits calls. The driver carries them out and reports each answer to a
//! [`Sink`]. [`PlannedRun::on_target`](crate::run::PlannedRun::on_target) runs a plan on a
//! connector. [`Null`] is the smallest driver. The recipe `own_target` of the crate
//! `smbench` has one that keeps what it is given.
//!
//! A driver must do the following:
//! * Give one [`Answer`] of extent [`Extent::Final`] for each call that it
//!   accepted. For an operation that moves data, the answer counts
//!   [`Operation::length`](smbench_model::operations::Operation) bytes. An answer for a slot
//!   without a call drops the group.
//! * Register a waker whenever it returns `Pending`. It is polled again when that
//!   waker is woken, when one of its clients is due by the clock, or when an
//!   operation is overdue.
//! * Never block the thread, which it shares with other groups.
//!
//! There are two kinds of failure. An answer with a status other than success is
//! counted, and the client continues. A [`Dropped`] ends the load point for the
//! whole group, and the point must not be quoted. Times are
//! [`Nanos`](smbench_model::Nanos) on the engine's clock; all lengths are bytes.

pub use smbench_protocol::NtStatus;
pub use smbench_protocol::command::WireName;

pub use crate::drivers::driver::{
    Answer, Busy, Call, ChurnEvent, Connector, Driver, Extent, ListingEvent, Opened, Scratch, Sink,
};
pub use crate::drivers::dropped::{Dropped, LinkCause, LostLink, NotReconnected};
pub use crate::drivers::null::{Null, NullDriver};
pub use crate::smb::session::caching::Acknowledged;
