//! Byte counts and durations as people write and read them.
//!
//! This is the only module that prints a byte count. Multiples are powers of 1024
//! in both directions, as in fio and Iometer, and the printed unit says so (`KiB`).
//! Not here: rates (decimal megabits) and sysbench's amounts, which the report prints.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

/// A byte count.
///
/// Users write a number and a unit: `512`, `512B`, `4KiB`, `64k`, `1.5MiB`, `10g`.
/// `k`, `K`, `KB` and `KiB` all mean 1024 bytes. `M`, `MB` and `MiB` mean 1024 times
/// that, and so on to `T`. Upper and lower case are the same. The product is a whole
/// number of bytes.
///
/// `{}` prints it rounded to one decimal, in the largest unit that fits: `1 MiB`,
/// `512 B`, `1.5 GiB`. `{:#}` prints it exactly, in the largest unit that divides
/// it: `1 MiB`, `1048577 B`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Size(pub u64);

/// The text is not a byte count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizeError {
    /// No number, a sign or an unknown unit.
    #[error("`{0}` is not a size: use bytes or a unit, for example 4096, 4KiB or 10MiB")]
    Malformed(String),
    /// A part of a byte.
    #[error("`{0}` is not a whole number of bytes: write {1}, or add a unit such as KiB")]
    Fraction(String, u64),
    /// More than 2^64 - 1 bytes.
    #[error("`{0}` is too large for a size: the largest unit is TiB")]
    TooLarge(String),
}

/// The largest number of decimals of a size.
const DECIMALS_MAX: usize = 12;

const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let malformed = || SizeError::Malformed(text.to_owned());
        let too_large = || SizeError::TooLarge(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        let exponent = match unit.trim_start().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 1,
            "m" | "mb" | "mib" => 2,
            "g" | "gb" | "gib" => 3,
            "t" | "tb" | "tib" => 4,
            "p" | "pb" | "pib" => return Err(too_large()),
            _ => return Err(malformed()),
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let has_digits = !whole.is_empty() && !decimals.is_empty();
        if !has_digits || decimals.contains('.') || decimals.len() > DECIMALS_MAX {
            return Err(malformed());
        }
        let scale = 1024_u128.pow(exponent);
        let whole: u128 = whole.parse().map_err(|_| too_large())?;
        let decimal: u128 = decimals.parse().map_err(|_| malformed())?;
        // Fewer than 10^12 times 2^40.
        let parts = 10_u128.pow(decimals.len() as u32);
        let bytes = whole
            .checked_mul(scale)
            .and_then(|bytes| u64::try_from(bytes + decimal * scale / parts).ok())
            .ok_or_else(too_large)?;
        if (decimal * scale).is_multiple_of(parts) {
            Ok(Self(bytes))
        } else {
            Err(SizeError::Fraction(text.to_owned(), bytes))
        }
    }
}

impl Size {
    /// Returns the largest unit that fits, as an index into [`UNITS`] and in bytes.
    const fn unit(self) -> (usize, u64) {
        let exponent = (self.0 | 1).ilog2() / 10;
        let exponent = if exponent < 4 { exponent } else { 4 };
        (exponent as usize, 1 << (10 * exponent))
    }

    /// Formats the size in the largest unit that fits: with three significant
    /// digits, or as a whole number if it is one: `1.50 GiB`, `64 KiB`.
    #[must_use]
    pub fn three_digits(self) -> String {
        let (unit, scale) = self.unit();
        let value = self.0 as f64 / scale as f64;
        let decimals = match value {
            _ if self.0.is_multiple_of(scale) => 0,
            ..9.995 => 2,
            ..99.95 => 1,
            _ => 0,
        };
        format!("{value:.decimals$} {}", UNITS[unit])
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let exponent = match self.0 {
                0 => 0,
                bytes => (bytes.trailing_zeros() / 10).min(4),
            };
            let number = self.0 >> (10 * exponent);
            return write!(f, "{number} {}", UNITS[exponent as usize]);
        }
        let (mut unit, scale) = self.unit();
        let scale = u128::from(scale);
        let mut tenths = (u128::from(self.0) * 10 + scale / 2) / scale;
        // Rounding can carry into the next unit: 1,048,575 B is 1 MiB.
        if tenths >= 10_240 && unit + 1 < UNITS.len() {
            (tenths, unit) = (10, unit + 1);
        }
        match (tenths / 10, tenths % 10) {
            (whole, 0) => write!(f, "{whole} {}", UNITS[unit]),
            (whole, tenth) => write!(f, "{whole}.{tenth} {}", UNITS[unit]),
        }
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A size such as 4096 or 4KiB",
            "type": ["integer", "string"],
        })
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;

        impl Visitor<'_> for SizeVisitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as 4096 or \"4KiB\"")
            }

            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(bytes))
            }

            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Size, E> {
                u64::try_from(bytes)
                    .map(Size)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(SizeVisitor)
    }
}

