//! Whole runs against real servers: the embedded one and a scratch Samba.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod capture;
mod chains;
mod channels;
mod churn;
mod cifs;
mod connections;
mod counters;
mod distil;
mod embedding;
mod failover;
mod fileio;
mod folded;
mod folders;
mod hostile;
mod hosts;
mod impacket;
mod kerberos;
mod limited;
mod matrix;
mod mix;
mod oplocks;
mod pacing;
mod pattern;
mod populations;
mod probe;
mod proxy;
mod recycle;
mod replay;
mod run;
mod scale;
mod share;
#[cfg(feature = "smb-rs")]
mod smb_rs;
mod split;
mod streams;
mod support;
mod trouble;
mod waiting;
mod watch;
