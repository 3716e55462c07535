use smbench_formats::profile;
use smbench_model::limits::Limits;
use smbench_model::load::{LoadModel, Spacing};
use smbench_model::spec::RunOptions;
use smbench_model::target::Target;

use super::*;
use crate::run::carrier::descriptors;

const OWN: Carrier = Carrier::Own(LogoffScope::Session);

fn resolved(profile: &str) -> Plan {
    let profile = profile::load(profile).unwrap();
    let (target, _) = Target::parse("smb://ann@files.example/bench").unwrap();
    let options = RunOptions::default();
    Plan::resolve(&profile, &options, target, Limits::default(), 2).unwrap()
}

fn left(amount: u64, limit: &'static str) -> ResourceLeft {
    ResourceLeft { amount, limit }
}

fn large(clients: u32, repeat: u32, duration_s: u64) -> Plan {
    let mut plan = resolved("read-4k");
    plan.only_mut().clients = vec![1, clients];
    plan.work.repeat = repeat;
    plan.work.duration = Duration::from_secs(duration_s);
    plan.work.ramp_up = Duration::ZERO;
    plan.work.ramp_down = Duration::ZERO;
    plan
}

#[test]
fn ports_are_wanted_for_a_minute_more_where_they_are_kept() {
    for (repeat, duration_s, shares, kept, wanted) in [
        (1, 10, 1, PortReuse::No, 10_001),
        (1, 10, 4, PortReuse::No, 2_501),
        // One port more: that of the single client of the first load point.
        (1, 10, 1, PortReuse::AWhile, 10_002),
        (3, 10, 1, PortReuse::No, 10_001),
        // Two hours later the earlier ports are free again.
        (3, 7200, 1, PortReuse::AWhile, 10_001),
        // The load points are 1, 10000, 1. A minute reaches over two of them.
        (3, 40, 1, PortReuse::AWhile, 10_002),
        (3, 10, 1, PortReuse::AWhile, 30_004),
    ] {
        let plan = large(10_000, repeat, duration_s);
        let (ports, after) = at_once(&plan, LogoffScope::Session, shares, kept);
        assert_eq!(ports, wanted, "{repeat} {duration_s} {shares} {kept:?}");
        assert_eq!(after.is_empty(), ports <= 10_001, "{ports}");
    }
}

#[test]
fn connections_for_log_ons_alone_are_counted() {
    let mut plan = large(1000, 1, 10);
    plan.only_mut().workload = resolved("all-commands").only().workload.clone();
    plan.only_mut().outstanding = 4;
    let all = Carrier::Own(LogoffScope::Connection);
    let ports = |plan: &Plan, logoff| at_once(plan, logoff, 1, PortReuse::No).0;
    assert_eq!(ports(&plan, LogoffScope::Session), 1001);
    assert_eq!(ports(&plan, LogoffScope::Connection), 5001);
    assert_eq!(descriptors(&plan, all), descriptors(&plan, OWN) + 4000);
    let more = Needed::by(&plan, all).memory() - Needed::by(&plan, OWN).memory();
    assert_eq!(more, 4000 * (SESSION_BYTES + CONNECTION_BYTES));
    // Without log-ons there are none.
    let plan = large(1000, 1, 10);
    assert_eq!(ports(&plan, LogoffScope::Connection), 1001);
    assert_eq!(descriptors(&plan, all), descriptors(&plan, OWN));
}

#[test]
fn the_least_of_what_is_left_counts() {
    let plan = large(10_000, 1, 10);
    let own = Needed::by(&plan, OWN);
    let needed = own.memory();
    // 10,000 sessions need about ten kilobytes each.
    assert!((60 << 20..200 << 20).contains(&needed), "{needed}");
    let plenty = left(1 << 40, "on this machine");
    assert_eq!(memory(&plan, &own, &[]), Ok(()));
    assert_eq!(memory(&plan, &own, &[plenty, left(needed, "x")]), Ok(()));
    let group = left(50 << 20, "to this process's control group");
    let error = memory(&plan, &own, &[plenty, group]);
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
    let base = Needed::by(&large(100, 1, 1), OWN).memory();
    let more = |change: fn(&mut Plan)| {
        let mut plan = large(100, 1, 1);
        change(&mut plan);
        Needed::by(&plan, OWN).memory()
    };
    for (name, needed) in [
        ("clients", more(|plan| plan.only_mut().clients = vec![101])),
        ("outstanding", more(|plan| plan.only_mut().outstanding = 2)),
        ("threads", more(|plan| plan.generator.threads += 1)),
        (
            "verify",
            more(|plan| plan.only_mut().verify = Verify::ReadBack),
        ),
        (
            "rate",
            more(|plan| {
                plan.only_mut().load = LoadModel::Rate {
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
    let of = |descriptors_per_group| Carrier::Embedding {
        descriptors_per_group,
    };
    let memory = |carrier| Needed::by(&plan, carrier).memory();
    let foreign = memory(of(0));
    assert!(foreign < memory(OWN) / 2, "{foreign}");
    assert_eq!(descriptors(&plan, of(0)), 0);
    assert_eq!(descriptors(&plan, of(3)), 30_000);
    assert!(descriptors(&plan, OWN) > 10_000);
}

#[test]
fn address_space_that_cannot_do_is_refused() {
    let mut plan = large(64, 1, 1);
    plan.generator.threads = 64;
    let needed = Needed::by(&plan, OWN);
    assert!(needed.address_space() > 64 * (STACK_BYTES + WORKER_BYTES));
    let check = |all: &[_]| address_space(&plan, &needed, all);
    assert_eq!(check(&[]), Ok(()));
    assert_eq!(check(&[left(needed.address_space(), "ulimit -v")]), Ok(()));
    let mut shared = plan.clone();
    shared.sessions.connections.sessions_per_connection = 32;
    let of_two = Needed::by(&shared, OWN);
    assert_eq!(of_two.stacks, 3 * STACK_BYTES, "two connections");
    let error = check(&[left(u64::MAX, "ulimit -d"), left(100 << 20, "ulimit -v")]);
    assert_eq!(
        error.unwrap_err().to_string(),
        format!(
            "64 clients on 64 threads need about {} of address space, but 100 MiB is left to \
             this process (ulimit -v); this machine is the limit: raise that, run fewer clients \
             or give fewer threads",
            rounded(needed.address_space())
        )
    );
}

#[test]
fn threads_that_cannot_start_are_refused() {
    let mut plan = large(100, 1, 1);
    plan.generator.threads = 50;
    assert_eq!(threads(&plan, &[]), Ok(()));
    assert_eq!(threads(&plan, &[left(58, "x"), left(1000, "y")]), Ok(()));
    let group = left(57, "pids.max of its control group");
    let error = threads(&plan, &[group, left(1000, "y")]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "50 threads need more than this machine allows (57 more: pids.max of its control \
         group); this machine is the limit: raise that, or give fewer threads"
    );
}
