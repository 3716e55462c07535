//! Values of options: parsers, and checks that refuse wrong values.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::builder::{
    OsStringValueParser, PathBufValueParser, PossibleValuesParser, StringValueParser,
    TypedValueParser,
};
use smbench_model::access::Access;
use smbench_model::bounds::SPEED_MAX;
use smbench_model::profile;
use smbench_model::sessions::Mode;
use smbench_model::units::{parse_duration, parse_number, parse_whole};
use smbench_model::workload::Timing;
use smbench_protocol::SigningAlgorithm;
use smbench_report::{FlushDoc, WritePolicyDoc};
use smbench_runner::command_line::password_in;

use crate::failure::Failure;

/// Destination of an output: a file, or standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Stdout,
    File(PathBuf),
}

impl From<OsString> for Destination {
    fn from(text: OsString) -> Self {
        if text == "-" {
            Self::Stdout
        } else {
            Self::File(text.into())
        }
    }
}

/// Returns whether one of these options has standard output.
pub(crate) fn is_stdout_taken(outputs: &[(&str, &Option<Destination>)]) -> Result<bool, Failure> {
    let taken = outputs
        .iter()
        .filter(|(_, to)| **to == Some(Destination::Stdout));
    match &taken.map(|(name, _)| *name).collect::<Vec<_>>()[..] {
        [] => Ok(false),
        [_] => Ok(true),
        [one, other, ..] => Err(Failure::Usage(format!(
            "{one} - and {other} - cannot both have standard output"
        ))),
    }
}

pub(super) fn signing_algorithms() -> impl TypedValueParser<Value = SigningAlgorithm> {
    PossibleValuesParser::new(SigningAlgorithm::ALL.map(SigningAlgorithm::name))
        .try_map(|name| name.parse::<SigningAlgorithm>())
}

pub(super) fn modes() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(["auto", "required", "off"]).map(|mode| match mode.as_str() {
        "required" => Mode::Required,
        "off" => Mode::Off,
        _ => Mode::Auto,
    })
}

pub(super) fn flush_policies() -> impl TypedValueParser<Value = FlushDoc> {
    PossibleValuesParser::new(["honours", "ignores"]).map(|policy| match policy.as_str() {
        "honours" => FlushDoc::Honours,
        _ => FlushDoc::Ignores,
    })
}

pub(super) fn write_policies() -> impl TypedValueParser<Value = WritePolicyDoc> {
    PossibleValuesParser::new(["waits", "buffers"]).map(|policy| match policy.as_str() {
        "waits" => WritePolicyDoc::Waits,
        _ => WritePolicyDoc::Buffers,
    })
}

pub(crate) fn paths() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(not_a_server)
}

/// Parses the path of a file that is written during the run, for which standard
/// output cannot be used.
pub(super) fn files() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text| {
        if text == "-" {
            Err("expected a file, not standard output")
        } else {
            not_a_server(text).map(PathBuf::from)
        }
    })
}

pub(super) fn destinations() -> impl TypedValueParser<Value = Destination> {
    OsStringValueParser::new().try_map(|text| not_a_server(text).map(Destination::from))
}

pub(super) fn timings() -> impl TypedValueParser<Value = Timing> {
    PossibleValuesParser::new(["fast", "recorded"]).map(|timing| match timing.as_str() {
        "recorded" => Timing::Recorded,
        _ => Timing::Fast,
    })
}

pub(super) fn accesses() -> impl TypedValueParser<Value = Access> {
    PossibleValuesParser::new(["random", "sequential"]).map(|access| match access.as_str() {
        "sequential" => Access::Sequential,
        _ => Access::Random,
    })
}

pub(super) fn parse_percent(text: &str) -> Result<f64, &'static str> {
    profile::parse_percent(text).ok_or("expected a percentage from 0 to 100")
}

/// Parses how many times as fast as recorded a replay is.
pub(super) fn parse_speed(text: &str) -> Result<f64, &'static str> {
    let speed = text.parse::<f64>().ok().filter(|speed| *speed > 0.0);
    let speed = speed.filter(|speed| *speed <= SPEED_MAX);
    speed.ok_or("expected a number above 0, at most 1000")
}

/// Parses a whole number: `500`, `5k`.
pub(super) fn whole<T>() -> impl TypedValueParser<Value = T>
where
    T: TryFrom<u64> + Clone + Send + Sync + 'static,
{
    StringValueParser::new().try_map(|text| parse_whole::<T>(&text))
}

/// Parses a whole number of a range.
pub(super) fn whole_within(range: RangeInclusive<u32>) -> impl TypedValueParser<Value = u32> {
    StringValueParser::new().try_map(move |text| {
        let number = parse_whole(&text).map_err(|error| error.to_string())?;
        let (least, most) = (range.start(), range.end());
        let within = range.contains(&number).then_some(number);
        within.ok_or_else(|| format!("{number} is not from {least} to {most}"))
    })
}

/// Parses a number of 0 or more.
pub(super) fn decimal(text: &str) -> Result<f64, &'static str> {
    parse_number(text).ok_or("expected a number of 0 or more, such as 1.5")
}

pub(super) fn parse_address(text: &str) -> Result<SocketAddr, &'static str> {
    let address = text.parse();
    address.map_err(|_| "expected an address of this machine and a port, such as 127.0.0.1:9464")
}

/// Parses a time in UTC that is still to come.
pub(super) fn parse_time(text: &str) -> Result<SystemTime, &'static str> {
    let time = humantime::parse_rfc3339_weak(text);
    let time = time.map_err(|_| "expected a time in UTC, such as 2026-11-23T10:00:00Z")?;
    if time > SystemTime::now() {
        Ok(time)
    } else {
        Err("this time is over")
    }
}

pub(super) fn parse_profile(text: &str) -> Result<String, &'static str> {
    not_a_server(text.to_owned())
}

/// Refuses the URL of a server, or a UNC path with an account. As a path it would
/// create a folder of that name, which would contain the password.
pub(super) fn not_a_server<T: AsRef<OsStr>>(text: T) -> Result<T, &'static str> {
    let lower = text.as_ref().to_string_lossy().to_ascii_lowercase();
    let word = lower.trim_start();
    let is_unc = word.starts_with("//") || word.starts_with(r"\\");
    let is_url = word.starts_with("smb:/") || word.starts_with(r"smb:\");
    if is_url || is_unc && word.contains('@') || password_in(word).is_some() {
        Err("expected a file, not the URL of a server")
    } else {
        Ok(text)
    }
}

/// Parses a text for people to read.
pub(super) fn label(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("the text is empty"),
        text if text.contains(char::is_control) => Err("expected one line of text"),
        text if text.chars().count() > LABEL_MAX => Err("expected at most 200 characters"),
        text => {
            not_a_server(text.to_owned()).map_err(|_| "expected a text, not the URL of a server")
        }
    }
}

/// Maximum number of characters of a label or a note.
const LABEL_MAX: usize = 200;

pub(super) fn parse_timeout(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(Duration::ZERO) => Err("nothing is answered within no time: give 1ms or more".into()),
        Ok(limit) => Ok(limit),
        Err(error) => Err(error.to_string()),
    }
}
