//! Colours by their purpose.
//!
//! The colours of lines are those of Okabe and Ito ("Color Universal Design",
//! 2008). People with any kind of colour vision can distinguish them. Their order
//! makes neighbours differ in lightness as well. Yellow is left out, because it is
//! invisible on white. A page replaces each colour by a variable of its style
//! sheet.

use plotters::style::RGBColor;

/// Colours of lines.
const LINES: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
];
/// Colour of text.
pub(super) const INK: RGBColor = RGBColor(0x1B, 0x1F, 0x24);
/// Colour of the axes and their labels.
pub(super) const AXIS: RGBColor = RGBColor(0x57, 0x60, 0x6A);
/// Colour of grid lines.
pub(super) const GRID: RGBColor = RGBColor(0xDD, 0xE1, 0xE6);
/// Colour of the background, and of the inside of hollow markers.
pub(super) const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFE);

/// Returns the colour of a line's style.
pub(super) fn line(style: usize) -> RGBColor {
    LINES[style % LINES.len()]
}

/// Returns each colour as in the SVG, with the name of its variable in a style
/// sheet.
pub(super) fn variables() -> Vec<(String, String)> {
    let lines = LINES.iter().enumerate();
    let lines = lines.map(|(at, colour)| (*colour, format!("--line-{at}")));
    let others = [
        (INK, "--ink"),
        (AXIS, "--axis"),
        (GRID, "--grid"),
        (PAPER, "--paper"),
    ];
    let others = others.map(|(colour, name)| (colour, name.to_owned()));
    lines
        .chain(others)
        .map(|(RGBColor(r, g, b), name)| (format!("#{r:02X}{g:02X}{b:02X}"), name))
        .collect()
}
