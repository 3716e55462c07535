//! Headings of the help that several groups of options share.

/// Heading of the options that most runs need. `-h` shows only these.
pub(super) const COMMON: &str = "Common options";
