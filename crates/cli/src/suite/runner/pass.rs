//! One pass: the server is started, the remaining load points are measured and
//! saved, and what stays behind is noted.

use smbench_engine::SessionError;
use smbench_engine::plan::Plan;
use smbench_engine::record::RunRecord;
use smbench_engine::run::{self, RunError};
use smbench_engine::target::Target;
use smbench_report::doc::OutcomeDoc;
use smbench_report::text::height;
use smbench_report::units::counted;
use smbench_report::{RunDoc, render};

use super::super::folder::{Folder, Remains};
use super::super::host::Standing;
use super::super::slots::Slot;
use super::super::time_left::TimeLeft;
use super::{Points, Runner};
use crate::failure::{Exit, Failure};
use crate::output::{complain, print};
use crate::progress::Line;
use crate::request::document;
use crate::signals::cleanup_command;
use crate::verdict::judge;
use crate::watch::{Keep, Watch};

/// Reason why a pass was not completed.
pub(super) enum Trouble {
    /// The pass has block sizes that not every server accepts.
    Beyond(String),
    /// The result would not belong to this study, or cannot be saved.
    Stop(Failure),
    /// The server, or the KDC, refused the log-on.
    NotLetIn(Exit, String),
    Failed(Exit, String),
}

impl Trouble {
    fn failed(failure: &Failure) -> Self {
        Self::Failed(failure.exit(), failure.to_string())
    }
}

