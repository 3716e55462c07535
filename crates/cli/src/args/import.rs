//! The options of `import`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use smbench_capture::{NameTreatment, SliceBegin};
use smbench_model::units::parse_duration;

use super::examples;
use super::value::{Destination, destinations, parse_profile, paths};

/// What is imported.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Import an Iometer .icf file: its access specifications as profiles, its test setup as a suite
    Iometer(ImportArgs),
    /// Read a network capture: a summary of its SMB, and with --out a trace
    #[command(after_help = examples::IMPORT_PCAP)]
    Pcap(Box<PcapArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Configuration file of Iometer
    #[arg(value_name = "FILE.icf", value_parser = parse_profile)]
    pub(crate) file: String,
    /// Folder to write to, or the .toml file of the only profile [default: FILE without .icf, here]
    #[arg(long, value_name = "DIR|FILE", value_parser = paths())]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PcapArgs {
    /// Files of tcpdump, dumpcap or Wireshark, also compressed by gzip; `-` for standard input
    #[arg(value_name = "FILE", required = true, value_parser = paths())]
    pub(crate) files: Vec<PathBuf>,
    /// Folder for summary.json, trace.jsonl.gz and tree.jsonl.gz; with --distil the profile
    #[arg(long, value_name = "DIR|FILE.toml", value_parser = paths())]
    pub(crate) out: Option<PathBuf>,
    /// Only requests from this time on, in UTC: 10:15, 10:15:30.250 or 2026-11-23T10:15:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_begin)]
    pub(crate) from: Option<SliceBegin>,
    /// Only requests within this time
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    pub(crate) length: Option<Duration>,
    /// Only requests of the client with this address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) client: Option<IpAddr>,
    /// Only requests of this user, with or without the domain; log-ons are left out
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Only requests to this share; log-ons are left out
    #[arg(long, value_name = "NAME")]
    pub(crate) share: Option<String>,
    /// Make profiles of the statistics in place of a trace: one for each group of alike sessions
    #[arg(long, requires = "out", conflicts_with_all = ["json", "html", "diff"])]
    pub(crate) distil: bool,
    /// Second capture: shows both side by side by command, status, size and service time
    #[arg(long, value_name = "FILE", value_parser = paths(), conflicts_with = "out")]
    pub(crate) diff: Option<PathBuf>,
    /// Write the summary or the comparison as JSON to FILE; - prints it instead of the tables
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) json: Option<Destination>,
    /// Write the summary or the comparison as a page of plots to FILE; - prints it
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) html: Option<Destination>,
    /// Keytab of the server: opens sessions that Kerberos set up
    #[arg(long, value_name = "FILE", value_parser = paths())]
    pub(crate) keytab: Option<PathBuf>,
    /// File with passwords of users, one a line: opens sessions that NTLM set up
    #[arg(long, value_name = "FILE", value_parser = paths())]
    pub(crate) nt_password_file: Option<PathBuf>,
    /// File with session keys as tshark has them: id, session key, server key, client key
    #[arg(long, value_name = "FILE", value_parser = paths())]
    pub(crate) session_keys: Option<PathBuf>,
    /// Names of users, shares and files in outputs
    #[arg(long, value_name = "WAY", default_value = "hash", value_parser = name_treatments())]
    pub(crate) names: NameTreatment,
}

fn name_treatments() -> impl TypedValueParser<Value = NameTreatment> {
    PossibleValuesParser::new(["hash", "keep"]).map(|way| match way.as_str() {
        "keep" => NameTreatment::Keep,
        _ => NameTreatment::Hash,
    })
}

/// Parses a time of the day, or a time.
fn parse_begin(text: &str) -> Result<SliceBegin, &'static str> {
    const EXPECTED: &str = "expected a time in UTC, such as 10:15 or 2026-11-23T10:15:00Z";
    if text.contains('-') {
        let time = humantime::parse_rfc3339_weak(text).map_err(|_| EXPECTED)?;
        let since = time.duration_since(UNIX_EPOCH).map_err(|_| EXPECTED)?;
        return Ok(SliceBegin::At(since));
    }
    let (whole, fraction) = match text.split_once('.') {
        // A summary has milliseconds.
        Some((whole, fraction)) if whole.len() == "10:15:30".len() => (whole, fraction),
        _ => (text, "0"),
    };
    let nanos = nanos_of(fraction).ok_or(EXPECTED)?;
    let parts: Vec<_> = whole.split(':').collect();
    let is_written =
        |part: &&str| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_digit());
    if !(2..=3).contains(&parts.len()) || !parts.iter().all(is_written) {
        return Err(EXPECTED);
    }
    let mut numbers = parts
        .iter()
        .map(|part| part.parse::<u64>().unwrap_or(u64::MAX));
    let [hour, minute, second] = [(); 3].map(|()| numbers.next().unwrap_or(0));
    if hour > 23 || minute > 59 || second > 59 {
        return Err(EXPECTED);
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    Ok(SliceBegin::TimeOfDay(Duration::new(seconds, nanos)))
}

/// Returns a fraction of a second, as the digits behind the point.
fn nanos_of(fraction: &str) -> Option<u32> {
    const DIGITS: usize = 9;
    let is_written = (1..=DIGITS).contains(&fraction.len())
        && fraction.bytes().all(|digit| digit.is_ascii_digit());
    if !is_written {
        return None;
    }
    format!("{fraction:0<DIGITS$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_begins_at_a_time_or_a_time_of_the_day() {
        let of_day = |seconds| SliceBegin::TimeOfDay(Duration::from_secs(seconds));
        assert_eq!(parse_begin("10:15"), Ok(of_day(36_900)));
        assert_eq!(parse_begin("00:00:09"), Ok(of_day(9)));
        for (text, nanos) in [("00:00:09.907", 907_000_000), ("00:00:09.000000001", 1)] {
            let of_day = SliceBegin::TimeOfDay(Duration::new(9, nanos));
            assert_eq!(parse_begin(text), Ok(of_day));
        }
        let at = SliceBegin::At(Duration::from_secs(86_400));
        assert_eq!(parse_begin("1970-01-02T00:00:00Z"), Ok(at));
        for wrong in [
            "",
            "10",
            "24:00",
            "10:60",
            "1:2:3:4",
            "+1:00",
            "2026-13-01",
            "10:15.5",
            "10:15:30.",
            "10:15:30.+1",
            "10:15:30.1234567890",
        ] {
            assert!(parse_begin(wrong).is_err(), "{wrong}");
        }
    }
}
