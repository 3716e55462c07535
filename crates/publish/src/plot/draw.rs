//! Plots drawn as SVG by plotters.
//!
//! plotters uses whole pixels. It gets [`FINE`] of them for each pixel of the plot,
//! so that points are exactly where their numbers say. Its SVG backend supports no
//! titles or data of elements. Therefore the positions of the points are returned
//! together with the drawing.

use itertools::Itertools as _;
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{EmptyElement, PathElement, Text};
use plotters::series::LineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontFamily, FontStyle, IntoFont, RGBColor, TRANSPARENT, TextStyle};

use super::events::MarkLabels;
use super::marker::{Filling, Marker, Surround};
use super::palette::{self, AXIS, GRID, INK};
use super::{Doubt, Line, Plot, PlotPoint, PlotWidth, PointValidity};

/// Number of plotters' pixels per pixel of the plot.
pub(super) const FINE: i32 = 8;
const TITLE_LINE_HEIGHT: i32 = 22;
pub(super) const LEGEND_LINE_HEIGHT: i32 = 24;
/// Free pixels between the chart and the legend.
const LEGEND_GAP: i32 = 6;
/// Free pixels at every edge.
const MARGIN: i32 = 10;
/// Pixels for the labels and the title of the vertical axis.
const Y_LABELS: i32 = 78;
const X_LABELS: i32 = 50;
/// Pixels on both sides of the axes.
pub(super) const LEFT_MARGIN: i32 = MARGIN / 2 + Y_LABELS;
pub(super) const RIGHT_MARGIN: i32 = 4 * MARGIN;
/// Sizes of text, in pixels.
const TITLE_SIZE: i32 = 17;
pub(super) const TEXT_SIZE: i32 = 16;
/// Width of an average letter as a share of the text's size. Most fonts are
/// slightly narrower, so a text that fits by this figure fits in them.
pub(super) const LETTER: f64 = 0.56;
/// Highest number of points at which every point of a line has a marker.
const MARKERS_MAX: usize = 16;
const MARKER_RADIUS: i32 = 4;
/// Half the width of the ends of a bar that shows a spread.
const CAP: i32 = 4;

/// A drawing of plotters.
#[derive(Debug)]
pub(super) struct Drawing {
    /// SVG elements.
    pub(super) elements: String,
    /// Width and height in plotters' pixels.
    pub(super) size: (i32, i32),
    /// Positions of each point of each line, in plotters' pixels.
    pub(super) places: Vec<Vec<(i32, i32)>>,
}

/// Error of plotters when it draws a plot.
pub(super) type DrawError = Box<dyn std::error::Error + Send + Sync>;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws a plot with its title and legend.
pub(super) fn draw(plot: &Plot, width: PlotWidth) -> Result<Drawing, DrawError> {
    let labels = MarkLabels::of(plot, width.pixels());
    let chart_height = width.chart_height() + labels.height();
    let width = width.pixels();
    let title = wrapped(&plot.title, letters(width - 2 * MARGIN, TITLE_SIZE));
    let legend = Legend::of(plot, width);
    let title_height = TITLE_LINE_HEIGHT * lines(&title) + MARGIN;
    let height = title_height + chart_height + LEGEND_GAP + legend.height() + MARGIN / 2;
    let size = (width * FINE, height * FINE);

    let mut svg = String::new();
    let places = {
        let backend = SVGBackend::with_string(&mut svg, (size.0 as u32, size.1 as u32));
        let root = backend.into_drawing_area();
        let (top, rest) = root.split_vertically(title_height * FINE);
        let (middle, bottom) = rest.split_vertically(chart_height * FINE);
        let (_, bottom) = bottom.split_vertically(LEGEND_GAP * FINE);
        for (at, line) in title.into_iter().enumerate() {
            let y = MARGIN + TITLE_LINE_HEIGHT * at as i32 + TITLE_LINE_HEIGHT / 2;
            let style = text(TITLE_SIZE, INK, FontStyle::Bold);
            top.draw(&Text::new(line, (MARGIN * FINE, y * FINE), style))?;
        }
        let places = chart(plot, labels, &middle)?;
        legend.draw(&bottom)?;
        root.present()?;
        places
    };
    Ok(Drawing {
        elements: within(&svg).to_owned(),
        size,
        places,
    })
}

