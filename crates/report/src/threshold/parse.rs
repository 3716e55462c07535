//! Reads conditions: `write p99.9 at 16 > 50ms`, `errors < 0.1%`.

use std::str::FromStr;

use smbench_model::units::{parse_count, parse_duration, parse_number};

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
    let number = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '/');
    let unit = &text[number.len()..];
    let number = parse_number(number).ok_or("the limit is not a number of 0 or more");
    if value.is_time() {
        // A time of 0 needs a unit as well.
        let time = parse_duration(text).ok().filter(|_| !unit.is_empty());
        return match time {
            Some(time) => Ok(time.as_nanos() as f64),
            None => number.and(Err("the limit needs a unit: us, ms, s, m or h")),
        };
    }
    let scale = match (value, unit) {
        (_, "") => 1.0,
        (ThresholdValue::Metric(Metric::Throughput), unit) => throughput_unit(unit)?,
        (ThresholdValue::Metric(Metric::Cpu | Metric::ServerCpu), "us") => 1.0,
        (ThresholdValue::Errors | ThresholdValue::Metric(Metric::Operations), _) => {
            return parse_count(text).ok_or("the limit is not a number of 0 or more");
        }
        _ => return Err("the limit has an unknown unit"),
    };
    number.map(|number| number * scale)
}

/// Returns a unit of throughput in Mbit/s.
fn throughput_unit(unit: &str) -> Result<f64, &'static str> {
    match unit {
        "kbit/s" => Ok(1e-3),
        "Mbit/s" => Ok(1.0),
        "Gbit/s" => Ok(1e3),
        "MB/s" => Ok(8.0),
        "GB/s" => Ok(8e3),
        "MiB/s" => Ok(8.0 * 1.048_576),
        "GiB/s" => Ok(8.0 * 1_073.741_824),
        _ => Err("the limit has an unknown unit"),
    }
}
