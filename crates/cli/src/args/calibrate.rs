//! The options of `calibrate`, and options that name a calibration.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use smbench_model::units::parse_duration;
use smbench_runner::calibration::CalibrationSource;

use super::document::DocumentArgs;
use super::value::{not_a_server, paths};

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Measured time for each of the 28 figures (14 on a single core), up to 10m
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration)]
    pub(crate) duration: Duration,
    /// Folder for calibration.json; runs with the same folder compare their peak with it
    #[arg(long, value_name = "DIR", default_value = "smbench-results", value_parser = paths())]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) document: DocumentArgs,
}

/// Longest measured time for each figure.
const DURATION_MAX: Duration = Duration::from_secs(600);

fn duration(text: &str) -> Result<Duration, String> {
    match parse_duration(text).map_err(|error| error.to_string())? {
        Duration::ZERO => Err("zero: the measured time needs a length, such as 3s".to_owned()),
        duration if duration > DURATION_MAX => Err("the longest is 10m".to_owned()),
        duration => Ok(duration),
    }
}

pub(super) fn calibration_sources() -> impl TypedValueParser<Value = CalibrationSource> {
    OsStringValueParser::new().try_map(|text: OsString| {
        if text == "off" {
            Ok(CalibrationSource::Off)
        } else {
            not_a_server(text).map(|text| CalibrationSource::File(text.into()))
        }
    })
}
