//! Whole runs against real servers: the embedded one and a scratch Samba.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test panics where a step fails, and says what it skips"
)]

mod capture;
mod proxy;
mod run;
mod scale;
mod share;
mod support;
mod trouble;
