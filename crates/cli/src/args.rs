//! The command line as it was written.
//!
//! Only the syntax is checked here. One place decides what the options mean:
//! [`crate::request`].

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

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    a condition of compare --fail-if failed
  2    the command line or a given file makes no sense, or import would overwrite a file
  3    the set-up failed: server, account, share, space on it, or output that cannot be written
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
    command: CliCommand,
}

/// What to do.
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum CliCommand {
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
    /// Measure what this machine can generate at most, for results to refer to
    Calibrate(CalibrateArgs),
    /// Make profiles of other programs' files
    #[command(subcommand)]
    Import(ImportCommand),
    /// Do what sysbench fileio does, with its options, on a share
    #[command(subcommand)]
    Fileio(FileioCommand),
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

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Result document, as `smbench run` writes it, or a folder of them
    #[arg(value_name = "RESULT|STUDY", value_parser = paths())]
    pub(crate) result: PathBuf,
    /// Write its load points as CSV; - for standard output, in place of the table
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) csv: Option<Destination>,
    /// Write all load points as Iometer's result file, with its columns
    #[arg(long, value_name = "FILE", value_parser = files())]
    pub(crate) csv_iometer: Option<PathBuf>,
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

/// Reads the command line of this process. Ends the process if only help was asked
/// for.
pub(crate) fn parse() -> Result<CliCommand, Failure> {
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
        let help = run.render_help().to_string();
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
}
