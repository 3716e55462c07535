//! The command line as it was written.
//!
//! Only spelling is judged here. What it amounts to is decided in one place,
//! [`crate::request`].

use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{
    OsStringValueParser, PathBufValueParser, PossibleValuesParser, TypedValueParser,
};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use smbench_engine::plan::{Mode, Timing};
use smbench_engine::sources::SourceList;
use smbench_engine::units::{Size, parse_duration};
use smbench_lab::Signing;
use smbench_protocol::{CipherList, DialectRange, SigningAlgorithm};
use smbench_report::FlushDoc;

mod compare;
mod load;
mod suite;

use crate::failure::Failure;
use crate::login::LoginArgs;

pub(crate) use compare::CompareArgs;
pub(crate) use load::LoadArgs;
pub(crate) use suite::{NamedServerArgs, SuiteArgs, SuiteLoadArgs, SuitesCommand};

/// Where lab servers listen unless told otherwise.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    a condition of compare --fail-if was met
  2    the command line, a profile or a result file makes no sense
  3    could not set up: server, account, share, or a place for the results
  4    the run is not valid: it was given up, or a load point must not be quoted
  130  interrupted";

const EXAMPLES: &str = "\
Examples:
  smbench run
  smbench run --target smb://ann@files.example/bench --clients 1,4..60:4 --duration 30s
  smbench plan --profile web-server --clients 500
  smbench show smbench-results/20260131T120000Z-file-server.json --csv -
  smbench report smbench-results

The password comes from --password-file, --authentication-file, the variable SMBENCH_PASSWORD,
or a prompt.";

/// Measures SMB file servers: many sessions, a mix of operations, a table.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    /// Put load on a server and print what it bore
    #[command(after_help = EXIT_CODES)]
    Run(Box<RunArgs>),
    /// Print what `run` would do with the same options, without connecting
    Plan(Box<RunArgs>),
    /// List the built-in profiles, or show one
    Profiles {
        #[command(subcommand)]
        command: Option<ProfilesCommand>,
    },
    /// Measure several servers or settings, to compare them, and keep it as a study
    #[command(after_help = suite::EXIT_CODES)]
    Suite(Box<SuiteArgs>),
    /// List the built-in suites, or show one
    Suites {
        #[command(subcommand)]
        command: Option<SuitesCommand>,
    },
    /// Connect to a server and print what it offers and its limits
    Probe(ProbeArgs),
    /// Print a stored result, or the tables of a study
    Show(ShowArgs),
    /// Hold results against the first of them, with confidence intervals
    #[command(after_help = compare::EXAMPLES)]
    Compare(CompareArgs),
    /// Make a report of a study: a page, Markdown, CSV and plots
    Report(ReportArgs),
    /// Remove what runs that died have left on a share
    Cleanup(UrlArgs),
    /// Serve SMB on this machine to try things out, until interrupted
    #[command(subcommand)]
    Lab(LabCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesCommand {
    /// Print a profile, to start one's own from
    Show {
        /// Built-in profile or path of a .toml file
        #[arg(value_name = "NAME|FILE", value_parser = parse_profile)]
        name: String,
    },
}

/// Options of `run` and `plan`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) connections: ConnectionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    // Not a documentation comment: rustdoc would take the brackets for links.
    #[arg(
        help = "smb://[DOMAIN;]USER@HOST[:PORT]/SHARE[/PATH] [default: a server started here for the run]"
    )]
    // A text, because clap would repeat a password in its message about a bad
    // value.
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) secrets: SecretArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
    // A text for the same reason.
    /// Where to look up the server's CPU time: the URL of its node_exporter or windows_exporter,
    /// such as http://SERVER:9100/metrics, or off [default: its processes, where it runs here]
    #[arg(long, value_name = "URL|off")]
    pub(crate) server_metrics: Option<String>,
    /// What the server is known to do on a FLUSH, for the result: write to stable storage first, or
    /// just answer [default: unknown]
    #[arg(long, value_name = "POLICY", requires = "target", value_parser = flush_policies())]
    pub(crate) server_flush: Option<FlushDoc>,
    /// Longest wait for the answer to an operation; then the client counts as lost [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout)]
    pub(crate) operation_timeout: Option<Duration>,
}

