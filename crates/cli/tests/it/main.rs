//! Tests of the real binary against servers of the lab, as scripts and people use
//! it.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod adapter;
mod after;
mod bad_input;
mod builders;
mod calibrate;
mod captures;
mod checkup;
mod commands;
mod compare;
mod connections;
mod documentation;
#[cfg(feature = "smb-rs")]
mod door;
mod drivers;
mod exporter;
mod failover;
mod fileio;
mod find;
mod folders;
mod iometer;
mod lab;
mod live;
mod login;
mod merge;
mod passwords;
mod populations;
mod recycle;
mod report;
mod runs;
mod samba;
mod scale;
mod server_cpu;
mod stages;
mod stops;
mod streams;
mod suites;
mod support;
mod tree;
mod units;
