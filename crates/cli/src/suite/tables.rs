//! What is printed at the end of a suite.

use std::fmt::Write as _;

use smbench_report::study::{Study, StudyResult};
use smbench_report::units::{counted, latency, plain, rate, throughput};

/// The peak of each server, for each profile.
pub(super) fn of(study: &Study) -> String {
    let mut text = format!("{}\n", plain(&study.doc.title));
    for (at, profile) in study.doc.profiles.iter().enumerate() {
        let _ = writeln!(text, "\npeak throughput, {}", plain(profile));
        let names = study.doc.servers.iter().map(|server| plain(&server.name));
        let names: Vec<_> = names.collect();
        let width = names.iter().map(|name| name.chars().count()).max();
        let width = width.unwrap_or_default();
        for (server, name) in names.iter().enumerate() {
            let result = study.of_profile(at).find(|result| result.server == server);
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name:<width$}  {}", peak(result));
        }
    }
    text
}

fn peak(result: Option<&StudyResult>) -> String {
    let Some(peak) = result.and_then(|result| result.run.peak) else {
        return "no valid load point".to_owned();
    };
    let height = match peak.ops_per_s {
        Some(ops) if peak.throughput_mbps == 0.0 => format!("{:>9} ops/s", rate(ops)),
        _ => format!("{:>9} Mbit/s", throughput(peak.throughput_mbps)),
    };
    format!(
        "{height} at {}, mean response {}, {}",
        counted(peak.clients.into(), "client"),
        latency(peak.latency_mean_ns),
        match peak.passes {
            1 => "1 pass".to_owned(),
            passes => format!("{passes} passes"),
        }
    )
}