/// Who logs on and how, as far as the URL and the environment do not say.
#[derive(Debug, Default, Args)]
pub(crate) struct SecretArgs {
    /// File whose first line is the password
    #[arg(long, value_name = "FILE", requires = "target", value_parser = paths())]
    pub(crate) password_file: Option<PathBuf>,
    /// File with lines `username = `, `password = ` and `domain = `, as for smbclient
    #[arg(long, value_name = "FILE", requires = "target", value_parser = paths())]
    pub(crate) authentication_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct SessionArgs {
    /// Dialects to offer, 2.0.2 to 3.1.1: one, or a range such as 2.1..3.0.2 [default: all]
    #[arg(long, value_name = "DIALECT[..DIALECT]")]
    pub(crate) dialect: Option<DialectRange>,
    /// Message signing: auto is as the server requires [default: auto]
    #[arg(long, value_name = "MODE", value_parser = modes())]
    pub(crate) sign: Option<Mode>,
    /// The one algorithm to sign with [default: the dialect's; in 3.1.1, what the server prefers of
    /// aes-128-gmac and aes-128-cmac]
    #[arg(long, value_name = "NAME", value_parser = signing_algorithms())]
    pub(crate) signing_algorithm: Option<SigningAlgorithm>,
    /// Message encryption: auto is as the server or the share requires [default: auto]
    #[arg(long, value_name = "MODE", value_parser = modes())]
    pub(crate) encrypt: Option<Mode>,
    /// Ciphers to offer, the preferred one first [default:
    /// aes-128-gcm,aes-128-ccm,aes-256-gcm,aes-256-ccm]
    #[arg(long, value_name = "NAME[,NAME]")]
    pub(crate) cipher: Option<CipherList>,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ConnectArgs {
    /// Longest wait until TCP is connected, such as 500ms [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout)]
    pub(crate) connect_timeout: Option<Duration>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct WorkloadArgs {
    /// Built-in profile (see `smbench profiles`), path of a .toml file, or loadfile: and the path
    /// of a loadfile of dbench to replay [default: file-server]
    #[arg(long, value_name = "NAME|FILE", value_parser = parse_profile)]
    pub(crate) profile: Option<String>,
    /// When operations of a replay begin: each after the one before, or as recorded [default: the
    /// profile's, else fast]
    #[arg(long, value_name = "KIND", value_parser = timings())]
    pub(crate) timing: Option<Timing>,
    /// Times each client goes through what it replays, all of it measured, after which the load
    /// point ends [default: the profile's, else over and over until the measured time is up]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) loops: Option<u32>,
    /// Leave out lines of a loadfile with an unknown verb, or of a handle that is not open, and
    /// count them
    #[arg(long)]
    pub(crate) skip_unknown: bool,
    /// Bytes in each file, such as 64MiB [default: the profile's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) file_size: Option<Size>,
    /// Compare every byte read with what was written
    #[arg(long)]
    pub(crate) verify: bool,
    /// Seed of every random choice, 0 to 2^64-1 [default: the profile's, else 1]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
}

// The defaults are Plan::resolve's; a test holds them against it.
/// How sessions use connections, and where those come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ConnectionArgs {
    /// Sessions, one for each client, that share a connection, 1 to 256 [default: the profile's,
    /// else 1]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) sessions_per_connection: Option<u32>,
    /// Connections each session uses at a time (multichannel), 1 to 32 [default: the profile's,
    /// else 1]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) connections_per_session: Option<u32>,
    /// The most credits each connection holds and uses, 1 to 8192 [default: the profile's, else as
    /// many as its requests need]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) credits: Option<u16>,
    /// Addresses of this machine to connect from, in turn, such as 192.0.2.1,192.0.2.10-192.0.2.20
    /// [default: the profile's, else as the system chooses]
    #[arg(long, value_name = "LIST")]
    pub(crate) source_ip: Option<SourceList>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct OutputArgs {
    /// Folder the result document is written to
    #[arg(long, value_name = "DIR", default_value = "smbench-results", value_parser = paths())]
    pub(crate) out: PathBuf,
    /// Write the document here as well; - for standard output, in place of the table
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) json: Option<Destination>,
    /// Write the load points as CSV; - for standard output, in place of the table
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) csv: Option<Destination>,
    /// Write an HDR interval log: latencies per second and operation
    #[arg(long, value_name = "FILE", value_parser = files())]
    pub(crate) hlog: Option<PathBuf>,
    /// End with exit code 4 also when the generator, not the server, was the limit at a load point
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show no progress on the terminal
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Where a file goes that may also go to standard output.
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

/// A server and who asks.
#[derive(Debug, Args)]
pub(crate) struct UrlArgs {
    // Not a documentation comment: rustdoc would take the brackets for links.
    #[arg(
        value_name = "URL",
        help = "smb://[DOMAIN;]USER@HOST[:PORT]/SHARE[/PATH]"
    )]
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) secrets: SecretArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    #[command(flatten)]
    pub(crate) url: UrlArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Result document, as `smbench run` writes it, or a folder of them
    #[arg(value_name = "RESULT|STUDY", value_parser = paths())]
    pub(crate) result: PathBuf,
    /// Write its load points as CSV; - for standard output, in place of the table
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) csv: Option<Destination>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folder of a study, or of result documents that belong together
    #[arg(value_name = "DIR", value_parser = paths())]
    pub(crate) study: PathBuf,
    /// Folder to write to; what is in it under the same names is replaced [default: DIR/report]
    #[arg(long, value_name = "FOLDER", value_parser = paths())]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// A server in this process with its files in memory
    Embedded(EmbeddedArgs),
    /// A real smbd with everything it owns in a temporary folder
    Samba(SambaArgs),
}

