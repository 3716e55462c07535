//! Result documents: from a record made through the engine's public API to all
//! output for users and other programs.

#![expect(
    clippy::unwrap_used,
    reason = "helpers beside the tests fail them by panicking"
)]

mod adapter;
mod calibration;
mod checkup;
mod compare;
mod compare_studies;
mod document;
mod efficiency;
mod failover;
mod fileio;
mod files;
mod find;
mod hlog;
mod iometer;
mod merge;
mod published;
mod samples;
mod statistics;
mod study;
mod text;
mod threshold;
