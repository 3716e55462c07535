//! The counters in the metrics of smbd (`smb_prometheus_endpoint`, Samba 4.23) and of
//! windows_exporter's collector `smb`.

use std::time::Duration;

use smbench_model::record::{ServerCalls, ServerCounters};

use super::{CallsByName, command, if_counting};
use crate::machine::sample::MetricSample;

/// Prefixes of the metric families that are read.
const SAMBA_TIMES: &str = "smb_smb2_request_duration_microseconds_";
const WINDOWS: &str = "windows_smb_server_shares_";

/// Reads the counters. The error text goes into results.
pub(super) fn counters(text: &str) -> Result<ServerCounters, String> {
    let mut found = ServerCounters::default();
    let mut is_known = false;
    for (name, sample) in text.lines().filter_map(MetricSample::of_line) {
        is_known |= name.starts_with(SAMBA_TIMES) || name.starts_with(WINDOWS);
        if let Some(kind) = name.strip_prefix(SAMBA_TIMES) {
            of_samba(&mut found.commands, kind, &sample);
        } else if let Some(kind) = name.strip_prefix(WINDOWS) {
            of_windows(&mut found, kind, sample.value as u64);
        } else {
            let value = Some(sample.value as u64);
            match name {
                "smb_num_authenticated_sessions" => found.open.sessions = value,
                "smb_num_tree_connects" => found.open.tree_connects = value,
                "smb_num_open_files" => found.open.files = value,
                _ => {}
            }
        }
    }
    if !is_known {
        return Err(
            "its answer has no counters of smbd or of windows_exporter's collector smb".to_owned(),
        );
    }
    if_counting(found, "its counters of requests are all 0")
}

fn of_samba(commands: &mut CallsByName, kind: &str, sample: &MetricSample) {
    let operation = sample.label("operation");
    let Some(name) = operation.as_deref().and_then(command) else {
        return;
    };
    let calls = commands.entry(name.to_owned()).or_default();
    match kind {
        "count" => calls.count = sample.value as u64,
        "sum" => calls.time = Some(Duration::from_micros(sample.value as u64)),
        _ => {}
    }
}

/// Adds the counters of a share to those of the others. Windows has no times of requests here.
fn of_windows(found: &mut ServerCounters, kind: &str, value: u64) {
    let open = match kind {
        "current_open_file_count" => &mut found.open.files,
        "tree_connect_count" => &mut found.open.tree_connects,
        _ => {
            let name = match kind {
                "read_requests_count_total" => "read",
                "write_requests_count_total" => "write",
                "metadata_requests_count_total" => "metadata",
                _ => return,
            };
            let calls: &mut ServerCalls = found.commands.entry(name.to_owned()).or_default();
            calls.count = calls.count.saturating_add(value);
            return;
        }
    };
    *open = Some(open.unwrap_or(0).saturating_add(value));
}

/// Returns the memory in use of the server's machine, if an exporter tells it.
pub(in crate::machine) fn memory(text: &str) -> Option<u64> {
    let samples = || text.lines().filter_map(MetricSample::of_line);
    let value = |wanted: &str| {
        let mut all = samples().filter(|(name, _)| *name == wanted);
        all.next().map(|(_, sample)| sample.value as u64)
    };
    let of = |all: &str, free: &str| value(all)?.checked_sub(value(free)?);
    of(
        "node_memory_MemTotal_bytes",
        "node_memory_MemAvailable_bytes",
    )
    .or_else(|| {
        of(
            "windows_memory_physical_total_bytes",
            "windows_memory_available_bytes",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metrics_of_smbd_have_calls_and_times() {
        let text = "# HELP smb_worker_smbd_num Number of worker smbds serving clients\n\
                    smb_worker_smbd_num 1\n\
                    smb_num_authenticated_sessions 3\n\
                    smb_smb2_request_inbytes { operation=\"read\" } 452\n\
                    smb_smb2_request_duration_microseconds_bucket {operation=\"read\",le=\"1000\"} 9\n\
                    smb_smb2_request_duration_microseconds_sum {operation=\"read\"} 900\n\
                    smb_smb2_request_duration_microseconds_count {operation=\"read\"} 12\n\
                    smb_smb2_request_duration_microseconds_count {operation=\"keepalive\"} 2\n";
        let found = counters(text).unwrap();
        let read = found.commands["read"];
        assert_eq!(
            (read.count, read.time),
            (12, Some(Duration::from_micros(900)))
        );
        assert_eq!(found.commands["echo"].count, 2);
        assert_eq!(found.open.sessions, Some(3));
        let silent = "smb_smb2_request_duration_microseconds_count {operation=\"read\"} 0\n";
        assert!(counters(silent).unwrap_err().contains("all 0"));
        assert!(
            counters("node_load1 2\n")
                .unwrap_err()
                .contains("no counters")
        );
    }

    #[test]
    fn the_shares_of_a_windows_server_are_added_up() {
        let share = |name: &str, reads: u32| {
            format!(
                "windows_smb_server_shares_read_requests_count_total{{share=\"{name}\"}} {reads}\n\
                 windows_smb_server_shares_current_open_file_count{{share=\"{name}\"}} 2\n"
            )
        };
        let text = share(r"\\\\*\\a", 1000) + &share(r"\\\\*\\b", 5);
        let found = counters(&text).unwrap();
        let read = found.commands["read"];
        assert_eq!(
            (read.count, read.time, found.open.files),
            (1005, None, Some(4))
        );
    }

    #[test]
    fn memory_is_what_is_not_available() {
        let text = "node_memory_MemTotal_bytes 8e9\nnode_memory_MemAvailable_bytes 6e9\n";
        assert_eq!(memory(text), Some(2_000_000_000));
        assert_eq!(memory("node_memory_MemTotal_bytes 8e9\n"), None);
    }
}
