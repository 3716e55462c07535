//! `smbench run`: runs the plan of each profile, then saves and prints the results.
//!
//! Invariants: every finished load point is on disk before the next step that can
//! fail. If it cannot be written there, it goes to standard output. If one of
//! several profiles cannot run, and the reason is the profile and not the server,
//! the other profiles still run.

mod conclusion;
mod context;
mod presentation;
mod publish;
mod state;

use std::time::SystemTime;

use humantime::format_rfc3339_seconds;
use smbench_engine::Cancel;
use smbench_engine::run;
use smbench_model::target::Target;
use smbench_report::doc::OutcomeDoc;
use smbench_report::text::interference;
use smbench_report::{Find, RunDoc};
use smbench_runner::run::{JobOutcome, RunJob};

use self::conclusion::conclude;
use self::context::{Ran, RunContext, title};
pub(crate) use self::presentation::{Detail, NextSteps, Presentation, remedy};
use crate::advice::prepare_command;
use crate::args::{OutputArgs, RunArgs};
use crate::conditions::{AbortReason, EndedBy, Gate, SUITE};
use crate::embedded::Embedded;
use crate::exporter::Exporter;
use crate::failure::{Exit, Failure};
use crate::hosts::Hosts;
use crate::junit::Junit;
use crate::live::LiveScreen;
use crate::output::{MessageLines, complain, print};
use crate::progress::{LineReport, ProgressLine, Visibility};
use crate::request::{RunRequest, RunServer};
use crate::requests;
use crate::results::{Results, check_writable, save_csv_iometer};
use crate::searching::loads::{among_populations, check_plan};
use crate::searching::{ProbeLines, Search, Searching};
use crate::signals;
use crate::time_left::TimeLeft;
use crate::unsaved::Unsaved;
use crate::watch::{IntervalReport, Log, RunPart};

pub(super) fn run(args: &RunArgs, hosts: &Hosts) -> Result<Exit, Failure> {
    carry_out_all(args, None, None, hosts)
}

/// Runs the plan of the options as a search: its probes are the load points. `population` is the
/// one whose rate is searched for, if the plan has several.
pub(super) fn search(
    args: &RunArgs,
    find: Find,
    population: Option<&str>,
    hosts: &Hosts,
) -> Result<Exit, Failure> {
    carry_out_all(args, Some(find), population, hosts)
}

fn carry_out_all(
    args: &RunArgs,
    find: Option<Find>,
    population: Option<&str>,
    hosts: &Hosts,
) -> Result<Exit, Failure> {
    let mut requests = requests::resolve_all(args)?;
    check_outputs(requests.len(), args)?;
    if args.state.is_some() {
        state::check(&requests[0], find.is_some(), hosts)?;
    }
    let draft = &mut requests[0].draft;
    let find = find
        .map(|find| among_populations(find, draft, population))
        .transpose()?;
    if let Some(find) = &find {
        check_plan(find.limits(), draft)?;
    }
    let junit = Junit::begin(args.junit.as_deref(), SUITE);
    let ended = run_requests(&requests, args, find, hosts, junit.as_ref());
    if let Some(junit) = junit {
        junit.save_failure(&ended)?;
    }
    ended
}

fn run_requests(
    requests: &[RunRequest],
    args: &RunArgs,
    find: Option<Find>,
    hosts: &Hosts,
    junit: Option<&Junit<'_>>,
) -> Result<Exit, Failure> {
    let screen = args.live.then(LiveScreen::on_terminal).transpose()?;
    let gate = Gate {
        thresholds: &args.fail_if,
        abort_after: args.abort_on_fail,
        junit,
    };
    let alone = if args.alone { requests.len() - 1 } else { 0 };
    for request in &requests[alone..] {
        gate.check(&request.draft)?.iter().for_each(complain);
    }
    if let (RunServer::Embedded, false) = (&requests[0].server, args.fail_if.is_empty()) {
        complain("no server is given: the conditions judge the built-in test server");
    }
    let exporter = args.metrics.map(Exporter::start);
    let interim = exporter.transpose()?.map(Exporter::into_report);
    let detail = Detail::of(args.details, args.output.quiet, requests.len());
    let presentation = Presentation {
        remedy: remedy(&requests[0]),
        show: detail.show(),
        gate,
        alone,
        points: Visibility::unless(args.output.quiet || args.live || find.is_some()),
        find: find.map(Search::Load),
        screen,
        hosts,
        next_steps: detail.next_steps(requests.len()),
        state: args.state.clone(),
    };
    carry_out(requests, &args.output, &presentation, interim)
}

