//! `smbench gate`: passes of a build until it is known whether it is slower than a baseline.
//! Not here: how many passes that takes ([`smbench_runner::gate`]).

use std::ffi::OsString;
use std::path::Path;

use serde::Serialize;
use smbench_engine::Cancel;
use smbench_report::RunDoc;
use smbench_report::compare::{Comparison, Judgement};
use smbench_runner::account::GivenServer;
use smbench_runner::gate::{
    BuildGate, GateAnswer, GateBaseline, GateOutcome, GateServer, passes_of,
};
use smbench_runner::lab_facts::smbd_path;
use smbench_runner::request::RunRequest;
use smbench_runner::results::ResultFiles;

use crate::args::{Candidate, CliCommand, GateArgs, parse_words};
use crate::failure::{Exit, Failure};
use crate::files::write;
use crate::output::{complain, print};
use crate::progress::{ProgressLine, Visibility};
use crate::{requests, signals};

/// The document of `--json`.
#[derive(Serialize)]
struct GateDocument<'a> {
    /// `passed`, `failed` or `cannot_tell`.
    answer: &'static str,
    /// Why the gate cannot tell; `null` if it can.
    reason: Option<&'a str>,
    /// Passes of the candidate.
    passes: u32,
    conditions: &'a [Judgement],
    comparison: Option<&'a Comparison>,
}

pub(super) fn gate(args: &GateArgs) -> Result<Exit, Failure> {
    let doc = RunDoc::load(&args.baseline)?;
    let request = request(&doc, args)?;
    for condition in &args.fail_if {
        let checked = condition.check(&request.draft);
        checked.map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let candidate = match args.candidate.given() {
        Candidate::Url(url) => {
            // Asked for before signals are caught, so that Ctrl-C at the prompt just ends
            // the program.
            let target = requests::given(url, &args.secrets)?.with_password()?;
            GateServer::Given(Box::new(GivenServer::new(target)))
        }
        Candidate::Smbd(smbd) => samba(Path::new(smbd), args),
    };
    let baseline = match &args.baseline_smbd {
        Some(smbd) => GateBaseline::Server(samba(smbd, args)),
        None if passes_of(&doc) < 2 => {
            return Err(Failure::Usage(format!(
                "{} has one valid pass, so its noise is unknown: measure it with --repeat 5, or \
                 give --baseline-smbd",
                args.baseline.display()
            )));
        }
        None => GateBaseline::Document(Box::new(doc)),
    };
    let line = ProgressLine::new(Visibility::unless(args.document.quiet));
    let cancel = Cancel::default();
    let unsaved = signals::stop_on_interrupt(&cancel, &line, String::new())?;
    let files = ResultFiles {
        folder: args.out.clone(),
        ..ResultFiles::default()
    };
    let gate = BuildGate {
        request: &request,
        baseline,
        candidate,
        conditions: &args.fail_if,
        passes: args.passes,
        limit: args.limit,
        files: &files,
        observer: &line,
        cancel: &cancel,
        unsaved: &unsaved,
    };
    let outcome = match gate.run() {
        Ok(outcome) => outcome,
        Err(Failure::Interrupted) => return Err(Failure::Interrupted),
        Err(failure) => {
            // A build that cannot be measured is not a slow one.
            complain(failure);
            return Ok(Exit::CannotTell);
        }
    };
    conclude(args, &outcome)
}

fn samba(smbd: &Path, args: &GateArgs) -> GateServer {
    GateServer::Samba {
        smbd: Some(smbd_path(smbd)),
        lines: args.options.clone(),
    }
}

/// Returns the run that made a document, by its command. Fails if the command would now do
/// other work.
fn request(doc: &RunDoc, args: &GateArgs) -> Result<RunRequest, Failure> {
    let refuse = |why: &str| {
        Failure::Usage(format!(
            "{} is no baseline: {why}; make one with smbench run --repeat 5 --json FILE",
            args.baseline.display()
        ))
    };
    let words: Vec<_> = doc.command.iter().map(OsString::from).collect();
    if words.get(1).is_none_or(|word| word != "run") {
        return Err(refuse("it is not of smbench run"));
    }
    let run = parse_words(words)
        .map_err(|failure| refuse(&format!("its command cannot be read any more: {failure}")))?;
    let CliCommand::Run(mut run) = run else {
        return Err(refuse("it is not of smbench run"));
    };
    run.server.forget();
    let requests = requests::resolve_all(&run)?;
    let same = |request: &RunRequest| request.draft.digest() == doc.plan.digest;
    requests.into_iter().find(same).ok_or_else(|| {
        refuse("its command now means other work, because a profile or smbench has changed")
    })
}

/// Prints the answer.
fn conclude(args: &GateArgs, outcome: &GateOutcome) -> Result<Exit, Failure> {
    let (name, reason, exit) = match &outcome.answer {
        GateAnswer::Passed => ("passed", None, Exit::Done),
        GateAnswer::Failed => ("failed", None, Exit::Failed),
        GateAnswer::CannotTell(reason) => ("cannot_tell", Some(reason.as_str()), Exit::CannotTell),
    };
    if let Some(to) = &args.document.json {
        let document = GateDocument {
            answer: name,
            reason,
            passes: outcome.passes,
            conditions: &outcome.judgements,
            comparison: outcome.comparison.as_ref(),
        };
        let json = serde_json::to_string_pretty(&document).unwrap_or_else(|error| {
            unreachable!("string keys and plain values always have a JSON form: {error}")
        });
        write(to, &(json + "\n"))?;
    }
    let is_taken = matches!(args.document.json, Some(crate::args::Destination::Stdout));
    let mut text = String::new();
    for judged in &outcome.judgements {
        // One comparison of these passes would fail. Looks after each pass need more evidence.
        text += &if reason.is_some() && judged.failed {
            format!("open: {}: {}\n", judged.condition, judged.found())
        } else {
            format!("{judged}\n")
        };
    }
    text += &match reason {
        None => format!("gate {name} after {} passes\n", outcome.passes),
        Some(reason) => format!("gate cannot tell: {reason}\n"),
    };
    if !is_taken {
        print(&text)?;
    }
    Ok(exit)
}