/// Draws axes and lines; returns the positions of their points.
fn chart(
    plot: &Plot,
    labels: MarkLabels,
    area: &Area<'_>,
) -> Result<Vec<Vec<(i32, i32)>>, DrawError> {
    let x = plot.x_frame();
    let ends = |point: &PlotPoint| [point.y, point.spread.map_or(point.y, |(_, high)| high)];
    let y = plot.y.frame(plot.points().flat_map(ends));
    let titles = (x.title.clone(), y.title.clone());
    let mut chart = ChartBuilder::on(area)
        .margin_right(RIGHT_MARGIN * FINE)
        .margin_left((LEFT_MARGIN - Y_LABELS) * FINE)
        .margin_top((MARGIN + labels.height()) * FINE)
        .x_label_area_size(X_LABELS * FINE)
        .y_label_area_size(Y_LABELS * FINE)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .bold_line_style(GRID.stroke_width(FINE as u32))
        .light_line_style(TRANSPARENT)
        .axis_style(AXIS.stroke_width(FINE as u32))
        .set_all_tick_mark_size(4 * FINE)
        .label_style(text(TEXT_SIZE, AXIS, FontStyle::Normal))
        .axis_desc_style(text(TEXT_SIZE, INK, FontStyle::Normal))
        .x_desc(titles.0)
        .y_desc(titles.1)
        .draw()?;

    labels.draw(&mut chart)?;
    let place = |point: &PlotPoint| (point.x, point.y);
    for line in &plot.lines {
        let colour = palette::line(line.style);
        for stretch in stretches(&line.points) {
            let style = colour.stroke_width(2 * FINE as u32);
            chart.draw_series(LineSeries::new(stretch.into_iter().map(place), style))?;
        }
        let bars = line.points.iter().filter_map(|point| {
            let (low, high) = point.spread?;
            Some(((point.x, low), (point.x, high)))
        });
        let style = colour.stroke_width(FINE as u32 * 3 / 2);
        for (low, high) in bars {
            let bar = PathElement::new(vec![low, high], style);
            chart.draw_series([bar])?;
            let cap = || PathElement::new(vec![(-CAP * FINE, 0), (CAP * FINE, 0)], style);
            chart.draw_series([low, high].map(|end| EmptyElement::at(end) + cap()))?;
        }
    }
    // Drawn last, so that markers are above all lines.
    let area = chart.plotting_area();
    for line in &plot.lines {
        let colour = palette::line(line.style);
        for point in marked(line) {
            let filling = if point.validity.is_hollow() {
                Filling::Hollow
            } else {
                Filling::Solid
            };
            let marker = Marker {
                style: line.style,
                colour,
                filling,
                surround: surround(point.doubt),
                radius: MARKER_RADIUS * FINE,
            };
            marker.draw(area, place(point))?;
        }
    }
    let places = |line: &Line| {
        let points = line.points.iter();
        points
            .map(|point| area.map_coordinate(&place(point)))
            .collect()
    };
    Ok(plot.lines.iter().map(places).collect())
}

/// Returns the surround of a marker. Kinds of doubt that one plot can show differ.
const fn surround(doubt: Doubt) -> Surround {
    match doubt {
        Doubt::None => Surround::Free,
        Doubt::ClientLimited | Doubt::LateAnswers => Surround::Ring,
        Doubt::Stalled => Surround::Square,
    }
}

/// Splits the points of a line at gaps and at points that may not be quoted.
fn stretches(points: &[PlotPoint]) -> Vec<Vec<&PlotPoint>> {
    let mut stretches: Vec<Vec<&PlotPoint>> = Vec::new();
    for point in points {
        match (point.validity, stretches.last_mut()) {
            (validity, _) if validity.is_hollow() => {}
            (PointValidity::Valid, Some(stretch)) => stretch.push(point),
            _ => stretches.push(vec![point]),
        }
    }
    stretches
}

/// Returns the points that have markers. These are all points, or points at regular
/// distances and those with a remark. If all points have the same doubt, its marks at
/// regular distances are enough.
fn marked(line: &Line) -> impl Iterator<Item = &PlotPoint> {
    let every = line.points.len().div_ceil(MARKERS_MAX).max(1);
    // Different lines over the same points have their markers at different points.
    let first = line.style % every;
    let points = line.points.iter().enumerate();
    let is_doubtful = |point: &PlotPoint| point.doubt != Doubt::None;
    let mut doubts = line.points.iter().map(|point| point.doubt);
    let first_doubt = doubts.next();
    let is_uniform = doubts.all(|doubt| Some(doubt) == first_doubt);
    let is_special =
        move |point: &PlotPoint| point.validity.is_hollow() || (is_doubtful(point) && !is_uniform);
    points
        .filter(move |(at, point)| is_special(point) || at % every == first)
        .map(|(_, point)| point)
}

/// A marker with its name.
struct LegendEntry {
    style: usize,
    colour: RGBColor,
    filling: Filling,
    surround: Surround,
    /// Whether a line goes through the marker.
    lined: bool,
    name: String,
}

/// The names of the lines, in rows below the chart.
struct Legend {
    entries: Vec<LegendEntry>,
    columns: i32,
    /// Pixels for a column.
    column_width: i32,
}

