//! The cells of a check-up.

use super::steps::{CheckupStep, MeasuredStep, mean, median_ms, megabytes, op, reason};
use super::values::CheckupCell;
use crate::doc::LoadPointDoc;
use crate::statistics::per;

/// How a cell is computed from a load point.
type CellValue = fn(&LoadPointDoc) -> Option<f64>;

const MB_PER_S: &str = "MB/s";
const OPS_PER_S: &str = "ops/s";
const MS: &str = "ms";

/// The cells: name, unit, step, clients, value.
const CELLS: [(&str, &str, CheckupStep, u32, CellValue); 26] = [
    ("connect", MS, CheckupStep::LogOns, 1, |of| {
        median_ms(of, "session_connect")
    }),
    ("log_on", MS, CheckupStep::LogOns, 1, |of| {
        median_ms(of, "session_log_on")
    }),
    ("echo", MS, CheckupStep::Echo, 1, |of| median_ms(of, "echo")),
    (
        "sequential_read_1_in_flight",
        MB_PER_S,
        CheckupStep::Read,
        1,
        |of| Some(megabytes(of)),
    ),
    (
        "sequential_read_8_in_flight",
        MB_PER_S,
        CheckupStep::ReadAhead,
        1,
        |of| Some(megabytes(of)),
    ),
    (
        "sequential_read_4_clients",
        MB_PER_S,
        CheckupStep::Read,
        4,
        |of| Some(megabytes(of)),
    ),
    (
        "sequential_write_1_in_flight",
        MB_PER_S,
        CheckupStep::Write,
        1,
        |of| Some(megabytes(of)),
    ),
    (
        "sequential_write_8_in_flight",
        MB_PER_S,
        CheckupStep::WriteBehind,
        1,
        |of| Some(megabytes(of)),
    ),
    (
        "sequential_write_4_clients",
        MB_PER_S,
        CheckupStep::Write,
        4,
        |of| Some(megabytes(of)),
    ),
    (
        "random_read_1_in_flight",
        OPS_PER_S,
        CheckupStep::RandomRead,
        1,
        |of| Some(of.ops_per_s),
    ),
    (
        "random_read_32_in_flight",
        OPS_PER_S,
        CheckupStep::RandomReadDeep,
        1,
        |of| Some(of.ops_per_s),
    ),
    (
        "random_read_16_clients",
        OPS_PER_S,
        CheckupStep::RandomRead,
        16,
        |of| Some(of.ops_per_s),
    ),
    (
        "random_write_1_in_flight",
        OPS_PER_S,
        CheckupStep::RandomWrite,
        1,
        |of| Some(of.ops_per_s),
    ),
    (
        "random_write_32_in_flight",
        OPS_PER_S,
        CheckupStep::RandomWriteDeep,
        1,
        |of| Some(of.ops_per_s),
    ),
    (
        "random_write_16_clients",
        OPS_PER_S,
        CheckupStep::RandomWrite,
        16,
        |of| Some(of.ops_per_s),
    ),
    (
        "files_made_and_removed",
        OPS_PER_S,
        CheckupStep::Files,
        4,
        |of| per_s(of, "create"),
    ),
    ("file_made", MS, CheckupStep::Files, 4, |of| {
        median_ms(of, "create")
    }),
    ("file_removed", MS, CheckupStep::Files, 4, |of| {
        median_ms(of, "close")
    }),
    ("files_read", OPS_PER_S, CheckupStep::SmallFiles, 4, |of| {
        per_s(of, "create_read_close")
    }),
    ("listings", OPS_PER_S, CheckupStep::Listings, 4, |of| {
        per_s(of, "query_directory")
    }),
    ("log_ons", OPS_PER_S, CheckupStep::LogOns, 4, |of| {
        per_s(of, "session")
    }),
    (
        "sequential_read_signed",
        MB_PER_S,
        CheckupStep::ReadSigned,
        1,
        |of| Some(megabytes(of)),
    ),
    (
        "sequential_read_encrypted",
        MB_PER_S,
        CheckupStep::ReadEncrypted,
        1,
        |of| Some(megabytes(of)),
    ),
    ("flush", MS, CheckupStep::Flush, 1, |of| {
        median_ms(of, "flush")
    }),
    ("missing_name", MS, CheckupStep::MissingNames, 1, |of| {
        median_ms(of, "lookup_missing")
    }),
    (
        "missing_name_in_folder",
        MS,
        CheckupStep::MissingNamesBeside,
        1,
        |of| median_ms(of, "lookup_missing"),
    ),
];

fn per_s(point: &LoadPointDoc, kind: &str) -> Option<f64> {
    Some(per(op(point, kind)?.count as f64, point.window_s))
}

/// Returns all cells. A value is the mean over the passes of its step.
pub(super) fn all(measured: &[MeasuredStep]) -> Vec<CheckupCell> {
    let cell = |(name, unit, step, clients, of): (&str, &str, CheckupStep, u32, CellValue)| {
        let value = mean(measured, step, clients, of);
        CheckupCell {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            invalid_reason: value.is_none().then(|| reason(measured, step, clients)),
        }
    };
    CELLS.into_iter().map(cell).collect()
}
