//! Whether this machine can carry a run's largest load point: local ports,
//! memory, threads. What it surely cannot is refused before anything is
//! connected for the load, in one line that says what to raise.
//!
//! Invariant: a run is refused only where the system has said that it has too
//! little; what it does not tell is left for the run to find out. What is needed
//! is estimated from below. Not here: open files (see
//! [`process::reserve_descriptors`](crate::process::reserve_descriptors)).

mod machine;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use thiserror::Error;

use crate::plan::{Plan, Verify};
use crate::run::Carrier;
use crate::run::board::RECORDERS_PER_WORKER;
use crate::session::{Endpoint, Route};
use crate::units::Size;
use crate::verify;
use machine::{Memory, Ports};

/// What a session takes of this process's memory, in bytes; measured (4 KiB).
const SESSION_BYTES: u64 = 4 * 1024;
/// What a request in flight takes, in bytes.
const SLOT_BYTES: u64 = 128;
/// What a connection takes of the kernel's memory with nothing under way, in
/// bytes.
const CONNECTION_BYTES: u64 = 4 * 1024;
/// What a worker takes besides its recorders: scratch buffers.
const WORKER_BYTES: u64 = 1024 * 1024;
/// A histogram of a recorder; it has one for each kind of operation, two where
/// response times are another thing than service times.
const HISTOGRAM_BYTES: u64 = 256 * 1024;
/// Threads besides the workers: this one, and those that join them.
const OTHER_THREADS: u64 = 8;
/// How long a connection that has ended keeps its port (Linux's
/// `TCP_TIMEWAIT_LEN`).
const TIME_WAIT: Duration = Duration::from_secs(60);

/// Why this machine cannot carry a run.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CapacityError {
    /// Each connection between the same two addresses needs a port of its own.
    #[error(
        "{wanted} connections from {source_ip} to {server} need as many local ports, but {free} of \
         {range} are free{after}; this machine is the limit: connect from {addresses} addresses \
         (--source-ip), widen net.ipv4.ip_local_port_range, or run fewer clients"
    )]
    Ports {
        /// Connections at a time between the two, those that have just ended
        /// included.
        wanted: u64,
        /// The local address.
        source_ip: IpAddr,
        /// The server.
        server: SocketAddr,
        /// Ports that can be used.
        free: u64,
        /// Ports there are for this.
        range: u64,
        /// Why so many are wanted, as the rest of a clause.
        after: &'static str,
        /// Local addresses with which there would be enough.
        addresses: u64,
    },
    /// The machine, or the group this process is in, has too little memory.
    #[error(
        "{clients} clients with {outstanding} outstanding need about {needed} of memory, but {} is \
         left {place}; this machine is the limit: run fewer clients{advice}",
        Size(*.left)
    )]
    Memory {
        /// Of the largest load point.
        clients: u32,
        /// Requests in flight per client.
        outstanding: u32,
        /// Estimated need.
        needed: Size,
        /// Bytes available.
        left: u64,
        /// "on this machine" or "to this process's control group".
        place: &'static str,
        /// What else would help, as the rest of a sentence.
        advice: &'static str,
    },
    /// No more threads can be started.
    #[error(
        "{threads} threads need more than this machine allows ({left} more: {limit}); this machine \
         is the limit: raise that, or give fewer --threads"
    )]
    Threads {
        /// Worker threads.
        threads: u32,
        /// Threads that can be started.
        left: u64,
        /// What limits them.
        limit: &'static str,
    },
}

/// Checks memory and threads.
pub(super) fn check_process(plan: &Plan, carrier: Carrier) -> Result<(), CapacityError> {
    threads(plan, &machine::threads_left())?;
    memory(plan, carrier, &machine::memory_left())
}

