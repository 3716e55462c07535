//! What each machine contributed.

use super::part::Part;
use super::part_point::PartPoint;
use super::window::seconds_since;
use crate::curve::total;
use crate::doc::{HostDoc, HostPointDoc, OpDoc};

pub(super) fn hosts(parts: &[Part]) -> Vec<HostDoc> {
    let host = |part: &Part| HostDoc {
        name: part.name.clone(),
        client_range: Some(part.range.to_string()),
        machine: part.doc.machine.clone(),
    };
    parts.iter().map(host).collect()
}

/// Returns the parts of a load point in which all machines together completed so many
/// operations.
pub(super) fn of_point(parts: &[PartPoint<'_>], operations: u64) -> Vec<HostPointDoc> {
    let host = |part: &PartPoint<'_>| {
        let point = part.point;
        let own = total(point.asked_for().map(|op: &OpDoc| op.count));
        let first = parts.first().map_or(part.opened, |first| first.opened);
        HostPointDoc {
            name: part.name.to_owned(),
            clients: point.clients,
            ops_per_s: point.ops_per_s,
            throughput_mbps: point.throughput_mbps,
            share: (operations > 0).then(|| own as f64 / operations as f64),
            errors: point.errors,
            client: Some(point.client),
            generator: Some(part.generator.clone()),
            server_counters: point.server_counters.clone(),
            // Times are to the microsecond.
            window_skew_ns: (seconds_since(first, part.opened) * 1e6).round() as i64 * 1000,
            clock: None,
        }
    };
    parts.iter().map(host).collect()
}
