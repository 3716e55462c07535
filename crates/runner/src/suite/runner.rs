//! The passes of a suite, one engine run each, alternating between servers.
//!
//! Invariants:
//!
//! - Every finished load point is on disk before the next begins. If it cannot be
//!   written, that is tried again after the next.
//! - If the last pass could not be saved, no further pass is measured.
//! - A server that fails affects only its own load points. If it refuses the
//!   log-on, no further log-on is tried.

mod pass;

use std::time::Duration;

use smbench_engine::{Cancel, run};
use smbench_report::units::plain;

use self::pass::Incomplete;
use super::folder::Folder;
use super::parts;
use super::passes::{PassId, all_passes};
use super::remains::remove_remains;
use super::resolve::Suite;
use crate::failure::{Exit, Failure};
use crate::hosts::Hosts;
use crate::observer::RunObserver;
use crate::searching::Search;
use crate::time_left::{PlannedEnd, TimeLeft, of_point};
use crate::unsaved::Unsaved;
use crate::verdict::{MissedRate, judge, judge_search};
use crate::watch::PointLines;

/// State that a suite shares with its observer, and with what stops it.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Gets progress and messages.
    pub observer: &'a dyn RunObserver,
    /// The hosts of all runs.
    pub hosts: &'a Hosts,
    /// Ends the suite in good order.
    pub cancel: &'a Cancel,
    /// Marks results that are not on disk yet.
    pub unsaved: &'a Unsaved,
    /// Whether each load point has a line.
    pub points: PointLines,
    /// Effect of a missed rate.
    pub missed_rate: MissedRate,
}

/// Measures the remaining load points of a suite.
pub struct Runner<'a> {
    suite: &'a Suite,
    folder: &'a mut Folder,
    observer: &'a dyn RunObserver,
    hosts: &'a Hosts,
    cancel: &'a Cancel,
    unsaved: &'a Unsaved,
    /// Whether each load point has a line.
    points: PointLines,
    missed_rate: MissedRate,
    /// Number of directories of this invocation that remain on a share.
    leftovers: u32,
    /// Passes that failed before they were complete.
    failed: Vec<(PassId, Exit, String)>,
    /// Passes with requests larger than the server accepts, which is expected for
    /// some.
    beyond: Vec<PassId>,
    /// Servers that refused the log-on.
    closed: Vec<usize>,
}

