//! `smbench run`: runs the plan of each profile, then saves and prints the results.
//!
//! Invariants: every finished load point is on disk before the next step that can
//! fail. If it cannot be written there, it goes to standard output. If one of
//! several profiles cannot run, and the reason is the profile and not the server,
//! the other profiles still run.

use std::fmt::Display;
use std::path::Path;
use std::time::SystemTime;

use smbench_engine::Cancel;
use smbench_engine::record::RunRecord;
use smbench_engine::run;
use smbench_report::doc::OutcomeDoc;
use smbench_report::{RunDoc, render};

use crate::args::{Destination, OutputArgs, RunArgs, without_urls};
use crate::embedded::Embedded;
use crate::failure::{Exit, Failure};
use crate::output::{complain, print};
use crate::progress::{Line, Visibility};
use crate::request::{Request, Server, document};
use crate::results::{Results, save_csv, save_csv_iometer};
use crate::signals::{self, cleanup_command, left_behind};
use crate::unsaved::Unsaved;
use crate::verdict::{ClientLimited, MissedRate, judge};
use crate::watch::{Interim, Keep, Log, Watch};

pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let requests = Request::resolve_all(args)?;
    check_outputs(requests.len(), &args.output)?;
    let remedy = match requests[0].server {
        Server::Embedded => String::new(),
        Server::Given(_) => left_behind(&requests[0].plan.sessions.target.redacted()),
    };
    let telling = Telling {
        remedy,
        interim: None,
        render: &render,
    };
    carry_out(requests, &args.output, telling)
}

/// Fails if several results would be written to one file.
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

/// Messages about a run.
pub(crate) struct Telling<'a> {
    /// Advice for a user who leaves at once, as the tail of a sentence.
    pub(crate) remedy: String,
    /// Output during the first run.
    pub(crate) interim: Option<Interim<'a>>,
    /// Function that formats the document for printing.
    pub(crate) render: Render<'a>,
}

/// Function that formats a document.
type Render<'a> = &'a dyn Fn(&RunDoc) -> String;

/// Runs all requests one after the other on one server, then saves and prints the
/// results.
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
        // Asked for before signals are caught, so that Ctrl-C at the prompt just
        // ends the program.
        let password = sources.password(&first.plan.sessions.target)?;
        for request in &mut requests {
            request.plan.sessions.target.password = password.clone();
        }
    }
    let line = Line::new(match output.quiet {
        true => Visibility::Hidden,
        false => Visibility::Terminal,
    });
    let cancel = Cancel::default();
    let unsaved = signals::stop_on_interrupt(&cancel, &line, remedy)?;
    let (mut docs, mut worst) = (Vec::new(), Exit::Done);
    let are_several = requests.len() > 1;
    for mut request in requests {
        if cancel.is_cancelled() {
            if docs.is_empty() {
                return Err(Failure::Interrupted);
            }
            // This profile was requested, too, but will not run.
            worst = Exit::Interrupted;
            break;
        }
        if !docs.is_empty() {
            print("\n")?;
        }
        let manner = Manner {
            output,
            render,
            name: are_several.then(|| request.plan.work.profile.clone()),
            line: &line,
            unsaved: &unsaved,
        };
        let ran = run_one(&mut request, &manner, &cancel, interim.take());
        let ended = match ran {
            Ok(Ran { doc, ended }) => {
                docs.push(doc);
                let path = output.csv_iometer.as_deref();
                let saved = path.map_or(Ok(()), |path| save_csv_iometer(&docs, path));
                match (ended, saved) {
                    (Ok(Exit::Done), saved) => saved.map(|()| Exit::Done),
                    (ended, Ok(())) => ended,
                    // The run's own verdict has priority over problems with its
                    // files.
                    (ended, Err(failure)) => {
                        manner.complain(failure);
                        ended
                    }
                }
            }
            Err(failure) if failure.is_of_profile() => Err(failure),
            // The next profile would fail in the same way, after the same time, or
            // lock the account.
            Err(failure) => return Err(failure),
        };
        let exit = match ended {
            Ok(exit) => exit,
            // An error in one profile does not prevent the others.
            Err(failure) if are_several => {
                manner.complain(without_urls(failure.to_string()));
                failure.exit()
            }
            Err(failure) => return Err(failure),
        };
        worst = worst.max(exit);
    }
    Ok(worst)
}

