//! `smbench run`: sets up, runs the plan of each profile, keeps and prints what was
//! measured.
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
use crate::results::{Results, save_csv, save_csv_iometer};
use crate::signals;
use crate::verdict::{judge, strictly};
use crate::watch::{Interim, Keep, Log, Watch};

pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let requests = Request::resolve_all(args)?;
    check_outputs(requests.len(), &args.output)?;
    let remedy = match requests[0].server {
        Server::Embedded => String::new(),
        Server::Given(_) => format!(
            "; files may be left on the share, remove them with: {}",
            cleanup_command(&requests[0])
        ),
    };
    let telling = Telling {
        remedy,
        interim: None,
        render: &render,
    };
    carry_out(requests, &args.output, telling)
}

/// What goes to one place is of one result.
fn check_outputs(profiles: usize, output: &OutputArgs) -> Result<(), Failure> {
    let given = [
        ("--json", output.json.is_some()),
        ("--csv", output.csv.is_some()),
        ("--hlog", output.hlog.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) if profiles > 1 => Err(Failure::Usage(format!(
            "{name} is for one result, and there are {profiles} profiles: leave it out, each has a \
             document in the folder of --out"
        ))),
        _ => Ok(()),
    }
}

/// What is said of a run, and how.
pub(crate) struct Telling<'a> {
    /// What to do when the user leaves at once, as the tail of a sentence.
    pub(crate) remedy: String,
    /// What is said while the first one goes on.
    pub(crate) interim: Option<Interim<'a>>,
    /// What is printed of its document.
    pub(crate) render: Render<'a>,
}

/// Makes text of a document.
type Render<'a> = &'a dyn Fn(&RunDoc) -> String;

/// Runs what was asked for, one after the other on one server; keeps and prints
/// what was measured.
pub(crate) fn carry_out(
    mut requests: Vec<Request>,
    output: &OutputArgs,
    telling: Telling<'_>,
) -> Result<Exit, Failure> {
    let Telling {
        remedy,
        mut interim,
        render,
    } = telling;
    let first = &requests[0];
    if let Server::Given(sources) = &first.server {
        // Asked for before signals are caught: Ctrl-C at the prompt just ends.
        let password = sources.password(&first.plan.target)?;
        for request in &mut requests {
            request.plan.target.password = password.clone();
        }
    }
    let line = Line::new(match output.quiet {
        true => Visibility::Hidden,
        false => Visibility::Terminal,
    });
    let cancel = Cancel::default();
    signals::stop_on_interrupt(&cancel, &line, remedy)?;
    let (mut docs, mut worst) = (Vec::new(), Exit::Done);
    for mut request in requests {
        if cancel.is_cancelled() {
            break;
        }
        if !docs.is_empty() {
            print("\n")?;
        }
        let telling = (interim.take(), render);
        let (exit, doc) = run_one(&mut request, output, (&line, &cancel), telling)?;
        docs.push(doc);
        worst = worst.max(exit);
        if let Some(path) = &output.csv_iometer {
            save_csv_iometer(&docs, path)?;
        }
    }
    Ok(worst)
}

/// Runs one profile; how that ends, and what was measured.
fn run_one<'a>(
    request: &mut Request,
    output: &OutputArgs,
    (line, cancel): (&'a Line, &Cancel),
    (interim, render): (Option<Interim<'a>>, Render<'_>),
) -> Result<(Exit, RunDoc), Failure> {
    let mut results = Results::prepare(output, &request.plan.profile, SystemTime::now())?;
    let server = match request.server {
        Server::Given(_) => None,
        Server::Embedded => {
            let (server, target) = Embedded::start()?;
            request.plan.target = target;
            Some(server)
        }
    };
    let log = output.hlog.as_deref().map(Log::create).transpose()?;
    let mut watch = Watch::new(line, &mut results, log, request.disclosure()).telling(interim);
    let record = run::execute(&request.plan, &mut watch, cancel);
    line.clear();
    drop(server);
    let logged = watch.close();
    conclude(request, &record?, &mut results, (output, render), logged)
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
    (output, render): (&OutputArgs, Render<'_>),
    logged: Result<(), Failure>,
) -> Result<(Exit, RunDoc), Failure> {
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
    let written = publish(&doc, path, output, render);
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
        (Exit::Done, outcome) => outcome.map(|()| (exit, doc)),
        (exit, Ok(())) => Ok((exit, doc)),
        // The run's own verdict goes before trouble with its files.
        (exit, Err(failure)) => {
            complain(failure);
            Ok((exit, doc))
        }
    }
}

/// Writes to standard output, and to `--csv`.
fn publish(
    doc: &RunDoc,
    path: Option<&Path>,
    output: &OutputArgs,
    render: Render<'_>,
) -> Result<(), Failure> {
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
