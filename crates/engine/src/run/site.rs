//! A run on an SMB share: negotiates with the server, creates the files before the
//! load, and removes them after it.

use std::sync::Arc;

use smbench_model::fileio::{Fileio, Home, TestMode};
use smbench_model::generator::DriverKind;
use smbench_model::kind::{Direction, OpKind};
use smbench_model::plan::Plan;
use smbench_model::progress::Progress;
use smbench_model::record::{LoadPointRecord, RunRecord, ServerFacts};
use smbench_model::units::Size;

use crate::drivers::native;
use crate::drivers::site::{Site, endpoint};
#[cfg(feature = "smb-rs")]
use crate::drivers::smb_rs;
use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::machine::server_cpu::Meter;
use crate::run::context::{Context, hiring};
use crate::run::coordinator::{concluded, measure};
use crate::run::error::RunError;
use crate::run::{Observer, capacity, point};
use crate::smb::session::{Endpoint, Session, SessionError, random_u64};
use crate::smb::share::{self, Workspace};
use crate::worker::assignment::Means;
use crate::worker::supply::{Operations, Supplies};

/// Runs a plan on its share: claims a directory, creates the files, and cleans up
/// in any case.
pub(super) async fn run(
    plan: &Plan,
    operations: Operations<impl Supplies>,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    let (started, started_at) = (clock::wall(), clock::now());
    observer.progress(&Progress::Connecting);
    let endpoint = interruptible(cancel, endpoint(plan)).await?;
    capacity::check_ports(plan, &endpoint)?;
    let mut session = interruptible(cancel, Session::open(&endpoint)).await?;
    check_channels(plan, &endpoint, &session)?;
    // Done before anything is written, because the server may refuse another
    // driver.
    let server = match plan.generator.driver {
        DriverKind::Native => native_facts(plan, &endpoint, &session),
        #[cfg(feature = "smb-rs")]
        DriverKind::SmbRs => interruptible(cancel, smb_rs::facts(plan, &endpoint)).await?,
    };
    check_sizes(plan, &endpoint, &server)?;
    if prepared_files(plan).is_none() {
        let (path, needed) = (&plan.sessions.target.path, plan.bytes_on_share());
        interruptible(cancel, share::check_space(&mut session, path, needed)).await?;
    }
    // This step cannot be interrupted, because everything that it creates on the
    // share must be known, to be removed.
    let mut workspace = match prepared_files(plan) {
        Some(test) => Workspace::of_prepared(&endpoint, session, test).await?,
        None => {
            let workspace = match Workspace::create(&endpoint, session).await {
                Ok(workspace) => workspace,
                Err((error, leftover)) => {
                    return Err(RunError::from(error).with_leftover(leftover));
                }
            };
            observer.directory_claimed(workspace.directory());
            workspace
        }
    };
    let Operations {
        mix,
        origin,
        supplies,
    } = operations;
    let mut record = RunRecord {
        operations: origin,
        salt: workspace.salt(),
        ..RunRecord::new(plan, server, started)
    };
    let measured = match prepare(plan, &mut workspace, observer, cancel).await {
        Ok(()) => {
            let plan = Arc::new(plan.clone());
            let site = Arc::new(Site {
                plan: Arc::clone(&plan),
                endpoint: endpoint.clone(),
                mix: Arc::clone(&mix),
                directory: workspace.directory().to_owned(),
                salt: workspace.salt(),
            });
            let context = Context {
                hire: match plan.generator.driver {
                    DriverKind::Native => hiring(Means {
                        connector: native::Connect(site),
                        supplies,
                    }),
                    #[cfg(feature = "smb-rs")]
                    DriverKind::SmbRs => hiring(Means {
                        connector: smb_rs::Connect(site),
                        supplies,
                    }),
                },
                server_cpu: Meter::new(&plan.generator.server_cpu, endpoint.here()),
                mix,
                at: endpoint.at(),
                whereabouts: endpoint.whereabouts(),
                started: started_at,
                started_wall: started,
                salt: workspace.salt(),
                // Prepared files keep their salt. This number therefore
                // distinguishes the writes of one run on them from those of earlier
                // runs.
                runs_before: prepared_files(&plan).map_or(0, |_| random_u64() as u32),
                plan,
                cancel,
            };
            measure(&context, &mut record, observer).await
        }
        Err(error) => Err(error.into()),
    };
    observer.progress(&Progress::CleaningUp);
    let directory = workspace.directory().to_owned();
    if measured.is_err() {
        workspace.lose_patience();
    }
    if let Some(test) = prepared_files(plan)
        && test.mode == TestMode::SeqWr
        && wrote_all(&record.load_points, &measured)
    {
        // If this fails, the manifest still says that the files may have holes.
        let _ = workspace.settle(test).await;
    }
    if let Err(error) = workspace.remove().await {
        record.leftover = Some(share::leftover(&directory, &error));
    }
    concluded(record, measured)
}

