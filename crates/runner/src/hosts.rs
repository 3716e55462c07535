//! The hosts of a run, as a command sees them. On the first host it runs as usual. On the others
//! the same command line gives the plans to follow the first host with.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use smbench_engine::hosts::{FirstHost, OtherHost, SendPassword};
use smbench_engine::run::{self, Course, Observer, PlannedRun, RunError, StateFile, serve};
use smbench_engine::{Cancel, Plan};
use smbench_model::part::{ClientPart, PartRecords};
use smbench_model::record::RunRecord;
use smbench_model::setting::Advice;

use crate::failure::{Exit, Failure};
use crate::lab_facts::Durability;
use crate::observer::RunObserver;
use crate::request::{RunRequest, RunServer, disclosure, document};

/// How the hosts of a command have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostsEnd {
    /// All of them know it.
    Together,
    /// One was lost, and may never know.
    Apart,
}

/// What this process does in the runs of its command.
#[derive(Debug)]
pub enum Hosts {
    /// It carries all clients.
    Alone,
    /// It is the first of several hosts.
    First(FirstHost, HostOptions),
    /// It follows the first host.
    Other(Follower),
}

/// A host that follows the first host, once.
#[derive(Debug)]
pub struct Follower {
    host: RefCell<Option<OtherHost>>,
    part: ClientPart,
    options: HostOptions,
}

/// Returns what ends the part of a host in good order. It is called when the host begins to
/// follow, which is after its passwords are known.
pub type CancelOf<'a> = &'a dyn Fn() -> Result<Cancel, Failure>;

/// Options that only several hosts have.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// Whether the first host sends the password to the others.
    pub send_password: SendPassword,
    /// The folder for documents of the parts of each host.
    pub parts: Option<PathBuf>,
}

impl HostOptions {
    fn part_records(&self) -> PartRecords {
        match self.parts {
            Some(_) => PartRecords::Kept,
            None => PartRecords::Merged,
        }
    }

    /// Makes the folder for parts.
    fn prepare(&self) -> Result<(), Failure> {
        match &self.parts {
            Some(folder) => fs::create_dir_all(folder).map_err(Failure::write(folder)),
            None => Ok(()),
        }
    }

    /// Saves the document of a host's part, if that is asked for. Parts of one run have the same
    /// number in their names.
    fn save(&self, host: u32, name: &str, record: &RunRecord) -> Result<(), Failure> {
        let Some(folder) = &self.parts else {
            return Ok(());
        };
        self.prepare()?;
        let mut doc = document(record, disclosure(Durability::default()));
        doc.set_part(record.plan.generator.part, record.plan.max_clients());
        doc.label = Some(match host {
            0 => name.to_owned(),
            host => format!("{name}#{host}"),
        });
        let profile = &record.plan.work.profile;
        let run = (record.salt.0 >> 32) as u32 ^ record.run_number;
        let path = folder.join(format!("{profile}-{run:08x}-rank{host}.json"));
        Ok(doc.save(&path)?)
    }
}

impl Hosts {
    /// Makes the folder for parts, so that it is known before the run that it can be written.
    pub fn prepare(&self) -> Result<(), Failure> {
        match self {
            Self::Alone => Ok(()),
            Self::First(_, options) => options.prepare(),
            Self::Other(follower) => follower.options.prepare(),
        }
    }

    /// Returns the plan with the part of the clients that this process carries.
    pub fn with_part(&self, mut plan: Plan) -> Plan {
        match self {
            Self::Alone => {}
            Self::First(first, options) => {
                plan.generator.part = first.part();
                plan.generator.parts = options.part_records();
            }
            Self::Other(follower) => plan = follower.with_part(plan),
        }
        plan
    }

    /// Runs the load points of a course. What concerns the other hosts goes to `notes`. Only a
    /// host alone notes answers in `state`.
    pub fn execute(
        &self,
        plan: &Plan,
        course: &mut dyn Course,
        state: Option<StateFile>,
        observer: &mut dyn Observer,
        notes: &dyn RunObserver,
        cancel: &Cancel,
    ) -> Result<RunRecord, RunError> {
        match self {
            Self::First(first, options) => {
                let record = run::execute_on_hosts(first, plan, course, observer, cancel)?;
                if options.parts.is_some() {
                    let own = RunRecord {
                        load_points: record.own_part.clone(),
                        hosts: Vec::new(),
                        ..record.clone()
                    };
                    if let Err(failure) = options.save(0, first.name(), &own) {
                        notes.note(&failure.to_string());
                    }
                }
                tell_shared_machines(&record, notes);
                Ok(record)
            }
            Self::Alone | Self::Other(_) => {
                let run = PlannedRun::of(plan).in_course(course).noting(state);
                run::execute(run, observer, cancel)
            }
        }
    }

