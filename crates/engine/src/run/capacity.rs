//! Checks whether this machine can carry a run's largest load point: local ports,
//! memory and threads.
//!
//! A run that certainly cannot succeed is refused before the first connection for
//! the load. The error is one line that says what to raise.
//!
//! A process that runs out of address space aborts. The estimate leaves out what
//! the allocator may reserve for each thread (64 MiB in glibc). So a limit can be
//! too low although the run is not refused.
//!
//! Invariant: a run is refused only if the system has reported too little of a
//! resource. If the system does not report a resource, the run starts and may fail
//! later. Needs are estimated from below. Not here: open files (see
//! [`process::reserve_descriptors`](crate::machine::process::reserve_descriptors)).

#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use smbench_model::bounds::REQUEST_BYTES_MAX;
use smbench_model::contents::Verify;
use smbench_model::contents::verify;
use smbench_model::plan::Plan;
use smbench_model::setting::{Advice, SOURCE_IP, THREADS};
use smbench_model::units::Size;
use thiserror::Error;

use crate::machine::capacity::{PortReuse, Ports, ResourceLeft, memory_left, threads_left};
use crate::machine::process;
use crate::machine::route::Route;
use crate::run::carrier::{Carrier, for_log_ons};
use crate::smb::session::{Endpoint, LogoffScope};
use crate::worker::recorder_exchange::RECORDERS_PER_WORKER;

/// Memory of this process that a session needs, in bytes; measured (4 KiB).
const SESSION_BYTES: u64 = 4 * 1024;
/// Memory that a request in flight needs, in bytes.
const SLOT_BYTES: u64 = 128;
/// Kernel memory that an idle connection needs, in bytes.
const CONNECTION_BYTES: u64 = 4 * 1024;
/// Memory that a worker needs for scratch buffers, in addition to its recorders.
const WORKER_BYTES: u64 = 1024 * 1024;
/// Address space of a thread's stack (the default of Rust's standard library).
const STACK_BYTES: u64 = 2 * 1024 * 1024;
/// Size of a histogram. A recorder has one histogram for each kind of operation,
/// and two where response times differ from service times.
const HISTOGRAM_BYTES: u64 = 256 * 1024;
/// Number of threads in addition to those of the load: this one, and those that join
/// them.
const OTHER_THREADS: u64 = 8;
/// Time for which an ended connection keeps its port (Linux's `TCP_TIMEWAIT_LEN`).
const TIME_WAIT: Duration = Duration::from_secs(60);

/// Reason why this machine cannot carry a run.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CapacityError {
    /// The free local ports are too few. Each connection between the same two
    /// addresses needs a port of its own.
    #[error(
        "{wanted} connections from {source_ip} to {server} need as many local ports, but {free} of \
         {range} are free{after}; this machine is the limit: connect from {addresses} addresses \
         ({SOURCE_IP}), widen net.ipv4.ip_local_port_range, or run fewer clients"
    )]
    Ports {
        /// Number of simultaneous connections between the two addresses, including
        /// those that have just ended.
        wanted: u64,
        /// The local address.
        source_ip: IpAddr,
        /// The server's address.
        server: SocketAddr,
        /// Number of free ports.
        free: u64,
        /// Number of ports that the system uses for connections.
        range: u64,
        /// Why this number of ports is needed, as the rest of a clause.
        after: &'static str,
        /// Number of local addresses that would be enough.
        addresses: u64,
    },
    /// The machine, or the group this process is in, has too little memory.
    #[error(
        "{clients} clients with {outstanding} outstanding need about {needed} of memory, but {} is \
         left {place}; this machine is the limit: run fewer clients{advice}",
        Size(*.left)
    )]
    Memory {
        /// Clients of the largest load point.
        clients: u32,
        /// Requests in flight per client.
        outstanding: u32,
        /// The estimated need.
        needed: Size,
        /// Bytes available.
        left: u64,
        /// The place: "on this machine" or "to this process's control group".
        place: &'static str,
        /// Further advice, as the rest of a sentence.
        advice: Advice,
    },
    /// The address space that this process may allocate is too small.
    #[error(
        "{clients} clients on {threads} threads need about {needed} of address space, but {} is left \
         to this process ({limit}); this machine is the limit: raise that, run fewer clients or give fewer {THREADS}",
        Size(*.left)
    )]
    AddressSpace {
        /// Clients of the largest load point.
        clients: u32,
        /// Number of worker threads.
        threads: u64,
        /// The estimated need.
        needed: Size,
        /// Bytes that can be allocated.
        left: u64,
        /// Name of the limit.
        limit: &'static str,
    },
    /// No more threads can be started.
    #[error(
        "{threads} threads need more than this machine allows ({left} more: {limit}); this machine \
         is the limit: raise that, or give fewer {THREADS}"
    )]
    Threads {
        /// Number of worker threads.
        threads: u64,
        /// Number of threads that can still be started.
        left: u64,
        /// Name of the limit.
        limit: &'static str,
    },
}

