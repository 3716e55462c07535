//! The interface between the worker loop and a server, and the drivers behind it.

mod answer;
pub(crate) mod away;
pub(crate) mod backlog;
pub(crate) mod busy;
pub(crate) mod changes;
mod channel_loss;
pub(crate) mod cifs;
pub(crate) mod copies;
pub(crate) mod cuts;
mod deltree;
pub(crate) mod driver;
pub(crate) mod dropped;
mod folder;
pub(crate) mod links;
mod listings;
mod load_sockets;
pub(crate) mod logons;
pub mod loopback;
pub(crate) mod native;
pub(crate) mod null;
mod opened;
mod prepare;
pub(crate) mod reconnecting;
pub(crate) mod remains;
mod renewals;
mod replaying;
mod requests;
pub(crate) mod site;
pub(crate) mod site_connect;
#[cfg(feature = "smb-rs")]
pub(crate) mod smb_rs;
pub(crate) mod turns;
pub(crate) mod untrusted;
mod walking;
