//! Plots as rows for spreadsheets: one for each drawn point, line by line.
//!
//! Numbers have full precision, units are in the column names, and a missing value
//! is an empty field.

use super::{Doubt, Plot, Quantity};

impl Plot {
    /// Returns a header line and the rows. The columns are the name of the line, x,
    /// y, the range of y (`low`, `high`), and the remarks on the point.
    ///
    /// # Errors
    ///
    /// None, because writing to memory does not fail.
    pub fn to_csv(&self) -> Result<Vec<u8>, ::csv::Error> {
        let (x, y) = (self.x.quantity, self.y.quantity);
        let mut rows = Vec::new();
        let mut writer = ::csv::Writer::from_writer(&mut rows);
        writer.write_record([
            "line",
            column(x),
            column(y),
            "low",
            "high",
            "valid",
            "generator_limited",
            "latency_doubt",
        ])?;
        for line in &self.lines {
            for point in &line.points {
                let end = |value: f64| written(y, value);
                writer.write_record([
                    line.name.clone(),
                    written(x, point.x),
                    written(y, point.y),
                    point.spread.map(|(low, _)| end(low)).unwrap_or_default(),
                    point.spread.map(|(_, high)| end(high)).unwrap_or_default(),
                    (!point.validity.is_hollow()).to_string(),
                    (point.doubt == Doubt::ClientLimited).to_string(),
                    match point.doubt {
                        Doubt::None | Doubt::ClientLimited => String::new(),
                        doubt => doubt.name().unwrap_or_default().to_owned(),
                    },
                ])?;
            }
        }
        writer.flush()?;
        drop(writer);
        Ok(rows)
    }
}

/// Returns the name of a column with this quantity.
const fn column(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Clients => "clients",
        Quantity::Throughput => "throughput_mbps",
        Quantity::Rate => "ops_per_s",
        Quantity::Index => "index",
        Quantity::Bytes => "bytes",
        Quantity::Entries => "entries",
        Quantity::Latency | Quantity::WideLatency => "response_ns",
        Quantity::Percentile => "percentile",
        Quantity::Time => "time_s",
        Quantity::Memory => "memory_bytes",
    }
}

fn written(quantity: Quantity, value: f64) -> String {
    match quantity {
        // The plot has the inverse of the share of operations beyond.
        Quantity::Percentile => (100.0 - 100.0 / value).to_string(),
        _ => value.to_string(),
    }
}