impl Runner<'_> {
    /// Runs the remaining part of one pass.
    pub(super) fn pass(&mut self, slot: Slot, left: &mut TimeLeft) -> Result<(), Trouble> {
        let place = self.place(slot);
        self.line.within(format!("{place}, {} left", left.told()));
        let before = self.folder.remains().to_vec();
        let standing = match self.start_server(slot) {
            Ok(standing) => standing,
            Err(trouble) => {
                // The started server and its files are gone.
                self.folder.set_remains(before).map_err(Trouble::Stop)?;
                return Err(trouble);
            }
        };
        let is_scratch = standing.samba.is_some();
        let cleanup = cleanup_command(&standing.target.redacted());
        let plan = self.remaining_plan(slot, &standing.target);
        self.warn_about_exporter(&place, &plan);
        let disclosure = standing.disclosure.clone();
        let (record, closed) = self.measure(slot, &plan, standing, &place, left);
        let leftover = leftover(&record).filter(|_| !is_scratch);
        let doc = record.map(|record| document(&record, disclosure));
        // Before any other step that can fail.
        let saved = self.save(slot, &doc, closed);
        let noted = match leftover {
            Some(leftover) => {
                self.leftovers += 1;
                self.tell(&format!("{leftover}; remove it with: {cleanup}"));
                Ok(())
            }
            // All noted items have been removed.
            None => self.folder.set_remains(before),
        };
        // Further results would be lost as well.
        saved.and(noted).map_err(Trouble::Stop)?;
        self.ended(slot, doc)
    }

    /// Starts the server of a pass. Fails if it is no longer the one that was measured
    /// before.
    fn start_server(&mut self, slot: Slot) -> Result<Standing, Trouble> {
        let standing = self.suite.hosts[slot.server].stand(|folder| {
            let folder = folder.to_owned();
            self.folder.add_remains(Remains::Samba { folder })
        });
        let standing = standing.map_err(|failure| Trouble::failed(&failure))?;
        let admitted = self.folder.admit(slot.server, &standing.disclosure);
        admitted.map_err(Trouble::Stop)?;
        Ok(standing)
    }

    /// Returns the plan of the load points that are not measured yet.
    fn remaining_plan(&self, slot: Slot, target: &Target) -> Plan {
        Plan {
            load_points: self.folder.remaining(slot),
            server_cpu: self.suite.hosts[slot.server].cpu.clone(),
            target: target.clone(),
            ..self.suite.plan(slot).clone()
        }
    }

    fn warn_about_exporter(&self, place: &str, plan: &Plan) {
        if let Err(error) = run::check_server_cpu(&plan.server_cpu) {
            self.tell(&format!(
                "{place}: {error}; this pass may lack the server's CPU time"
            ));
        }
    }

    /// Measures and saves the load points of a plan, then ends the server if it is for
    /// this pass.
    fn measure(
        &mut self,
        slot: Slot,
        plan: &Plan,
        standing: Standing,
        place: &str,
        left: &mut TimeLeft,
    ) -> (Result<RunRecord, RunError>, Result<(), Failure>) {
        let url = standing.target.redacted();
        let name = self.suite.hosts[slot.server].name.as_str();
        let keep = Pass {
            folder: self.folder,
            slot,
            plan: self.suite.plan(slot),
            server: standing.samba.is_none().then_some((name, url.as_str())),
            line: self.line,
            place,
            left,
            points: self.points,
        };
        let mut watch = Watch::new(self.line, keep, None, standing.disclosure, self.unsaved);
        let record = run::execute(plan, &mut watch, self.cancel);
        (record, watch.close())
    }

    /// Saves the document of a pass. Prints it if that fails, because it is not saved
    /// anywhere then.
    fn save(
        &self,
        slot: Slot,
        doc: &Result<RunDoc, RunError>,
        closed: Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Ok(doc) = doc else { return closed };
        self.unsaved.begin();
        let saved = match doc.is_measured() {
            true => self.folder.save(slot, self.suite.plan(slot), doc.clone()),
            false => closed,
        };
        self.unsaved.end();
        if saved.is_err() {
            // If printing fails as well, the full disk is the more important message.
            let _ = self.line.suspended(|| print(&render(doc)));
        }
        saved
    }

    /// Returns why a pass was not completed, if it was not.
    fn ended(&self, slot: Slot, doc: Result<RunDoc, RunError>) -> Result<(), Trouble> {
        let study = &self.suite.study;
        let is_transfer = study.transfer(&study.profiles[slot.profile]).is_some();
        let doc = doc.map_err(|error| match error {
            RunError::Session(SessionError::TooLarge { .. }) if is_transfer => {
                Trouble::Beyond(error.to_string())
            }
            error => match Failure::from(error) {
                failure if failure.is_of_log_on() => {
                    Trouble::NotLetIn(failure.exit(), failure.to_string())
                }
                failure => Trouble::failed(&failure),
            },
        })?;
        match (doc.outcome, judge(&doc)) {
            (OutcomeDoc::Aborted, Some((exit, Some(reason)))) => Err(Trouble::Failed(exit, reason)),
            _ => Ok(()),
        }
    }
}

/// Returns the directory that a run left on the share.
fn leftover(record: &Result<RunRecord, RunError>) -> Option<String> {
    match record {
        Ok(record) => record.leftover.clone(),
        Err(RunError::Leftover { leftover, .. }) => Some(leftover.clone()),
        Err(_) => None,
    }
}

/// Destination of a pass's load points.
struct Pass<'a> {
    folder: &'a mut Folder,
    slot: Slot,
    /// Plan of the whole pass.
    plan: &'a Plan,
    /// Name and URL of the server; `None` if it is removed together with all its
    /// files.
    server: Option<(&'a str, &'a str)>,
    line: &'a Line,
    place: &'a str,
    left: &'a mut TimeLeft,
    points: Points,
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
        let place = self.place;
        self.left.measured(self.plan);
        let left = self.left.told();
        self.line.within(format!("{place}, {left} left"));
        if let (Points::Told, Some(point)) = (self.points, doc.load_points.last()) {
            let clients = counted(point.clients.into(), "client");
            let height = height(&doc, point);
            complain(format_args!("{place}, {clients}: {height}; {left} left"));
        }
        self.folder.save(self.slot, self.plan, doc)
    }
}