/// Returns the test of a run on files that were prepared before.
fn prepared_files(plan: &Plan) -> Option<&Fileio> {
    let test = plan.work.workload.fileio();
    test.filter(|test| test.home == Home::Prepared)
}

/// Returns whether every write of the run was answered with success. Without any
/// load point, files may not even have been emptied.
fn wrote_all(points: &[LoadPointRecord], measured: &Result<(), RunError>) -> bool {
    let is_told = match measured {
        Ok(()) | Err(RunError::Session(SessionError::Interrupted)) => true,
        // The writes of a failed load point are unknown.
        Err(_) => false,
    };
    let is_whole = |point: &LoadPointRecord| {
        let errors = point.ops.whole(OpKind::Write).errors;
        point.dropouts.is_empty() && point.unsent == 0 && errors == 0
    };
    is_told && !points.is_empty() && points.iter().all(is_whole)
}

fn native_facts(plan: &Plan, endpoint: &Endpoint, session: &Session) -> ServerFacts {
    let negotiated = session.connection.negotiated();
    let terms = session.terms();
    ServerFacts {
        url: plan.sessions.target.redacted(),
        is_here: endpoint.here().is_some(),
        logon: Some(terms.logon),
        dialect: Some(negotiated.dialect),
        signing: terms.signing,
        encryption: terms.encryption,
        max_read: negotiated.max_read,
        max_write: negotiated.max_write,
        max_transact: negotiated.max_transact,
    }
}

pub(super) async fn prepare(
    plan: &Plan,
    workspace: &mut Workspace,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<(), SessionError> {
    if let Some(test) = prepared_files(plan) {
        return workspace.check_prepared(test, cancel).await;
    }
    let total = plan.bytes_on_share();
    let mut shown = clock::now();
    observer.progress(&Progress::Preparing { done: 0, total });
    workspace
        .prepare(plan, cancel, &mut |done| {
            let now = clock::now();
            if now.since(shown) >= point::PROGRESS_INTERVAL {
                shown = now;
                observer.progress(&Progress::Preparing { done, total });
            }
        })
        .await
        .map_err(SessionError::of_own_file)
}

/// Checks whether sessions can have the planned number of connections.
fn check_channels(plan: &Plan, endpoint: &Endpoint, session: &Session) -> Result<(), SessionError> {
    if plan.sessions.connections.connections_per_session == 1 {
        return Ok(());
    }
    let at = endpoint.at();
    let negotiated = session.connection.negotiated();
    if !negotiated.multi_channel() {
        let dialect = negotiated.dialect;
        return Err(SessionError::OneChannel { at, dialect });
    }
    if !session.terms().logon.has_key() {
        return Err(SessionError::NoChannelKey { at });
    }
    Ok(())
}

/// Checks the sizes of requests against the server's limits, which were unknown
/// when the plan was made.
fn check_sizes(plan: &Plan, endpoint: &Endpoint, server: &ServerFacts) -> Result<(), SessionError> {
    let workload = &plan.work.workload;
    let kinds = workload.kinds();
    let mut limits = [
        ("read", Direction::Read, server.max_read),
        ("write", Direction::Write, server.max_write),
    ]
    .into_iter()
    .filter(|(_, direction, _)| {
        let mut kinds = kinds.iter();
        kinds.any(|kind| kind.direction() == Some(*direction))
    })
    .map(|(kind, _, limit)| (kind, limit));
    if let Some(test) = workload.fileio() {
        return Ok(test.check_requests(limits, &endpoint.share())?);
    }
    let largest = plan.largest_request();
    match limits.find(|(_, limit)| largest > *limit) {
        Some((kind, limit)) => Err(SessionError::TooLarge {
            kind,
            wanted: Size(largest.into()).to_string(),
            at: endpoint.at(),
            limit: Size(limit.into()).to_string(),
        }),
        None => Ok(()),
    }
}

/// Runs `work` unless the user cancels the run.
async fn interruptible<T>(
    cancel: &Cancel,
    work: impl Future<Output = Result<T, SessionError>>,
) -> Result<T, SessionError> {
    tokio::select! {
        () = cancel.cancelled() => Err(SessionError::Interrupted),
        outcome = work => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After Ctrl-C while files are being emptied, the remaining files still have
    /// their old contents.
    #[test]
    fn files_are_not_whole_where_no_load_was_put_on() {
        let interrupted = Err(RunError::Session(SessionError::Interrupted));
        assert!(!wrote_all(&[], &interrupted));
        assert!(!wrote_all(&[], &Ok(())));
    }
}
