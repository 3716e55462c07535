//! Bounds that every plan must meet. They are checked when a plan is resolved, and
//! again before it runs, because its fields may have changed in between.

use super::Plan;
use crate::action::Action;
use crate::bounds::REQUEST_BYTES_MAX;
use crate::contents::Verify;
use crate::contents::after::BLOCKS_MAX;
use crate::contents::block::BLOCK_BYTES;
use crate::event::{EventAction, PlannedEvent};
use crate::fileio::FileioProblem;
use crate::files::Scope;
use crate::generator::{DriverKind, Generator};
use crate::kind::OpKind;
use crate::part::{ClientPart, PartRecords};
use crate::plan::Problem;
use crate::sessions::{ChurnProblem, FailoverProblem};
use crate::units::Size;
use crate::work::WorkProblem;
use crate::workload::Requests;

impl Plan {
    /// Returns the first problem that would leave nothing to measure or make
    /// measuring impossible. The workload is not checked again.
    pub fn check(&self) -> Result<(), Problem> {
        self.check_numbers().map_err(|(_, problem)| problem)?;
        self.alone().try_for_each(|plan| plan.check_order())
    }

    /// Finds the first number out of bounds. The error names its option.
    pub(super) fn check_numbers(&self) -> Result<(), (&'static str, Problem)> {
        let work = self.work.check();
        work.map_err(|(option, problem)| (option, problem.into()))?;
        let generator = self.generator.check();
        generator.map_err(|(option, problem)| (option, problem.into()))?;
        self.check_whole()?;
        self.alone().try_for_each(|plan| plan.check_alone())
    }

    /// Checks that all clients are measured together where their parts cannot be joined later.
    fn check_whole(&self) -> Result<(), (&'static str, Problem)> {
        let what = if self.work.populations.len() > 1 {
            "there are several populations"
        } else if self.work.unit.is_some() {
            "load points count units"
        } else if self.work.stages.is_some() {
            "the load has stages"
        } else {
            return Ok(());
        };
        let option = if self.generator.part.range().is_some() {
            "client_range"
        } else if self.generator.parts == PartRecords::Kept {
            "parts"
        } else {
            return Ok(());
        };
        Err((option, WorkProblem::Whole { what, option }.into()))
    }

    /// Checks what depends on the work of the only population.
    fn check_alone(&self) -> Result<(), (&'static str, Problem)> {
        self.check_part()?;
        self.check_copies()?;
        let dialects = self.sessions.options.dialects;
        let (largest, charge) = (self.largest_unsplit(), self.costliest(1));
        let connections = self.sessions.connections.check(largest, charge, dialects);
        connections.map_err(|(option, problem)| (option, problem.into()))?;
        self.check_failover()?;
        self.check_churn()?;
        self.check_unsplit()
    }

    /// Checks what clients do when they lose their connection, and the events that cut it.
    fn check_failover(&self) -> Result<(), (&'static str, Problem)> {
        let failover = &self.sessions.failover;
        let checked = failover.check(self.sessions.caching);
        checked.map_err(|(option, problem)| (option, problem.into()))?;
        let drops = |event: &PlannedEvent| matches!(event.action, EventAction::Drop(_));
        let workload = &self.only().workload;
        let problem = match failover.reconnect {
            None if self.work.events.iter().any(drops) => {
                return Err(("event", FailoverProblem::NoReconnect("event drop").into()));
            }
            None => return Ok(()),
            Some(_) if workload.replay().is_some() => {
                "in a replay, whose opens cannot be made again: drop it"
            }
            Some(_) if workload.walks() => {
                "in a walk, whose place in the tree would be lost: drop it"
            }
            Some(_) if workload.actions().contains(&Action::Session) => {
                "with operation session, which makes its connections itself: drop it"
            }
            Some(_) if self.generator.driver != DriverKind::Native => {
                "with this driver: use the native one"
            }
            Some(_) => return Ok(()),
        };
        Err(("reconnect", FailoverProblem::Work(problem).into()))
    }

    /// Checks whether clients with this work can log off and come back.
    fn check_churn(&self) -> Result<(), (&'static str, Problem)> {
        let churn = &self.sessions.churn;
        let points = self.work.load_points().into_iter();
        let checked = points
            .map(|clients| churn.check(clients))
            .find(Result::is_err);
        let checked = checked.unwrap_or(Ok(()));
        checked.map_err(|(option, problem)| (option, problem.into()))?;
        let workload = &self.only().workload;
        let watches = |action: &Action| matches!(action, Action::Watch { .. });
        let problem = match churn.rate {
            None => return Ok(()),
            Some(_) if workload.replay().is_some() => {
                "in a replay, whose opens cannot be made again"
            }
            Some(_) if workload.fileio().is_some() => "in a fileio test, whose files stay open",
            Some(_) if workload.walks() => "in a walk, whose place in the tree would be lost",
            Some(_) if workload.actions().contains(&Action::Session) => {
                "with operation session, which logs on and off itself"
            }
            Some(_) if workload.actions().iter().any(watches) => {
                "with operation watch, which waits without an end"
            }
            Some(_) if self.generator.driver != DriverKind::Native => "with this driver",
            Some(_) => return Ok(()),
        };
        Err(("churn", ChurnProblem::Work(problem).into()))
    }