/// Checks local ports.
pub(super) fn check_ports(plan: &Plan, endpoint: &Endpoint) -> Result<(), CapacityError> {
    let Some(machine) = Ports::read() else {
        return Ok(());
    };
    let kept = |route: &Route| machine.kept(route);
    for route in endpoint.routes() {
        let (wanted, after) = at_once(plan, route.of, kept(&route));
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

/// Whether the port of a connection that has ended is of use at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// For as long as [`TIME_WAIT`].
    AWhile,
    /// It is (`net.ipv4.tcp_tw_reuse`).
    No,
}

/// The most ports that connections of a plan hold at once on one of `shares`
/// local addresses, and why it is more than those of a load point.
fn at_once(plan: &Plan, shares: u64, kept: Kept) -> (u64, &'static str) {
    let connections = |clients: u32| plan.connections.count(clients).div_ceil(shares);
    // The session that holds the run's directory has one, too.
    let alone = connections(plan.max_clients()) + 1;
    let setting_up = plan.setup_rate.map_or(Duration::ZERO, |rate| {
        let fewest = plan.load_points.iter().copied().min().unwrap_or(0);
        Duration::from_secs_f64(f64::from(fewest) / f64::from(rate.max(1)))
    });
    let each = setting_up + plan.ramp_up + plan.duration + plan.ramp_down;
    let earlier = match kept {
        Kept::No => 0,
        Kept::AWhile => TIME_WAIT.as_nanos() / each.as_nanos().max(1),
    };
    let count = plan.load_points.len();
    let point = |number: usize| connections(plan.load_points[number % count]);
    let (mut sum, mut most) = (0, 0);
    for number in 0..count * plan.repeat as usize {
        sum += point(number);
        if let Some(free_again) = (number as u128).checked_sub(earlier + 1) {
            sum -= point(free_again as usize);
        }
        most = most.max(sum);
    }
    match most + 1 {
        together if together > alone => (
            together,
            ", for those of load points that have just ended keep theirs for a minute",
        ),
        _ => (alone, ""),
    }
}

/// What the largest load point surely takes, in bytes.
fn bytes_needed(plan: &Plan, carrier: Carrier) -> u64 {
    let clients = u64::from(plan.max_clients());
    let slots = clients * u64::from(plan.outstanding);
    let (sessions, connections) = match carrier {
        Carrier::Own => (clients, plan.connections.count(plan.max_clients())),
        Carrier::Guest { .. } => (0, 0),
    };
    let histograms = match plan.load.is_paced() {
        true => 2 * plan.workload.kinds().len() as u64,
        false => plan.workload.kinds().len() as u64,
    };
    let workers = u64::from(plan.threads).min(clients);
    let (ledgers, kept) = match plan.verify {
        Verify::Off => (0, 0),
        // An answer that comes in pieces is kept until it is whole.
        Verify::ReadBack => (
            verify::memory_bytes(&plan.workload.files, plan.max_clients()),
            connections * u64::from(plan.largest_request()),
        ),
    };
    sessions * SESSION_BYTES
        + slots * SLOT_BYTES
        + connections * CONNECTION_BYTES
        + workers * (WORKER_BYTES + RECORDERS_PER_WORKER * histograms * HISTOGRAM_BYTES)
        + ledgers
        + kept
}

fn memory(plan: &Plan, carrier: Carrier, left: &[Memory]) -> Result<(), CapacityError> {
    let needed = bytes_needed(plan, carrier);
    let Some(least) = left.iter().min_by_key(|memory| memory.bytes) else {
        return Ok(());
    };
    if needed <= least.bytes {
        return Ok(());
    }
    Err(CapacityError::Memory {
        clients: plan.max_clients(),
        outstanding: plan.outstanding,
        needed: rounded(needed),
        left: least.bytes,
        place: least.place,
        advice: match plan.verify {
            Verify::Off => "",
            Verify::ReadBack => ", or leave out --verify",
        },
    })
}

/// To whole mebibytes, upwards: it is an estimate.
const fn rounded(bytes: u64) -> Size {
    Size(bytes.next_multiple_of(1 << 20))
}

fn threads(plan: &Plan, left: &[(u64, &'static str)]) -> Result<(), CapacityError> {
    let wanted = u64::from(plan.threads.min(plan.max_clients())) + OTHER_THREADS;
    match left.iter().min_by_key(|(left, _)| *left) {
        Some(&(left, limit)) if left < wanted => Err(CapacityError::Threads {
            threads: plan.threads,
            left,
            limit,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Limits, LoadModel, Spacing};
    use crate::profile;
    use crate::run::descriptors;
    use crate::spec::RunOptions;
    use crate::target::Target;

    fn large(clients: u32, repeat: u32, duration_s: u64) -> Plan {
        let profile = profile::load("read-4k").unwrap();
        let (target, _) = Target::parse("smb://ann@files.example/bench").unwrap();
        let options = RunOptions::default();
        let plan = Plan::resolve(&profile, &options, target, Limits::default(), 2);
        let mut plan = plan.unwrap();
        plan.load_points = vec![1, clients];
        plan.repeat = repeat;
        plan.duration = Duration::from_secs(duration_s);
        plan.ramp_up = Duration::ZERO;
        plan.ramp_down = Duration::ZERO;
        plan
    }

    #[test]
    fn ports_are_wanted_for_a_minute_more_where_they_are_kept() {
        for (repeat, duration_s, shares, kept, wanted) in [
            (1, 10, 1, Kept::No, 10_001),
            (1, 10, 4, Kept::No, 2_501),
            // The single client of the first load point.
            (1, 10, 1, Kept::AWhile, 10_002),
            (3, 10, 1, Kept::No, 10_001),
            // Two hours later they are free.
            (3, 7200, 1, Kept::AWhile, 10_001),
            // 1, 10000, 1: the minute reaches over two of them.
            (3, 40, 1, Kept::AWhile, 10_002),
            (3, 10, 1, Kept::AWhile, 30_004),
        ] {
            let (ports, after) = at_once(&large(10_000, repeat, duration_s), shares, kept);
            assert_eq!(ports, wanted, "{repeat} {duration_s} {shares} {kept:?}");
            assert_eq!(after.is_empty(), ports <= 10_001, "{ports}");
        }
    }

    #[test]
    fn the_least_of_what_is_left_counts() {
        let plan = large(10_000, 1, 10);
        let needed = bytes_needed(&plan, Carrier::Own);
        // 10,000 sessions are some ten kilobytes each.
        assert!((60 << 20..200 << 20).contains(&needed), "{needed}");
        let of = |bytes, place| Memory { bytes, place };
        let plenty = of(1 << 40, "on this machine");
        assert_eq!(memory(&plan, Carrier::Own, &[]), Ok(()));
        assert_eq!(
            memory(&plan, Carrier::Own, &[plenty, of(needed, "x")]),
            Ok(())
        );
        let error = memory(
            &plan,
            Carrier::Own,
            &[plenty, of(50 << 20, "to this process's control group")],
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            format!(
                "10000 clients with 1 outstanding need about {} of memory, but 50 MiB is left to \
                 this process's control group; this machine is the limit: run fewer clients",
                rounded(needed)
            )
        );
    }

    #[test]
    fn more_of_anything_needs_more_memory() {
        let base = bytes_needed(&large(100, 1, 1), Carrier::Own);
        let more = |change: fn(&mut Plan)| {
            let mut plan = large(100, 1, 1);
            change(&mut plan);
            bytes_needed(&plan, Carrier::Own)
        };
        for (name, needed) in [
            ("clients", more(|plan| plan.load_points = vec![101])),
            ("outstanding", more(|plan| plan.outstanding = 2)),
            ("threads", more(|plan| plan.threads += 1)),
            ("verify", more(|plan| plan.verify = Verify::ReadBack)),
            (
                "rate",
                more(|plan| {
                    plan.load = LoadModel::Rate {
                        rate: "10".parse().unwrap(),
                        arrivals: Spacing::Fixed,
                    }
                }),
            ),
        ] {
            assert!(needed > base, "{name}");
        }
    }

    #[test]
    fn nothing_is_assumed_of_a_connector_from_outside() {
        let plan = large(10_000, 1, 10);
        let of = |descriptors_per_group| Carrier::Guest {
            descriptors_per_group,
        };
        let guest = bytes_needed(&plan, of(0));
        assert!(guest < bytes_needed(&plan, Carrier::Own) / 2, "{guest}");
        assert_eq!(descriptors(&plan, of(0)), 0);
        assert_eq!(descriptors(&plan, of(3)), 30_000);
        assert!(descriptors(&plan, Carrier::Own) > 10_000);
    }

    #[test]
    fn threads_that_cannot_start_are_refused() {
        let mut plan = large(100, 1, 1);
        plan.threads = 50;
        assert_eq!(threads(&plan, &[]), Ok(()));
        assert_eq!(threads(&plan, &[(58, "x"), (1000, "y")]), Ok(()));
        let error = threads(&plan, &[(57, "pids.max of its control group"), (1000, "y")]);
        assert_eq!(
            error.unwrap_err().to_string(),
            "50 threads need more than this machine allows (57 more: pids.max of its control \
             group); this machine is the limit: raise that, or give fewer --threads"
        );
    }
}
