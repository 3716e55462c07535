//! Reports, from studies in folders to the page in a browser.

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
