//! The parts of several hosts in the record of a load point.

use std::collections::BTreeMap;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::record::{
    ClientUsage, Direction, GeneratorRecord, HostRecord, LatencyNoise, LoadPointRecord,
};

/// Adds the other hosts to the record of the first host, which already has their operations.
pub(super) fn add_hosts(
    record: &mut LoadPointRecord,
    (name, clients, late): (&str, u32, Option<Nanos>),
    others: Vec<HostRecord>,
) {
    if others.is_empty() {
        return;
    }
    let sum = |of: fn(&HostRecord) -> u64| others.iter().map(of).sum::<u64>();
    let wait = |of: fn(&HostRecord) -> Duration| others.iter().map(of).sum::<Duration>();
    let ops = &record.ops;
    let bytes = ops.window_bytes(Direction::Read) + ops.window_bytes(Direction::Write);
    let first = HostRecord {
        name: name.to_owned(),
        clients,
        operations: ops.window_all().count() - sum(|host| host.operations),
        bytes: bytes - sum(|host| host.bytes),
        errors: ops.errors() - sum(|host| host.errors),
        client: record.client,
        generator: std::mem::take(&mut record.generator),
        credit_starved: record.credit_starved - wait(|host| host.credit_starved),
        held_back: record.held_back - wait(|host| host.held_back),
        late,
        clock: None,
    };
    let hosts: Vec<_> = std::iter::once(first).chain(others).collect();
    record.client = usage(&hosts);
    record.generator = generator(&hosts);
    record.hosts = hosts;
}

fn usage(hosts: &[HostRecord]) -> ClientUsage {
    let mut all = ClientUsage::default();
    for HostRecord { client, .. } in hosts {
        all.cpu_user += client.cpu_user;
        all.cpu_system += client.cpu_system;
        all.max_rss_bytes += client.max_rss_bytes;
    }
    all
}

/// Returns the state of all generators. If one was the limit, all together were.
fn generator(hosts: &[HostRecord]) -> GeneratorRecord {
    let first = |of: fn(&GeneratorRecord) -> &Option<String>| {
        let mut reasons = hosts.iter().filter_map(|host| {
            let reason = of(&host.generator).as_ref()?;
            Some(format!("{}: {reason}", host.name))
        });
        reasons.next()
    };
    let mut noise = BTreeMap::new();
    for of in hosts.iter().flat_map(|host| &host.generator.latency_noise) {
        let late = noise.entry(of.quantile.to_bits()).or_insert(of.late);
        *late = of.late.max(*late);
    }
    let noise = noise.into_iter().map(|(quantile, late)| LatencyNoise {
        quantile: f64::from_bits(quantile),
        late,
    });
    let busy = hosts.iter().filter_map(|host| host.generator.machine_busy);
    let workers = hosts.iter().flat_map(|host| &host.generator.workers);
    let limited = first(|generator| &generator.limited);
    // A limit leaves open what else there was, as in one process.
    let unless = |known: &Option<String>, of| known.is_none().then(|| first(of)).flatten();
    let shared_cpus = unless(&limited, |generator| &generator.shared_cpus);
    let known = limited.clone().or_else(|| shared_cpus.clone());
    GeneratorRecord {
        back_pressure: unless(&known, |generator| &generator.back_pressure),
        limited,
        shared_cpus,
        latency_noise: noise.collect(),
        workers: workers.cloned().collect(),
        machine_busy: busy.reduce(f64::max),
    }
}
