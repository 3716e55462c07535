//! `smbench suite` and `smbench suites`: compares several servers, or settings of a server.
//! Not here: what a suite is, and how it is measured ([`smbench_runner::suite`]).

use std::path::{Path, PathBuf};

use smbench_engine::Cancel;
use smbench_report::{LoadError, Study};

use crate::args::{CalibrationSource, SuiteArgs, SuitesCommand};
use crate::calibrate;
use crate::failure::{Exit, Failure};
use crate::hosts::Hosts;
use crate::output::{MessageLines, complain, print};
use crate::progress::{ProgressLine, Visibility};
use crate::requests::{SuiteAccounts, counters_of_all};
use crate::signals;
use crate::study;
use crate::suite::{self, Control, Folder, Runner, Source, Suite};
use crate::verdict::MissedRate;

/// Default parent folder of studies.
const RESULTS: &str = "smbench-results";

/// Runs a suite, or its remaining load points.
pub(crate) fn suite(args: &SuiteArgs, hosts: &Hosts) -> Result<Exit, Failure> {
    if args.list {
        print(&suite::list()?)?;
        return Ok(Exit::Done);
    }
    let source = match &args.suite {
        Some(name) => Source::load(name)?,
        None => Source::of_servers(&args.servers.servers),
    };
    let mut options = args.options();
    options.run.generator = counters_of_all(&args.counters)?.or(options.run.generator);
    let mut suite = Suite::resolve(&source, &options, &SuiteAccounts)?;
    if !matches!(hosts, Hosts::Alone) {
        suite.check_servers()?;
    }
    if let Some(follower) = hosts.follower() {
        let plans = suite.plans(follower.send_password())?;
        return follower.follow(plans, &MessageLines, &signals::cancel_on_interrupt);
    }
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| default_folder(&suite, args));
    // Asked for before signals are caught, so that Ctrl-C at the prompt just ends the
    // program.
    suite.ask()?;
    let mut folder = Folder::open(&out, &mut suite)?;
    let visibility = Visibility::unless(args.quiet);
    let line = ProgressLine::new(visibility);
    let cancel = Cancel::default();
    let remedy = "; the same command continues where it stopped, and removes what is left";
    let unsaved = signals::stop_on_interrupt(&cancel, &line, remedy.to_owned())?;
    // What one machine can do says nothing about several.
    let kept = match hosts {
        Hosts::Alone => calibrate::keep(args.calibration.as_ref(), &out, &line, &cancel),
        Hosts::First(..) | Hosts::Other(_) => Ok(()),
    };
    if let Err(failure) = kept {
        // The user did not ask for it, so the study continues without it.
        match args.calibration {
            None => complain(format_args!(
                "{failure}; the study continues without a calibration"
            )),
            Some(_) => return Err(failure),
        }
    }
    let control = Control {
        observer: &line,
        hosts,
        cancel: &cancel,
        unsaved: &unsaved,
        points: line.point_lines(visibility),
        missed_rate: MissedRate::given(args.load.allow_missed_rate),
    };
    let exit = Runner::new(&suite, &mut folder, control).run()?;
    conclude(&out, args.calibration.as_ref())?;
    Ok(exit)
}

/// Prints the results of a study so far, and its folder, and writes its report.
fn conclude(folder: &Path, calibration: Option<&CalibrationSource>) -> Result<(), Failure> {
    let found = match calibration {
        Some(CalibrationSource::Off) => study::uncalibrated(folder)?,
        Some(CalibrationSource::File(_)) => with_messages(folder, "")?,
        None => with_messages(folder, "; remove that file, and the suite measures anew")?,
    };
    print(&format!(
        "{}\nstudy     {}\n",
        study::text(&found),
        folder.display()
    ))?;
    print(&study::publish(&found, &folder.join("report"))?)
}

/// Reads a study. Unreadable files that do not matter cause a message with `remedy`.
fn with_messages(folder: &Path, remedy: &str) -> Result<Study, LoadError> {
    let study = Study::load(folder)?;
    study::left_out(&study, remedy).iter().for_each(complain);
    Ok(study)
}

/// Lists the built-in suites, or prints one.
pub(crate) fn suites(command: Option<SuitesCommand>) -> Result<Exit, Failure> {
    match command {
        None => print(&suite::list()?)?,
        Some(SuitesCommand::Show { name }) => print(&suite::text(&name)?)?,
    }
    Ok(Exit::Done)
}

/// Returns the default folder. It is the same for the same command, so that the
/// command finds the study that it began.
fn default_folder(suite: &Suite, args: &SuiteArgs) -> PathBuf {
    let plain = |c: char| {
        if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') {
            c
        } else {
            '-'
        }
    };
    let name: String = suite.study.name.chars().take(100).map(plain).collect();
    let quick = if args.load.quick { "-quick" } else { "" };
    Path::new(RESULTS).join(format!("{}{quick}", name.trim_start_matches('.')))
}

#[cfg(test)]
mod tests;
