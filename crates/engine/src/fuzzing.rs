//! Entry points for the fuzz targets into private decoders. They decode data that
//! servers keep or send.
//!
//! Compiled with the feature `fuzzing` only.

use std::time::Duration;

use smbench_model::fileio::Manifest;

use crate::server_cpu;

/// Reads the manifest that describes prepared files (`fileio`), and writes it
/// again. Returns `None` if the input is not a manifest.
#[must_use]
pub fn manifest(json: &[u8]) -> Option<String> {
    Manifest::parse(json).map(|manifest| manifest.to_json())
}

/// Reads two answers of an exporter of metrics, the second `elapsed` after the
/// first. Returns the share of that time in which CPUs were busy, 0 to 1, and the
/// number of CPUs.
///
/// # Errors
/// If the two answers do not give that share.
pub fn busy_between(
    opening: &[u8],
    closing: &[u8],
    elapsed: Duration,
) -> Result<(f64, u32), String> {
    server_cpu::busy_between(opening, closing, elapsed)
}
