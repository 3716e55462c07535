//! Markers: the shapes that distinguish lines where colours do not.

use std::f64::consts::TAU;

use plotters::backend::DrawingBackend;
use plotters::coord::CoordTranslate;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::element::{Circle, EmptyElement, PathElement, Polygon, Rectangle};
use plotters::style::{Color, RGBColor};
use plotters_backend::BackendCoord;

use super::palette;

/// Filling of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// The colour of its line.
    Solid,
    /// The colour of the background.
    Hollow,
}

/// Surrounding of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surround {
    /// Nothing.
    Free,
    /// A ring at a distance.
    Ring,
    /// A square at a distance.
    Square,
}

/// Radius of a ring, or half the side of a square, relative to a circle.
const SURROUND: f64 = 2.0;

/// Number of corners of each shape, and the direction of the first as a fraction of
/// a turn from the right, clockwise. A circle has no corners. The number of shapes
/// has no divisor in common with the number of colours.
const SHAPES: [(u32, f64); 5] = [(0, 0.0), (4, 0.125), (3, 0.75), (4, 0.0), (3, 0.25)];

/// Distance of corners relative to a circle's radius, so that all shapes look
/// equally large.
const CORNER: f64 = 1.3;

/// Appearance of a marker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marker {
    /// Style of the line that the marker belongs to.
    pub(super) style: usize,
    pub(super) colour: RGBColor,
    pub(super) filling: Filling,
    pub(super) surround: Surround,
    /// Radius in plotters' pixels.
    pub(super) radius: i32,
}

impl Marker {
    /// Draws the marker with its centre at `at`.
    pub(super) fn draw<DB, CT>(
        self,
        area: &DrawingArea<DB, CT>,
        at: CT::From,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>>
    where
        DB: DrawingBackend,
        CT: CoordTranslate,
        CT::From: Clone,
    {
        let outline = self.colour.stroke_width(self.radius.unsigned_abs() * 2 / 5);
        let fill = match self.filling {
            Filling::Solid => self.colour.filled(),
            Filling::Hollow => palette::PAPER.filled(),
        };
        let reach = (f64::from(self.radius) * SURROUND) as i32;
        let thin = self.colour.stroke_width(self.radius.unsigned_abs() / 3);
        let around = EmptyElement::at(at.clone());
        match self.surround {
            Surround::Free => {}
            Surround::Ring => area.draw(&(around + Circle::new((0, 0), reach, thin)))?,
            Surround::Square => {
                let corners = [(-reach, -reach), (reach, reach)];
                area.draw(&(around + Rectangle::new(corners, thin)))?;
            }
        }
        let (corners, turn) = SHAPES[self.style % SHAPES.len()];
        if corners == 0 {
            let circle = |style| Circle::new((0, 0), self.radius, style);
            return area.draw(&(EmptyElement::at(at) + circle(fill) + circle(outline)));
        }
        let reach = f64::from(self.radius) * CORNER;
        let corner = |at: u32| -> BackendCoord {
            let angle = (turn + f64::from(at) / f64::from(corners)) * TAU;
            let (x, y) = (reach * angle.cos(), reach * angle.sin());
            (x.round() as i32, y.round() as i32)
        };
        let inside: Vec<_> = (0..corners).map(corner).collect();
        // The first two corners come twice, so that the outline has no notch at its
        // start.
        let edge: Vec<_> = (0..corners + 2).map(corner).collect();
        area.draw(
            &(EmptyElement::at(at) + Polygon::new(inside, fill) + PathElement::new(edge, outline)),
        )
    }
}
