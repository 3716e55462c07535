//! The populations of a run on its share: each has a directory and a session of its own there.

use std::cell::Cell;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use smbench_model::action::Action;
use smbench_model::contents::block::Salt;
use smbench_model::contents::notes::NotedPopulation;
use smbench_model::fileio::TestMode;
use smbench_model::plan::Plan;
use smbench_model::record::{RunRecord, ServerFacts, SplitSizes, add_clause};
use smbench_model::tree::TreeUsed;
use smbench_model::work::Work;
use tokio::time::timeout;

use super::files::{prepare, prepared_files, wrote_all};
use super::{Connected, claim};
use crate::machine::cancel::Cancel;
use crate::run::Observer;
use crate::run::back_news::BackNews;
use crate::run::error::RunError;
use crate::run::noting::{self, NoteWriter, StateFile};
use crate::smb::session::{Endpoint, SessionError, unless};
use crate::smb::share::{self, Workspace};

/// Longest time for which the end of a load point waits for the sessions that hold the
/// directories.
const CHECK_MAX: Duration = Duration::from_secs(3);

/// The directories of a run on the share, one for each population, and the files in them.
pub(in crate::run) struct RunShare<'a> {
    pub(super) populations: Vec<PopulationShare>,
    /// Whether the last check of the sessions took too long.
    is_unchecked: bool,
    /// The work of all populations.
    work: Work,
    cancel: &'a Cancel,
}

/// The directory of a population on the share, and the files in it so far.
pub(super) struct PopulationShare {
    /// The plan of this population alone.
    pub(super) plan: Arc<Plan>,
    pub(super) workspace: Workspace,
    /// Number of clients whose files are ready.
    ready: u32,
}

impl PopulationShare {
    /// Deletes what the clients of earlier load points copied to the share, so that each load
    /// point begins with the same files.
    async fn remove_copies(&mut self, cancel: &Cancel) -> Result<(), SessionError> {
        let workload = &self.plan.only().workload;
        if workload.actions().contains(&Action::CopyIn) {
            unless(cancel, self.workspace.remove_copies()).await
        } else {
            Ok(())
        }
    }

    /// Makes the directories into which these clients copy a tree, if they copy one. The load
    /// then has files only, so that its operations in flight do not wait for one another.
    async fn make_copied_trees(
        &self,
        clients: Range<u32>,
        cancel: &Cancel,
    ) -> Result<(), SessionError> {
        match self.plan.only().workload.copied_tree() {
            Some(tree) => {
                self.workspace
                    .make_copied_trees(tree, clients, cancel)
                    .await
            }
            None => Ok(()),
        }
    }
}

impl RunShare<'_> {
    /// Makes the files of this many clients ready. Those of several populations are as many
    /// together.
    pub(in crate::run) async fn prepare(
        &mut self,
        clients: u32,
        observer: &mut dyn Observer,
    ) -> Result<(), SessionError> {
        if self.is_unchecked {
            // If it fails, what needs the sessions says why.
            let _ = self.check_server().await;
            self.is_unchecked = false;
        }
        let most = self.work.load_points().into_iter().max();
        let parts = match &self.populations[..] {
            [_] => vec![clients],
            all => {
                let searched = self.work.divided(clients).filter(|_| Some(clients) < most);
                let planned = || all.iter().map(|share| share.plan.max_clients()).collect();
                searched.unwrap_or_else(planned)
            }
        };
        for (share, clients) in self.populations.iter_mut().zip(parts) {
            share.remove_copies(self.cancel).await?;
            let with_files = share.plan.clients_with_files(clients);
            share
                .make_copied_trees(with_files.clone(), self.cancel)
                .await?;
            let more = share.ready.max(with_files.start)..with_files.end.max(share.ready);
            share.ready = more.end;
            let workspace = &mut share.workspace;
            prepare(&share.plan, workspace, more, observer, self.cancel).await?;
        }
        Ok(())
    }

    /// Returns the tree that the populations work on, first one that the run makes; `None` if
    /// they need none.
    pub(super) fn tree(&self) -> Option<TreeUsed> {
        let populations = self.populations.iter();
        let used = populations.filter_map(|share| share.workspace.used_tree());
        used.max_by_key(|used| **used != TreeUsed::Prepared)
            .cloned()
    }

    /// Ends the notes of the run, and lets the files stay that they are of.
    pub(super) fn keep_noted(&mut self, notes: NoteWriter, record: &mut RunRecord) {
        let directories = self.populations.iter();
        let directories = directories.map(|share| share.workspace.directory.clone());
        let noted = notes.end(directories.collect());
        if let Some(directory) = noted.directories.first() {
            for share in &mut self.populations {
                share.workspace.keep();
            }
            if record.load_points.is_empty() {
                // The error is the only message about the run.
                let stays = format!("directory '{directory}' stays for a check of its files");
                add_clause(&mut record.leftover, Some(stays));
            }
        }
        record.noted = Some(noted);
    }

    /// Waits for the end of a load point. Checks the sessions that hold the directories whenever
    /// clients have come back, because the event may have ended them as well: a clean-up beside
    /// the run takes a directory that nobody holds for that of a dead run. A check that takes too
    /// long is made again before the next load point.
    pub(in crate::run) async fn held_during<T>(
        &mut self,
        load_point: impl Future<Output = T>,
        news: &BackNews,
    ) -> T {
        let is_over = Cell::new(false);
        let measured = async {
            let measured = load_point.await;
            is_over.set(true);
            news.wake();
            measured
        };
        let held = async {
            while !is_over.get() {
                news.woken().await;
                while news.take() {
                    // If it fails, the next clients that come back bring another attempt.
                    let _ = Box::pin(self.check_server()).await;
                }
            }
        };
        let (measured, checked) = {
            let mut held = pin!(held);
            let measured = tokio::select! {
                measured = measured => measured,
                () = &mut held => unreachable!("it ends after the load point"),
            };
            let checked = timeout(CHECK_MAX, held).await;
            (measured, checked)
        };
        self.is_unchecked = checked.is_err();
        measured
    }

    /// Checks that the server still answers in the sessions of the run, or in new ones.
    pub(in crate::run) async fn check_server(&mut self) -> Result<(), SessionError> {
        for share in &mut self.populations {
            unless(self.cancel, share.workspace.check_alive()).await?;
        }
        Ok(())
    }
}

