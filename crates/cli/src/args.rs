//! The command line as it was written.
//!
//! Only the syntax is checked here. One place decides what the options mean:
//! [`crate::requests`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use clap::error::ErrorKind;
use clap::{
    ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use clap_complete::Shell;

mod after;
mod calibrate;
mod checkup;
mod compare;
mod document;
mod examples;
mod failover;
mod fileio;
mod find;
mod gate;
mod headings;
mod import;
mod lab;
mod load;
mod merge;
mod message;
mod run;
mod server;
mod stages;
mod suite;
mod sysbench;
mod tree;
mod value;

use crate::failure::Failure;
use crate::output::complain;
use message::one_line;
use sysbench::Translated;
use value::{destinations, files, parse_profile, paths};

pub(crate) use after::VerifyAfterArgs;
pub(crate) use calibrate::CalibrateArgs;
pub(crate) use checkup::CheckupArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use fileio::{FileioArgs, FileioCommand, RandType, RandomArgs, TestArgs};
pub(crate) use find::{FindArgs, FindCommand, FindLogonsArgs, FindSessionsArgs};
pub(crate) use gate::{Candidate, GateArgs};
pub(crate) use import::{ImportArgs, ImportCommand, PcapArgs};
pub(crate) use lab::{EmbeddedArgs, LabCommand, SambaArgs};
pub(crate) use merge::MergeArgs;
pub(crate) use run::{OutputArgs, RunArgs};
pub(crate) use server::{Auth, CounterArgs, LoginArgs, ProbeArgs, SecretArgs, ServerArgs, UrlArgs};
pub(crate) use smbench_runner::calibration::CalibrationSource;
pub(crate) use smbench_runner::command_line::without_urls;
pub(crate) use suite::{SuiteArgs, SuitesCommand};
pub(crate) use tree::{ShapeArgs, TreeArgs, TreeCommand, TreePrepareArgs};
pub(crate) use value::{Destination, is_stdout_taken};

/// What a report of a bug needs.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit    ",
    env!("SMBENCH_BUILT_FROM"),
    "\ntarget    ",
    env!("SMBENCH_BUILT_FOR"),
    "\nfeatures  ",
    cfg_select! {
        feature = "smb-rs" => { "smb-rs" }
        _ => { "none" }
    },
);

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    a condition of --fail-if failed
  2    invalid command line, profile or result file, or import would overwrite a file
  3    setup failed (server, login, share, free space or output folder)
  4    the run was aborted, a load point is not valid, or the rate was not reached
  125  gate: it can neither pass nor fail
  130  interrupted";

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
#[command(version, long_version = LONG_VERSION, max_term_width = 100, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run a benchmark against a server
    #[command(after_help = examples::RUN, after_long_help = format!("{}\n\n{EXIT_CODES}", examples::RUN))]
    Run(Box<RunArgs>),
    /// Find out in two minutes what is slow on a server
    #[command(after_help = checkup::EXAMPLES)]
    Checkup(Box<CheckupArgs>),
    /// Find the highest rate, and the most clients or sessions, that a server takes
    #[command(subcommand)]
    Find(FindCommand),
    /// Show what `run` would do, without connecting
    #[command(after_help = examples::PLAN)]
    Plan(Box<RunArgs>),
    /// List the built-in profiles, or show one
    Profiles {
        #[command(subcommand)]
        command: Option<ProfilesCommand>,
    },
    /// Benchmark several servers or settings and compare them
    #[command(after_help = format!("{}\n\n{}", examples::SUITE, suite::EXIT_CODES))]
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
    /// Keep a tree of directories and files on a share
    #[command(subcommand)]
    Tree(TreeCommand),
    /// Show what a server supports (dialects, ciphers, limits); writes a small test file
    #[command(after_help = examples::PROBE)]
    Probe(ProbeArgs),
    /// Show a saved result or study
    #[command(after_help = examples::SHOW)]
    Show(ShowArgs),
    /// Compare results with a baseline
    #[command(after_help = compare::EXAMPLES)]
    Compare(CompareArgs),
    /// Judge a build or a server by a baseline, for example in git bisect run
    #[command(after_help = gate::EXAMPLES, override_usage = gate::USAGE)]
    Gate(Box<GateArgs>),
    /// Join the results of the parts of one run
    #[command(after_help = merge::EXAMPLES)]
    Merge(MergeArgs),
    /// Write a report (HTML, Markdown, CSV, plots)
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Delete files that a killed run left on a share
    Cleanup(ProbeArgs),
    /// Check after a crash that a server has all data that it promised
    #[command(after_help = after::EXAMPLES)]
    VerifyAfter(VerifyAfterArgs),
    /// Start a temporary SMB server on this machine
    #[command(subcommand, after_help = examples::LAB)]
    Lab(LabCommand),
    /// Print a completion script for a shell
    Completions {
        /// Shell that reads the script
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the JSON Schema of results, suites or profiles
    Schema {
        /// Kind of file
        #[arg(value_enum, value_name = "KIND")]
        of: SchemaOf,
    },
    /// Write the man pages to a folder
    #[command(hide = true)]
    Man {
        /// Folder for the pages
        #[arg(value_name = "DIR", value_parser = paths())]
        folder: PathBuf,
    },
}