    /// Returns whether all hosts know the end of the run.
    pub fn end(&self) -> HostsEnd {
        match self {
            Self::First(first, _) if first.lost().is_some() => HostsEnd::Apart,
            _ => HostsEnd::Together,
        }
    }

    /// Returns the follower, if this host is one.
    pub const fn follower(&self) -> Option<&Follower> {
        match self {
            Self::Other(follower) => Some(follower),
            Self::Alone | Self::First(..) => None,
        }
    }

    /// Fails if there are several hosts and a run has a server of its own, which other hosts
    /// cannot reach, or is a part already.
    pub fn check_server(&self, request: &RunRequest) -> Result<(), Failure> {
        let generator = &request.draft.generator;
        let is_by_hand = generator.part != ClientPart::All || generator.begin_at.is_some();
        match (self, &request.server) {
            (Self::First(..) | Self::Other(_), _) if is_by_hand => Err(Failure::Usage(
                Advice("@client_range and @begin_at are for runs without MPI: leave them out")
                    .to_string(),
            )),
            (Self::First(..) | Self::Other(_), RunServer::Embedded) => Err(Failure::Usage(
                "several hosts need a server that all of them reach: give its URL".to_owned(),
            )),
            _ => Ok(()),
        }
    }
}

/// Says that several ranks ran on one machine, which counts its CPUs for each.
fn tell_shared_machines(record: &RunRecord, notes: &dyn RunObserver) {
    let mut names = record.hosts.iter().map(|host| host.name.as_str());
    if let Some(other) = names.find(|name| name.contains('#')) {
        notes.note(&format!(
            "several ranks ran on one machine, {other} among them: start one rank per machine, \
             with all its CPUs (mpirun --map-by ppr:1:node --bind-to none)"
        ));
    }
}

impl Follower {
    /// Returns a follower that has not followed yet.
    pub const fn new(host: OtherHost, options: HostOptions) -> Self {
        Self {
            part: host.part(),
            host: RefCell::new(Some(host)),
            options,
        }
    }

    fn with_part(&self, mut plan: Plan) -> Plan {
        plan.generator.part = self.part;
        plan.generator.parts = self.options.part_records();
        plan
    }

    /// Returns whether the first host sends the password.
    pub const fn send_password(&self) -> SendPassword {
        self.options.send_password
    }

    /// Follows the first host with the plans of these requests.
    pub fn follow_requests(
        &self,
        requests: &[RunRequest],
        notes: &dyn RunObserver,
        cancel: CancelOf<'_>,
    ) -> Result<Exit, Failure> {
        let plan = |request: &RunRequest| {
            let RunServer::Given(server) = &request.server else {
                unreachable!("a server of its own is refused before");
            };
            Ok(request.plan(server.for_follower(self.send_password())?))
        };
        let plans: Result<Vec<_>, Failure> = requests.iter().map(plan).collect();
        self.follow(plans?, notes, cancel)
    }

    /// Follows the first host with these plans.
    pub fn follow(
        &self,
        plans: Vec<Plan>,
        notes: &dyn RunObserver,
        cancel: CancelOf<'_>,
    ) -> Result<Exit, Failure> {
        let plans: Vec<_> = plans.into_iter().map(|plan| self.with_part(plan)).collect();
        self.serve(Ok(&plans), notes, cancel)
    }

    /// Tells the first host why this one has no plans, if it has not followed yet.
    pub fn excuse(
        &self,
        failure: &Failure,
        notes: &dyn RunObserver,
        cancel: CancelOf<'_>,
    ) -> Result<Exit, Failure> {
        self.serve(Err(failure.to_string()), notes, cancel)
    }

    fn serve(
        &self,
        plans: Result<&[Plan], String>,
        notes: &dyn RunObserver,
        cancel: CancelOf<'_>,
    ) -> Result<Exit, Failure> {
        let Some(host) = self.host.take() else {
            return Ok(Exit::Done);
        };
        let (name, number) = (host.name().to_owned(), host.number());
        serve(host, plans, &cancel()?, &mut |record| {
            if let Err(failure) = self.options.save(number, &name, record) {
                notes.note(&failure.to_string());
            }
        })?;
        Ok(Exit::Done)
    }
}