/// Claims the directory of each population.
pub(super) async fn claim_all<'a>(
    work: &Work,
    connected: Vec<Connected>,
    observer: &mut dyn Observer,
    cancel: &'a Cancel,
) -> Result<(Vec<PopulationSite>, RunShare<'a>), RunError> {
    let (mut sites, mut populations) = (Vec::new(), Vec::<PopulationShare>::new());
    for Connected {
        plan,
        endpoint,
        session,
        server,
    } in connected
    {
        let mut workspace =
            match claim(&plan, &endpoint.with_cancel(cancel), session, observer).await {
                Ok(workspace) => workspace,
                Err(error) => {
                    let mut leftover = None;
                    for PopulationShare { mut workspace, .. } in populations {
                        // The server may be gone.
                        workspace.lose_patience();
                        let directory = workspace.directory.clone();
                        let left = match workspace.remove().await {
                            Ok(remains) => remains.leftover(),
                            Err(error) => Some(share::leftover(&directory, &error)),
                        };
                        add_clause(&mut leftover, left);
                    }
                    return Err(error.with_leftover(leftover));
                }
            };
        if let Some(replay) = plan.only().workload.replay() {
            let clients = plan.max_clients();
            workspace.note_recorded(&replay.recording, clients).await;
        }
        sites.push(PopulationSite {
            plan: Arc::clone(&plan),
            endpoint,
            split: server.split,
            directory: workspace.directory.clone(),
            files_in: workspace.files_in.clone(),
            salt: workspace.salt,
        });
        populations.push(PopulationShare {
            plan,
            workspace,
            ready: 0,
        });
    }
    Ok((
        sites,
        RunShare {
            populations,
            is_unchecked: false,
            work: work.clone(),
            cancel,
        },
    ))
}

/// Returns the facts of the server as the session of the first population has them, with those of
/// the others. Operations of any population may be split.
pub(super) fn server_of_all<'a>(servers: impl Iterator<Item = &'a ServerFacts>) -> ServerFacts {
    let populations: Vec<_> = servers.cloned().collect();
    let Some(mut all) = populations.first().cloned() else {
        unreachable!("a plan has at least one population");
    };
    for split in populations.iter().filter_map(|server| server.split) {
        let of_all = all.split.get_or_insert(split);
        of_all.read = of_all.read.or(split.read);
        of_all.write = of_all.write.or(split.write);
    }
    if populations.len() > 1 {
        all.populations = populations;
    }
    all
}

/// A server, and the directory of a population on it.
pub(super) struct PopulationSite {
    /// The plan of this population alone.
    pub(super) plan: Arc<Plan>,
    pub(super) endpoint: Endpoint,
    pub(super) split: Option<SplitSizes>,
    pub(super) directory: String,
    /// The directory of the files: this one, or the root of a tree.
    pub(super) files_in: String,
    pub(super) salt: Salt,
}

impl PopulationSite {
    /// Returns the description of the files for the notes of a run.
    pub(super) fn noted(&self) -> NotedPopulation {
        let files = &self.plan.only().workload.files;
        NotedPopulation {
            directory: self.files_in.clone(),
            salt: self.salt,
            scope: files.scope,
            files: files.count,
            file_bytes: files.size,
            flushes: noting::flushes(&self.plan),
        }
    }
}

/// Begins the state file of the run, if it is to have one.
pub(super) fn begin_notes(
    state: Option<StateFile>,
    plan: &Plan,
    sites: &[PopulationSite],
) -> (Option<NoteWriter>, Result<(), RunError>) {
    let Some(state) = state else {
        return (None, Ok(()));
    };
    let populations = sites.iter().map(PopulationSite::noted).collect();
    match state.begin(&noting::head(plan, populations)) {
        Ok(notes) => (Some(notes), Ok(())),
        Err(error) => (None, Err(RunError::State(error))),
    }
}

/// Removes the files of the run, or leaves prepared files in place. Records what
/// remains on the share by mistake, and why.
pub(super) async fn clean_up(
    plan: &Plan,
    mut workspace: Workspace,
    record: &mut RunRecord,
    measured: &Result<(), RunError>,
) {
    let directory = workspace.directory.clone();
    if measured.is_err() {
        workspace.lose_patience();
    }
    if plan.only().workload.actions().contains(&Action::CopyIn) {
        // Copies that stay are deleted with the rest.
        let _ = workspace.remove_copies().await;
    }
    if let Some(test) = prepared_files(plan)
        && test.mode == TestMode::SeqWr
        && wrote_all(&record.load_points, measured)
    {
        // If this fails, the manifest still says that the files may have holes.
        let _ = workspace.settle(test).await;
    }
    match workspace.remove().await {
        Ok(remains) => remains.note_in(record),
        Err(error) => {
            let leftover = share::leftover(&directory, &error);
            add_clause(&mut record.leftover, Some(leftover));
        }
    }
}