#[derive(Debug, Args)]
pub(crate) struct EmbeddedArgs {
    /// Address of this machine to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = LOOPBACK)]
    pub(crate) listen: IpAddr,
    /// TCP port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Refuse every change to the share
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Bytes the share can hold, such as 2GiB [default: 1TiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) capacity: Option<Size>,
    /// Whether sessions must sign
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = signing())]
    pub(crate) signing: Signing,
    /// End when standard input does
    #[arg(long, hide = true)]
    pub(crate) stop_at_eof: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SambaArgs {
    /// Address of this machine to listen on, on a free port
    #[arg(long, value_name = "ADDRESS", default_value_t = LOOPBACK, value_parser = parse_own_address)]
    pub(crate) listen: IpAddr,
    /// A line for the global section of smb.conf, such as 'strict sync = no'; repeatable
    #[arg(long = "option", value_name = "LINE", value_parser = parse_option)]
    pub(crate) options: Vec<String>,
    /// Whether sessions must sign
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = signing())]
    pub(crate) signing: Signing,
}

fn signing_algorithms() -> impl TypedValueParser<Value = SigningAlgorithm> {
    PossibleValuesParser::new(SigningAlgorithm::ALL.map(SigningAlgorithm::name))
        .try_map(|name| name.parse::<SigningAlgorithm>())
}

fn modes() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(["auto", "required", "off"]).map(|mode| match mode.as_str() {
        "required" => Mode::Required,
        "off" => Mode::Off,
        _ => Mode::Auto,
    })
}

pub(crate) fn flush_policies() -> impl TypedValueParser<Value = FlushDoc> {
    PossibleValuesParser::new(["honours", "ignores"]).map(|policy| match policy.as_str() {
        "honours" => FlushDoc::Honours,
        _ => FlushDoc::Ignores,
    })
}

