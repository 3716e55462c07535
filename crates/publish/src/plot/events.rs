//! Upright lines at instants at which something happened, with their labels above the chart.

use plotters::backend::SVGBackend;
use plotters::chart::ChartContext;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::Ranged as _;
use plotters::element::{DashedPathElement, EmptyElement, PathElement, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle};

use super::Plot;
use super::axis::AxisRange;
use super::draw::{
    DrawError, FINE, LEFT_MARGIN, LEGEND_LINE_HEIGHT, LETTER, RIGHT_MARGIN, TEXT_SIZE, shortened,
    text,
};
use super::palette::AXIS;

/// Longer labels are cut.
const LETTERS_MAX: usize = 24;
/// Highest number of rows of labels.
const ROWS: usize = 4;
/// Pixels between a line and its label.
const GAP: i32 = 4;

/// A chart of plotters.
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<AxisRange, AxisRange>>;

/// The labels of the marks of a plot, from right to left.
pub(super) struct MarkLabels(Vec<MarkLabel>);

/// A label, above the upper end of its line.
struct MarkLabel {
    text: String,
    /// The instant.
    x: f64,
    /// Pixels from the line to the start of the text.
    shift: i32,
    /// Number of its row, from the chart upwards.
    row: usize,
}

impl MarkLabels {
    /// Places the labels of a plot of this width in pixels. No text is on another one or on a
    /// line, as long as the rows suffice.
    pub(super) fn of(plot: &Plot, width: i32) -> Self {
        let x = plot.x_frame();
        let chart = width - LEFT_MARGIN - RIGHT_MARGIN;
        // Where the next text in each row has to end: at another text, or at a line that rises
        // to a higher row.
        let mut ends = [i32::MAX; ROWS];
        let labels = plot.marks.iter().rev().map(|mark| {
            let text = shortened(&mark.label, LETTERS_MAX);
            let length = text.chars().count() as f64 * f64::from(TEXT_SIZE) * LETTER;
            let length = length.ceil() as i32;
            let line = x.map(&mark.x, (0, chart));
            // Near the right end of the plot, it begins further to the left.
            let begin = (line + GAP).min(chart + RIGHT_MARGIN - length);
            let is_free = |end: &i32| begin + length + GAP <= *end;
            let row = ends.iter().position(is_free).unwrap_or(ROWS - 1);
            ends[row] = begin.min(ends[row]);
            for end in &mut ends[..row] {
                *end = line.min(*end);
            }
            MarkLabel {
                text,
                x: mark.x,
                shift: begin - line,
                row,
            }
        });
        Self(labels.collect())
    }

    /// Returns the pixels that the rows take.
    pub(super) fn height(&self) -> i32 {
        let rows = self.0.iter().map(|label| label.row + 1).max();
        rows.unwrap_or(0) as i32 * LEGEND_LINE_HEIGHT
    }

    /// Draws a dashed line at each mark, and its label above the upper end.
    pub(super) fn draw(self, chart: &mut Chart<'_, '_>) -> Result<(), DrawError> {
        let y = chart.y_range();
        for label in self.0 {
            let stroke = AXIS.stroke_width(FINE as u32);
            let ends = [(label.x, y.start), (label.x, y.end)];
            chart.draw_series([DashedPathElement::new(ends, 5 * FINE, 4 * FINE, stroke)])?;
            let top = (label.x, y.end);
            let rise = label.row as i32 * LEGEND_LINE_HEIGHT;
            if rise > 0 {
                let rising = PathElement::new(vec![(0, 0), (0, -rise * FINE)], stroke);
                chart.draw_series([EmptyElement::at(top) + rising])?;
            }
            let style = text(TEXT_SIZE, AXIS, FontStyle::Normal);
            let style = style.pos(Pos::new(HPos::Left, VPos::Bottom));
            let place = (label.shift * FINE, -(rise + GAP) * FINE);
            let text = Text::new(label.text, place, style);
            chart.draw_series([EmptyElement::at(top) + text])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Doubt, Line, PlotMark, PlotPoint, PointValidity, Quantity};

    /// Returns the row and the shift of each label, from right to left. The axis has 30 s, and 437
    /// pixels.
    fn placed(labels: &[&str]) -> Vec<[i32; 2]> {
        let marks = labels.iter().map(|label| PlotMark {
            x: label.split("s:").next().unwrap().parse().unwrap(),
            label: (*label).to_owned(),
        });
        let last = PlotPoint {
            x: 30.0,
            y: 1.0,
            spread: None,
            validity: PointValidity::Valid,
            doubt: Doubt::None,
            label: String::new(),
        };
        let plot = Plot {
            name: String::new(),
            title: String::new(),
            x: Axis::new("time", Quantity::Time),
            y: Axis::new("throughput", Quantity::Throughput),
            lines: vec![Line {
                name: String::new(),
                style: 0,
                points: vec![last],
            }],
            marks: marks.collect(),
            notes: Vec::new(),
        };
        let labels = MarkLabels::of(&plot, 560).0.into_iter();
        labels.map(|of| [of.row as i32, of.shift]).collect()
    }

    #[test]
    fn labels_are_neither_on_another_one_nor_on_a_line() {
        // The second text reaches over the third line, and the first text over the second line.
        let close = placed(&["5s: drop 100%", "13s: signal KILL", "21s: stop 2s"]);
        assert_eq!(close, [[0, GAP], [1, GAP], [2, GAP]]);
        let apart = placed(&["3s: drop 100%", "20s: stop 2s"]);
        assert_eq!(apart, [[0, GAP], [0, GAP]]);
        // This one would end outside of the picture.
        let [[row, shift]] = placed(&["28s: stop 2s"])[..] else {
            panic!("one label");
        };
        assert_eq!(row, 0);
        assert!(shift < 0, "{shift}");
    }
}
