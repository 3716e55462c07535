//! `smbench run`: sets up, runs the plan, keeps and prints what was measured.
//!
//! Invariant: every finished load point is on disk before anything else that
//! can fail is tried, and on standard output if the disk will not have it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use smbench_engine::Cancel;
use smbench_engine::record::RunRecord;
use smbench_engine::run::{self, MeasuredInterval, Observer, Progress};
use smbench_report::doc::OutcomeDoc;
use smbench_report::units::counted;
use smbench_report::{Disclosure, IntervalLog, RunDoc, render};

use crate::args::{Destination, OutputArgs, RunArgs};
use crate::embedded::Embedded;
use crate::failure::{Exit, Failure};
use crate::output::{complain, print};
use crate::progress::{Line, Visibility};
use crate::request::{Request, Server};
use crate::results::{Results, save_csv};
use crate::signals;

pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let mut request = Request::resolve(args)?;
    if let Server::Given(sources) = &request.server {
        // Asked for before signals are caught: Ctrl-C at the prompt just ends.
        request.plan.target.password = sources.password(&request.plan.target)?;
    }
    let line = Line::new(match args.output.quiet {
        true => Visibility::Hidden,
        false => Visibility::Terminal,
    });
    let cancel = Cancel::default();
    stop_on_signals(&request, &cancel, &line)?;
    let mut results = Results::prepare(&args.output, &request.plan.profile, SystemTime::now())?;
    let server = match request.server {
        Server::Given(_) => None,
        Server::Embedded => {
            let (server, target) = Embedded::start()?;
            request.plan.target = target;
            Some(server)
        }
    };
    let mut watch = Watch {
        line: &line,
        results: &mut results,
        log: args.output.hlog.as_deref().map(Log::create).transpose()?,
        disclosure: request.disclosure(),
        trouble: Trouble::None,
    };
    let record = run::execute(&request.plan, &mut watch, &cancel);
    line.clear();
    drop(server);
    let logged = watch.log.map_or(Ok(()), Log::close);
    conclude(&request, &record?, &mut results, &args.output, logged)
}

/// The first signal ends the run in good order, the second at once.
fn stop_on_signals(request: &Request, cancel: &Cancel, line: &Line) -> Result<(), Failure> {
    let remedy = match request.server {
        Server::Embedded => String::new(),
        Server::Given(_) => format!(
            "; files may be left on the share, remove them with: {}",
            cleanup_command(request)
        ),
    };
    let (cancel, line) = (cancel.clone(), line.clone());
    signals::on_interrupt(move |times| {
        if times == 1 {
            cancel.cancel();
            line.suspended(|| {
                complain(
                    "stopping: waiting for requests in flight, then cleaning up; press Ctrl-C \
                     again to leave at once",
                );
            });
        } else {
            line.clear();
            complain(format_args!("left at once{remedy}"));
            std::process::exit(Exit::Interrupted as i32);
        }
    })
}

fn cleanup_command(request: &Request) -> String {
    format!("smbench cleanup '{}'", request.plan.target.redacted())
}

/// Whether writing has failed, which is said once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trouble {
    None,
    Told,
}

/// The interval log that was asked for.
struct Log {
    path: PathBuf,
    log: IntervalLog<File>,
    written: io::Result<()>,
}

impl Log {
    fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(Failure::write(path))?;
        Ok(Self {
            path: path.to_owned(),
            log: IntervalLog::new(file),
            written: Ok(()),
        })
    }

    /// Adds an interval, unless one before it could not be written: a log has no
    /// gaps.
    fn add(&mut self, interval: &MeasuredInterval<'_>) {
        if self.written.is_ok() {
            self.written = self.log.write(interval);
        }
    }

    fn close(self) -> Result<(), Failure> {
        self.written.map_err(Failure::write(&self.path))
    }
}

/// Shows progress and saves each load point.
struct Watch<'a> {
    line: &'a Line,
    results: &'a mut Results,
    log: Option<Log>,
    disclosure: Disclosure,
    trouble: Trouble,
}

