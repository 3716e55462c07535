//! Reads conditions: `write p99.9 at 16 > 50ms`, `errors < 0.1%`.

use std::str::FromStr;

use super::{Threshold, ThresholdError, ThresholdValue};
use crate::compare::Phrase;
use crate::metric::Metric;
use crate::units::plain;

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let wrong = |reason: &str| ThresholdError(reason.to_owned());
        let phrase = Phrase::parse(text).map_err(wrong)?;
        let value = ThresholdValue::named(phrase.name);
        let value =
            value.ok_or_else(|| wrong(&format!("unknown metric `{}`", plain(phrase.name))))?;
        let value = match value {
            ThresholdValue::Errors if phrase.limit.trim().ends_with('%') => {
                ThresholdValue::ErrorShare
            }
            value => value,
        };
        let is_cpu = matches!(
            value,
            ThresholdValue::Metric(Metric::Cpu | Metric::ServerCpu)
        );
        if is_cpu && phrase.op.is_some() {
            return Err(wrong("CPU time is that of all operations together"));
        }
        Ok(Self {
            text: plain(text.trim()),
            op: phrase.op.map(str::to_owned),
            value,
            place: phrase.place,
            side: phrase.side,
            limit: limit(phrase.limit, value).map_err(wrong)?,
        })
    }
}

/// Parses the limit of a value: `5ms`, `800`, `1.5Gbit/s`, `0`.
fn limit(text: &str, value: ThresholdValue) -> Result<f64, &'static str> {
    let text = text.trim();
    let text = match (value, text.strip_suffix('%')) {
        (_, None) => text,
        (ThresholdValue::ErrorShare, Some(number)) => number.trim(),
        _ => return Err("limits of a run have no %; `compare` judges changes"),
    };
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '/');
    let (number, unit) = (digits.trim(), &text[digits.len()..]);
    let number = number.parse::<f64>().ok();
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    let number = number.ok_or("the limit is not a number of 0 or more")?;
    let scale = match (value, unit) {
        (_, "ns") if value.is_time() => 1.0,
        (_, "us" | "µs") if value.is_time() => 1e3,
        (_, "ms") if value.is_time() => 1e6,
        (_, "s") if value.is_time() => 1e9,
        _ if value.is_time() => return Err("the limit needs a unit: us, ms or s"),
        (_, "") => 1.0,
        (ThresholdValue::Metric(Metric::Throughput), "Mbit/s") => 1.0,
        (ThresholdValue::Metric(Metric::Throughput), "Gbit/s") => 1000.0,
        (ThresholdValue::Metric(Metric::Throughput), "MB/s") => 8.0,
        (ThresholdValue::Metric(Metric::Operations), "k") => 1000.0,
        (ThresholdValue::Metric(Metric::Cpu | Metric::ServerCpu), "us") => 1.0,
        _ => return Err("the limit has an unknown unit"),
    };
    Ok(number * scale)
}
