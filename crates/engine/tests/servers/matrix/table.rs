//! The measurements of the matrix as a table.

use std::fmt::{self, Display, Formatter};

use smbench_model::kind::OpKind;
use smbench_model::record::LoadPointRecord;
use smbench_protocol::Dialect;

use super::Protection;

const COLUMNS: [&str; 8] = [
    "server",
    "dialect",
    "signing",
    "cipher",
    "operations",
    "bytes read",
    "unjudged reads",
    "errors",
];
/// Number of text columns, before those with numbers.
const TEXTS: usize = 4;

/// A combination and the measurements of its run.
pub(super) struct Row {
    pub(super) dialect: Dialect,
    pub(super) protection: Protection,
    /// `None` if the server does not offer the combination.
    pub(super) measured: Option<Measured>,
}

/// Sums over a whole load point, including ramps.
#[derive(Clone, Copy)]
pub(super) struct Measured {
    /// Operations without an error.
    operations: u64,
    /// Bytes that were read.
    read_bytes: u64,
    /// Reads that overlapped a write to the same blocks, so that they could not be
    /// fully verified.
    unjudged: u64,
    errors: u64,
}

impl Measured {
    /// Sums up a load point; checks that all of its reads were verified.
    pub(super) fn of(point: &LoadPointRecord) -> Self {
        let reads = point.ops.whole(OpKind::Read);
        let verification = point.ops.verification();
        assert_eq!(verification.wrong, 0);
        assert_eq!(
            verification.checked + verification.unjudged,
            reads.count,
            "every read is verified"
        );
        let counts = OpKind::ALL.map(|kind| point.ops.whole(kind).count);
        Self {
            operations: counts.iter().sum(),
            read_bytes: reads.bytes,
            unjudged: verification.unjudged,
            errors: point.ops.errors(),
        }
    }
}

/// The measurements with one server.
pub(super) struct Table {
    pub(super) server: &'static str,
    pub(super) rows: Vec<Row>,
}

impl Table {
    fn cells(&self, row: &Row) -> [String; COLUMNS.len()] {
        let off = || "off".to_owned();
        let (signing, cipher) = match row.protection {
            Protection::Off => (off(), off()),
            Protection::Signed(algorithm) => (algorithm.to_string(), off()),
            Protection::Encrypted(cipher, algorithm) => (algorithm.to_string(), cipher.to_string()),
        };
        let numbers = match row.measured {
            Some(run) => [run.operations, run.read_bytes, run.unjudged, run.errors]
                .map(|number| number.to_string()),
            None => ["not offered", "", "", ""].map(str::to_owned),
        };
        let [operations, bytes, unjudged, errors] = numbers;
        let (server, dialect) = (self.server.to_owned(), row.dialect.to_string());
        [
            server, dialect, signing, cipher, operations, bytes, unjudged, errors,
        ]
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut lines = vec![COLUMNS.map(str::to_owned)];
        lines.extend(self.rows.iter().map(|row| self.cells(row)));
        let widths: [usize; COLUMNS.len()] = std::array::from_fn(|column| {
            let widths = lines.iter().map(|cells| cells[column].len());
            widths.max().unwrap_or_default()
        });
        for cells in &lines {
            let mut line = String::new();
            for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
                line += &if at < TEXTS {
                    format!("{cell:<width$}  ")
                } else {
                    format!("{cell:>width$}  ")
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
