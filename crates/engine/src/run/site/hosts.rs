//! The hosts of a run on a share: what the first host tells the others, and how they join it.

use smbench_model::plan::Plan;
use smbench_model::record::RunRecord;

use super::files::prepared_files;
use super::populations::{PopulationShare, PopulationSite, RunShare, server_of_all};
use super::{Connected, RunStart, ShareJob, connect, context};
use crate::hosts::{FirstHost, PopulationOrder, RunOrder, SendPassword, SentPassword};
use crate::machine::cancel::Cancel;
use crate::run::context::{Context, RunRole};
use crate::run::error::RunError;
use crate::smb::session::{SessionError, random_u64};

/// Begins the run on all other hosts.
pub(super) async fn begin_on_hosts(
    first: &FirstHost,
    order: &RunOrder,
    record: &mut RunRecord,
    cancel: &Cancel,
) -> Result<(), RunError> {
    tokio::select! {
        begun = first.begin(order) => begun?,
        () = cancel.cancelled() => return Err(SessionError::Interrupted.into()),
    }
    record.hosts = first.facts();
    Ok(())
}

/// Joins the run of the first host: logs on to the server once for each population, as its
/// clients will.
pub(in crate::run) async fn join<'a>(
    job: ShareJob<'_, 'a>,
    order: &RunOrder,
    cancel: &'a Cancel,
) -> Result<(Context<'a>, RunRecord), RunError> {
    let start = RunStart::now();
    let plan = job.plan;
    let (mut sites, mut servers) = (Vec::new(), Vec::new());
    for (alone, of_order) in plan.alone().zip(&order.populations) {
        let Connected {
            plan,
            endpoint,
            session,
            server,
        } = connect(plan, alone, 0, cancel).await?;
        session.log_off().await;
        sites.push(PopulationSite {
            plan,
            endpoint,
            split: server.split,
            directory: of_order.directory.clone(),
            files_in: of_order.files_in.clone(),
            salt: of_order.salt,
        });
        servers.push(server);
    }
    let record = RunRecord {
        operations: job.operations[0].origin,
        salt: sites[0].salt,
        run_number: order.runs_before,
        ..RunRecord::new(plan, server_of_all(servers.iter()), start.wall)
    };
    let context = context(job, sites, order.runs_before, start, cancel, None);
    Ok((context, record))
}

/// Returns what other hosts must know of a run.
pub(super) fn order(plan: &Plan, share: &RunShare<'_>, role: RunRole<'_>) -> RunOrder {
    let sends = |first: &FirstHost| first.send_password() == SendPassword::Yes;
    let password = match role {
        RunRole::First(first) if sends(first) => {
            let password = plan.sessions.target.password.expose();
            Some(SentPassword(password.to_owned()))
        }
        _ => None,
    };
    let of_one = |share: &PopulationShare| PopulationOrder {
        share: share.plan.only().share,
        load_points: share.plan.only().clients.clone(),
        rates: share.plan.only().rates.clone(),
        directory: share.workspace.directory.clone(),
        files_in: share.workspace.files_in.clone(),
        salt: share.workspace.salt,
    };
    RunOrder {
        populations: share.populations.iter().map(of_one).collect(),
        repeat: plan.work.repeat,
        seed: plan.work.seed,
        level: plan.work.stages.as_ref().map(|stages| stages.begin),
        password,
        digest: plan.digest(),
        url: plan.sessions.target.redacted(),
        // Prepared files keep their salt. This number therefore distinguishes the
        // writes of one run on them from those of earlier runs.
        runs_before: prepared_files(plan).map_or(0, |_| random_u64() as u32),
    }
}
