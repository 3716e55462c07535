//! This machine: its clock, processes, storage and capacity, and the CPUs of a server on it.

pub(crate) mod cancel;
pub(crate) mod capacity;
pub mod clock;
mod command;
pub(crate) mod counters;
mod exporter;
pub(crate) mod lab_server;
pub(crate) mod poller;
pub(crate) mod process;
pub(crate) mod route;
pub(crate) mod runtime;
mod sample;
pub(crate) mod server_cpu;
pub(crate) mod shell;
pub(crate) mod socket;
pub mod storage;
pub(crate) mod tasks;
pub(crate) mod tcp;
mod timer;