/// Fails if several results would be written to one file.
fn check_outputs(profiles: usize, args: &RunArgs) -> Result<(), Failure> {
    let output = &args.output;
    let given = [
        ("--json", output.json.is_some()),
        ("--csv", output.csv.is_some()),
        ("--markdown", output.markdown.is_some()),
        ("--hlog", output.hlog.is_some()),
        ("--junit", args.junit.is_some()),
        ("--state", args.state.is_some()),
    ];
    args.junit.as_deref().map_or(Ok(()), check_writable)?;
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) if profiles > 1 => Err(Failure::Usage(format!(
            "{name} is for one result, and there are {profiles} profiles: leave it out, each has a \
             document in the folder of --out"
        ))),
        _ => Ok(()),
    }
}

/// Fails if stages are asked for in a search.
fn check_stages(requests: &[RunRequest], presentation: &Presentation<'_>) -> Result<(), Failure> {
    let mut works = requests.iter().map(|request| &request.draft.work);
    let staged = works.find(|work| work.stages.is_some());
    let Some(work) = staged.filter(|_| presentation.find.is_some()) else {
        return Ok(());
    };
    let mut populations = work.populations.iter();
    let own = populations.find(|population| population.stages.is_some());
    let what = own.and_then(|own| own.name.as_ref()).map_or_else(
        || "--stages, --soak".to_owned(),
        |name| format!("population {name} has stages"),
    );
    let why = format!("{what}: a search chooses its load points");
    Err(Failure::Usage(why))
}

/// Runs all requests one after the other on one server, then saves and prints the
/// results. `interim` has the intervals of all of them.
pub(crate) fn carry_out(
    requests: &[RunRequest],
    output: &OutputArgs,
    presentation: &Presentation<'_>,
    interim: Option<LineReport>,
) -> Result<Exit, Failure> {
    presentation.hosts.check_server(&requests[0])?;
    check_stages(requests, presentation)?;
    if let Some(follower) = presentation.hosts.follower() {
        let cancel = &signals::cancel_on_interrupt;
        return follower.follow_requests(requests, &MessageLines, cancel);
    }
    let target = match &requests[0].server {
        RunServer::Embedded => None,
        // Asked for before signals are caught, so that Ctrl-C at the prompt just
        // ends the program.
        RunServer::Given(server) => Some(server.with_password()?),
    };
    let begin_at = requests[0].draft.generator.begin_at;
    if let Some(at) = begin_at.filter(|at| !output.quiet && *at > SystemTime::now()) {
        complain(format_args!(
            "the load begins at {}",
            format_rfc3339_seconds(at)
        ));
    }
    let line = ProgressLine::new(Visibility::unless(output.quiet));
    let line = line.under(presentation.screen.clone());
    let left = match &presentation.find {
        Some(search) => TimeLeft::of_search(&requests[0].draft, search.probes_max()),
        None => TimeLeft::of_plans(requests.iter().map(|request| &request.draft)),
    };
    let cancel = Cancel::default();
    let unsaved = signals::stop_on_interrupt(&cancel, &line, presentation.remedy.clone())?;
    let runs = Runs {
        requests,
        output,
        presentation,
        target,
        line: &line,
        unsaved: &unsaved,
        cancel: &cancel,
        left,
        interim,
        docs: Vec::new(),
    };
    runs.carry_out()
}

/// The runs of a command, and what they have measured so far.
struct Runs<'a> {
    requests: &'a [RunRequest],
    output: &'a OutputArgs,
    presentation: &'a Presentation<'a>,
    /// The server; `None` if each run has one of its own.
    target: Option<Target>,
    line: &'a ProgressLine,
    unsaved: &'a Unsaved,
    cancel: &'a Cancel,
    left: TimeLeft,
    /// Reports the intervals of all of them.
    interim: Option<LineReport>,
    docs: Vec<RunDoc>,
}