/// Checks memory and threads.
pub(super) fn check_process(plan: &Plan, carrier: Carrier) -> Result<(), CapacityError> {
    threads(plan, &threads_left())?;
    let needed = Needed::by(plan, carrier);
    memory(plan, &needed, &memory_left())?;
    address_space(plan, &needed, &process::allocatable())
}

/// Checks local ports.
pub(super) fn check_ports(plan: &Plan, endpoint: &Endpoint) -> Result<(), CapacityError> {
    let Some(machine) = Ports::read() else {
        return Ok(());
    };
    let kept = |route: &Route| machine.kept(route);
    for route in endpoint.routes() {
        let (wanted, after) = at_once(plan, endpoint.logoff, route.of, kept(&route));
        let free = machine.free(&route);
        if wanted > free {
            return Err(CapacityError::Ports {
                wanted,
                source_ip: route.source,
                server: route.server,
                free,
                range: machine.range(),
                after,
                addresses: (wanted * route.of).div_ceil(free.max(1)),
            });
        }
    }
    Ok(())
}

/// Returns the largest number of ports that a plan's connections use at once on one
/// of `shares` local addresses. The text says why that is more than one load point
/// needs.
fn at_once(plan: &Plan, logoff: LogoffScope, shares: u64, kept: PortReuse) -> (u64, &'static str) {
    let connections = |plan: &Plan, clients: u32| {
        let clients = plan.generator.part.count(clients);
        let for_clients = plan.sessions.connections.count(clients);
        (for_clients + for_log_ons(plan, clients, logoff)).div_ceil(shares)
    };
    // The connections of each load point of a pass, of all populations.
    let mut points = vec![0; plan.work.points_per_pass()];
    for plan in plan.alone() {
        let clients = &plan.only().clients;
        for (number, sum) in points.iter_mut().enumerate() {
            *sum += connections(&plan, clients[number % clients.len()]);
        }
    }
    // A session that holds the directory of a population also has a connection.
    let with_directories = plan.work.populations.len() as u64;
    let alone = points.iter().max().unwrap_or(&0) + with_directories;
    let setting_up = plan.generator.setup_rate.map_or(Duration::ZERO, |rate| {
        let fewest = plan.work.load_points().into_iter().min().unwrap_or(0);
        Duration::from_secs_f64(f64::from(fewest) / f64::from(rate.max(1)))
    });
    let each = setting_up + plan.work.ramp_up + plan.work.duration + plan.work.ramp_down;
    let earlier = match kept {
        PortReuse::No => 0,
        PortReuse::AWhile => TIME_WAIT.as_nanos() / each.as_nanos().max(1),
    };
    let count = points.len();
    let point = |number: usize| points[number % count];
    let (mut sum, mut most) = (0, 0);
    for number in 0..count * plan.work.repeat as usize {
        sum += point(number);
        if let Some(free_again) = (number as u128).checked_sub(earlier + 1) {
            sum -= point(free_again as usize);
        }
        most = most.max(sum);
    }
    match most + with_directories {
        together if together > alone => (
            together,
            ", for those of load points that have just ended keep theirs for a minute",
        ),
        _ => (alone, ""),
    }
}

/// Least memory that the largest load point needs, in bytes.
#[derive(Clone, Copy, Debug)]
struct Needed {
    /// Memory that this process allocates.
    heap: u64,
    /// Memory of the kernel.
    kernel: u64,
    /// Address space of the threads' stacks.
    stacks: u64,
}

impl Needed {
    fn by(plan: &Plan, carrier: Carrier) -> Self {
        // One more thread reads counters when the window opens and closes.
        let nothing = Self {
            heap: 0,
            kernel: 0,
            stacks: (1 + worker_threads(plan)) * STACK_BYTES,
        };
        plan.alone().fold(nothing, |sum, plan| {
            let of_one = Self::by_one(&plan, carrier);
            Self {
                heap: sum.heap + of_one.heap,
                kernel: sum.kernel + of_one.kernel,
                ..sum
            }
        })
    }