impl Legend {
    fn of(plot: &Plot, width: i32) -> Self {
        let lines = plot.lines.iter().filter(|line| !line.points.is_empty());
        let mut entries: Vec<_> = lines
            .map(|line| LegendEntry {
                style: line.style,
                colour: palette::line(line.style),
                filling: Filling::Solid,
                surround: Surround::Free,
                lined: true,
                name: line.name.clone(),
            })
            .collect();
        let of_points = |filling, surround, name: &str| LegendEntry {
            style: 0,
            colour: AXIS,
            filling,
            surround,
            lined: false,
            name: name.to_owned(),
        };
        let hollow = plot
            .points()
            .filter_map(|point| point.validity.hollow_name());
        for name in hollow.unique() {
            entries.push(of_points(Filling::Hollow, Surround::Free, name));
        }
        for doubt in Doubt::ALL {
            let is_there = plot.points().any(|point| point.doubt == doubt);
            let name = doubt.name().filter(|_| is_there);
            entries.extend(name.map(|name| of_points(Filling::Solid, surround(doubt), name)));
        }
        let longest = entries.iter().map(|entry| entry.name.chars().count());
        let longest = longest.max().unwrap_or(0);
        let column_width = |columns| (width - MARGIN) / columns;
        let fits = |columns: &i32| longest <= Self::letters(column_width(*columns));
        let columns = [5, 4, 3, 2, 1].into_iter().find(fits).unwrap_or(1);
        Self {
            entries,
            columns,
            column_width: column_width(columns),
        }
    }

    /// Returns the number of letters that a name has room for.
    fn letters(column_width: i32) -> usize {
        letters(column_width - 4 * MARGIN, TEXT_SIZE)
    }

    fn height(&self) -> i32 {
        LEGEND_LINE_HEIGHT * ((lines(&self.entries) + self.columns - 1) / self.columns)
    }

    fn draw(self, area: &Area<'_>) -> Result<(), DrawError> {
        for (at, entry) in self.entries.into_iter().enumerate() {
            let (row, column) = (at as i32 / self.columns, at as i32 % self.columns);
            let x = (MARGIN + column * self.column_width) * FINE;
            let y = (LEGEND_LINE_HEIGHT * row + LEGEND_LINE_HEIGHT / 2) * FINE;
            let half = MARGIN * FINE;
            if entry.lined {
                let stroke = entry.colour.stroke_width(2 * FINE as u32);
                area.draw(&PathElement::new(vec![(x, y), (x + 2 * half, y)], stroke))?;
            }
            let marker = Marker {
                style: entry.style,
                colour: entry.colour,
                filling: entry.filling,
                surround: entry.surround,
                radius: MARKER_RADIUS * FINE,
            };
            marker.draw(area, (x + half, y))?;
            let name = shortened(&entry.name, Self::letters(self.column_width));
            let style = text(TEXT_SIZE, INK, FontStyle::Normal);
            area.draw(&Text::new(name, (x + 5 * half / 2, y), style))?;
        }
        Ok(())
    }
}

/// Returns a text style that is anchored at the left end, at half its height.
pub(super) fn text(size: i32, colour: RGBColor, style: FontStyle) -> TextStyle<'static> {
    // plotters writes text smaller than its size by this factor.
    let size = f64::from(size * FINE) * 1.24;
    let font = (FontFamily::SansSerif, size, style).into_font();
    let style: TextStyle<'static> = font.color(&colour);
    style.pos(Pos::new(HPos::Left, VPos::Center))
}

/// Returns the number of letters of a size that fill this width in pixels.
fn letters(width: i32, size: i32) -> usize {
    (f64::from(width) / (f64::from(size) * LETTER)) as usize
}

fn lines<T>(lines: &[T]) -> i32 {
    i32::try_from(lines.len()).unwrap_or(i32::MAX)
}

/// Returns the text, cut with an ellipsis if it is too long.
pub(super) fn shortened(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let kept = text.chars().take(letters.saturating_sub(1));
    kept.chain(['…']).collect()
}

/// Breaks the text into at most three lines of at most this number of letters.
fn wrapped(text: &str, letters: usize) -> Vec<String> {
    const LINES_MAX: usize = 3;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= letters => {
                *line = format!("{line} {word}");
            }
            _ => lines.push(word.to_owned()),
        }
    }
    if lines.len() > LINES_MAX {
        let rest = lines.split_off(LINES_MAX - 1);
        lines.push(rest.join(" "));
    }
    lines.iter().map(|line| shortened(line, letters)).collect()
}

/// Returns the content between the opening and the closing tag of a document.
fn within(svg: &str) -> &str {
    let start = svg.find('>').map_or(0, |at| at + 1);
    let end = svg.rfind("</svg>").unwrap_or(svg.len());
    svg.get(start..end).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_limited_all_along_has_no_more_markers_than_others() {
        let point = |doubt| PlotPoint {
            x: 0.0,
            y: 0.0,
            spread: None,
            validity: PointValidity::Valid,
            doubt,
            label: String::new(),
        };
        let count = |points: Vec<PlotPoint>| {
            let line = Line {
                name: String::new(),
                style: 0,
                points,
            };
            marked(&line).count()
        };
        let mut points = vec![point(Doubt::None); 64];
        assert_eq!(count(points.clone()), 16);
        points[1] = point(Doubt::ClientLimited);
        assert_eq!(count(points), 17);
        assert_eq!(count(vec![point(Doubt::ClientLimited); 64]), 16);
    }
}
