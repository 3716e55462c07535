//! `smbench run`: sets up, runs the plan, keeps and prints what was measured.
//!
//! Invariant: every finished load point is on disk before anything else that
//! can fail is tried, and on standard output if the disk will not have it.

use std::path::Path;
use std::time::SystemTime;

use smbench_engine::Cancel;
use smbench_engine::record::RunRecord;
use smbench_engine::run;
use smbench_report::doc::OutcomeDoc;
use smbench_report::{RunDoc, render};

use crate::args::{Destination, OutputArgs, RunArgs};
use crate::embedded::Embedded;
use crate::failure::{Exit, Failure};
use crate::output::{complain, print};
use crate::progress::{Line, Visibility};
use crate::request::{Request, Server};
use crate::results::{Results, save_csv};
use crate::signals;
use crate::verdict::{judge, strictly};
use crate::watch::{Keep, Log, Watch};

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
    let remedy = match request.server {
        Server::Embedded => String::new(),
        Server::Given(_) => format!(
            "; files may be left on the share, remove them with: {}",
            cleanup_command(&request)
        ),
    };
    signals::stop_on_interrupt(&cancel, &line, remedy)?;
    let mut results = Results::prepare(&args.output, &request.plan.profile, SystemTime::now())?;
    let server = match request.server {
        Server::Given(_) => None,
        Server::Embedded => {
            let (server, target) = Embedded::start()?;
            request.plan.target = target;
            Some(server)
        }
    };
    let log = args.output.hlog.as_deref().map(Log::create).transpose()?;
    let mut watch = Watch::new(&line, &mut results, log, request.disclosure());
    let record = run::execute(&request.plan, &mut watch, &cancel);
    line.clear();
    drop(server);
    let logged = watch.close();
    conclude(&request, &record?, &mut results, &args.output, logged)
}

impl Keep for &mut Results {
    fn save(&mut self, doc: RunDoc) -> Result<(), Failure> {
        Results::save(self, &doc)
    }
}

fn cleanup_command(request: &Request) -> String {
    format!("smbench cleanup '{}'", request.plan.target.redacted())
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
    let strict = || output.strict.then(|| strictly(&doc)).flatten();
    let exit = match judge(&doc).or_else(strict) {
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
