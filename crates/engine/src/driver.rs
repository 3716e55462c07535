//! Targets of your own: what to implement so that the engine's load models,
//! clock and record work on something other than its SMB clients.
//!
//! A [`Connector`] sets up a [`Driver`] for each group of clients; the plan says
//! how many clients there are and how they are grouped
//! ([`Connections::sessions_per_connection`](crate::plan::Connections)). The
//! worker loop submits calls, the driver carries them out and tells a [`Sink`]
//! of each answer. [`run::execute_on`](crate::run::execute_on) runs a plan on
//! a connector. [`Null`] is the smallest of all, and `examples/own_target.rs`
//! one with a server behind it.
//!
//! A driver owes the loop
//! * one [`Answer`] of extent [`Extent::Final`] for each call it took, of
//!   [`Operation::length`](crate::stream::Operation) bytes where the operation
//!   is one that moves data, and never one to a slot without a call: that drops
//!   the group;
//! * a waker left behind whenever it is `Pending`: it is polled again when that
//!   is woken, when one of its clients is due by the clock, or when an operation
//!   is overdue;
//! * nothing that blocks the thread, which it shares with other groups.
//!
//! What fails is of two kinds: an answer with a status other than success is
//! counted and the client goes on; a [`Dropped`] ends the load point for the
//! whole group, and the point must not be quoted. Times are
//! [`Nanos`](crate::clock::Nanos) on the engine's clock, all lengths bytes.

pub use smbench_protocol::NtStatus;

pub use crate::run::driver::{
    Acknowledged, Answer, Busy, Call, Connector, Driver, Extent, Opened, Scratch, Sink,
};
pub use crate::run::null::{Null, NullDriver};
pub use crate::run::operation::Dropped;
