//! The command line as it was written.
//!
//! Only the syntax is checked here. One place decides what the options mean:
//! [`crate::request`].

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

mod calibrate;
mod compare;
mod fileio;
mod import;
mod lab;
mod load;
mod message;
mod run;
mod server;
mod suite;
mod value;

use crate::failure::Failure;
use message::one_line;
use value::{destinations, files, parse_profile, paths};

pub(crate) use calibrate::{CalibrateArgs, CalibrationSource};
pub(crate) use compare::CompareArgs;
pub(crate) use fileio::{FileioArgs, FileioCommand, RandType, RandomArgs, TestArgs};
pub(crate) use import::{ImportArgs, ImportCommand};
pub(crate) use lab::{EmbeddedArgs, LabCommand, SambaArgs, parse_option};
pub(crate) use message::{command_line, without_urls};
pub(crate) use run::{OutputArgs, RunArgs};
pub(crate) use server::{Auth, ConnectArgs, LoginArgs, ProbeArgs, SecretArgs, ServerArgs, UrlArgs};
pub(crate) use suite::{NamedServerArgs, SuiteArgs, SuiteLoadArgs, SuitesCommand};
pub(crate) use value::Destination;

/// Heading of the options that most runs need. `-h` shows only these.
const COMMON: &str = "Common options";

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    a condition of compare --fail-if failed
  2    invalid command line, profile or result file, or import would overwrite a file
  3    setup failed (server, login, share, free space or output folder)
  4    the run was aborted, a load point is not valid, or the rate was not reached
  130  interrupted";

const RUN_EXAMPLES: &str = "\
Examples:
  smbench run
  smbench run smb://ann@files.example/bench --password-file pw -c 1,4..60:4 -d 30s --repeat 5
  smbench run //files.example/bench --authentication-file account -p web-server
  smbench run -p client.txt -c 8";

const EXAMPLES: &str = "\
Examples:
  smbench run                                       a first run against a built-in server
  smbench run smb://ann@files.example/bench -c 1,4..60:4 -d 30s
  smbench plan -p web-server -c 500                 what a run would do
  smbench compare before.json after.json            is it faster?
  smbench report smbench-results                    tables and plots of all results

The password comes from --password-file, --authentication-file, the variable SMBENCH_PASSWORD,
or a prompt.";

/// Benchmark SMB file servers.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run a benchmark against a server
    #[command(after_help = RUN_EXAMPLES, after_long_help = format!("{RUN_EXAMPLES}\n\n{EXIT_CODES}"))]
    Run(Box<RunArgs>),
    /// Show what `run` would do, without connecting
    Plan(Box<RunArgs>),
    /// List the built-in profiles, or show one
    Profiles {
        #[command(subcommand)]
        command: Option<ProfilesCommand>,
    },
    /// Benchmark several servers or settings and compare them
    #[command(after_help = suite::EXIT_CODES)]
    Suite(Box<SuiteArgs>),
    /// List the built-in suites, or show one
    Suites {
        #[command(subcommand)]
        command: Option<SuitesCommand>,
    },
    /// Measure how much load this machine can generate
    Calibrate(CalibrateArgs),
    /// Import workloads from other tools
    #[command(subcommand)]
    Import(ImportCommand),
    /// Run sysbench's fileio test on an SMB share
    #[command(subcommand)]
    Fileio(FileioCommand),
    /// Show what a server supports (dialects, ciphers, limits); writes a small test file
    Probe(ProbeArgs),
    /// Show a saved result or study
    Show(ShowArgs),
    /// Compare results with a baseline
    #[command(after_help = compare::EXAMPLES)]
    Compare(CompareArgs),
    /// Write a report (HTML, Markdown, CSV, plots)
    Report(ReportArgs),
    /// Delete files that a killed run left on a share
    Cleanup(UrlArgs),
    /// Start a temporary SMB server on this machine
    #[command(subcommand)]
    Lab(LabCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesCommand {
    /// Print a profile as a template
    Show {
        /// Built-in profile or .toml file
        #[arg(value_name = "NAME|FILE", value_parser = parse_profile)]
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Result document of `smbench run`, or the folder of a study
    #[arg(value_name = "RESULT|STUDY", value_parser = paths())]
    pub(crate) result: PathBuf,
    /// Print all tables: CPU use, every percentile, the operations at the peak
    #[arg(long)]
    pub(crate) details: bool,
    /// Write the load points as CSV to FILE; - prints them instead of the table
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) csv: Option<Destination>,
    /// Write the load points to FILE with the columns of Iometer's result file
    #[arg(long, value_name = "FILE", value_parser = files())]
    pub(crate) csv_iometer: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folder of a study or of result documents, or the documents themselves
    #[arg(value_name = "DIR|RESULT", required = true, value_parser = paths())]
    pub(crate) results: Vec<PathBuf>,
    /// Folder for the report; existing files are replaced [default: DIR/report, or smbench-report]
    #[arg(long, value_name = "FOLDER", value_parser = paths())]
    pub(crate) out: Option<PathBuf>,
}

/// Reads the command line of this process. Ends the process if only help was asked
/// for.
pub(crate) fn parse() -> Result<CliCommand, Failure> {
    match Cli::try_parse_from(in_order(env::args_os().collect())) {
        Ok(cli) => Ok(cli.command),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
            _ => Err(Failure::Usage(one_line(&error.render().to_string()))),
        },
    }
}

