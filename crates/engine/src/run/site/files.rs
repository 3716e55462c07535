//! The files of a run: prepared now or before, and whether they are whole.

use std::ops::Range;
use std::sync::Arc;

use smbench_model::fileio::{FileOrigin, Fileio};
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::progress::Progress;
use smbench_model::record::LoadPointRecord;
use smbench_model::tree::{Tree, TreeProgress, TreeStage};

use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::run::Observer;
use crate::run::error::RunError;
use crate::run::observe::PROGRESS_INTERVAL;
use crate::smb::session::SessionError;
use crate::smb::share::Workspace;

/// Returns the test of a run on files that were prepared before.
pub(super) fn prepared_files(plan: &Plan) -> Option<&Fileio> {
    // A test has no other populations beside it.
    let mut populations = plan.work.populations.iter();
    let test = populations.find_map(|population| population.workload.fileio());
    test.filter(|test| test.home == FileOrigin::Prepared)
}

/// Returns whether every write of the run was answered with success. Without any
/// load point, files may not even have been emptied.
pub(super) fn wrote_all(points: &[LoadPointRecord], measured: &Result<(), RunError>) -> bool {
    // The writes of a failed load point are unknown.
    let are_known = matches!(
        measured,
        Ok(()) | Err(RunError::Session(SessionError::Interrupted))
    );
    let is_whole = |point: &LoadPointRecord| {
        let errors = point.ops.whole(OpKind::Write).errors;
        point.dropouts.is_empty() && point.unsent == 0 && errors == 0
    };
    are_known && !points.is_empty() && points.iter().all(is_whole)
}

/// Writes the files of these clients, or checks the files that were prepared before.
pub(in crate::run) async fn prepare(
    plan: &Plan,
    workspace: &mut Workspace,
    clients: Range<u32>,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<(), SessionError> {
    if clients.is_empty() {
        return Ok(());
    }
    if let Some(test) = prepared_files(plan) {
        return workspace.check_prepared(test, cancel).await;
    }
    if plan.only().workload.files.tree().is_some() {
        return match plan.only().workload.used_tree() {
            Some(tree) => prepare_tree(workspace, tree, clients, observer, cancel).await,
            None => Ok(()),
        };
    }
    let total = plan.bytes_of(clients.end) - plan.bytes_of(clients.start);
    let mut shown = clock::now();
    observer.progress(&Progress::Preparing { done: 0, total });
    workspace.watch_space(total).await;
    workspace
        .prepare(plan, clients, cancel, &mut |done| {
            let now = clock::now();
            if now.since(shown) >= PROGRESS_INTERVAL {
                shown = now;
                observer.progress(&Progress::Preparing { done, total });
            }
        })
        .await
        .map_err(SessionError::of_own_file)
}

/// Makes the tree of a run that found none, before the first of these clients.
async fn prepare_tree(
    workspace: &mut Workspace,
    tree: &Arc<Tree>,
    clients: Range<u32>,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<(), SessionError> {
    if clients.start > 0 || workspace.has_prepared_tree() {
        return Ok(());
    }
    let bytes = tree.bytes();
    workspace.watch_space(bytes).await;
    let mut progress = |made: TreeProgress| {
        if made.stage == TreeStage::Files {
            // Sizes are drawn apart from the order of the files.
            let share = made.done as f64 / made.total.max(1) as f64;
            let done = (share * bytes as f64) as u64;
            let total = bytes;
            observer.progress(&Progress::Preparing { done, total });
        }
    };
    workspace
        .make_own_tree(tree, cancel, &mut progress)
        .await
        .map_err(SessionError::of_own_file)
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