fn signing() -> impl TypedValueParser<Value = Signing> {
    PossibleValuesParser::new(["auto", "required"]).map(|mode| match mode.as_str() {
        "required" => Signing::Required,
        _ => Signing::Optional,
    })
}

pub(crate) fn paths() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(not_a_server)
}

/// Files that are written while the run goes on, which standard output is not
/// there for.
fn files() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text| match text == "-" {
        true => Err("expected a file, not standard output"),
        false => not_a_server(text).map(PathBuf::from),
    })
}

fn destinations() -> impl TypedValueParser<Value = Destination> {
    OsStringValueParser::new().try_map(|text| not_a_server(text).map(Destination::from))
}

fn timings() -> impl TypedValueParser<Value = Timing> {
    PossibleValuesParser::new(["fast", "recorded"]).map(|timing| match timing.as_str() {
        "recorded" => Timing::Recorded,
        _ => Timing::Fast,
    })
}

fn parse_profile(text: &str) -> Result<String, &'static str> {
    not_a_server(text.to_owned())
}

/// A target in the wrong place would become a folder of that name, password
/// and all.
fn not_a_server<T: AsRef<OsStr>>(text: T) -> Result<T, &'static str> {
    let lower = text.as_ref().to_string_lossy().to_ascii_lowercase();
    match lower.trim_start().starts_with("smb://") {
        true => Err("expected a file, not the URL of a server"),
        false => Ok(text),
    }
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(Duration::ZERO) => Err("nothing is answered within no time: give 1ms or more".into()),
        Ok(limit) => Ok(limit),
        Err(error) => Err(error.to_string()),
    }
}

/// smbd is told one address; "all" is none.
fn parse_own_address(text: &str) -> Result<IpAddr, &'static str> {
    match text.parse::<IpAddr>() {
        Ok(address) if !address.is_unspecified() => Ok(address),
        _ => Err("expected one address of this machine, such as 192.0.2.1"),
    }
}

pub(crate) fn parse_option(line: &str) -> Result<String, &'static str> {
    if line.contains('=') && !line.contains(['\n', '\r']) {
        Ok(line.to_owned())
    } else {
        Err("expected one line NAME = VALUE")
    }
}

/// Reads the command line of this process; ends it where only help was asked
/// for.
pub(crate) fn parse() -> Result<Command, Failure> {
    match Cli::try_parse() {
        Ok(cli) => Ok(cli.command),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
            _ => Err(Failure::Usage(one_line(&error.render().to_string()))),
        },
    }
}

/// What clap has to say, without the usage it repeats below.
fn one_line(rendered: &str) -> String {
    let message = rendered.strip_prefix("error: ").unwrap_or(rendered);
    message
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .fold(String::new(), |text, line| {
            match line.strip_prefix("tip: ") {
                Some(tip) => format!("{text}; {tip}"),
                None if text.is_empty() => line.to_owned(),
                None => format!("{text} {line}"),
            }
        })
}

/// Hides URLs of this process's command line that name an account, and so may
/// hold a password, wherever the message repeats them.
pub(crate) fn without_urls(message: String) -> String {
    let written = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned());
    hide_urls(message, written)
}

