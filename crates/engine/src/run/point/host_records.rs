//! What hosts did, in the records of load points and of stages.

use std::collections::BTreeMap;
use std::time::Duration;

use smbench_model::record::{
    ClientUsage, GeneratorRecord, HostRecord, LatencyNoise, LoadPointRecord, StageRecord, Tally,
};
use smbench_model::stages::StagePlace;

use crate::hosts::APART_MAX;
use crate::run::context::{Context, RunRole};
use crate::worker::recorder_exchange::HostStage;

/// Adds the hosts to the record of a load point, which already has their operations. The first
/// host is the first one.
pub(super) fn add_hosts(record: &mut LoadPointRecord, hosts: Vec<HostRecord>) {
    record.client = usage(&hosts);
    record.generator = generator(&hosts);
    record.hosts = hosts;
}

/// Adds the hosts to the record of a stage, which already has their operations, and what the first
/// one used. `own` are the operations of that one.
pub(super) fn add_hosts_of_stage(
    record: &mut StageRecord,
    context: &Context<'_>,
    own: Option<&Tally>,
    others: Vec<HostStage>,
) {
    let (RunRole::First(first), Some(own)) = (context.role, own) else {
        return;
    };
    let clients: u32 = clients_here_after(context, &record.place).into_iter().sum();
    let first = HostRecord::of_stage(first.name(), clients, own, record);
    let memory = others.iter().map(|other| other.own_memory);
    record.memory.own = memory.fold(record.memory.own, |all, one| Some(all? + one?));
    let others = others.into_iter().map(|other| other.host);
    record.hosts = std::iter::once(first).chain(others).collect();
    record.client = usage(&record.hosts);
    record.machine_busy = busiest(&record.hosts);
}

/// Returns how many clients of each population that this host carries are under load at the end
/// of a stage.
pub(super) fn clients_here_after(context: &Context<'_>, place: &StagePlace) -> Vec<u32> {
    let populations = 0..context.plan.work.populations.len();
    populations
        .map(|index| context.plan.clients_here_after(index, place))
        .collect()
}

/// Takes back what the server's CPU was if the first host, which reads it, had no load at the
/// end of the window.
pub(super) fn check_first(record: &mut LoadPointRecord, own_window: Duration) {
    if own_window < record.window.mul_f64(1.0 - APART_MAX) {
        let reason = "the first host had no load at the end of the window";
        record.server_cpu.used = Err(reason.to_owned());
    }
}

/// Returns the highest share of CPUs that were busy.
fn busiest(hosts: &[HostRecord]) -> Option<f64> {
    let generators = hosts.iter().filter_map(|host| host.generator.as_ref());
    let busy = generators.filter_map(|generator| generator.machine_busy);
    busy.reduce(f64::max)
}

fn usage(hosts: &[HostRecord]) -> ClientUsage {
    let mut all = ClientUsage::default();
    for client in hosts.iter().filter_map(|host| host.client) {
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
            let reason = of(host.generator.as_ref()?).as_ref()?;
            Some(format!("{}: {reason}", host.name))
        });
        reasons.next()
    };
    let mut noise = BTreeMap::new();
    let generators = || hosts.iter().filter_map(|host| host.generator.as_ref());
    for of in generators().flat_map(|generator| &generator.latency_noise) {
        let late = noise.entry(of.quantile.to_bits()).or_insert(of.late);
        *late = of.late.max(*late);
    }
    let noise = noise.into_iter().map(|(quantile, late)| LatencyNoise {
        quantile: f64::from_bits(quantile),
        late,
    });
    let workers = generators().flat_map(|generator| &generator.workers);
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
        machine_busy: busiest(hosts),
    }
}
