//! Reports, from studies as they lie in folders to what a browser makes of them.

#![expect(
    clippy::unwrap_used,
    reason = "helpers beside the tests fail them by panicking"
)]

mod browser;
mod chromium;
mod direction;
mod gaps;
mod hostile;
mod page;
mod plots;
mod published;
mod rows;
mod samples;
