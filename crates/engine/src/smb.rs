//! The SMB client for one request at a time: sessions, tickets, the directory on the share.

pub(crate) mod calls;
pub mod prepared;
pub(crate) mod session;
pub(crate) mod share;
pub(crate) mod tickets;
