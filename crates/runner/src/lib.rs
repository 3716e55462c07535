//! The product without its command line: what makes, watches, saves, searches and repeats
//! runs. The command `smbench` adds arguments, words, screens, signals, printing and exit
//! codes. Other programs depend on the crate `smbench` with its feature `runner`, which has
//! this crate as the module `runner`.
//!
//! In the order of use:
//!
//! 1. [`request::RunRequest::resolve`] checks options, a profile and a server.
//! 2. [`results::Results::prepare`] finds out where results go.
//! 3. [`run::RunJob::measure`] carries the run out. An [`observer::RunObserver`] follows it.
//! 4. [`run::finished`] makes the document, which [`results::Results::save`] saves.
//!
//! [`checkup`] has short runs of different kinds. [`searching`] has runs whose load points are probes, and [`suite`] runs on several servers.
//! `tests/embedding.rs` is such a program.
//!
//! Not here: how a run is measured ([`smbench_engine`]), and how a result reads
//! ([`smbench_report`]).

pub mod account;
pub mod calibration;
pub mod checkup;
pub mod command_line;
pub mod conditions;
pub mod failure;
pub mod gate;
pub mod hosts;
pub mod junit;
pub mod lab_facts;
pub mod mounts;
pub mod observer;
pub mod request;
pub mod results;
pub mod run;
pub mod searching;
pub mod study;
pub mod suite;
pub mod time_left;
pub mod unsaved;
pub mod verdict;
pub mod watch;
