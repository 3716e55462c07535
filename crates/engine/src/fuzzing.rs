//! Doors for the fuzz targets into what nobody else is to reach: decoders of what
//! servers keep or answer.
//!
//! Compiled with the feature `fuzzing` only.

use std::time::Duration;

use crate::fileio::Manifest;
use crate::server_cpu;

/// Reads what prepared files are known by (`fileio`), and writes it again; `None`
/// where it is nothing of the kind.
#[must_use]
pub fn manifest(json: &[u8]) -> Option<String> {
    Manifest::parse(json).map(|manifest| manifest.to_json())
}

/// Reads two answers of an exporter of metrics, one so long after the other: the
/// share of that time in which CPUs were busy, 0 to 1, and how many CPUs there are.
///
/// # Errors
/// When that cannot be told from them.
pub fn busy_between(
    opening: &[u8],
    closing: &[u8],
    elapsed: Duration,
) -> Result<(f64, u32), String> {
    server_cpu::busy_between(opening, closing, elapsed)
}
