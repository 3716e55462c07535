//! Upright lines at instants at which something happened, with their labels.

use plotters::backend::SVGBackend;
use plotters::chart::ChartContext;
use plotters::coord::cartesian::Cartesian2d;
use plotters::element::{DashedPathElement, EmptyElement, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle};

use super::PlotMark;
use super::axis::AxisRange;
use super::draw::{DrawError, FINE, LEGEND_LINE_HEIGHT, TEXT_SIZE, shortened, text};
use super::palette::AXIS;

/// Longer labels are cut.
const LETTERS_MAX: usize = 24;
/// The labels of neighbouring marks are in as many rows.
const ROWS: i32 = 4;
/// Pixels between a line and its label.
const GAP: i32 = 4;

/// A chart of plotters.
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<AxisRange, AxisRange>>;

/// Draws a dashed line at each mark, and its label beside the upper end.
pub(super) fn draw_marks(marks: &[PlotMark], chart: &mut Chart<'_, '_>) -> Result<(), DrawError> {
    let (x, y) = (chart.x_range(), chart.y_range());
    for (at, mark) in marks.iter().enumerate() {
        let stroke = AXIS.stroke_width(FINE as u32);
        let ends = [(mark.x, y.start), (mark.x, y.end)];
        chart.draw_series([DashedPathElement::new(ends, 5 * FINE, 4 * FINE, stroke)])?;
        // The label is on the side that has more room.
        let (side, shift) = if mark.x > (x.start + x.end) / 2.0 {
            (HPos::Right, -GAP * FINE)
        } else {
            (HPos::Left, GAP * FINE)
        };
        let row = at as i32 % ROWS;
        let style = text(TEXT_SIZE, AXIS, FontStyle::Normal).pos(Pos::new(side, VPos::Top));
        let label = shortened(&mark.label, LETTERS_MAX);
        let label = Text::new(label, (shift, row * LEGEND_LINE_HEIGHT * FINE), style);
        chart.draw_series([EmptyElement::at((mark.x, y.end)) + label])?;
    }
    Ok(())
}
