//! Lists in the notation that users write: numbers of clients, addresses.

pub mod clients;
pub mod sources;
