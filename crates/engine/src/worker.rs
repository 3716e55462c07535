//! The worker loop: one thread with its part of the clients of a load point.

pub(crate) mod alarm;
pub(crate) mod assignment;
pub(crate) mod booking;
pub(crate) mod cancelled;
pub(crate) mod closing;
pub(crate) mod event_instants;
mod figures;
pub(crate) mod gauge;
pub(crate) mod group;
pub(crate) mod load_control;
pub(crate) mod member;
pub(crate) mod notes;
pub(crate) mod pace;
pub(crate) mod recorder_exchange;
pub(crate) mod replay;
pub(crate) mod schedule;
pub(crate) mod setup;
pub(crate) mod setup_rate;
pub(crate) mod shared;
pub(crate) mod slot;
mod split;
pub(crate) mod supply;
pub(crate) mod timeline;
pub(crate) mod under_load;
pub(crate) mod waiting;
mod whole;
pub(crate) mod work;
