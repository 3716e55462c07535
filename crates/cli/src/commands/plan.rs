//! `smbench plan`: prints the plan that `run` would execute with the same options.

use std::fmt::Write as _;

use smbench_model::login::{Login, Proof};
use smbench_model::operations::replay::Replays;
use smbench_model::operations::{Mix, OpStream, Operation};
use smbench_model::plan::Plan;
use smbench_model::units::Size;
use smbench_report::doc::{LoopDoc, PlanDoc};
use smbench_report::plan::{details, facts, session, waits};

use crate::args::RunArgs;
use crate::conditions::Gate;
use crate::failure::{Exit, Failure};
use crate::output::{complain, print};
use crate::request::{RunRequest, RunServer};
use crate::requests;

/// Number of operations shown for the first client.
const OPERATIONS_SHOWN: usize = 5;

pub(super) fn plan(args: &RunArgs) -> Result<Exit, Failure> {
    let requests = requests::resolve_all(args)?;
    let gate = Gate {
        thresholds: &args.fail_if,
        abort_after: args.abort_on_fail,
        junit: None,
    };
    let alone = if args.alone { requests.len() - 1 } else { 0 };
    for request in &requests[alone..] {
        gate.check(&request.draft)?.iter().for_each(complain);
    }
    let plans = requests.iter().map(describe);
    let plans = plans.collect::<Result<Vec<_>, _>>()?;
    print(&plans.join("\n"))?;
    Ok(Exit::Done)
}

/// Returns the plan of a run, as lines of a label and a text.
pub(super) fn describe(request: &RunRequest) -> Result<String, Failure> {
    let plan = &request.draft;
    let doc = PlanDoc::from(plan);
    let server = match request.server {
        RunServer::Embedded => "embedded, started on this machine for the run".to_owned(),
        RunServer::Given(_) => plan.sessions.target.redacted(),
    };
    let pacing = match &plan.work.populations[..] {
        [only] => only.load.into(),
        // Each has a line of its own.
        _ => LoopDoc::Closed,
    };
    let [profile, load, data, window] = facts(&doc, pacing);
    let mut lines = vec![profile, ("server", server)];
    lines.extend(login(&plan.sessions.target.login).map(|text| ("log on", text)));
    lines.extend([load, data, window]);
    lines.extend(details(&doc));
    if let [only] = &plan.work.populations[..]
        && only.workload.replay().is_some()
    {
        let largest = Size(plan.largest_request().into());
        lines.push(("sizes", format!("as recorded, up to {largest:#}")));
    }
    lines.extend(session(&doc));
    lines.extend([
        ("waits", waits(&doc)),
        ("digest", doc.digest),
        ("begins with", of_first_clients(plan)),
    ]);
    let mut text = String::new();
    for (label, value) in lines {
        // Further lines of a value are aligned with its first.
        let value = value.replace('\n', &format!("\n{:<13}", ""));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{label:<13}{value}");
    }
    Ok(text)
}

fn login(login: &Login) -> Option<String> {
    match login {
        Login::Ntlm => None,
        Login::Guest => Some("as a guest".to_owned()),
        Login::Anonymous => Some("anonymously".to_owned()),
        Login::Kerberos(login) => Some(match &login.proof {
            Proof::Password => "by Kerberos, with the password".to_owned(),
            Proof::Keytab(path) => format!("by Kerberos, with the keytab {}", path.display()),
            Proof::Cache(path) => {
                format!("by Kerberos, with the credential cache {}", path.display())
            }
        }),
    }
}

/// Describes the first operations of the first client of each population.
fn of_first_clients(plan: &Plan) -> String {
    let alone: Vec<_> = plan.alone().collect();
    if let [only] = &alone[..] {
        return operations(only);
    }
    let begins = alone.iter().map(|plan| {
        let name = plan.only().name.as_deref().unwrap_or_default();
        format!("{name}:\n{}", operations(plan))
    });
    begins.collect::<Vec<_>>().join("\n")
}

fn operations(plan: &Plan) -> String {
    if let Some(replay) = plan.only().workload.replay() {
        let first = Replays::new(replay.clone(), plan.work.drawing_seed()).of_client(0);
        let shown = first.take(OPERATIONS_SHOWN);
        let track = replay.recording.track(0);
        let describe = |operation: Operation| track.describe(operation.action, 0);
        return shown.map(describe).collect::<Vec<_>>().join("\n");
    }
    let mix = Mix::new(&plan.only().workload);
    let mut stream = OpStream::new(&mix, plan.work.drawing_seed(), 0);
    let mut lines = Vec::new();
    for _ in 0..OPERATIONS_SHOWN {
        lines.push(operation(plan, &mix, stream.next()));
    }
    lines.join("\n")
}

fn operation(plan: &Plan, mix: &Mix, operation: Operation) -> String {
    let action = mix.action(&operation);
    let name = action.name();
    if !action.holds_file() && !action.opens_file() {
        return name.to_owned();
    }
    let file = plan.file_name(0, operation.file);
    if operation.length == 0 {
        return format!("{name} {file}");
    }
    format!(
        "{name:<5} {file} at {}, {:#}",
        operation.offset,
        Size(operation.length.into())
    )
}
