//! The other hosts of a load point: their proxies among the workers, and their parts in the
//! record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::load::PointLoad;
use smbench_model::plan::ClientPart;
use smbench_model::progress::PointNumber;
use smbench_model::record::{
    ClientUsage, Direction, GeneratorRecord, HostRecord, LatencyNoise, LoadPointRecord,
};

use super::workers::{Reports, Workers};
use crate::hosts::proxy::{self, ProxyAssignment};
use crate::hosts::{HostChannel, PointOrder};
use crate::run::context::Context;
use crate::run::error::RunError;
use crate::worker::recorder_exchange::RecorderExchange;
use crate::worker::schedule::Schedules;

/// Returns the other hosts that have clients at this load point, with the clients of each.
pub(super) fn others<'a>(
    context: &Context<'a>,
    load: PointLoad,
) -> impl Iterator<Item = (&'a HostChannel, Vec<u32>)> {
    let others = context.role.others();
    let of = others.len() as u32 + 1;
    let parts = others.iter().zip(1..of).map(move |(other, host)| {
        let part = ClientPart::Host { host, of };
        (other, part.clients(load.clients).collect::<Vec<_>>())
    });
    parts.filter(|(_, clients)| !clients.is_empty())
}

impl Workers {
    /// Adds a proxy for each other host that has clients. Their numbers follow those of
    /// `workers` workers.
    pub(super) async fn with_proxies(
        self,
        context: &Context<'_>,
        (point, workers, report, started): (PointNumber, usize, Reports, Schedules),
        exchange: &Arc<RecorderExchange>,
    ) -> Result<Self, RunError> {
        let mut all = self;
        let load = all.load;
        for (number, (host, clients)) in (workers..).zip(others(context, load)) {
            let assignment = ProxyAssignment {
                host: host.clone(),
                order: PointOrder {
                    number: point.number,
                    load,
                },
                clients,
                exchange: Arc::clone(exchange),
                number,
                enough: Arc::clone(&all.enough),
                cancel: context.cancel.clone(),
            };
            let (report, started) = (report.clone(), started.clone());
            let spawned = std::thread::Builder::new()
                .name(format!("smbench-host-{number}"))
                .spawn(move || proxy::carry(assignment, &report, started));
            all = all.with(spawned).await?;
        }
        Ok(all)
    }
}

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