fn hide_urls(message: String, written: impl Iterator<Item = String>) -> String {
    written.fold(message, |message, arg| match arg.find("://") {
        Some(at) if arg[at..].contains('@') => message.replace(&arg[at..], "://..."),
        _ => message,
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use smbench_engine::plan::Plan;
    use smbench_engine::units::format_duration;

    use super::*;
    use crate::request::Request;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    fn message(args: &[&str]) -> String {
        let error = Cli::try_parse_from(args).unwrap_err();
        let written = args.iter().map(|&arg| arg.to_owned());
        hide_urls(one_line(&error.render().to_string()), written)
    }

    #[test]
    fn mistakes_take_one_line() {
        for (args, expected) in [
            (
                &["smbench", "run", "--client", "4"][..],
                "unexpected argument '--client' found; a similar argument exists: '--clients'",
            ),
            (
                &["smbench", "run", "--sign", "on"],
                "invalid value 'on' for '--sign <MODE>' [possible values: auto, required, off]",
            ),
            (
                &["smbench", "probe"],
                "the following required arguments were not provided: <URL>",
            ),
            (
                &["smbench", "run", "--connect-timeout", "0"],
                "invalid value '0' for '--connect-timeout <DURATION>': nothing is answered \
                 within no time: give 1ms or more",
            ),
            (
                &["smbench", "run", "--password-file", "x"],
                "the following required arguments were not provided: --target <URL>",
            ),
        ] {
            assert_eq!(message(args), expected);
        }
    }

    #[test]
    fn the_help_names_the_defaults_that_plans_have() {
        let Command::Run(args) = Cli::try_parse_from(["smbench", "run"]).unwrap().command else {
            panic!("run is run");
        };
        let Plan {
            load_points,
            outstanding,
            duration,
            ramp_up,
            ramp_down,
            repeat,
            seed,
            limits,
            profile,
            ..
        } = Request::resolve(&args).unwrap().plan;
        let clients: Vec<_> = load_points.iter().map(u32::to_string).collect();
        let mut command = Cli::command();
        let run = command.find_subcommand_mut("run").unwrap();
        let help = run.render_help().to_string();
        let words: Vec<_> = help.split_whitespace().collect();
        let help = words.join(" ");
        for (option, default) in [
            ("--profile", profile),
            ("--clients", clients.join(",")),
            ("--outstanding", outstanding.to_string()),
            ("--duration", format_duration(duration)),
            ("--ramp-up", format_duration(ramp_up)),
            ("--ramp-down", format_duration(ramp_down)),
            ("--repeat", repeat.to_string()),
            ("--seed", seed.to_string()),
            ("--connect-timeout", format_duration(limits.connect)),
            ("--operation-timeout", format_duration(limits.operation)),
        ] {
            let (_, after) = help.split_once(&format!("{option} <")).unwrap();
            let (_, written) = after.split_once("[default: ").unwrap();
            let (written, _) = written.split_once(']').unwrap();
            let written = written.trim_start_matches("the profile's, else ");
            assert_eq!(written, default, "{option}");
        }
    }

    #[test]
    fn a_misplaced_url_is_not_repeated() {
        for args in [
            &["smbench", "run", "smb://ann:pa ss@host/share"][..],
            &["smbench", "run", "--clients", "smb://ann:pa ss@host/share"],
            &["smbench", "run", "--clients=smb://ann:pa ss@host/share"],
            &["smbench", "run", "--profile", "smb://ann:pa ss@host/share"],
            &["smbench", "run", "--out=SMB://ann:pa ss@host/share"],
            &["smbench", "run", "--json", "smb://ann:pa ss@host/share"],
            &["smbench", "show", "smb://ann:pa ss@host/share"],
            &["smbench", "show", "x", "--csv=smb://ann:pa ss@host/share"],
            &["smbench", "compare", "x", "smb://ann:pa ss@host/share"],
            &["smbench", "profiles", "show", "smb://ann:pa ss@host/share"],
            &["smbench", "smb://ann:pa ss@host/share"],
        ] {
            let message = message(args);
            assert!(!message.contains("pa ss"), "{message}");
            let told = message.to_ascii_lowercase();
            assert!(told.contains("smb://..."), "{message}");
        }
    }

    #[test]
    fn a_samba_listens_on_one_address() {
        assert_eq!(parse_own_address("127.0.0.1"), Ok(LOOPBACK));
        for text in ["0.0.0.0", "::", "localhost", ""] {
            parse_own_address(text).unwrap_err();
        }
    }

    #[test]
    fn an_option_of_smbd_is_one_assignment() {
        assert_eq!(
            parse_option("strict sync = no").unwrap(),
            "strict sync = no"
        );
        parse_option("strict sync").unwrap_err();
        parse_option("a = b\n[x]").unwrap_err();
    }
}
