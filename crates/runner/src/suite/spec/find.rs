//! One `[[find]]` table of a suite. Not here: which keys belong to which kind of search.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use smbench_model::search::Confirmations;
use smbench_model::spec::RunOptions;
use smbench_model::units::parse_duration;
use smbench_report::Threshold;
use smbench_report::doc::FindKind;
use smbench_report::find::HeldLimit;

use crate::searching::defaults::{parse_confirmations, parse_precision};

/// A search for a limit of each server, as `smbench find` makes it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::suite) struct FindEntry {
    /// Name in folders and tables, in place of a profile's.
    pub(in crate::suite) name: String,
    /// What to search for.
    pub(in crate::suite) kind: FindKind,
    /// Of sessions and log-ons: the share of failures that ends the search; `failed >= 1%`
    /// when absent.
    #[serde(default, deserialize_with = "from_text")]
    #[schemars(with = "Option<String>")]
    pub(in crate::suite) until: Option<HeldLimit>,
    /// Of sessions and log-ons: how long sessions are held, or a rate is measured; 10 s when
    /// absent.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    pub(in crate::suite) hold: Option<Duration>,
    /// Of sessions: interval between two ECHO requests in each; 10 s when absent.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    pub(in crate::suite) keep_alive: Option<Duration>,
    /// First load, except of sessions.
    pub(in crate::suite) start: Option<f64>,
    /// Highest load.
    pub(in crate::suite) max: Option<f64>,
    /// Of a rate and of clients: name or path of the profile; `file-server` when absent.
    pub(in crate::suite) profile: Option<String>,
    /// Conditions that must hold, such as `p99 < 10ms`, except of sessions.
    #[serde(default, deserialize_with = "thresholds")]
    #[schemars(with = "Vec<String>")]
    pub(in crate::suite) slo: Vec<Threshold>,
    /// Largest distance between the answer and the next load that does not hold, except of
    /// sessions; `2%` when absent.
    #[serde(default, deserialize_with = "precision")]
    #[schemars(with = "Option<String>")]
    pub(in crate::suite) precision: Option<f64>,
    /// In how many of how many probes the answer must hold, except of sessions; `2/3` when
    /// absent.
    #[serde(default, deserialize_with = "confirmations")]
    #[schemars(with = "Option<String>")]
    pub(in crate::suite) confirm: Option<Confirmations>,
    /// Highest number of probes, 1 to 1000, except of sessions; 40 when absent.
    pub(in crate::suite) probes: Option<u32>,
    /// Of a rate: points of the load curve after the search, 2 to 100; no curve when absent.
    pub(in crate::suite) curve: Option<u32>,
    /// Options of this search.
    #[serde(default)]
    pub(in crate::suite) run: RunOptions,
}

fn read<'de, T, D>(
    deserializer: D,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    parse(&text).map(Some).map_err(D::Error::custom)
}

fn from_text<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    read(deserializer, |text| {
        text.parse().map_err(|error: T::Err| error.to_string())
    })
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    read(deserializer, |text| {
        parse_duration(text).map_err(|error| error.to_string())
    })
}

fn precision<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    read(deserializer, |text| {
        parse_precision(text).map_err(str::to_owned)
    })
}

fn confirmations<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Confirmations>, D::Error> {
    read(deserializer, parse_confirmations)
}

fn thresholds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Threshold>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let parse = |text: &String| text.parse::<Threshold>().map_err(D::Error::custom);
    texts.iter().map(parse).collect()
}
