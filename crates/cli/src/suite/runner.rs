//! The passes of a suite, one engine run each, alternating between servers.
//!
//! Invariants:
//!
//! - Every finished load point is on disk before the next begins. If it cannot be
//!   written, that is tried again after the next.
//! - If the last pass could not be saved, no further pass is measured.
//! - A server that fails affects only its own load points. If it refuses the
//!   log-on, no further log-on is tried.

use std::time::Duration;

use smbench_engine::run::RunError;
use smbench_engine::{Cancel, SessionError, run};
use smbench_report::doc::OutcomeDoc;
use smbench_report::text::height;
use smbench_report::units::{counted, plain};
use smbench_report::{RunDoc, render};

use super::folder::{Folder, Remains, Slot, slots};
use super::host::Standing;
use super::remains::remove_remains;
use super::resolve::Suite;
use super::time_left::{TimeLeft, of_point};
use crate::failure::{Exit, Failure};
use crate::output::{complain, print};
use crate::progress::{Line, Visibility};
use crate::request::document;
use crate::signals::cleanup_command;
use crate::unsaved::Unsaved;
use crate::verdict::{MissedRate, judge};
use crate::watch::{Keep, Watch};

/// State that a suite shares with its progress line and signal handling.
#[derive(Clone, Copy)]
pub(super) struct Control<'a> {
    pub(super) line: &'a Line,
    pub(super) cancel: &'a Cancel,
    pub(super) unsaved: &'a Unsaved,
    pub(super) visibility: Visibility,
    pub(super) missed_rate: MissedRate,
}

