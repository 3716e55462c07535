//! The meaning of a line of text, for colours.

/// The meaning of a [`Passage`](crate::text::Passage).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A fact.
    Plain,
    /// The best load point.
    Peak,
    /// A fact that makes a number doubtful.
    Caution,
    /// A number that must not be quoted, or a failure.
    Problem,
}
