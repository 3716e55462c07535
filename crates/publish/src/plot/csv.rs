//! Plots as rows for spreadsheets: one for each point that is drawn, line by line.
//!
//! Full precision, units in the column names, an empty field for what there is not.

use super::{Limit, Plot, Quantity, Standing};

impl Plot {
    /// A header line and the rows: the line's name, what is across and what is up,
    /// where that may lie as well (`low`, `high`), and what is to be known of it.
    ///
    /// # Errors
    ///
    /// None, as memory takes all that is written.
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
                    (point.standing != Standing::Invalid).to_string(),
                    (point.limit == Limit::Generator).to_string(),
                ])?;
            }
        }
        writer.flush()?;
        drop(writer);
        Ok(rows)
    }
}

/// What a column of this quantity is called.
const fn column(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Clients => "clients",
        Quantity::Throughput => "throughput_mbps",
        Quantity::Rate => "ops_per_s",
        Quantity::Index => "index",
        Quantity::Bytes => "bytes",
        Quantity::Latency | Quantity::WideLatency => "response_ns",
        Quantity::Percentile => "percentile",
        Quantity::Time => "time_s",
    }
}

fn written(quantity: Quantity, value: f64) -> String {
    match quantity {
        // Drawn as one by the part of operations beyond.
        Quantity::Percentile => (100.0 - 100.0 / value).to_string(),
        _ => value.to_string(),
    }
}
