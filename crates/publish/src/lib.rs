//! Reports: a [`Study`](smbench_report::study::Study) as one HTML page, as Markdown
//! and as CSV, and its plots as SVG, PNG and CSV.
//!
//! - [`report()`]: the content of a report as a value
//! - [`plot`]: plots as values, and their pictures
//! - [`to_html`], [`to_markdown`]: a report as text
//! - [`save`]: all of it as files
//!
//! This is a separate crate, so that a program that only reads results does not build
//! a plotting library. The crate plotters draws the plots. It has had users for
//! years, and criterion builds it anyway. The crate resvg renders the same SVG as
//! PNG.

mod content;
mod files;
mod html;
mod markdown;
pub mod plot;
mod report;

pub use content::report;
pub use files::{WriteError, Written, save};
pub use html::to_html;
pub use markdown::to_markdown;
pub use report::{Block, Report, Section};

/// Name of the folder of the plots next to a page.
const PLOTS: &str = "plots";