impl CliCommand {
    /// Returns the command without what it would write or show: another host does that.
    pub(crate) fn without_output(mut self) -> Self {
        let run = |args: &mut RunArgs| {
            args.fail_if.clear();
            (args.abort_on_fail, args.junit, args.metrics, args.live) = (None, None, None, false);
            args.output.quieten();
        };
        match &mut self {
            Self::Run(args) => run(args),
            Self::Find(FindCommand::Rate(args) | FindCommand::Clients(args)) => run(&mut args.run),
            Self::Find(FindCommand::Logons(args)) => args.output.quieten(),
            Self::Find(FindCommand::Sessions(args)) => args.output.quieten(),
            Self::Fileio(FileioCommand::Run(args)) => args.output.quieten(),
            _ => {}
        }
        self
    }

    /// Returns whether the command can use a server, and names none.
    fn lacks_server(&self) -> bool {
        let server = match self {
            Self::Run(args) | Self::Plan(args) => &args.server,
            Self::Find(command) => command.server(),
            Self::Fileio(command) => &command.args().server,
            _ => return false,
        };
        server.target.url().is_none()
    }
}

/// The kinds of files that have a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaOf {
    /// Result document of a run
    Result,
    /// Suite, in TOML
    Suite,
    /// Profile, in TOML
    Profile,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesCommand {
    /// Print a profile as a template
    Show {
        /// Built-in profile or .toml file, or trace:FOLDER, whose plan is printed
        #[arg(value_name = "NAME|FILE", value_parser = parse_profile)]
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Result document of `smbench run`, or the folder of a study or of an imported capture
    #[arg(value_name = "RESULT|STUDY", value_parser = paths())]
    pub(crate) result: PathBuf,
    /// Print all tables: CPU use, every percentile, the operations at the peak
    #[arg(long)]
    pub(crate) details: bool,
    /// Write the load points as CSV to FILE; - prints them instead of the table
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) csv: Option<Destination>,
    /// Write the summary, or the tables of a study, as Markdown to FILE; - prints it instead
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) markdown: Option<Destination>,
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

/// Returns the completion script of a shell.
pub(crate) fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "smbench", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Writes a man page for each command to a folder.
pub(crate) fn man_pages(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command(), folder)
}

/// The variable with the URL of a server for commands that do not name one.
pub(crate) const TARGET_VARIABLE: &str = "SMBENCH_TARGET";

/// Reads these words, of which the first is the name of the program. Ends the process if only
/// help was asked for.
pub(crate) fn parse_words(words: Vec<OsString>) -> Result<CliCommand, Failure> {
    let Translated { words, note } = sysbench::translated(words)?;
    if let Some(note) = note {
        complain(note);
    }
    let target = env::var_os(TARGET_VARIABLE);
    let is_empty = target.as_ref().is_some_and(|target| target.is_empty());
    match parse_with_target(words, target) {
        // As of a secret of a CI system that does not exist.
        Ok(cli) if is_empty && cli.command.lacks_server() => Err(Failure::Usage(format!(
            "{TARGET_VARIABLE} is empty: set it to the URL of a server, or unset it"
        ))),
        Ok(cli) => Ok(cli.command),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
            _ => Err(Failure::Usage(one_line(&error, &Cli::command()))),
        },
    }
}

/// Reads these words like [`parse_words`]. Prints no help: the first host prints it.
pub(crate) fn parse_quietly(words: Vec<OsString>) -> Result<CliCommand, Failure> {
    let words = sysbench::translated(words)?.words;
    let parsed = parse_with_target(words, env::var_os(TARGET_VARIABLE));
    let parsed = parsed.map_err(|error| Failure::Usage(error.kind().to_string()))?;
    Ok(parsed.command)
}

/// Parses a command line. A switch may be given twice.
fn parse(words: &[OsString]) -> Result<Cli, clap::Error> {
    fn with_switches(command: clap::Command) -> clap::Command {
        let command = command.mut_subcommands(with_switches);
        command.mut_args(|arg| match arg.get_action() {
            ArgAction::SetTrue => {
                let itself = arg.get_id().clone();
                arg.overrides_with(itself)
            }
            _ => arg,
        })
    }
    let mut command = with_switches(Cli::command());
    let mut matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Parses a command line. A run without a server gets the one of the environment.
fn parse_with_target(
    mut words: Vec<OsString>,
    target: Option<OsString>,
) -> Result<Cli, clap::Error> {
    let parsed = parse(&words);
    let Some(target) = target.filter(|target| !target.is_empty()) else {
        return parsed;
    };
    let lacks_server = match &parsed {
        Ok(cli) => cli.command.lacks_server(),
        // Other options may need a server.
        Err(error) => error.kind() == ErrorKind::MissingRequiredArgument,
    };
    // After the command, which `fileio`, `find` and `tree` have two words of.
    let command = words.get(1).and_then(|word| word.to_str());
    let (place, option) = match command {
        Some("run" | "plan") => (2, "--target="),
        Some("fileio" | "find") => (3, "--target="),
        // They have the URL as an argument only.
        Some("probe" | "cleanup" | "checkup" | "verify-after") => (2, ""),
        Some("tree") => (3, ""),
        _ => return parsed,
    };
    if !lacks_server || words.len() < place {
        return parsed;
    }
    let mut option = OsString::from(option);
    option.push(target);
    words.insert(place, option);
    parse(&words)
}

#[cfg(test)]
mod tests;