/// Moves the command of `fileio` before its options. sysbench takes it after them.
fn in_order(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "fileio") {
        let is_command = |word: &OsString| {
            let mut commands = ["prepare", "run", "cleanup", "help"].iter();
            commands.any(|command| word == command)
        };
        if let Some(at) = words.iter().position(is_command) {
            words[2..=at].rotate_right(1);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::CommandFactory as _;
    use smbench_model::plan::Plan;
    use smbench_model::units::format_duration;

    use super::message::hide_urls;
    use super::*;
    use crate::request::RunRequest;

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
                "the following required arguments were not provided: <URL> (see smbench probe --help)",
            ),
            (
                &["smbench", "run", "--connect-timeout", "0"],
                "invalid value '0' for '--connect-timeout <DURATION>': nothing is answered \
                 within no time: give 1ms or more",
            ),
            (
                &["smbench", "run", "--password-file", "x"],
                "the following required arguments were not provided: <URL|--target <URL>> \
                 (see smbench run --help)",
            ),
        ] {
            assert_eq!(message(args), expected);
        }
    }

    #[test]
    fn a_url_where_a_file_belongs_is_refused_without_its_password() {
        let url = "smb://ann:hunter2@host/share";
        for args in [
            &["smbench", "run", "--profile", url][..],
            &["smbench", "run", "--json", url],
            &["smbench", "run", "--csv", url],
            &["smbench", "run", "--hlog", url],
            &["smbench", "profiles", "show", url],
        ] {
            let message = message(args);
            assert!(message.contains("invalid value 'smb://...'"), "{message}");
            let expected = ": expected a file, not the URL of a server";
            assert!(message.ends_with(expected), "{message}");
        }
        assert_eq!(
            message(&["smbench", "run", "--hlog", "-"]),
            "invalid value '-' for '--hlog <FILE>': expected a file, not standard output"
        );
    }

    #[test]
    fn the_help_names_the_defaults_that_plans_have() {
        let CliCommand::Run(args) = Cli::try_parse_from(["smbench", "run"]).unwrap().command else {
            panic!("run is run");
        };
        let request = RunRequest::resolve_all(&args).unwrap().remove(0);
        let Plan { work, limits, .. } = request.draft;
        let clients: Vec<_> = work.load_points.iter().map(u32::to_string).collect();
        let mut command = Cli::command();
        let run = command.find_subcommand_mut("run").unwrap();
        let help = run.render_long_help().to_string();
        let words: Vec<_> = help.split_whitespace().collect();
        let help = words.join(" ");
        for (option, default) in [
            ("--profile", work.profile),
            ("--clients", clients.join(",")),
            ("--outstanding", work.outstanding.to_string()),
            ("--duration", format_duration(work.duration)),
            ("--ramp-up", format_duration(work.ramp_up)),
            ("--ramp-down", format_duration(work.ramp_down)),
            ("--repeat", work.repeat.to_string()),
            ("--seed", work.seed.to_string()),
            ("--connect-timeout", format_duration(limits.connect)),
            ("--setup-timeout", format_duration(limits.setup)),
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
    fn waits_can_be_shortened_wherever_a_server_is_asked() {
        const URL: &str = "smb://ann@host/share";
        for command in [
            &["run", "--target", URL][..],
            &["plan", "--target", URL],
            &["fileio", "run", "--target", URL],
            &["probe", URL],
            &["cleanup", URL],
            &["suite", "x.toml"],
        ] {
            let limits = ["--connect-timeout=2s", "--setup-timeout=3s"];
            let args = [&["smbench"], command, &limits].concat();
            let parsed = Cli::try_parse_from(&args).unwrap().command;
            if let CliCommand::Run(args) = parsed {
                let request = RunRequest::resolve_all(&args).unwrap().remove(0);
                let plan = request.draft;
                assert_eq!(plan.limits.connect, Duration::from_secs(2));
                assert_eq!(plan.limits.setup, Duration::from_secs(3));
            }
        }
    }

    #[test]
    fn a_server_is_named_in_either_place() {
        let url = |args: &[&str]| match Cli::try_parse_from(args).unwrap().command {
            CliCommand::Run(args) => args.server.target.url().map(str::to_owned),
            other => panic!("{other:?}"),
        };
        assert_eq!(url(&["smbench", "run"]), None);
        for args in [
            &["smbench", "run", "//host/share"][..],
            &["smbench", "run", "-c", "4", "//host/share", "-d", "3s"],
            &["smbench", "run", "-t", "//host/share"],
            &["smbench", "run", "--password-file", "x", "//host/share"],
            &[
                "smbench",
                "run",
                "--password-file",
                "x",
                "--target=//host/share",
            ],
        ] {
            assert_eq!(url(args).as_deref(), Some("//host/share"), "{args:?}");
        }
        let both = message(&["smbench", "run", "//host/share", "-t", "//host/share"]);
        assert!(both.contains("cannot be used with"), "{both}");
    }

    #[test]
    fn fileio_takes_its_command_where_sysbench_does() {
        let order = |words: &str| {
            let words = words.split(' ').map(OsString::from).collect();
            in_order(words).join(&OsString::from(" "))
        };
        for (written, ordered) in [
            ("x fileio --threads=4 run", "x fileio run --threads=4"),
            (
                "x fileio --a --b prepare --c",
                "x fileio prepare --a --b --c",
            ),
            ("x fileio cleanup --a", "x fileio cleanup --a"),
            ("x fileio --threads=4", "x fileio --threads=4"),
            ("x suite --a run", "x suite --a run"),
        ] {
            assert_eq!(order(written), ordered);
        }
    }

    #[test]
    fn a_misplaced_url_is_not_repeated() {
        for args in [
            &["smbench", "run", "--clients", "smb://ann:pa ss@host/share"][..],
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
        for unc in ["//ann:pa ss@host/share", r"\\ann:pa ss@host\share"] {
            let message = message(&["smbench", "run", "--out", unc]);
            assert!(message.contains("..."), "{message}");
            assert!(!message.contains("pa ss"), "{message}");
        }
    }
}
