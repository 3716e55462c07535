//! The first line of a marker with names, which tells it from a marker without them.

/// The first line of a marker with names.
pub(super) const HEADING: &str = "smbench: names in the recorded workload of this run";

/// Returns whether a file is a marker with names.
pub(super) fn is_marker(data: &[u8]) -> bool {
    data.starts_with(HEADING.as_bytes())
}
