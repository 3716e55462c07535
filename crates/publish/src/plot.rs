//! Plots of lines over two axes: their content, and their form as SVG, PNG and CSV.
//!
//! Invariants:
//!
//! - An axis of amounts starts at zero.
//! - A point that may not be quoted is hollow, and no line goes through it.
//! - A point with a doubt has a ring.
//! - Every point, with or without a marker, shows its numbers when pointed at.
//!
//! Lines differ in colour and in the shape of their markers. Not here: which values
//! are plotted (`content`).

mod axis;
mod csv;
mod draw;
mod events;
mod marker;
mod palette;
mod png;
mod svg;

use axis::AxisRange;
pub use axis::{Axis, Quantity};
pub use png::{PngError, Rasterizer};
pub use smbench_report::doubt::Doubt;
pub use svg::SvgError;

/// A plot of lines over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Name of the file without its extension; unique within a report.
    pub name: String,
    /// Title of the plot.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines in the order of the legend.
    pub lines: Vec<Line>,
    /// Instants at which something happened, from left to right.
    pub marks: Vec<PlotMark>,
    /// Notes for the reader, a line each.
    pub notes: Vec<String>,
}

/// An upright line through a plot: an instant at which something happened.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotMark {
    /// Horizontal position, in the unit of the axis' quantity.
    pub x: f64,
    /// What happened.
    pub label: String,
}

/// One line of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name of the line in the legend.
    pub name: String,
    /// Number of the line's colour and marker. The first line of a server has the same style in
    /// all plots of a report, except those by population.
    pub style: usize,
    /// Points from left to right.
    pub points: Vec<PlotPoint>,
}

/// One point of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotPoint {
    /// Horizontal position, in the unit of the axis' quantity.
    pub x: f64,
    /// Vertical position, in the unit of the axis' quantity.
    pub y: f64,
    /// Range of the value: lowest and highest.
    pub spread: Option<(f64, f64)>,
    /// Whether the point may be quoted.
    pub validity: PointValidity,
    /// Doubt about the value.
    pub doubt: Doubt,
    /// Text shown when pointed at, after the name of the line.
    pub label: String,
}

/// Whether a point may be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointValidity {
    /// The point may be quoted, and a line leads to it from the one before.
    Valid,
    /// The point may be quoted, but nothing is known between it and the one before.
    AfterGap,
    /// The point may not be quoted.
    Invalid,
    /// The point is a probe at which the limit of its search did not hold.
    BrokeLimit,
}

impl PointValidity {
    /// Returns the name in legends of points that are hollow; `None` for the others.
    pub(crate) const fn hollow_name(self) -> Option<&'static str> {
        match self {
            Self::Valid | Self::AfterGap => None,
            Self::Invalid => Some("not valid"),
            Self::BrokeLimit => Some("limit did not hold"),
        }
    }

    /// Returns whether points are hollow, and no line goes through them.
    pub(crate) const fn is_hollow(self) -> bool {
        self.hollow_name().is_some()
    }
}

/// Width of a plot. Text is legible at half of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotWidth {
    /// That of a column of a page, or of a picture.
    Column,
    /// That of a page.
    Page,
}

impl PlotWidth {
    const fn pixels(self) -> i32 {
        match self {
            Self::Column => 560,
            Self::Page => 1120,
        }
    }

    /// Returns the height in pixels of the part with the axes.
    const fn chart_height(self) -> i32 {
        match self {
            Self::Column => 334,
            Self::Page => 400,
        }
    }
}

impl Plot {
    /// Returns whether there is nothing to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.points.is_empty())
    }

    /// Returns a frame that contains all points and marks.
    fn x_frame(&self) -> AxisRange {
        let marks = self.marks.iter().map(|mark| mark.x);
        let points = self.points().map(|point| point.x);
        self.x.frame(points.chain(marks))
    }

    /// Returns all points that can be drawn.
    fn points(&self) -> impl Iterator<Item = &PlotPoint> {
        self.lines.iter().flat_map(|line| &line.points)
    }
}
