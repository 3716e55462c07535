//! Plots of lines over two axes: what is in them, and as SVG, PNG and CSV.
//!
//! Invariants: an axis of amounts starts at zero; a point that may not be
//! quoted is hollow and no line goes through it; one at which the generator was
//! the limit has a ring; every point, drawn as a marker
//! or not, can be pointed at and tells its numbers. Lines differ in colour and
//! in the shape of their markers.
//! Not here: what is plotted (`content`).

mod axis;
mod csv;
mod draw;
mod marker;
mod palette;
mod png;
mod svg;

pub use axis::{Axis, Quantity};
pub use png::{PngError, Rasterizer};
pub use svg::SvgError;

/// Lines over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Its file's name, without an extension; no two of a report are the same.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
    /// What the reader must know besides, a line each.
    pub notes: Vec<String>,
}

/// One line of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it is called in the legend.
    pub name: String,
    /// Which colour and marker it has: those of one server are the same in all
    /// plots of a report.
    pub style: usize,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// One point of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// In the unit of the axis' quantity.
    pub x: f64,
    /// In the unit of the axis' quantity.
    pub y: f64,
    /// Where the value may lie as well, lowest and highest.
    pub spread: Option<(f64, f64)>,
    /// Whether it may be quoted.
    pub standing: Standing,
    /// What was the limit there.
    pub limit: Limit,
    /// What it says when pointed at, after the name of the line.
    pub label: String,
}

/// Whether a point may be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may, and the line goes from the one before to it.
    Valid,
    /// It may, but nothing is known of what is between it and the one before.
    AfterGap,
    /// It may not.
    Invalid,
}

/// What was the limit at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The server, or nothing that is known.
    Server,
    /// The machine that generated the load.
    Generator,
}

impl Plot {
    /// Whether there is nothing to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.points.is_empty())
    }

    /// All points that can be drawn.
    fn points(&self) -> impl Iterator<Item = &Point> {
        self.lines.iter().flat_map(|line| &line.points)
    }
}
