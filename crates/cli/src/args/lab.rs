//! The options of `lab`.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use smbench_lab::Signing;
use smbench_model::units::{Size, parse_duration};

use smbench_runner::lab_facts::parse_option;

use super::value::{paths, whole_within};

/// Default address of lab servers.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Start smbench's built-in server (files in memory)
    Embedded(EmbeddedArgs),
    /// Start a temporary Samba server (needs smbd)
    Samba(SambaArgs),
    /// The other end of a calibration's bare sockets
    #[command(hide = true)]
    Loopback,
}

#[derive(Debug, Args)]
pub(crate) struct EmbeddedArgs {
    /// Address of this machine to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = LOOPBACK)]
    pub(crate) listen: IpAddr,
    /// TCP port; 0 chooses a free one
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Make the share read-only
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Capacity of the share, for example 2GiB [default: 1TiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) capacity: Option<Size>,
    /// Serve reads and writes one after the other, each for this time
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "max_rate")]
    pub(crate) service_time: Option<Duration>,
    /// Serve at most this many reads and writes per second, for example 20000
    #[arg(long, value_name = "NUMBER", value_parser = from_one())]
    pub(crate) max_rate: Option<NonZeroU32>,
    /// Close connections above this number
    #[arg(long, value_name = "NUMBER", value_parser = from_one())]
    pub(crate) max_connections: Option<NonZeroU32>,
    /// Whether sessions must sign
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = signing())]
    pub(crate) signing: Signing,
    /// Leave this much memory behind with each open, to show that a soak finds a leak
    #[arg(long, value_name = "SIZE", hide = true)]
    pub(crate) leak_per_open: Option<Size>,
    /// End when standard input ends
    #[arg(long, hide = true)]
    pub(crate) stop_at_eof: bool,
    /// Command that uses the server, which ends with it. It has the server's URL in SMBENCH_TARGET
    /// and the password in SMBENCH_PASSWORD
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct SambaArgs {
    /// Address of this machine to listen on, on a free port
    #[arg(long, value_name = "ADDRESS", default_value_t = LOOPBACK, value_parser = parse_own_address)]
    pub(crate) listen: IpAddr,
    /// The smbd to start instead of the installed one, or a program that runs one with the arguments
    /// that it gets
    #[arg(long, value_name = "PATH", value_parser = paths())]
    pub(crate) smbd: Option<PathBuf>,
    /// Line for the global section of smb.conf, for example 'strict sync = no'; can be repeated
    #[arg(long = "option", value_name = "LINE", value_parser = parse_option)]
    pub(crate) options: Vec<String>,
    /// Serve CIFS as well, for clients that offer nothing newer
    #[arg(long)]
    pub(crate) cifs: bool,
    /// Whether sessions must sign
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = signing())]
    pub(crate) signing: Signing,
    /// Command that uses the server, which ends with it. It has the server's URL in SMBENCH_TARGET
    /// and the password in SMBENCH_PASSWORD
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Parses a whole number of 1 or more.
fn from_one() -> impl TypedValueParser<Value = NonZeroU32> {
    whole_within(1..=u32::MAX).try_map(NonZeroU32::try_from)
}

fn signing() -> impl TypedValueParser<Value = Signing> {
    PossibleValuesParser::new(["auto", "required"]).map(|mode| match mode.as_str() {
        "required" => Signing::Required,
        _ => Signing::Optional,
    })
}

/// Parses one address, because smbd listens on one; "all" is not accepted.
fn parse_own_address(text: &str) -> Result<IpAddr, &'static str> {
    match text.parse::<IpAddr>() {
        Ok(address) if !address.is_unspecified() => Ok(address),
        _ => Err("expected one address of this machine, such as 192.0.2.1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_samba_listens_on_one_address() {
        assert_eq!(parse_own_address("127.0.0.1"), Ok(LOOPBACK));
        for text in ["0.0.0.0", "::", "localhost", ""] {
            parse_own_address(text).unwrap_err();
        }
    }
}
