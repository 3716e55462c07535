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
/// Users write a whole number and a unit: `512`, `512B`, `4KiB`, `64k`, `1MiB`,
/// `10g`. `k`, `K`, `KB` and `KiB` all mean 1024 bytes. `M`, `MB` and `MiB` mean
/// 1024 times that, and so on to `T`. Upper and lower case are the same.
///
/// `{}` prints it rounded to one decimal, in the largest unit that fits: `1 MiB`,
/// `512 B`, `1.5 GiB`. `{:#}` prints it exactly, in the largest unit that divides
/// it: `1 MiB`, `1048577 B`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Size(pub u64);

/// The text is not a byte count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// No number, a fraction, a sign or an unknown unit.
    #[error("`{0}` is not a size: use bytes or a unit, for example 4096, 4KiB or 10MiB")]
    Malformed(String),
    /// More than 2^64 - 1 bytes.
    #[error("`{0}` is too large for a size")]
    TooLarge(String),
}

const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let malformed = || SizeError::Malformed(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        if number.is_empty() {
            return Err(malformed());
        }
        let exponent = match unit.trim_start().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 1,
            "m" | "mb" | "mib" => 2,
            "g" | "gb" | "gib" => 3,
            "t" | "tb" | "tib" => 4,
            _ => return Err(malformed()),
        };
        number
            .parse::<u64>()
            .ok()
            .and_then(|count| count.checked_mul(1024_u64.pow(exponent)))
            .map(Self)
            .ok_or_else(|| SizeError::TooLarge(text.to_owned()))
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
pub enum DurationError {
    /// A number without a unit.
    #[error("`{0}` has no unit: write {0}s for seconds, or us, ms, m or h")]
    NoUnit(String),
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
    let whole = humantime::parse_duration(trimmed).ok();
    whole
        .or_else(|| decimal_duration(trimmed))
        .ok_or_else(|| match parse_number(trimmed) {
            Some(_) => DurationError::NoUnit(trimmed.to_owned()),
            None => DurationError::Malformed(text.to_owned()),
        })
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

/// Formats a duration so that [`parse_duration`] reads it back: `1m 30s`.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_are_read_in_powers_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("512B", 512),
            ("64k", 65_536),
            ("64K", 65_536),
            ("4KB", 4096),
            ("4KiB", 4096),
            (" 4 kib ", 4096),
            ("1MiB", 1 << 20),
            ("1mb", 1 << 20),
            ("10g", 10 << 30),
            ("2TiB", 2 << 40),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_named() {
        for text in [
            "", "k", "-1", "+1", "1.5GiB", "4 Kib b", "4x", "0x10", "4KiB4",
        ] {
            assert_eq!(
                text.parse::<Size>(),
                Err(SizeError::Malformed(text.to_owned())),
                "{text}"
            );
        }
        for text in ["18446744073709551616", "16777216T"] {
            assert_eq!(
                text.parse::<Size>(),
                Err(SizeError::TooLarge(text.to_owned()))
            );
        }
    }

    #[test]
    fn sizes_print_in_the_largest_unit_that_fits() {
        for (bytes, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1_536, "1.5 KiB"),
            (1 << 20, "1 MiB"),
            ((1 << 20) - 1, "1 MiB"),
            (3 << 29, "1.5 GiB"),
            (1 << 40, "1 TiB"),
            (1 << 60, "1048576 TiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }

    #[test]
    fn three_digits_are_exact_where_they_can_be() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (65_536, "64 KiB"),
            (1_048_576, "1 MiB"),
            (1_610_612_736, "1.50 GiB"),
            (u64::MAX, "16777216 TiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(Size(bytes).three_digits(), text);
        }
    }

    #[test]
    fn exact_sizes_are_not_rounded() {
        for (bytes, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (4096, "4 KiB"),
            (1_048_577, "1048577 B"),
            (3 << 29, "1536 MiB"),
            (1 << 63, "8388608 TiB"),
        ] {
            assert_eq!(format!("{:#}", Size(bytes)), text);
        }
    }

    #[test]
    fn counts_may_have_thousands_and_millions() {
        for (text, count) in [
            ("5000", 5000.0),
            ("5k", 5000.0),
            (" 1.5 K", 1500.0),
            ("2M", 2e6),
        ] {
            assert_eq!(parse_count(text), Some(count));
        }
        for text in ["", "k", "-1", "5kk", "1 G", "inf"] {
            assert_eq!(parse_count(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_read_and_written() {
        for (text, millis) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("10m", 600_000),
            ("1h 30m", 5_400_000),
            ("1.5m", 90_000),
            ("0.25 s", 250),
            ("0", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)));
        }
        for text in ["", "s", "-3s", "3 parsecs", "1e300h", "NaNs"] {
            let error = DurationError::Malformed(text.to_owned());
            assert_eq!(parse_duration(text), Err(error));
        }
        let error = parse_duration("90").unwrap_err().to_string();
        assert!(error.starts_with("`90` has no unit: write 90s"), "{error}");
        assert_eq!(format_duration(Duration::from_secs(30)), "30s");
    }

    proptest! {
        #[test]
        fn a_printed_size_is_within_its_rounding(bytes: u64) {
            let text = Size(bytes).to_string();
            let (number, unit) = text.split_once(' ').unwrap();
            let exponent = UNITS.iter().position(|name| *name == unit).unwrap();
            let scale = 1024_f64.powi(i32::try_from(exponent).unwrap());
            let printed = number.parse::<f64>().unwrap() * scale;
            prop_assert!((printed - bytes as f64).abs() <= 0.0501 * scale);
        }

        #[test]
        fn an_exact_size_reads_back(bytes: u64) {
            prop_assert_eq!(format!("{:#}", Size(bytes)).parse(), Ok(Size(bytes)));
        }

        #[test]
        fn a_printed_duration_reads_back(millis in 0..u64::from(u32::MAX)) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
    }
}
