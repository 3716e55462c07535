//! The hosts of a run.

use std::time::Duration;

use smbench_model::record::{HostRecord, LoadPointRecord, RunRecord};

use super::{client, throughput_mbps};
use crate::doc::{GeneratorDoc, HostClockDoc, HostDoc, HostPointDoc};
use crate::statistics::per;

/// Returns the hosts of a run; empty if there was only one.
pub(super) fn hosts(record: &RunRecord) -> Vec<HostDoc> {
    let hosts = record.hosts.iter();
    let hosts = hosts.map(|host| HostDoc {
        name: host.name.clone(),
        client_range: None,
        machine: serde_json::from_str(&host.machine).ok(),
    });
    hosts.collect()
}

/// Returns the parts of the hosts in a load point.
pub(super) fn parts(record: &LoadPointRecord) -> Vec<HostPointDoc> {
    let all: u64 = record.hosts.iter().map(|host| host.operations).sum();
    let hosts = record.hosts.iter();
    hosts.map(|host| part(host, all, record.window)).collect()
}

fn part(host: &HostRecord, all: u64, window: Duration) -> HostPointDoc {
    let late = host.late.map(|late| late.0);
    let window_s = window.as_secs_f64();
    HostPointDoc {
        name: host.name.clone(),
        clients: host.clients,
        ops_per_s: per(host.operations as f64, window_s),
        throughput_mbps: throughput_mbps(host.bytes, window_s),
        share: (all > 0).then(|| host.operations as f64 / all as f64),
        errors: host.errors,
        client: host.client.map(|usage| client(usage, host.operations)),
        generator: GeneratorDoc::of_host(host, window),
        server_counters: None,
        window_skew_ns: host.clock.map_or(0, |clock| clock.skew),
        clock: host.clock.map(|clock| HostClockDoc {
            bound_ns: clock.bound.0,
            drift_ns: clock.drift,
            first_operation_ns: late,
        }),
    }
}
