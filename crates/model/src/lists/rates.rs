//! The `--rate` list: the rate of each load point.
//!
//! `1000..5000:1000` is 1000 to 5000 operations per second in steps of 1000. A list may
//! also have single rates, as in `500,1k,2k/client`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use super::{ListError, dashed};
use crate::load::Rate;
use crate::setting::REPEAT;

/// The largest number of rates in a list.
const LENGTH_MAX: usize = 1000;

/// The rates of the load points, in the order in which these run. Never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct RateList(Vec<Rate>);

impl RateList {
    /// Returns the rates in their order. Never empty.
    #[must_use]
    pub fn as_slice(&self) -> &[Rate] {
        &self.0
    }

    /// Returns the highest rate.
    #[must_use]
    pub fn highest(&self) -> Rate {
        let highest = |one: Rate, other: Rate| {
            if other.per_second > one.per_second {
                other
            } else {
                one
            }
        };
        self.0[1..].iter().copied().fold(self.0[0], highest)
    }
}

impl From<Rate> for RateList {
    fn from(rate: Rate) -> Self {
        Self(vec![rate])
    }
}

impl FromStr for RateList {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let mut rates: Vec<Rate> = Vec::new();
        for element in text.split(',').map(str::trim) {
            for rate in rates_of(element)? {
                let is_other = |first: &Rate| first.scope != rate.scope;
                if rates.first().is_some_and(is_other) {
                    let message = "has rates of all clients and of each: give one kind";
                    return Err(ListError(format!("`{text}` {message}")));
                }
                if rates.contains(&rate) {
                    let message = "is listed twice: to run the series again, use";
                    return Err(ListError(format!("rate {rate} {message} {REPEAT} 2")));
                }
                rates.push(rate);
            }
            if rates.len() > LENGTH_MAX {
                return Err(ListError(format!(
                    "`{text}` has more than {LENGTH_MAX} rates: give a larger step"
                )));
            }
        }
        Ok(Self(rates))
    }
}

/// Returns the rates of an element: one, or `FIRST..LAST:STEP`.
fn rates_of(element: &str) -> Result<Vec<Rate>, ListError> {
    let rate = |text: &str| {
        let rate = text.trim().parse::<Rate>();
        rate.map_err(|error| ListError(error.to_string()))
    };
    if dashed(element).is_some() {
        let message = "is no range: write FIRST..LAST:STEP, such as 1000..5000:1000";
        return Err(ListError(format!("`{element}` {message}")));
    }
    let Some((first, rest)) = element.split_once("..") else {
        return Ok(vec![rate(element)?]);
    };
    let (rest, scope) = match rest.split_once('/') {
        Some((rest, scope)) => (rest, format!("/{scope}")),
        None => (rest, String::new()),
    };
    let Some((last, step)) = rest.split_once(':') else {
        let message = "has no step: write FIRST..LAST:STEP, such as 1000..5000:1000";
        return Err(ListError(format!("`{element}` {message}")));
    };
    let [first, last, step] = [first, last, step].map(|number| rate(&format!("{number}{scope}")));
    let (first, last, step) = (first?, last?, step?);
    let steps = (last.per_second - first.per_second) / step.per_second;
    if steps < 0.0 {
        let message = "is reversed: write the smaller rate first";
        return Err(ListError(format!("`{element}` {message}")));
    }
    // The last rate is included if the steps meet it, up to the precision of the numbers.
    let steps = (steps + 1e-9).floor().min(LENGTH_MAX as f64) as usize;
    let nth = |at: usize| Rate {
        per_second: first.per_second + at as f64 * step.per_second,
        ..first
    };
    Ok((0..=steps).map(nth).collect())
}

impl fmt::Display for RateList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, rate) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "," };
            write!(f, "{separator}{rate}")?;
        }
        Ok(())
    }
}

impl JsonSchema for RateList {
    fn schema_name() -> Cow<'static, str> {
        "RateList".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Rates such as 5000, 50/client or 1000..5000:1000",
            "type": ["number", "string"],
        })
    }
}

impl<'de> Deserialize<'de> for RateList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RateVisitor;

        impl Visitor<'_> for RateVisitor {
            type Value = RateList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as 5000, \"50/client\" or \"1000..5000:1000\"")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<RateList, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<RateList, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<RateList, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RateList, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(RateVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_ranges_mix() {
        for (text, written) in [
            ("5000", "5000"),
            ("1000..4000:1000", "1000,2000,3000,4000"),
            ("1k..2k:500", "1000,1500,2000"),
            ("10..25:10/client", "10/client,20/client"),
            ("0.1..0.3:0.1", "0.1,0.2,0.30000000000000004"),
            ("500, 1k,2k", "500,1000,2000"),
        ] {
            let rates: RateList = text.parse().unwrap();
            assert_eq!(rates.to_string(), written);
        }
        let rates: RateList = "500,9k,2k".parse().unwrap();
        assert_eq!(rates.highest().per_second, 9000.0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, message) in [
            ("", "`` is not a rate: "),
            ("1,,2", "`` is not a rate: "),
            ("1..5", "`1..5` has no step: write FIRST..LAST:STEP"),
            (
                "5..1:1",
                "`5..1:1` is reversed: write the smaller rate first",
            ),
            ("1-5", "`1-5` is no range: write FIRST..LAST:STEP"),
            ("1..5:0", "`0` is not a rate: "),
            (
                "1,1",
                "rate 1 is listed twice: to run the series again, use repeat 2",
            ),
            (
                "1,2/client",
                "`1,2/client` has rates of all clients and of each",
            ),
            ("1..9999:1", "`1..9999:1` has more than 1000 rates"),
        ] {
            let error = text.parse::<RateList>().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
