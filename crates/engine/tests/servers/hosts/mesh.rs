//! Hosts of one run as threads of the test. Messages travel as bytes, and the way of a host
//! can be cut or held.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use smbench_engine::hosts::{
    FirstHost, HostIdentity, HostMessage, HostRole, HostTransport, OtherHost, connect,
};
use smbench_engine::run::{Course, PlannedCourse, Unobserved, execute_on_hosts, serve};
use smbench_engine::{Cancel, Observer, RunError};
use smbench_model::part::ClientPart;
use smbench_model::plan::Plan;
use smbench_model::record::RunRecord;

/// The ways of all hosts.
struct Wire {
    host: u32,
    ways: Vec<Sender<(u32, Vec<u8>)>>,
    arriving: Receiver<(u32, Vec<u8>)>,
    trouble: Arc<Trouble>,
}

/// What happens to the ways of a host.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    /// Nothing comes or goes any more.
    pub(crate) cut: AtomicBool,
    /// Nothing comes or goes for now.
    pub(crate) held: AtomicBool,
}

impl HostTransport for Wire {
    fn place(&self) -> (u32, u32) {
        (self.host, self.ways.len() as u32)
    }

    fn send(&mut self, to: u32, message: HostMessage) {
        while self.trouble.held.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        if !self.trouble.cut.load(Ordering::Relaxed) {
            let bytes = rmp_serde::to_vec_named(&message).unwrap();
            let _ = self.ways[to as usize].send((self.host, bytes));
        }
    }

    fn receive(&mut self) -> Option<(u32, HostMessage)> {
        if self.trouble.held.load(Ordering::Relaxed) {
            return None;
        }
        let (from, bytes) = self.arriving.try_recv().ok()?;
        let message = rmp_serde::from_slice(&bytes).unwrap();
        (!self.trouble.cut.load(Ordering::Relaxed)).then_some((from, message))
    }
}

fn identity(host: u32) -> HostIdentity {
    HostIdentity {
        name: format!("node{host}"),
        build: "1".to_owned(),
        machine: "{}".to_owned(),
    }
}

/// How a host that followed the first has ended, and its part of each run.
pub(crate) type Followed = (Result<(), RunError>, Vec<RunRecord>);

/// The other hosts of a run, each with its part of every run.
pub(crate) struct Others {
    threads: Vec<JoinHandle<Followed>>,
    pub(crate) troubles: Vec<Arc<Trouble>>,
    /// The cancel of the user of each.
    pub(crate) cancels: Vec<Cancel>,
}

impl Others {
    /// Waits for their ends.
    pub(crate) fn join(self) -> Vec<Followed> {
        let threads = self.threads.into_iter();
        threads.map(|thread| thread.join().unwrap()).collect()
    }
}

/// Starts hosts; those that are not the first follow it with these plans.
pub(crate) fn start(hosts: u32, plans: &[Plan]) -> (FirstHost, Others) {
    let (ways, arriving): (Vec<_>, Vec<_>) = (0..hosts).map(|_| channel()).unzip();
    let mut others = Others {
        threads: Vec::new(),
        troubles: Vec::new(),
        cancels: Vec::new(),
    };
    let mut first = None;
    for (host, arriving) in (0..hosts).zip(arriving) {
        let trouble = Arc::new(Trouble::default());
        let wire = Wire {
            host,
            ways: ways.clone(),
            arriving,
            trouble: Arc::clone(&trouble),
        };
        others.troubles.push(trouble);
        let (pump, role) = connect(wire, identity(host));
        thread::spawn(move || pump.run());
        match role {
            HostRole::First(host) => first = Some(host),
            HostRole::Other(host) => {
                let cancel = Cancel::default();
                others.cancels.push(cancel.clone());
                others.threads.push(follow(host, plans, cancel));
            }
        }
    }
    (first.unwrap(), others)
}

fn follow(host: OtherHost, plans: &[Plan], cancel: Cancel) -> JoinHandle<Followed> {
    let plans: Vec<_> = plans
        .iter()
        .map(|plan| with_part(plan, host.part()))
        .collect();
    thread::spawn(move || {
        let mut records = Vec::new();
        let mut keep = |record: &RunRecord| records.push(record.clone());
        let ended = serve(host, Ok(&plans), &cancel, &mut keep);
        (ended, records)
    })
}

fn with_part(plan: &Plan, part: ClientPart) -> Plan {
    let mut plan = plan.clone();
    plan.generator.part = part;
    plan
}

/// Runs a plan on the first host.
pub(crate) fn run_first(
    first: &FirstHost,
    plan: &Plan,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    run_course(first, plan, &mut PlannedCourse::of(plan), cancel)
}

/// Runs these load points of a plan on the first host.
pub(crate) fn run_course(
    first: &FirstHost,
    plan: &Plan,
    course: &mut dyn Course,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    run_observed(first, plan, course, &mut Unobserved, cancel)
}

/// Runs these load points of a plan on the first host, which an observer sees.
pub(crate) fn run_observed(
    first: &FirstHost,
    plan: &Plan,
    course: &mut dyn Course,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    let of = first.count();
    let plan = with_part(plan, ClientPart::Host { host: 0, of });
    execute_on_hosts(first, &plan, course, observer, cancel)
}
