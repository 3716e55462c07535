//! Plots as SVG, as separate files or as parts of a page.
//!
//! An invisible circle lies over each point of the drawing. It has the point's
//! numbers as data for programs, and as a title that browsers show.

use std::fmt::Write as _;

use maud::{PreEscaped, html};

use super::draw::{DrawError, Drawing, FINE, draw};
use super::{Plot, PlotWidth, PointValidity, palette};

/// Radius in pixels around a point in which the pointer selects it.
const REACH: i32 = 9;

/// Error of a plot that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("draw {name}: {source}")]
pub struct SvgError {
    /// Name of the plot.
    name: String,
    source: DrawError,
}

impl Plot {
    /// Returns an SVG document on white, in the colours of the light theme.
    ///
    /// # Errors
    ///
    /// When plotters cannot draw the plot.
    pub fn to_svg(&self) -> Result<String, SvgError> {
        let plot = self.safe();
        let drawing = plot.drawn(PlotWidth::Column)?;
        let (width, height) = drawing.size;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" \
             viewBox=\"0 0 {width} {height}\">\n<rect width=\"{width}\" height=\"{height}\" \
             fill=\"#FFFFFF\"/>\n",
            width / FINE,
            height / FINE
        );
        svg += &drawing.elements;
        svg += &plot.points_over(&drawing);
        svg += "</svg>\n";
        Ok(svg)
    }

    /// Returns an SVG element for a page. It fills the available width, and its
    /// colours are variables of the page's style sheet. Only the plot of a column has its
    /// name as data, because a page may have the same plot in both widths.
    ///
    /// # Errors
    ///
    /// When plotters cannot draw the plot.
    pub fn to_inline_svg(&self, of: PlotWidth) -> Result<String, SvgError> {
        let plot = self.safe();
        let drawing = plot.drawn(of)?;
        let (width, height) = drawing.size;
        let mut elements = drawing.elements.clone();
        for (colour, variable) in palette::variables() {
            // With quotes, which cannot occur in texts because they are escaped
            // there.
            elements = elements.replace(&format!("\"{colour}\""), &format!("\"var({variable})\""));
        }
        let content = elements + &plot.points_over(&drawing);
        let (class, name) = match of {
            PlotWidth::Column => ("column", Some(&plot.name)),
            PlotWidth::Page => ("page", None),
        };
        let svg = html! {
            svg class=(class) viewBox=(format!("0 0 {width} {height}")) role="img"
                aria-label=(plot.title) data-plot=[name] {
                (PreEscaped(content))
            }
        };
        Ok(svg.into_string())
    }

    /// Returns the plot without characters that XML does not allow.
    fn safe(&self) -> Self {
        let mut plot = self.clone();
        for text in [&mut plot.title, &mut plot.x.title, &mut plot.y.title] {
            *text = xml(text);
        }
        for mark in &mut plot.marks {
            mark.label = xml(&mark.label);
        }
        for line in &mut plot.lines {
            line.name = xml(&line.name);
            for point in &mut line.points {
                point.label = xml(&point.label);
            }
        }
        plot
    }

    fn drawn(&self, width: PlotWidth) -> Result<Drawing, SvgError> {
        draw(self, width).map_err(|source| SvgError {
            name: self.name.clone(),
            source,
        })
    }

    fn points_over(&self, drawing: &Drawing) -> String {
        let mut over = String::from("\n");
        let lines = self.lines.iter().zip(&drawing.places).enumerate();
        for (number, (line, places)) in lines {
            for (point, (x, y)) in line.points.iter().zip(places) {
                let validity = match point.validity {
                    PointValidity::Valid | PointValidity::AfterGap => "valid",
                    PointValidity::Invalid => "invalid",
                    PointValidity::BrokeLimit => "broke-limit",
                };
                let doubt = point.doubt.name();
                let circle = html! {
                    circle class="point" data-line=(number) data-x=(point.x) data-y=(point.y)
                        data-standing=(validity) data-doubt=[doubt] cx=(x) cy=(y) r=(REACH * FINE) fill-opacity="0" {
                        title { (line.name) ": " (point.label) }
                    }
                };
                // Writing to a String cannot fail.
                let _ = writeln!(over, "{}", circle.into_string());
            }
        }
        over
    }
}

/// Replaces control characters, and two further characters that XML does not allow,
/// by `?`.
fn xml(text: &str) -> String {
    smbench_report::units::plain(text).replace(['\u{fffe}', '\u{ffff}'], "?")
}
