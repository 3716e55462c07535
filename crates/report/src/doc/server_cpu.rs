//! CPU time of the server.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::cpu::CpuScope;
use smbench_model::record::LoadPointRecord;

use super::named::Named;
use crate::statistics::per;

/// The server's CPU use in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCpuDoc {
    /// Source of the figures: the URL of a metrics exporter, or processes of this
    /// machine. Empty without a source.
    pub source: String,
    /// Why the next values are `null`; `null` if they were measured.
    pub not_measured: Option<String>,
    /// Whether the CPU time is that of the serving processes, or of the server's
    /// whole machine.
    pub scope: Option<Named<CpuScope>>,
    /// Number of CPUs of the server's machine.
    pub cores: Option<u32>,
    /// CPU seconds, summed over those CPUs.
    pub busy_s: Option<f64>,
    /// CPU time as a share of the full time of these CPUs, in percent.
    pub percent: Option<f64>,
    /// Microseconds per operation; `null` without operations.
    pub us_per_op: Option<f64>,
    /// Throughput in Mbit/s for each percent: the P/E index. 0 if `percent` is 0.
    pub mbps_per_percent: Option<f64>,
    /// Operations per second for each percent, which Iometer calls CPU
    /// Effectiveness. 0 if `percent` is 0.
    pub ops_per_s_per_percent: Option<f64>,
}

impl ServerCpuDoc {
    /// Builds the figures of a load point with this throughput in Mbit/s and
    /// operations per second.
    pub(crate) fn of(record: &LoadPointRecord, throughput_mbps: f64, ops_per_s: f64) -> Self {
        let window_s = record.window.as_secs_f64();
        let used = record.server_cpu.used.as_ref().ok();
        let percent = used.map(|used| {
            let all = window_s * f64::from(used.cores);
            used.busy.as_secs_f64() / all * 100.0
        });
        let measured = Self {
            source: record.server_cpu.source.clone(),
            not_measured: record.server_cpu.used.as_ref().err().cloned(),
            scope: used.map(|used| Named::Known(used.scope)),
            cores: used.map(|used| used.cores),
            busy_s: used.map(|used| used.busy.as_secs_f64()),
            // A window of length 0 gives no percentage.
            percent: percent.filter(|percent| percent.is_finite()),
            us_per_op: None,
            mbps_per_percent: None,
            ops_per_s_per_percent: None,
        };
        measured.for_work(throughput_mbps, ops_per_s, window_s)
    }

    /// Sets the figures that relate the CPU time to this throughput in Mbit/s and these
    /// operations per second.
    pub(crate) fn for_work(self, throughput_mbps: f64, ops_per_s: f64, window_s: f64) -> Self {
        let efficiency = |of: f64| self.percent.map(|percent| per(of, percent));
        let operations = ops_per_s * window_s;
        let busy_s = self.busy_s.filter(|_| operations > 0.0);
        Self {
            us_per_op: busy_s.map(|busy_s| busy_s * 1e6 / operations),
            mbps_per_percent: efficiency(throughput_mbps),
            ops_per_s_per_percent: efficiency(ops_per_s),
            ..self
        }
    }
}
