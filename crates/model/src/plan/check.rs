//! Bounds that every plan must meet. They are checked when a plan is resolved, and
//! again before it runs, because its fields may have changed in between.

use super::Plan;
use crate::action::Action;
use crate::bounds::REQUEST_BYTES_MAX;
use crate::contents::Verify;
use crate::contents::block::BLOCK_BYTES;
use crate::event::{EventAction, PlannedEvent};
use crate::fileio::FileioProblem;
use crate::files::Scope;
use crate::generator::{DriverKind, Generator};
use crate::kind::OpKind;
use crate::part::ClientPart;
use crate::plan::Problem;
use crate::sessions::FailoverProblem;
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
        match self.work.populations.len() {
            1 => self.check_alone(),
            _ if self.generator.part != ClientPart::All => {
                let problem = WorkProblem::Populations("leave out hosts and client_range");
                Err(("client_range", problem.into()))
            }
            _ => self.alone().try_for_each(|plan| plan.check_alone()),
        }
    }

    /// Checks what depends on the work of the only population.
    fn check_alone(&self) -> Result<(), (&'static str, Problem)> {
        self.check_part()?;
        let dialects = self.sessions.options.dialects;
        let (largest, charge) = (self.largest_unsplit(), self.costliest(1));
        let connections = self.sessions.connections.check(largest, charge, dialects);
        connections.map_err(|(option, problem)| (option, problem.into()))?;
        self.check_failover()?;
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
        match self.alone().any(|plan| plan.writes_data()) {
            true => Ok(()),
            false => Err(Problem::Unnoted("the clients write to no file that stays")),
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
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    use smbench_protocol::NtStatus;

    use super::*;
    use crate::load::Ramp;
    use crate::plan::resolve::tests::{plan, recorded, resolve};
    use crate::spec::RunOptions;
    use crate::trace::{Builder, RecordOrder, Step};
    use crate::work::Population;
    use crate::workload::Replay;

    type Change = fn(&mut Plan);

    #[test]
    fn a_changed_plan_is_refused_with_its_first_fault() {
        let changes: [(Change, &str); 16] = [
            (
                |plan| plan.only_mut().clients.clear(),
                "there are no load points: give one or more numbers of clients",
            ),
            (
                |plan| plan.only_mut().clients.push(0),
                "a load point has 0 clients: give 1 to 100000",
            ),
            (
                |plan| plan.only_mut().clients = vec![1, 100_001],
                "a load point has 100001 clients: give 1 to 100000",
            ),
            (
                |plan| plan.only_mut().outstanding = 0,
                "outstanding is 0: give 1 to 1024",
            ),
            (
                |plan| plan.work.repeat = 0,
                "repeat is 0: it must be at least 1",
            ),
            (
                |plan| plan.work.repeat = 1001,
                "repeat is 1001: the most is 1000",
            ),
            (
                |plan| plan.generator.threads = 0,
                "threads is 0: give 1 to 1024",
            ),
            (
                |plan| plan.generator.setup_rate = Some(0),
                "setup_rate is 0: give 1 to 1000000 sessions per second",
            ),
            (
                |plan| plan.work.duration = Duration::ZERO,
                "duration is 0s: the measured window needs at least 1ms, such as 30s",
            ),
            (
                |plan| plan.work.until_steady = Some(Duration::from_secs(4)),
                "until_steady is 4s: give at least 5s, so that it can be judged",
            ),
            (
                |plan| {
                    plan.work.duration = Duration::from_secs(30);
                    plan.work.until_steady = Some(Duration::from_secs(29));
                },
                "until_steady is 29s: give at least 30s, so that it can be judged",
            ),
            (
                |plan| {
                    plan.work.ramp_up = Duration::ZERO;
                    plan.only_mut().ramp = Ramp::Linear;
                },
                "ramp linear means nothing without ramp_up: give that as well, or drop it",
            ),
            (|plan| plan.work.ramp_down = Duration::MAX, "ramp_down is "),
            (
                |plan| plan.sessions.connections.sessions_per_connection = 0,
                "sessions_per_connection is 0: give 1 to 256",
            ),
            (
                |plan| plan.sessions.connections.connections_per_session = 0,
                "connections_per_session is 0: give 1 to 32",
            ),
            (
                |plan| plan.sessions.connections.credits = Some(0),
                "credits is 0: give 1 to 8192",
            ),
        ];
        assert_refused(&changes);
    }

    /// Checks that a plan with each of the changes is refused with these words.
    fn assert_refused(changes: &[(Change, &str)]) {
        for (change, words) in changes {
            let mut plan = plan("read-4k");
            assert_eq!(plan.check(), Ok(()));
            change(&mut plan);
            let message = plan.check().unwrap_err().to_string();
            assert!(message.starts_with(words), "{message}");
        }
    }

    #[test]
    fn a_part_of_the_clients_fits_the_load_points() {
        assert_refused(&[
            (
                |plan| {
                    plan.generator.part = ClientPart::Range("0..8/16".parse().unwrap());
                },
                "client_range 0..8/16 needs one load point of 16 clients in one pass",
            ),
            (
                |plan| {
                    plan.only_mut().clients = vec![8];
                    plan.generator.part = ClientPart::Range("0..8/16".parse().unwrap());
                },
                "client_range 0..8/16 needs one load point of 16 clients in one pass",
            ),
            (
                |plan| plan.generator.begin_at = Some(SystemTime::UNIX_EPOCH),
                "begin_at needs one load point in one pass",
            ),
            (
                |plan| {
                    plan.generator.part = ClientPart::Host { host: 0, of: 2 };
                    plan.only_mut().verify = Verify::ReadBack;
                    plan.only_mut().workload.requests = Requests::Divided {
                        readers_percent: 50.0,
                    };
                },
                "verify needs private files on several hosts",
            ),
        ]);
    }

    #[test]
    fn populations_fit_together() {
        fn add<'a>(plan: &'a mut Plan, names: [Option<&'static str>; 2]) -> &'a mut Plan {
            let first = plan.only().clone();
            plan.work.populations = Vec::from(names.map(|name| Population {
                name: name.map(str::to_owned),
                ..first.clone()
            }));
            plan
        }
        const BOTH: [Option<&str>; 2] = [Some("office"), Some("backup")];
        let mut several = plan("read-4k");
        assert_eq!(add(&mut several, BOTH).check(), Ok(()));
        assert_eq!(several.work.load_points(), [2, 8, 16, 32]);
        assert_refused(&[
            (
                |plan| plan.work.populations.clear(),
                "there are no load points",
            ),
            (
                |plan| {
                    add(plan, [Some("office"), None]);
                },
                "there are several populations: give each a name of its own",
            ),
            (
                |plan| {
                    add(plan, [Some("office"); 2]);
                },
                "there are several populations: give each a name of its own",
            ),
            (
                |plan| add(plan, BOTH).work.populations[1].clients = vec![1],
                "there are several populations: give all the same number of load points",
            ),
            (
                |plan| {
                    let one = add(plan, BOTH).work.populations.pop().unwrap();
                    plan.work.populations = vec![one; 17];
                },
                "there are several populations: give at most 16",
            ),
            (
                |plan| {
                    plan.only_mut().clients = vec![2];
                    let rates = vec!["5".parse().unwrap(), "6".parse().unwrap()];
                    add(plan, BOTH).work.populations[0].rates = rates;
                },
                "there are several populations: give each one rate at most",
            ),
            (
                |plan| {
                    let mut replay = resolve(&recorded(), &RunOptions::default()).unwrap();
                    let Requests::Replay(work) = &mut replay.only_mut().workload.requests else {
                        unreachable!("it is a replay");
                    };
                    work.loops = Some(1);
                    add(plan, BOTH).work.populations[1].workload = replay.only().workload.clone();
                },
                "there are several populations: give none that ends with its work",
            ),
            (
                |plan| {
                    add(plan, BOTH).generator.part = ClientPart::Host { host: 0, of: 2 };
                },
                "there are several populations: leave out hosts and client_range",
            ),
            (
                |plan| add(plan, BOTH).work.populations[1].outstanding = 0,
                "outstanding is 0: give 1 to 1024",
            ),
        ]);
    }

    #[test]
    fn a_replay_has_one_request_in_flight() {
        let mut plan = resolve(&recorded(), &RunOptions::default()).unwrap();
        assert_eq!(plan.check(), Ok(()));
        plan.work.until_steady = Some(Duration::from_secs(60));
        assert_eq!(plan.check(), Ok(()));
        plan.only_mut().outstanding = 2;
        assert!(matches!(plan.check(), Err(Problem::InReplay { .. })));
        let mut by_handle = Builder::default();
        by_handle.order(RecordOrder::ByHandle);
        let step = Step::Mkdir("a");
        by_handle.push(&step, NtStatus::SUCCESS, None).unwrap();
        let recording = by_handle.finish("captured".to_owned(), 1, [0; 32]);
        let replay = Replay::new(Arc::new(recording.into()));
        plan.only_mut().workload.requests = Requests::Replay(replay);
        assert_eq!(plan.check(), Ok(()));
    }
}
