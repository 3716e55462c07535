//! Reports: a [`Study`](smbench_report::study::Study) as one HTML page, as Markdown
//! and as CSV, and its plots as SVG, PNG and CSV.
//!
//! In the order of use:
//!
//! 1. [`report()`] makes a [`Report`] of a study: [`Section`]s with [`ReportBlock`]s.
//! 2. [`to_html`] and [`to_markdown`] turn it into text; [`plot`] has its pictures.
//! 3. [`save`] writes all of it as files, and returns what it has [`Written`].
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
pub use report::{Report, ReportBlock, Section};

pub use html::to_html;
pub use markdown::to_markdown;

pub use files::{WriteError, Written, save};

/// Name of the folder of the plots next to a page.
const PLOTS: &str = "plots";
