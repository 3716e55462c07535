//! One pass: the server is started, the remaining load points are measured and
//! saved, and what stays behind is noted.

use std::path::Path;

use smbench_engine::run::SessionError;
use smbench_engine::run::{self, RunError};
use smbench_model::generator::Generator;
use smbench_model::plan::Plan;
use smbench_model::record::{RecycleBin, RunRecord};
use smbench_model::sessions::Sessions;
use smbench_report::RunDoc;
use smbench_report::doc::OutcomeDoc;
use smbench_report::find::answer;

use super::super::folder::{Folder, Remains};
use super::super::host::StartedServer;
use super::super::parts::PassPart;
use super::super::passes::PassId;
use super::Runner;
use crate::failure::{Exit, Failure};
use crate::observer::LeftShare;
use crate::run::{JobOutcome, RunJob, finished};
use crate::searching::held::within_this_machine;
use crate::searching::{ProbeLines, Search, Searching};
use crate::time_left::TimeLeft;
use crate::verdict::judge;
use crate::watch::{PointLines, RunPart, SaveResults};

/// Reason why a pass was not completed.
pub(super) enum Incomplete {
    /// The pass has block sizes that not every server accepts.
    Beyond(String),
    /// The result would not belong to this study, or cannot be saved.
    Stop(Box<Failure>),
    /// The server, or the KDC, refused the log-on.
    NotLetIn(Exit, String),
    Failed(Exit, String),
}

impl Incomplete {
    fn stop(failure: Failure) -> Self {
        Self::Stop(Box::new(failure))
    }

    fn failed(failure: &Failure) -> Self {
        Self::Failed(failure.exit(), failure.to_string())
    }
}

/// The remaining work of a pass.
struct PassWork {
    plan: Plan,
    /// The search whose probes the load points are, if there is one.
    searching: Option<Searching>,
}