    /// Checks the operations whose bytes one request asks for.
    fn check_unsplit(&self) -> Result<(), (&'static str, Problem)> {
        let actions = self.only().workload.actions();
        let mut whole = actions
            .iter()
            .filter(|action| matches!(action, Action::CreateReadClose | Action::CopyChunk));
        let size = Size(self.largest_request().into());
        match whole.next() {
            Some(action) if size.0 > REQUEST_BYTES_MAX => {
                let op = action.name();
                Err(("size", Problem::Unsplit { op, size }))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a part of the clients, and a time at which they begin, fit the load points.
    fn check_part(&self) -> Result<(), (&'static str, Problem)> {
        let is_single = self.work.points_per_pass() == 1 && self.work.repeat == 1;
        let Generator { part, begin_at, .. } = &self.generator;
        match part {
            ClientPart::Range(range) if !is_single || range.of != self.max_clients() => {
                Err(("client_range", Problem::PartOfClients(*range)))
            }
            _ if begin_at.is_some() && !is_single => Err(("begin_at", Problem::BeginAt)),
            ClientPart::Host { of, .. } if self.has_idle_hosts(*of) => {
                Err(("clients", Problem::IdleHosts(*of)))
            }
            ClientPart::Host { .. } if self.is_verified_together() => {
                Err(("verify", Problem::VerifyOnHosts))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the clients of a copy of a capture, which wait for each other, are together.
    fn check_copies(&self) -> Result<(), (&'static str, Problem)> {
        let replay = self.only().workload.replay();
        let clients = replay.map_or(1, |replay| replay.recording.clients_per_copy());
        match self.generator.part {
            ClientPart::Host { of: 2.., .. } if clients > 1 => {
                Err(("clients", Problem::CopyOnHosts(clients)))
            }
            ClientPart::Range(range) if !range.has_whole(clients) => {
                Err(("client_range", Problem::CopyInRanges { range, clients }))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a `fileio` test has fewer clients than hosts. Its events are divided
    /// among all hosts.
    fn has_idle_hosts(&self, hosts: u32) -> bool {
        let fewest = self.work.load_points().into_iter().min();
        self.only().workload.fileio().is_some() && fewest.is_some_and(|fewest| fewest < hosts)
    }

    /// Returns whether clients verify data that other clients write.
    fn is_verified_together(&self) -> bool {
        let shared = self.only().workload.files.scope == Scope::Shared;
        self.only().verify == Verify::ReadBack && shared && self.writes()
    }

    /// Checks that the writes and flushes of this plan can be noted, to judge the share after a
    /// crash.
    ///
    /// # Errors
    /// The first reason why they cannot.
    pub fn check_noted(&self) -> Result<(), Problem> {
        if let ClientPart::Host { .. } = self.generator.part {
            let why = "one machine cannot note the writes of others; leave out hosts";
            return Err(Problem::Unnoted(why));
        }
        if self.generator.driver != DriverKind::Native {
            return Err(Problem::Unnoted("it needs the driver native"));
        }
        self.alone().try_for_each(|plan| plan.check_noted_alone())?;
        let written = self.alone().filter(Self::writes_data);
        let bytes = written.map(|plan| {
            let clients = plan.work.load_points().into_iter().max();
            plan.only()
                .workload
                .files
                .bytes(clients.unwrap_or_default())
        });
        let bytes = bytes.fold(0, u64::saturating_add);
        if bytes / BLOCK_BYTES as u64 > BLOCKS_MAX {
            let size = Size(bytes);
            return Err(Problem::UnnotedBytes { size });
        }
        if self.alone().any(|plan| plan.writes_data()) {
            Ok(())
        } else {
            Err(Problem::Unnoted("the clients write to no file that stays"))
        }
    }

    fn check_noted_alone(&self) -> Result<(), Problem> {
        let workload = &self.only().workload;
        let why = match &workload.requests {
            Requests::Replay(_) => Some("a replay has no data of its own"),
            Requests::Fileio(_) => Some("a fileio test is not noted"),
            _ if workload.files.tree().is_some() => Some("files of a tree are not noted"),
            _ => None,
        };
        if let Some(why) = why {
            return Err(Problem::Unnoted(why));
        }
        match self.unaligned() {
            None => Ok(()),
            Some((what, size)) => Err(Problem::UnnotedSize { what, size }),
        }
    }

    fn writes_data(&self) -> bool {
        self.only().workload.kinds().contains(&OpKind::Write)
    }

    /// Returns the first size that is not a multiple of a block, in a workload of files.
    fn unaligned(&self) -> Option<(&'static str, Size)> {
        let workload = &self.only().workload;
        let sizes = workload
            .request_sizes()
            .map(|size| ("size", u64::from(size)));
        let lines = workload.pattern().unwrap_or_default().iter();
        let aligns = lines.map(|line| ("align", u64::from(line.align)));
        let mut units = [("file size", workload.files.size)]
            .into_iter()
            .chain(sizes)
            .chain(aligns);
        let odd = units.find(|(_, bytes)| !bytes.is_multiple_of(BLOCK_BYTES as u64));
        odd.map(|(what, bytes)| (what, Size(bytes)))
    }

    /// Checks that each operation that depends on an earlier one waits for it.
    pub(super) fn check_order(&self) -> Result<(), Problem> {
        match &self.only().workload.requests {
            _ if self.only().outstanding == 1 => Ok(()),
            Requests::Replay(replay) if !replay.recording.is_strict() => Ok(()),
            Requests::Replay(_) => Err(Problem::InReplay {
                what: "outstanding",
                why: "operations depend on those before them; give outstanding 1",
            }),
            Requests::Fileio(_) => Err(FileioProblem::Outstanding.into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