impl Observer for Watch<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.line.show(progress);
    }

    fn interval_ended(&mut self, interval: &MeasuredInterval<'_>) {
        if let Some(log) = &mut self.log {
            log.add(interval);
        }
    }

    fn load_point_ended(&mut self, record: &RunRecord) {
        let doc = RunDoc::from_record(record, self.disclosure.clone());
        if !doc.is_measured() {
            // The end of the run says what becomes of it.
            return;
        }
        if let (Err(failure), Trouble::None) = (self.results.save(&doc), self.trouble) {
            self.trouble = Trouble::Told;
            self.line.suspended(|| {
                complain(format_args!(
                    "{failure}; the run goes on, and writing is tried again"
                ));
            });
        }
    }
}

/// Saves and prints what was measured, and says what is wrong with it.
fn conclude(
    request: &Request,
    record: &RunRecord,
    results: &mut Results,
    output: &OutputArgs,
    logged: Result<(), Failure>,
) -> Result<Exit, Failure> {
    let doc = RunDoc::from_record(record, request.disclosure());
    if let (Some(leftover), Server::Given(_)) = (&doc.leftover, &request.server) {
        complain(format_args!(
            "{leftover}; remove it with: {}",
            cleanup_command(request)
        ));
    }
    if doc.outcome == OutcomeDoc::Interrupted && !doc.is_measured() {
        return Err(Failure::Interrupted);
    }
    let saved = results.save(&doc);
    let path = saved.is_ok().then(|| results.path());
    let written = publish(&doc, path, output);
    let exit = match judge(&doc).or_else(|| strictly(&doc, output)) {
        Some((exit, reason)) => {
            if let Some(reason) = reason {
                complain(reason);
            }
            exit
        }
        None => Exit::Done,
    };
    match (exit, saved.and(written).and(logged)) {
        (Exit::Done, outcome) => outcome.map(|()| exit),
        (exit, Ok(())) => Ok(exit),
        // The run's own verdict goes before trouble with its files.
        (exit, Err(failure)) => {
            complain(failure);
            Ok(exit)
        }
    }
}

/// Writes to standard output, and to `--csv`.
fn publish(doc: &RunDoc, path: Option<&Path>, output: &OutputArgs) -> Result<(), Failure> {
    let is_stdout = |to: &Option<Destination>| *to == Some(Destination::Stdout);
    if is_stdout(&output.json) {
        print(&doc.to_json())?;
    } else if !is_stdout(&output.csv) {
        let path = path.map(|path| format!("\nresult: {}\n", path.display()));
        print(&(render(doc) + &path.unwrap_or_default()))?;
    }
    match &output.csv {
        Some(to) => save_csv(doc, to),
        None => Ok(()),
    }
}

/// How a run that is valid ends where its generator must not be the limit.
fn strictly(doc: &RunDoc, output: &OutputArgs) -> Option<(Exit, Option<String>)> {
    if !output.strict {
        return None;
    }
    let mut limited = doc.load_points.iter().filter_map(|point| {
        let reason = point.generator.as_ref()?.reason.as_deref()?;
        Some((point.clients, reason))
    });
    let (clients, reason) = limited.next()?;
    let message = format!(
        "the generator was the limit at {} of {}, first at the one of {}: {reason}",
        1 + limited.count(),
        counted(doc.load_points.len() as u64, "load point"),
        counted(clients.into(), "client"),
    );
    Some((Exit::Invalid, Some(message)))
}

/// How a run that is not as it should be ends, and why; an interrupted one has
/// been told so.
fn judge(doc: &RunDoc) -> Option<(Exit, Option<String>)> {
    match doc.outcome {
        OutcomeDoc::Interrupted => return Some((Exit::Interrupted, None)),
        OutcomeDoc::Aborted => {
            let reason = doc.outcome_reason.as_deref().unwrap_or("no reason given");
            return Some((Exit::Invalid, Some(format!("run given up: {reason}"))));
        }
        OutcomeDoc::Complete => {}
    }
    let mut invalid = doc.load_points.iter().filter(|point| !point.valid);
    let first = invalid.next()?;
    let reason = first.invalid_reason.as_deref().unwrap_or("no reason given");
    let message = format!(
        "{} of {} not valid, first the one of {}: {reason}",
        1 + invalid.count(),
        counted(doc.load_points.len() as u64, "load point"),
        counted(first.clients.into(), "client"),
    );
    Some((Exit::Invalid, Some(message)))
}
