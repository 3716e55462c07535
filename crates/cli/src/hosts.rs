//! The hosts of a run, as a command sees them. On the first host it runs as usual. On the others
//! the same command line gives the plans to follow the first host with.

use std::cell::RefCell;

use smbench_engine::hosts::{FirstHost, OtherHost, SendPassword};
use smbench_engine::run::{self, Course, Observer, RunError, serve};
use smbench_engine::{Cancel, Plan};
use smbench_model::plan::ClientPart;
use smbench_model::record::RunRecord;

use crate::failure::{Exit, Failure};
use crate::request::{RunRequest, RunServer};
use crate::signals;

/// What this process does in the runs of its command.
#[derive(Debug)]
pub(crate) enum Hosts {
    /// It carries all clients.
    Alone,
    /// It is the first of several hosts.
    First(FirstHost),
    /// It follows the first host.
    Other(Follower),
}

/// A host that follows the first host, once.
#[derive(Debug)]
pub(crate) struct Follower {
    host: RefCell<Option<OtherHost>>,
    part: ClientPart,
    send_password: SendPassword,
}

impl Hosts {
    /// Returns the plan with the part of the clients that this process carries.
    pub(crate) fn with_part(&self, mut plan: Plan) -> Plan {
        match self {
            Self::Alone => {}
            Self::First(first) => plan.generator.part = first.part(),
            Self::Other(follower) => plan.generator.part = follower.part,
        }
        plan
    }

    /// Runs the load points of a course.
    pub(crate) fn execute(
        &self,
        plan: &Plan,
        course: &mut dyn Course,
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> Result<RunRecord, RunError> {
        match self {
            Self::First(first) => run::execute_on_hosts(first, plan, course, observer, cancel),
            Self::Alone | Self::Other(_) => run::execute_course(plan, course, observer, cancel),
        }
    }

    /// Returns the follower, if this host is one.
    pub(crate) const fn follower(&self) -> Option<&Follower> {
        match self {
            Self::Other(follower) => Some(follower),
            Self::Alone | Self::First(_) => None,
        }
    }

    /// Fails if there are several hosts and a run has a server of its own, which other hosts
    /// cannot reach.
    pub(crate) fn check_server(&self, server: &RunServer) -> Result<(), Failure> {
        match (self, server) {
            (Self::First(_) | Self::Other(_), RunServer::Embedded) => Err(Failure::Usage(
                "several hosts need a server that all of them reach: give its URL".to_owned(),
            )),
            _ => Ok(()),
        }
    }
}

impl Follower {
    pub(crate) const fn new(host: OtherHost, send_password: SendPassword) -> Self {
        Self {
            part: host.part(),
            host: RefCell::new(Some(host)),
            send_password,
        }
    }

    pub(crate) const fn send_password(&self) -> SendPassword {
        self.send_password
    }

    /// Follows the first host with the plans of these requests.
    pub(crate) fn follow_requests(&self, requests: &[RunRequest]) -> Result<Exit, Failure> {
        let plan = |request: &RunRequest| {
            let RunServer::Given(server) = &request.server else {
                unreachable!("a server of its own is refused before");
            };
            Ok(request.plan(server.for_follower(self.send_password)?))
        };
        let plans: Result<Vec<_>, Failure> = requests.iter().map(plan).collect();
        self.follow(plans?)
    }

    /// Follows the first host with these plans.
    pub(crate) fn follow(&self, plans: Vec<Plan>) -> Result<Exit, Failure> {
        let with_part = |mut plan: Plan| {
            plan.generator.part = self.part;
            plan
        };
        let plans: Vec<_> = plans.into_iter().map(with_part).collect();
        self.serve(Ok(&plans))
    }

    /// Tells the first host why this one has no plans, if it has not followed yet.
    pub(crate) fn excuse(&self, failure: &Failure) -> Result<Exit, Failure> {
        self.serve(Err(failure.to_string()))
    }

    fn serve(&self, plans: Result<&[Plan], String>) -> Result<Exit, Failure> {
        let Some(host) = self.host.take() else {
            return Ok(Exit::Done);
        };
        let cancel = Cancel::default();
        let asked = cancel.clone();
        signals::on_interrupt(move |_| asked.cancel())?;
        serve(host, plans, &cancel, &mut |_| {})?;
        Ok(Exit::Done)
    }
}