    /// Returns what the only population of a plan needs.
    fn by_one(plan: &Plan, carrier: Carrier) -> Self {
        let clients = u64::from(plan.max_clients_here());
        let slots = clients * u64::from(plan.only().outstanding);
        let (sessions, connections) = match carrier {
            Carrier::Own(logoff) => {
                let here = plan.max_clients_here();
                let for_log_ons = for_log_ons(plan, here, logoff);
                (
                    clients + for_log_ons,
                    plan.sessions.connections.count(here) + for_log_ons,
                )
            }
            Carrier::Embedding { .. } => (0, 0),
        };
        let histograms = if plan.only().load.is_paced() {
            2 * plan.only().workload.kinds().len() as u64
        } else {
            plan.only().workload.kinds().len() as u64
        };
        let workers = worker_threads(plan);
        let (ledgers, kept) = match plan.only().verify {
            Verify::Off => (0, 0),
            // An answer that arrives in pieces is kept until it is complete.
            Verify::ReadBack => (
                verify::memory_bytes(&plan.only().workload.files, plan.max_clients()),
                connections * REQUEST_BYTES_MAX.min(plan.largest_request().into()),
            ),
        };
        Self {
            heap: sessions * SESSION_BYTES
                + slots * SLOT_BYTES
                + workers * (WORKER_BYTES + RECORDERS_PER_WORKER * histograms * HISTOGRAM_BYTES)
                + ledgers
                + kept,
            kernel: connections * CONNECTION_BYTES,
            // The threads are those of all populations.
            stacks: 0,
        }
    }

    /// Returns the memory needed. Stacks are left out, because almost nothing of
    /// them is used.
    const fn memory(&self) -> u64 {
        self.heap + self.kernel
    }

    const fn address_space(&self) -> u64 {
        self.heap + self.stacks
    }
}

/// Returns the number of workers of the largest load point. A population has one on each thread, and
/// at most one for each group of clients.
pub(super) fn workers(plan: &Plan) -> u64 {
    let threads = u64::from(plan.generator.threads);
    let of_each = plan.alone();
    of_each
        .map(|of_one| threads.min(of_one.groups_here() as u64))
        .sum()
}

/// Returns the number of worker threads of the largest load point. A thread carries clients of
/// several populations, but clients that do nothing but log on have threads of their own.
pub(super) fn worker_threads(plan: &Plan) -> u64 {
    let threads = u64::from(plan.generator.threads);
    let of_kind = |is_of_log_ons: bool| -> u64 {
        let of_each = plan.alone();
        let of_each = of_each.filter(|of| of.only().workload.is_of_log_ons() == is_of_log_ons);
        of_each.map(|of_one| of_one.groups_here() as u64).sum()
    };
    threads.min(of_kind(false)) + threads.min(of_kind(true))
}

/// Returns what the tightest limit leaves, if that is less than `needed`.
fn lacking(left: &[ResourceLeft], needed: u64) -> Option<ResourceLeft> {
    let least = left.iter().min_by_key(|left| left.amount).copied();
    least.filter(|least| least.amount < needed)
}

fn address_space(plan: &Plan, needed: &Needed, left: &[ResourceLeft]) -> Result<(), CapacityError> {
    let needed = needed.address_space();
    match lacking(left, needed) {
        Some(left) => Err(CapacityError::AddressSpace {
            clients: plan.max_clients_here(),
            threads: worker_threads(plan),
            needed: rounded(needed),
            left: left.amount,
            limit: left.limit,
        }),
        None => Ok(()),
    }
}

fn memory(plan: &Plan, needed: &Needed, left: &[ResourceLeft]) -> Result<(), CapacityError> {
    let needed = needed.memory();
    let populations = || plan.work.populations.iter();
    match lacking(left, needed) {
        Some(left) => Err(CapacityError::Memory {
            clients: plan.max_clients_here(),
            outstanding: populations().map(|one| one.outstanding).max().unwrap_or(0),
            needed: rounded(needed),
            left: left.amount,
            place: left.limit,
            advice: Advice(if populations().any(|one| one.verify == Verify::ReadBack) {
                ", or leave out @verify"
            } else {
                ""
            }),
        }),
        None => Ok(()),
    }
}

/// Rounds an estimate up to whole mebibytes.
const fn rounded(bytes: u64) -> Size {
    Size(bytes.next_multiple_of(1 << 20))
}

fn threads(plan: &Plan, left: &[ResourceLeft]) -> Result<(), CapacityError> {
    let wanted = worker_threads(plan) + OTHER_THREADS;
    match lacking(left, wanted) {
        Some(left) => Err(CapacityError::Threads {
            threads: worker_threads(plan),
            left: left.amount,
            limit: left.limit,
        }),
        None => Ok(()),
    }
}