/// Output options of a run, and the name for its messages.
struct Manner<'a> {
    output: &'a OutputArgs,
    render: Render<'a>,
    /// Name of the profile, if there are several.
    name: Option<String>,
    line: &'a Line,
    unsaved: &'a Unsaved,
}

impl Manner<'_> {
    /// Prints an error, with the profile's name if there are several.
    fn complain(&self, message: impl Display) {
        match &self.name {
            Some(name) => complain(format_args!("profile {name}: {message}")),
            None => complain(message),
        }
    }
}

/// Result of a run, and how it ended.
struct Ran {
    doc: RunDoc,
    ended: Result<Exit, Failure>,
}

/// Runs one profile; fails if nothing was measured.
fn run_one<'a>(
    request: &mut Request,
    manner: &Manner<'a>,
    cancel: &Cancel,
    interim: Option<Interim<'a>>,
) -> Result<Ran, Failure> {
    let &Manner {
        output,
        line,
        unsaved,
        ..
    } = manner;
    let mut results = Results::prepare(output, &request.plan.work.profile, SystemTime::now())?;
    run::check_server_cpu(&request.plan.generator.server_cpu)?;
    let server = match request.server {
        Server::Given(_) => None,
        Server::Embedded => {
            let (server, target) = Embedded::start()?;
            request.plan.sessions.target = target;
            Some(server)
        }
    };
    let log = output.hlog.as_deref().map(Log::create).transpose()?;
    let watch = Watch::new(line, &mut results, log, request.disclosure(), unsaved);
    let mut watch = watch.telling(interim);
    let record = run::execute(&request.plan, &mut watch, cancel);
    line.clear();
    drop(server);
    let logged = watch.close();
    conclude(request, &record?, &mut results, manner, logged)
}

impl Keep for &mut Results {
    fn save(&mut self, doc: RunDoc) -> Result<(), Failure> {
        Results::save(self, &doc)
    }
}

/// Saves and prints the result, and reports problems with it.
fn conclude(
    request: &Request,
    record: &RunRecord,
    results: &mut Results,
    manner: &Manner<'_>,
    logged: Result<(), Failure>,
) -> Result<Ran, Failure> {
    let output = manner.output;
    let doc = document(record, request.disclosure());
    let cleaned_up = match (&doc.leftover, &request.server) {
        (Some(leftover), Server::Given(_)) => {
            manner.complain(format_args!(
                "{leftover}; remove it with: {}",
                cleanup_command(&request.plan.sessions.target.redacted())
            ));
            Exit::Setup
        }
        // Files on an embedded server are removed together with the server.
        _ => Exit::Done,
    };
    if doc.outcome == OutcomeDoc::Interrupted && !doc.is_measured() {
        return Err(Failure::Interrupted);
    }
    manner.unsaved.begin();
    let saved = results.save(&doc);
    manner.unsaved.end();
    let path = results.path().filter(|_| saved.is_ok());
    let written = publish(&doc, path, output, manner.render);
    let strict = || ClientLimited::given(output.strict).judge(&doc);
    let at_rate = || MissedRate::given(output.allow_missed_rate).judge(&doc);
    let exit = match judge(&doc).or_else(at_rate).or_else(strict) {
        Some((exit, reason)) => {
            if let Some(reason) = reason {
                manner.complain(reason);
            }
            exit.max(cleaned_up)
        }
        None => cleaned_up,
    };
    let ended = match (exit, saved.and(written).and(logged)) {
        (Exit::Done, outcome) => outcome.map(|()| exit),
        (exit, Ok(())) => Ok(exit),
        // The run's own verdict has priority over problems with its files.
        (exit, Err(failure)) => {
            manner.complain(failure);
            Ok(exit)
        }
    };
    Ok(Ran { doc, ended })
}

/// Writes the result to standard output and to the file of `--csv`.
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
