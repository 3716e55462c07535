//! The machines of all parts: the generator, its use of CPU and memory, the server's CPU.

use std::collections::BTreeMap;

use super::part_point::PartPoint;
use crate::convert::cpu_us_per_op;
use crate::curve::total;
use crate::doc::{ClientDoc, GeneratorDoc, LatenessDoc, ServerCpuDoc, share_of_time};

/// Adds up the use of CPU and memory. The largest resident sets need not have been at the same
/// time, so their sum is the most that all machines can have used together.
pub(super) fn client(parts: &[PartPoint<'_>], operations: u64) -> ClientDoc {
    let clients = || parts.iter().map(|part| part.point.client);
    let cpu_user_s = clients().map(|client| client.cpu_user_s).sum::<f64>();
    let cpu_system_s = clients().map(|client| client.cpu_system_s).sum::<f64>();
    ClientDoc {
        cpu_user_s,
        cpu_system_s,
        cpu_us_per_op: cpu_us_per_op(cpu_user_s + cpu_system_s, operations),
        max_rss_bytes: total(clients().map(|client| client.max_rss_bytes)),
    }
}

/// The waits of all clients of a load point, summed up in seconds.
pub(super) struct ClientWaits {
    pub(super) clients: u32,
    pub(super) window_s: f64,
    pub(super) credit_starved_s: f64,
    pub(super) held_back_s: f64,
}

/// Joins the generators. Each finding has the name of the first machine with it. A finding that
/// another one leaves open is left out, as in the document of one process.
pub(super) fn generator(parts: &[PartPoint<'_>], waits: &ClientWaits) -> GeneratorDoc {
    let all = || parts.iter().map(|part| part.generator);
    let limited = all().any(|generator| generator.limited);
    let shared_cpus = finding(parts, |generator| generator.shared_cpus.as_deref());
    let shared_cpus = shared_cpus.filter(|_| !limited);
    let back_pressure = finding(parts, |generator| generator.back_pressure.as_deref());
    let share = |wait_s: f64| share_of_time(wait_s, waits.clients.into(), waits.window_s);
    GeneratorDoc {
        limited,
        reason: finding(parts, |generator| generator.reason.as_deref()),
        back_pressure: back_pressure.filter(|_| !limited && shared_cpus.is_none()),
        shared_cpus,
        machine_busy_share: all()
            .filter_map(|generator| generator.machine_busy_share)
            .max_by(f64::total_cmp),
        credit_starved_share: share(waits.credit_starved_s),
        held_back_share: share(waits.held_back_s),
        lateness_ns: all()
            .filter_map(|generator| generator.lateness_ns)
            .reduce(worse),
        workers: all()
            .flat_map(|generator| generator.workers.clone())
            .collect(),
    }
}

fn finding(parts: &[PartPoint<'_>], of: fn(&GeneratorDoc) -> Option<&str>) -> Option<String> {
    let mut found = parts
        .iter()
        .filter_map(|part| Some(part.named(of(part.generator)?)));
    found.next()
}

fn worse(one: LatenessDoc, other: LatenessDoc) -> LatenessDoc {
    LatenessDoc {
        p50: one.p50.max(other.p50),
        p99: one.p99.max(other.p99),
        max: one.max.max(other.max),
    }
}

/// Returns by how much each percentile may be too high on the worst machine.
pub(super) fn latency_noise(parts: &[PartPoint<'_>]) -> BTreeMap<String, u64> {
    let mut worst = BTreeMap::new();
    for (name, &late) in parts.iter().flat_map(|part| &part.point.latency_noise_ns) {
        let known = worst.entry(name.clone()).or_insert(late);
        *known = late.max(*known);
    }
    worst
}

/// Returns the CPU of the server, which all parts used at the same time. Parts that measured it
/// measured the same. The longest window is that of all operations.
pub(super) fn server_cpu(
    parts: &[PartPoint<'_>],
    throughput_mbps: f64,
    ops_per_s: f64,
    window_s: f64,
) -> Option<ServerCpuDoc> {
    let docs = || {
        parts
            .iter()
            .filter_map(|part| Some((part.point.window_s, part.point.server_cpu.as_ref()?)))
    };
    let measured = docs().filter(|(_, doc)| doc.not_measured.is_none());
    // Of equal windows, the first.
    let longest = measured.reduce(|one, other| if other.0 > one.0 { other } else { one });
    let (_, doc) = longest.or_else(|| docs().next())?;
    let doc = doc.clone();
    Some(doc.for_work(throughput_mbps, ops_per_s, window_s))
}