/// Measures the remaining load points of a suite.
pub(super) struct Runner<'a> {
    suite: &'a Suite,
    folder: &'a mut Folder,
    line: &'a Line,
    cancel: &'a Cancel,
    unsaved: &'a Unsaved,
    /// Whether load points are printed because no progress line can be shown.
    points: Points,
    missed_rate: MissedRate,
    /// Number of directories of this invocation that remain on a share.
    leftovers: u32,
    /// Passes that failed before they were complete.
    failed: Vec<(Slot, Exit, String)>,
    /// Passes with requests larger than the server accepts, which is expected for
    /// some.
    beyond: Vec<Slot>,
    /// Servers that refused the log-on.
    closed: Vec<usize>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(suite: &'a Suite, folder: &'a mut Folder, control: Control<'a>) -> Self {
        let Control {
            line,
            cancel,
            unsaved,
            visibility,
            missed_rate,
        } = control;
        Self {
            suite,
            folder,
            line,
            cancel,
            unsaved,
            points: match visibility {
                Visibility::Terminal if line.is_hidden() => Points::Told,
                _ => Points::Untold,
            },
            missed_rate,
            leftovers: 0,
            failed: Vec::new(),
            beyond: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// Runs every pass that is not complete. Messages about the result go to
    /// standard error.
    pub(super) fn run(mut self) -> Result<Exit, Failure> {
        remove_remains(self.suite, self.folder, self.line);
        let slots = slots(&self.suite.study);
        let planned = slots.iter().map(|&slot| self.planned(slot)).sum();
        let mut left = TimeLeft::of(planned);
        self.check_exporters(&slots);
        for &slot in &slots {
            if self.cancel.is_cancelled() {
                break;
            }
            if self.folder.remaining(slot).is_empty() {
                continue;
            }
            if self.closed.contains(&slot.server) {
                left.forgo(self.planned(slot));
                continue;
            }
            let place = self.place(slot);
            match self.pass(slot, &mut left) {
                Ok(()) => {}
                Err(Trouble::Beyond(reason)) => {
                    self.tell(&format!("{place}: left out: {reason}"));
                    self.beyond.push(slot);
                }
                Err(Trouble::Stop(failure)) => {
                    self.line.clear();
                    return Err(failure);
                }
                Err(Trouble::NotLetIn(exit, reason)) => {
                    // Another attempt before each pass would lock the account.
                    self.tell(&format!(
                        "{place}: {reason}; no further log-on is tried there, and the suite goes \
                         on without this server"
                    ));
                    self.closed.push(slot.server);
                    self.failed.push((slot, exit, reason));
                }
                Err(Trouble::Failed(exit, reason)) => {
                    if !self.cancel.is_cancelled() {
                        self.tell(&format!("{place}: {reason}; the suite goes on"));
                    }
                    self.failed.push((slot, exit, reason));
                }
            }
            self.folder.load(slot, self.suite)?;
            left.forgo(self.planned(slot));
        }
        self.line.clear();
        self.verdict(&slots)
    }

    /// Leaves out servers whose exporter does not answer before the first pass. In later
    /// passes, that costs only the CPU time of the server.
    fn check_exporters(&mut self, slots: &[Slot]) {
        for (server, host) in self.suite.hosts.iter().enumerate() {
            let mut of_server = slots.iter().filter(|slot| slot.server == server);
            let next = of_server.find(|slot| !self.folder.remaining(**slot).is_empty());
            if let (Some(&slot), Err(error)) = (next, run::check_server_cpu(&host.cpu)) {
                let failure = Failure::from(error);
                let name = plain(&self.suite.study.servers[server].name);
                self.tell(&format!(
                    "{name}: {failure}; the suite goes on without this server"
                ));
                self.closed.push(server);
                self.failed
                    .push((slot, failure.exit(), failure.to_string()));
            }
        }
    }

    /// Returns the planned time of the remaining load points of a pass, ramps
    /// included.
    fn planned(&self, slot: Slot) -> Duration {
        let points = self.folder.remaining(slot).len() as u32;
        of_point(self.suite.plan(slot)) * points
    }

    fn place(&self, slot: Slot) -> String {
        let study = &self.suite.study;
        format!(
            "pass {}/{}, {} on {}",
            slot.pass,
            study.passes,
            plain(&study.profiles[slot.profile]),
            plain(&study.servers[slot.server].name)
        )
    }

    fn tell(&self, message: &str) {
        self.line.suspended(|| complain(message));
    }

    /// Runs the remaining part of one pass.
    fn pass(&mut self, slot: Slot, left: &mut TimeLeft) -> Result<(), Trouble> {
        let failed = |failure: Failure| Trouble::Failed(failure.exit(), failure.to_string());
        let place = self.place(slot);
        self.line.within(format!("{place}, {} left", left.told()));
        let host = &self.suite.hosts[slot.server];
        let whole = self.suite.plan(slot);
        let before = self.folder.remains().to_vec();
        let standing = host.stand(|folder| {
            let folder = folder.to_owned();
            self.folder.add_remains(Remains::Samba { folder })
        });
        let Standing {
            target,
            disclosure,
            samba,
        } = match standing {
            Ok(standing) => standing,
            Err(failure) => {
                // The started server and its files are gone.
                self.folder.set_remains(before).map_err(Trouble::Stop)?;
                return Err(failed(failure));
            }
        };
        if let Err(other) = self.folder.admit(slot.server, &disclosure) {
            drop(samba);
            self.folder.set_remains(before).map_err(Trouble::Stop)?;
            return Err(Trouble::Stop(other));
        }
        let mut plan = whole.clone();
        plan.generator.server_cpu = host.cpu.clone();
        plan.work.load_points = self.folder.remaining(slot);
        let url = target.redacted();
        let cleanup = cleanup_command(&url);
        plan.sessions.target = target;
        let keep = Pass {
            folder: self.folder,
            slot,
            plan: whole,
            server: samba
                .is_none()
                .then_some((host.name.as_str(), url.as_str())),
            telling: Telling {
                line: self.line,
                place: &place,
                left,
                points: self.points,
            },
        };
        if let Err(error) = run::check_server_cpu(&plan.generator.server_cpu) {
            let warning = format!("{place}: {error}; this pass may lack the server's CPU time");
            self.line.suspended(|| complain(warning));
        }
        let mut watch = Watch::new(self.line, keep, None, disclosure.clone(), self.unsaved);
        let record = run::execute(&plan, &mut watch, self.cancel);
        let closed = watch.close();
        let is_scratch = samba.is_some();
        drop(samba);
        let leftover = match &record {
            Ok(record) => record.leftover.clone(),
            Err(RunError::Leftover { leftover, .. }) => Some(leftover.clone()),
            Err(_) => None,
        };
        let doc = record.map(|record| document(&record, disclosure));
        // Before any other step that can fail.
        self.unsaved.begin();
        let saved = match &doc {
            Ok(doc) if doc.is_measured() => self.folder.save(slot, whole, doc.clone()),
            _ => closed,
        };
        self.unsaved.end();
        let noted = match leftover.filter(|_| !is_scratch) {
            Some(leftover) => {
                self.leftovers += 1;
                self.tell(&format!("{leftover}; remove it with: {cleanup}"));
                Ok(())
            }
            // All noted items have been removed.
            None => self.folder.set_remains(before),
        };
        if let (Err(_), Ok(doc)) = (&saved, &doc) {
            // The result is not saved anywhere. If printing fails as well, the full
            // disk is the more important message.
            let _ = self.line.suspended(|| print(&render(doc)));
        }
        // Further results would be lost as well.
        saved.and(noted).map_err(Trouble::Stop)?;
        let is_transfer = {
            let study = &self.suite.study;
            study.transfer(&study.profiles[slot.profile]).is_some()
        };
        let doc = doc.map_err(|error| match error {
            RunError::Session(SessionError::TooLarge { .. }) if is_transfer => {
                Trouble::Beyond(error.to_string())
            }
            error => match Failure::from(error) {
                failure if failure.is_of_log_on() => {
                    Trouble::NotLetIn(failure.exit(), failure.to_string())
                }
                failure => failed(failure),
            },
        })?;
        match (doc.outcome, judge(&doc)) {
            (OutcomeDoc::Aborted, Some((exit, Some(reason)))) => Err(Trouble::Failed(exit, reason)),
            _ => Ok(()),
        }
    }

    /// Reports missing and invalid load points, server by server.
    fn verdict(self, slots: &[Slot]) -> Result<Exit, Failure> {
        let is_measured = slots
            .iter()
            .any(|&slot| self.folder.measured(slot).is_some());
        if self.cancel.is_cancelled() {
            return match is_measured {
                true => Ok(Exit::Interrupted),
                false => Err(Failure::Interrupted),
            };
        }
        let mut worst = Exit::Done;
        for (server, doc) in self.suite.study.servers.iter().enumerate() {
            let of_server = || slots.iter().filter(move |slot| slot.server == server);
            let missing: usize = of_server()
                .filter(|slot| !self.beyond.contains(slot))
                .map(|&slot| self.folder.remaining(slot).len())
                .sum();
            let name = plain(&doc.name);
            if missing > 0 {
                let mut failed = self.failed.iter();
                let first = failed.find(|(slot, ..)| slot.server == server);
                let (exit, reason) = match first {
                    Some((_, exit, reason)) => (*exit, reason.as_str()),
                    None => (Exit::Invalid, "no reason given"),
                };
                complain(format_args!(
                    "{name}: {} not measured: {reason}",
                    counted(missing as u64, "load point")
                ));
                // A server that never started is worse than one that failed under
                // load.
                worst = match (worst, exit) {
                    (Exit::Setup, _) | (_, Exit::Setup) => Exit::Setup,
                    (Exit::Usage, _) | (_, Exit::Usage) => Exit::Usage,
                    _ => Exit::Invalid,
                };
            }
            for &slot in of_server() {
                let run = self.folder.measured(slot);
                let judged = run.and_then(|doc| judge(doc).or_else(|| self.missed_rate.judge(doc)));
                if let Some((exit, Some(reason))) = judged {
                    complain(format_args!("{}: {reason}", self.place(slot)));
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

/// Reason why a pass was not completed.
enum Trouble {
    /// The pass has block sizes that not every server accepts.
    Beyond(String),
    /// The result would not belong to this study, or cannot be saved.
    Stop(Failure),
    /// The server, or the KDC, refused the log-on.
    NotLetIn(Exit, String),
    Failed(Exit, String),
}

/// Whether each load point is printed in a separate line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Points {
    Told,
    Untold,
}

/// State for messages during a pass.
struct Telling<'a> {
    line: &'a Line,
    place: &'a str,
    left: &'a mut TimeLeft,
    points: Points,
}

/// Destination of a pass's load points.
struct Pass<'a> {
    folder: &'a mut Folder,
    slot: Slot,
    /// Plan of the whole pass.
    plan: &'a smbench_engine::plan::Plan,
    /// Name and URL of the server; `None` if it is removed together with all its
    /// files.
    server: Option<(&'a str, &'a str)>,
    telling: Telling<'a>,
}

impl Keep for Pass<'_> {
    fn directory_claimed(&mut self, directory: &str) {
        let Some((server, url)) = self.server else {
            return;
        };
        let remains = Remains::Share {
            server: server.to_owned(),
            directory: directory.to_owned(),
            url: Some(url.to_owned()),
        };
        // If noting fails, the directory stays on the share if the suite is killed.
        // That is not a reason to stop measuring.
        let _ = self.folder.add_remains(remains);
    }

    fn save(&mut self, doc: RunDoc) -> Result<(), Failure> {
        let Telling {
            line,
            place,
            left,
            points,
        } = &mut self.telling;
        left.measured(self.plan);
        line.within(format!("{place}, {} left", left.told()));
        if let (Points::Told, Some(point)) = (*points, doc.load_points.last()) {
            complain(format_args!(
                "{place}, {}: {}; {} left",
                counted(point.clients.into(), "client"),
                height(&doc, point),
                left.told()
            ));
        }
        self.folder.save(self.slot, self.plan, doc)
    }
}