impl Runs<'_> {
    /// Carries out all of them; returns the highest exit code.
    fn carry_out(mut self) -> Result<Exit, Failure> {
        let mut worst = Exit::Done;
        for index in 0..self.requests.len() {
            if self.cancel.is_cancelled() {
                let last = self.docs.last();
                if last.is_none_or(|doc| doc.outcome != OutcomeDoc::Aborted) {
                    // This profile was requested, too, but will not run.
                    worst = Exit::Interrupted;
                }
                // Otherwise not the user, but a condition ended the command.
                break;
            }
            if !self.docs.is_empty() {
                print("\n")?;
            }
            worst = worst.max(self.carry_out_one(index)?);
        }
        self.print_interference()?;
        if self.docs.is_empty() && worst == Exit::Interrupted {
            Err(Failure::Interrupted)
        } else {
            Ok(worst)
        }
    }

    /// Prints how populations disturb one another, if each was also measured alone.
    fn print_interference(&self) -> Result<(), Failure> {
        let Some((together, alone)) = self.docs.split_last() else {
            return Ok(());
        };
        if self.presentation.alone == 0 || together.plan.populations.len() < 2 {
            return Ok(());
        }
        let table = interference(alone, together);
        table.map_or(Ok(()), |table| print(&format!("\n{}", table.to_text())))
    }

    fn carry_out_one(&mut self, index: usize) -> Result<Exit, Failure> {
        let request = &self.requests[index];
        let context = RunContext {
            output: self.output,
            presentation: self.presentation,
            gate: if index < self.presentation.alone {
                Gate::default()
            } else {
                self.presentation.gate
            },
            name: (self.requests.len() > 1).then(|| request.draft.work.profile.clone()),
            place: (index + 1, self.requests.len()),
            line: self.line,
            unsaved: self.unsaved,
        };
        let run = run_one(
            request,
            self.target.clone(),
            &context,
            &mut self.left,
            self.cancel,
            self.interim.as_mut(),
        );
        let ended = match run {
            Ok(Ran { doc, ended }) => {
                self.docs.push(doc);
                let path = self.output.csv_iometer.as_deref();
                let written = path.map_or(Ok(()), |path| save_csv_iometer(&self.docs, path));
                context.with_files(ended, written)
            }
            Err(failure) if failure.is_of_profile() => Err(failure),
            // The next profile would fail in the same way, after the same time, or
            // lock the account.
            Err(failure) => return Err(failure),
        };
        context.settle(ended)
    }
}

/// Runs one profile, on a server of its own unless there is a target; fails if nothing
/// was measured.
fn run_one(
    request: &RunRequest,
    target: Option<Target>,
    context: &RunContext<'_>,
    left: &mut TimeLeft,
    cancel: &Cancel,
    interim: Option<&mut LineReport>,
) -> Result<Ran, Failure> {
    let (output, line) = (context.output, context.line);
    output.is_stdout_taken()?;
    let profile = &request.draft.work.profile;
    let mut results = Results::prepare(&output.files(), profile, SystemTime::now())?;
    run::check_server_cpu(&request.draft.generator.server_cpu)?;
    let (server, target) = match target {
        Some(target) => (None, target),
        None => Embedded::start().map(|(server, target)| (Some(server), target))?,
    };
    let hosts = context.presentation.hosts;
    let plan = hosts.with_part(request.plan(target));
    let log = output.hlog.as_deref().map(Log::create).transpose()?;
    let state = context.presentation.state.as_deref();
    let state = state.map(state::create).transpose()?;
    let part = RunPart {
        left,
        plan: &plan,
        place: context.name.as_deref(),
        points: line.point_lines(context.presentation.points),
    };
    let gate = &context.gate;
    let (aborted, abort) = gate.abort(&plan, cancel).unzip();
    let interim = interim
        .map(|report| -> IntervalReport<'_> { Box::new(move |interval| report(interval, line)) });
    line.cover(|| title(&plan, request, context))?;
    let search = context.presentation.find.clone();
    let searching = search.map(|search| Searching::begin(search, cancel));
    let job = RunJob {
        plan: &plan,
        disclosure: request.disclosure(),
        part,
        search: searching.as_ref(),
        probes: if output.quiet {
            ProbeLines::Hidden
        } else {
            ProbeLines::Shown(line, None)
        },
        log,
        reports: interim.into_iter().chain(abort).collect(),
        conditions: gate.thresholds,
        state,
        hosts,
        observer: line,
        unsaved: context.unsaved,
        cancel,
    };
    let JobOutcome { record, logged } = job.measure(&mut results);
    line.clear();
    drop(server);
    let aborted = aborted.as_ref().and_then(AbortReason::take);
    if let (Err(_), Some(judged)) = (&record, &aborted) {
        context.complain(judged);
    }
    if let (Err(error), RunServer::Given(_)) = (&record, &request.server)
        && let Some(command) = prepare_command(error, &plan)
    {
        context.complain(format_args!("prepare the tree before the run: {command}"));
    }
    let mut record = record?;
    let ended_by = EndedBy::of(aborted, &mut record);
    conclude(
        request,
        &record,
        &ended_by,
        searching.as_ref(),
        &mut results,
        context,
        logged,
    )
}
