//! A document as text for a terminal of 100 columns or a plain-text mail.
//!
//! Everything shown is computed from the document alone, so that `run` and
//! `show` print the same. Not here: how numbers are written ([`crate::units`]).

mod cpu;
pub(crate) mod grid;
mod header;
mod operations;
mod points;
mod remarks;

use crate::curve::Curve;
use crate::doc::RunDoc;

/// The whole report: what ran, the load points, the peak, the operations at
/// the peak, and whatever went wrong. Ends with a newline.
#[must_use]
pub fn render(doc: &RunDoc) -> String {
    let curve = Curve::of(&doc.load_points);
    let mut sections = vec![header::lines(doc)];
    if curve.rows.is_empty() {
        sections.push("no load point was measured\n".to_owned());
    } else {
        let footnotes = remarks::invalid_points(&curve) + &remarks::limited_points(&curve);
        sections.push(points::table(&curve) + &footnotes);
        sections.extend(points::repeats(&curve));
        sections.extend(cpu::table(&curve));
        sections.push(points::peak_line(&curve));
        sections.extend(operations::table(&curve));
    }
    let remarks = remarks::lines(doc);
    if !remarks.is_empty() {
        sections.push(remarks);
    }
    sections.join("\n")
}
