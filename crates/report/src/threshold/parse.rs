//! Reads conditions: `write p99.9 at 16 > 50ms`, `errors < 0.1%`, `office read p99 > 20ms`.

use std::str::FromStr;

use smbench_model::kind::OpKind;
use smbench_model::units::{parse_count, parse_duration, parse_number};

use super::event::EventValue;
use super::{Threshold, ThresholdError, ThresholdValue};
use crate::compare::{At, METRICS, Phrase, signed_percent};
use crate::metric::Metric;
use crate::soak::GrowthFigure;
use crate::units::plain;

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let wrong = |reason: &str| ThresholdError(reason.to_owned());
        let phrase = Phrase::parse(text).map_err(wrong)?;
        if let Some(percent) = phrase.limit.trim().strip_suffix("/h") {
            return growth(text, &phrase, percent).map_err(ThresholdError);
        }
        if let "server-memory" | "server-handles" | "own-memory" = phrase.name {
            return Err(wrong(
                "the limit of memory and handles is a growth, such as +10%/h",
            ));
        }
        let event = phrase
            .op
            .and_then(|first| EventValue::named(first, phrase.name));
        let op = phrase.op.filter(|_| event.is_none());
        let value = match event {
            Some(event) => Some(ThresholdValue::Event(event)),
            None => ThresholdValue::named(phrase.name),
        };
        let value = value.ok_or_else(|| {
            let name = plain(phrase.name);
            wrong(&format!("`{name}` is not a metric, such as {METRICS}"))
        })?;
        let value = match value {
            ThresholdValue::Errors if phrase.limit.trim().ends_with('%') => {
                ThresholdValue::ErrorShare
            }
            ThresholdValue::Late if phrase.limit.trim().ends_with('%') => ThresholdValue::LateShare,
            value => value,
        };
        let is_cpu = matches!(
            value,
            ThresholdValue::Metric(Metric::Cpu | Metric::ServerCpu)
        );
        if is_cpu && phrase.op.is_some() {
            return Err(wrong("CPU time is that of all operations together"));
        }
        let is_kind = phrase.of.is_some() || phrase.op.and_then(OpKind::named).is_some();
        if value.is_of_streams() && is_kind {
            return Err(wrong("late frames are those of all operations together"));
        }
        if event.is_some() && phrase.of.is_some() {
            return Err(wrong("events are those of all clients together"));
        }
        let (population, op) = match (phrase.of, op) {
            // A population cannot have the name of an operation.
            (None, Some(word)) if OpKind::named(word).is_none() => (Some(word), None),
            both => both,
        };
        Ok(Self {
            text: plain(text.trim()),
            population: population.map(str::to_owned),
            op: op.map(str::to_owned),
            value,
            place: phrase.place,
            side: phrase.side,
            limit: limit(phrase.limit, value).map_err(ThresholdError)?,
        })
    }
}

/// Reads a condition on the growth of a value: `server-memory > +10%/h`.
fn growth(text: &str, phrase: &Phrase<'_>, percent: &str) -> Result<Threshold, String> {
    let growing = GrowthFigure::named(phrase.name).ok_or_else(|| {
        let (name, names) = (plain(phrase.name), GrowthFigure::names());
        format!("the growth of `{name}` is not known, only that of {names}")
    })?;
    if phrase.op.is_some() || phrase.place != At::Usual {
        return Err("a growth is that of all clients over the whole soak".to_owned());
    }
    Ok(Threshold {
        text: plain(text.trim()),
        population: None,
        op: None,
        value: ThresholdValue::Growth(growing),
        place: At::Usual,
        side: phrase.side,
        limit: signed_percent(percent)?,
    })
}

/// Parses the limit of a value: `5ms`, `800`, `1.5Gbit/s`, `0`.
fn limit(text: &str, value: ThresholdValue) -> Result<f64, String> {
    let text = text.trim();
    if text.starts_with('=') {
        return Err("a condition has < or >, without =".to_owned());
    }
    let text = match (value, text.strip_suffix('%')) {
        (_, None) => text,
        (ThresholdValue::ErrorShare | ThresholdValue::LateShare, Some(number)) => number.trim(),
        _ => return Err("limits of a run have no %; `compare` judges changes".to_owned()),
    };
    let number = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '/');
    let unit = &text[number.len()..];
    let is_number = |number| {
        let number = parse_number(number);
        number.ok_or_else(|| format!("the limit `{}` is not a number of 0 or more", plain(text)))
    };
    match value {
        // A time of 0 needs a unit as well.
        _ if value.is_time() && unit.is_empty() && is_number(number).is_ok() => {
            Err("the limit needs a unit: us, ms, s, m or h".to_owned())
        }
        _ if value.is_time() => {
            let time = parse_duration(text).map_err(|error| plain(&error.to_string()))?;
            Ok(time.as_nanos() as f64)
        }
        ThresholdValue::Metric(Metric::Throughput) if !unit.is_empty() => {
            Ok(is_number(number)? * throughput_unit(unit)?)
        }
        ThresholdValue::Metric(Metric::Cpu | Metric::ServerCpu) => match unit {
            "" | "us" => is_number(number),
            _ => Err("the limit has an unknown unit: CPU time of an operation is in us".to_owned()),
        },
        ThresholdValue::Errors
        | ThresholdValue::Event(_)
        | ThresholdValue::Late
        | ThresholdValue::Metric(Metric::Operations) => {
            let count = parse_count(text);
            count.map_or_else(|| is_number(text), Ok)
        }
        _ => is_number(text),
    }
}

/// Units of throughput in Mbit/s.
const THROUGHPUT_UNITS: [(&str, f64); 7] = [
    ("kbit/s", 1e-3),
    ("Mbit/s", 1.0),
    ("Gbit/s", 1e3),
    ("MB/s", 8.0),
    ("GB/s", 8e3),
    ("MiB/s", 8.0 * 1.048_576),
    ("GiB/s", 8.0 * 1_073.741_824),
];

/// Returns a unit of throughput in Mbit/s. Upper and lower case are the same in units
/// of bits: `MB` could be meant as `Mb`.
fn throughput_unit(unit: &str) -> Result<f64, String> {
    let mut units = THROUGHPUT_UNITS.iter();
    let found = units
        .find(|(name, _)| *name == unit || name.contains("bit") && name.eq_ignore_ascii_case(unit));
    let scale = found.map(|(_, scale)| *scale);
    scale.ok_or_else(|| {
        let names = THROUGHPUT_UNITS.map(|(name, _)| name).join(", ");
        format!("the limit has an unknown unit; those of throughput are {names}")
    })
}