impl Runner<'_> {
    /// Runs the remaining part of one pass.
    pub(super) fn pass(&mut self, pass: PassId, left: &mut TimeLeft) -> Result<(), Incomplete> {
        let place = self.place(pass);
        self.observer.within(&place);
        // Each pass prepares its files.
        left.begin();
        let before = self.folder.remains().to_vec();
        let (server, work) = match self.start_server(pass, &place) {
            Ok(started) => started,
            Err(incomplete) => {
                // The started server and its files are gone.
                self.folder.set_remains(before).map_err(Incomplete::stop)?;
                return Err(incomplete);
            }
        };
        let is_scratch = server.samba.is_some();
        let url = server.target.redacted();
        let share = LeftShare {
            url: &url,
            dialects: work.plan.dialects(),
        };
        self.warn_about_exporter(&place, &work.plan);
        let disclosure = server.disclosure.clone();
        let JobOutcome { record, logged } = self.measure(pass, &work, server, &place, left);
        let leftover = leftover(&record).filter(|_| !is_scratch);
        let is_refused = matches!(
            (&leftover, &record),
            (Some(leftover), Ok(record)) if RecycleBin::refuses(&record.recycle_bins, leftover)
        );
        if let Ok(record) = &record
            && let Some(kept) = record.space_kept.as_deref().filter(|_| !is_scratch)
        {
            self.leftovers += 1;
            self.tell(kept);
        }
        let doc = record.map(|record| finished(&record, disclosure, work.searching.as_ref()));
        self.tell_answer(&place, &doc);
        // Before any other step that can fail.
        let saved = self.save(pass, &doc, logged);
        let noted = match leftover {
            Some(leftover) => {
                self.leftovers += 1;
                if is_refused {
                    // The server has just refused what a clean-up would do.
                    self.tell(&leftover);
                } else {
                    self.observer.left_behind(&leftover, share);
                }
                Ok(())
            }
            // All noted items have been removed.
            None => self.folder.set_remains(before),
        };
        // Further results would be lost as well.
        saved.and(noted).map_err(Incomplete::stop)?;
        self.ended(pass, doc)
    }

    /// Starts the server of a pass, and returns what is left to measure. Fails if the
    /// server is no longer the one that was measured before.
    fn start_server(
        &mut self,
        pass: PassId,
        place: &str,
    ) -> Result<(StartedServer, PassWork), Incomplete> {
        let server = self.suite.hosts[pass.server].start(|folder| {
            let folder = folder.to_owned();
            self.folder.add_remains(Remains::Samba { folder })
        });
        let server = server.map_err(|failure| Incomplete::failed(&failure))?;
        let admitted = self.folder.admit(pass.server, &server.disclosure);
        admitted.map_err(Incomplete::stop)?;
        let plan = self.remaining_plan(pass, &server);
        let mut plan = self.hosts.with_part(plan);
        let mut search = self.suite.search(pass).cloned();
        if let Some(Search::Sessions(_, bound)) = &mut search {
            let (most, message) = within_this_machine(&mut plan)
                .map_err(|error| Incomplete::failed(&Failure::from(error)))?;
            *bound = most;
            if let Some(message) = message {
                self.tell(&format!("{place}: {message}"));
            }
        }
        let searching = search.map(|search| Searching::begin(search, self.cancel));
        Ok((server, PassWork { plan, searching }))
    }

    /// Prints the answer of a search, if nothing else shows the progress.
    fn tell_answer(&self, place: &str, doc: &Result<RunDoc, RunError>) {
        let find = doc.as_ref().ok().and_then(|doc| doc.find.as_ref());
        if let (Some(find), PointLines::Printed) = (find, self.points) {
            self.tell(&format!("{place}: {}", answer(find).1));
        }
    }

    /// Returns the plan of what is not measured yet.
    fn remaining_plan(&self, pass: PassId, server: &StartedServer) -> Plan {
        let Plan {
            work,
            mut sessions,
            generator,
            limits,
        } = PassPart::plan_of(&self.folder.remaining(pass), self.suite.plan(pass).clone());
        if !server.nodes.as_slice().is_empty() {
            sessions.failover.nodes = server.nodes.clone();
        }
        Plan {
            work,
            sessions: Sessions {
                target: server.target.clone(),
                ..sessions
            },
            generator: Generator {
                server_cpu: self.suite.hosts[pass.server].cpu.clone(),
                ..generator
            },
            limits,
        }
    }

    fn warn_about_exporter(&self, place: &str, plan: &Plan) {
        if let Err(error) = run::check_server_cpu(&plan.generator.server_cpu) {
            self.tell(&format!(
                "{place}: {error}; this pass may lack the server's CPU time"
            ));
        }
    }

    /// Measures and saves the load points of a plan, then ends the server if it is for
    /// this pass.
    fn measure(
        &mut self,
        pass: PassId,
        work: &PassWork,
        server: StartedServer,
        place: &str,
        left: &mut TimeLeft,
    ) -> JobOutcome {
        let url = server.target.redacted();
        let name = self.suite.hosts[pass.server].name.as_str();
        let keep = PassKeeper {
            folder: self.folder,
            pass,
            plan: self.suite.plan(pass),
            server: server.samba.is_none().then_some((name, url.as_str())),
        };
        let part = RunPart {
            left,
            plan: self.suite.plan(pass),
            place: Some(place),
            points: match work.searching {
                // Its probes have lines of their own.
                Some(_) => PointLines::Hidden,
                None => self.points,
            },
        };
        let job = RunJob {
            plan: &work.plan,
            disclosure: server.disclosure,
            part,
            search: work.searching.as_ref(),
            probes: match self.points {
                PointLines::Printed => ProbeLines::Shown(self.observer, Some(place)),
                PointLines::Hidden => ProbeLines::Hidden,
            },
            log: None,
            reports: Vec::new(),
            conditions: &[],
            state: None,
            hosts: self.hosts,
            observer: self.observer,
            unsaved: self.unsaved,
            cancel: self.cancel,
        };
        job.measure(keep)
    }

    /// Saves the document of a pass. Hands it out if that fails, because it is not saved
    /// anywhere then.
    fn save(
        &self,
        pass: PassId,
        doc: &Result<RunDoc, RunError>,
        logged: Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Ok(doc) = doc else { return logged };
        self.unsaved.begin();
        let saved = if doc.is_measured() {
            self.folder.save(pass, self.suite.plan(pass), doc.clone())
        } else {
            logged
        };
        self.unsaved.end();
        if saved.is_err() {
            self.observer.not_saved(doc);
        }
        saved
    }

    /// Returns why a pass was not completed, if it was not.
    fn ended(&self, pass: PassId, doc: Result<RunDoc, RunError>) -> Result<(), Incomplete> {
        let study = &self.suite.study;
        let is_transfer = study.transfer(&study.profiles[pass.profile]).is_some();
        let doc = doc.map_err(|error| match error {
            RunError::Session(SessionError::TooLarge { .. }) if is_transfer => {
                Incomplete::Beyond(error.to_string())
            }
            error => match Failure::from(error) {
                failure if failure.is_of_log_on() => {
                    Incomplete::NotLetIn(failure.exit(), failure.to_string())
                }
                failure => Incomplete::failed(&failure),
            },
        })?;
        match (doc.outcome, judge(&doc)) {
            (OutcomeDoc::Aborted, Some((exit, Some(reason)))) => {
                Err(Incomplete::Failed(exit, reason))
            }
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
struct PassKeeper<'a> {
    folder: &'a mut Folder,
    pass: PassId,
    /// Plan of the whole pass.
    plan: &'a Plan,
    /// Name and URL of the server; `None` if it is removed together with all its
    /// files.
    server: Option<(&'a str, &'a str)>,
}

impl SaveResults for PassKeeper<'_> {
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

    fn folder(&self) -> Option<&Path> {
        Some(self.folder.path())
    }

    fn save(&mut self, doc: RunDoc) -> Result<(), Failure> {
        self.folder.save(self.pass, self.plan, doc)
    }
}