impl<'a> Runner<'a> {
    /// Prepares the passes that the folder lacks.
    pub fn new(suite: &'a Suite, folder: &'a mut Folder, control: Control<'a>) -> Self {
        let Control {
            observer,
            hosts,
            cancel,
            unsaved,
            points,
            missed_rate,
        } = control;
        Self {
            suite,
            folder,
            observer,
            hosts,
            cancel,
            unsaved,
            points,
            missed_rate,
            leftovers: 0,
            failed: Vec::new(),
            beyond: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// Runs every pass that is not complete. Messages about the result go to the observer.
    pub fn run(mut self) -> Result<Exit, Failure> {
        remove_remains(self.suite, self.folder, self.observer);
        let passes = all_passes(&self.suite.study);
        let planned = passes.iter().map(|&pass| self.planned(pass)).sum();
        let has_searches = passes.iter().any(|&pass| self.suite.search(pass).is_some());
        let end = if has_searches {
            PlannedEnd::Work
        } else {
            PlannedEnd::Time
        };
        let mut left = TimeLeft::of(planned, end);
        self.check_exporters(&passes);
        for &pass in &passes {
            if self.cancel.is_cancelled() {
                break;
            }
            if self.folder.remaining(pass).is_empty() {
                continue;
            }
            if self.closed.contains(&pass.server) {
                left.forgo(self.planned(pass));
                continue;
            }
            let place = self.place(pass);
            match self.pass(pass, &mut left) {
                Ok(()) => {}
                Err(Incomplete::Beyond(reason)) => {
                    self.tell(&format!("{place}: left out: {reason}"));
                    self.beyond.push(pass);
                }
                Err(Incomplete::Stop(failure)) => {
                    self.observer.ended();
                    return Err(*failure);
                }
                Err(Incomplete::NotLetIn(exit, reason)) => {
                    // Another attempt before each pass would lock the account.
                    self.tell(&format!(
                        "{place}: {reason}; not trying again, to avoid locking the account; \
                         continuing without this server"
                    ));
                    self.closed.push(pass.server);
                    self.failed.push((pass, exit, reason));
                }
                Err(Incomplete::Failed(exit, reason)) => {
                    if !self.cancel.is_cancelled() {
                        self.tell(&format!("{place}: {reason}; the suite continues"));
                    }
                    self.failed.push((pass, exit, reason));
                }
            }
            self.folder.load(pass, self.suite)?;
            left.forgo(self.not_needed(pass));
        }
        self.observer.ended();
        self.verdict(&passes)
    }

    /// Leaves out servers whose exporter does not answer before the first pass. In later
    /// passes, that costs only the CPU time of the server.
    fn check_exporters(&mut self, passes: &[PassId]) {
        for (server, host) in self.suite.hosts.iter().enumerate() {
            let mut of_server = passes.iter().filter(|pass| pass.server == server);
            let next = of_server.find(|pass| !self.folder.remaining(**pass).is_empty());
            if let (Some(&pass), Err(error)) = (next, run::check_server_cpu(&host.cpu)) {
                let failure = Failure::from(error);
                let name = plain(&self.suite.study.servers[server].name);
                self.tell(&format!(
                    "{name}: {failure}; the suite continues without this server"
                ));
                self.closed.push(server);
                self.failed
                    .push((pass, failure.exit(), failure.to_string()));
            }
        }
    }

    /// Returns the planned time of the remaining load points of a pass, ramps
    /// included. A search has as many as it may have.
    fn planned(&self, pass: PassId) -> Duration {
        let parts = self.folder.remaining(pass).len() as u32;
        let search = self.suite.search(pass);
        let probes = search.map_or(1, Search::probes_max);
        of_point(self.suite.plan(pass)) * (parts * probes)
    }

    /// Returns the planned time of the load points that a pass did not have after all.
    fn not_needed(&self, pass: PassId) -> Duration {
        let search = self.suite.search(pass).zip(self.folder.measured(pass));
        let Some((search, found)) = search else {
            return self.planned(pass);
        };
        let probes = found.load_points.len() as u32;
        of_point(self.suite.plan(pass)) * search.probes_max().saturating_sub(probes)
    }

    fn place(&self, pass: PassId) -> String {
        let study = &self.suite.study;
        format!(
            "pass {}/{}, {} on {}",
            pass.number,
            study.passes,
            plain(&study.profiles[pass.profile]),
            plain(&study.servers[pass.server].name)
        )
    }

    fn tell(&self, message: &str) {
        self.observer.note(message);
    }

    /// Reports missing and invalid load points, server by server.
    fn verdict(self, passes: &[PassId]) -> Result<Exit, Failure> {
        let is_measured = passes.iter().any(|&pass| self.folder.has_begun(pass));
        if self.cancel.is_cancelled() {
            return if is_measured {
                Ok(Exit::Interrupted)
            } else {
                Err(Failure::Interrupted)
            };
        }
        let mut worst = Exit::Done;
        for (server, doc) in self.suite.study.servers.iter().enumerate() {
            let of_server = || passes.iter().filter(move |pass| pass.server == server);
            let missing: Vec<_> = of_server()
                .filter(|pass| !self.beyond.contains(pass))
                .flat_map(|&pass| self.folder.remaining(pass))
                .collect();
            let name = plain(&doc.name);
            if !missing.is_empty() {
                let mut failed = self.failed.iter();
                let first = failed.find(|(pass, ..)| pass.server == server);
                let (exit, reason) = match first {
                    Some((_, exit, reason)) => (*exit, reason.as_str()),
                    None => (Exit::Invalid, "no reason given"),
                };
                self.tell(&format!(
                    "{name}: {} not measured: {reason}",
                    parts::counted_parts(&missing)
                ));
                // A server that never started is worse than one that failed under
                // load.
                worst = match (worst, exit) {
                    (Exit::Setup, _) | (_, Exit::Setup) => Exit::Setup,
                    (Exit::Usage, _) | (_, Exit::Usage) => Exit::Usage,
                    _ => Exit::Invalid,
                };
            }
            for &pass in of_server() {
                let run = self.folder.measured(pass);
                let judged = run.and_then(|doc| match &doc.find {
                    Some(find) => judge_search(find),
                    None => judge(doc).or_else(|| self.missed_rate.judge(doc)),
                });
                if let Some((exit, Some(reason))) = judged {
                    self.tell(&format!("{}: {reason}", self.place(pass)));
                    worst = match worst {
                        Exit::Setup | Exit::Usage => worst,
                        _ => exit,
                    };
                }
            }
        }
        Ok(match (worst, self.leftovers) {
            (Exit::Done, 1..) => Exit::Setup,
            (worst, _) => worst,
        })
    }
}