/// The text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DurationError {
    /// A number without a unit.
    #[error("`{0}` has no unit: write {0}s for seconds, or us, ms, m or h")]
    NoUnit(String),
    /// Other letters or another decimal point than durations have.
    #[error("`{0}` is not a duration: write {1}")]
    Meant(String, String),
    /// No number, an unknown unit, or too much.
    #[error("`{0}` is not a duration: write it with its unit, such as 500ms, 30s, 10m or 1h")]
    Malformed(String),
}

/// Parses a duration: `500ms`, `30s`, `1.5m`, `1h 30m`, or `0`.
///
/// # Errors
/// When a number or its unit is missing or unknown, or the sum overflows.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let trimmed = text.trim();
    if let Some(duration) = duration(trimmed) {
        return Ok(duration);
    }
    let is_number = parse_number(trimmed).is_some();
    if is_number && duration(&format!("{trimmed}s")).is_some() {
        return Err(DurationError::NoUnit(trimmed.to_owned()));
    }
    let meant = trimmed.to_lowercase().replace(',', ".");
    Err(match duration(&meant) {
        Some(_) => DurationError::Meant(text.to_owned(), meant),
        None => DurationError::Malformed(text.to_owned()),
    })
}

/// Parses a duration in lower case: in humantime, `M` is a month.
fn duration(text: &str) -> Option<Duration> {
    let text = (!text.contains(char::is_uppercase)).then_some(text)?;
    let whole = humantime::parse_duration(text).ok();
    whole.or_else(|| decimal_duration(text))
}

/// Parses one decimal number and its unit: `1.5m`.
fn decimal_duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = humantime::parse_duration(&format!("1{}", &text[digits.len()..])).ok()?;
    Duration::try_from_secs_f64(parse_number(digits)? * unit.as_secs_f64()).ok()
}

/// Parses a finite number of 0 or more.
#[must_use]
pub fn parse_number(text: &str) -> Option<f64> {
    let number = text.trim().parse::<f64>().ok();
    number.filter(|number| number.is_finite() && *number >= 0.0)
}

/// Parses a count of operations or clients: a number of 0 or more, or with `k` or `M`
/// thousands or millions of them: `5000`, `5k`, `1.5K`.
#[must_use]
pub fn parse_count(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, scale) = match text.strip_suffix(['k', 'K']) {
        Some(thousands) => (thousands, 1e3),
        None => text
            .strip_suffix('M')
            .map_or((text, 1.0), |millions| (millions, 1e6)),
    };
    parse_number(number).map(|number| number * scale)
}

/// The text is not a whole number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WholeError {
    /// No number, a fraction or a sign.
    #[error("`{0}` is not a whole number: write digits only, such as 500, or 5k for 5000")]
    Malformed(String),
    /// More than fits.
    #[error("`{0}` is too large")]
    TooLarge(String),
}

/// Parses a whole number, as [`parse_count`] does: `5000`, `5k`, `2M`.
///
/// # Errors
/// When the text is no whole number, or too large for its type.
pub fn parse_whole<T: TryFrom<u64>>(text: &str) -> Result<T, WholeError> {
    let trimmed = text.trim();
    let malformed = || WholeError::Malformed(text.to_owned());
    let too_large = || WholeError::TooLarge(text.to_owned());
    let is_digits = !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_digits {
        trimmed.parse().map_err(|_| too_large())?
    } else {
        let count = parse_count(trimmed).filter(|count| count.fract() == 0.0);
        let count = count.ok_or_else(malformed)?;
        // Below it, each whole number is exact.
        let is_exact = count < 2_f64.powi(53);
        is_exact.then_some(count as u64).ok_or_else(too_large)?
    };
    T::try_from(number).map_err(|_| too_large())
}

/// Formats a duration so that [`parse_duration`] reads it back: `1m 30s`.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

#[cfg(test)]
mod tests;
