//! The generator's condition in the window of a load point, and whether it was the
//! limit.

use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::record::{GeneratorRecord, HostRecord, LoadPointRecord, WorkerRecord};

use crate::statistics::per;

/// The generator in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct GeneratorDoc {
    /// Whether the generator limited the load, so that throughput is not to be
    /// trusted.
    pub limited: bool,
    /// Why the generator was the limit; `null` if it was not. Of several machines, this and the
    /// next two keys name the first one that has it.
    pub reason: Option<String>,
    /// Explanation that a server on the same machine took CPU time from the
    /// generator. Throughput is then what both reach together. Absent if the server
    /// did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_cpus: Option<String>,
    /// Explanation of a noteworthy `held_back_share`: the network or the server was
    /// the limit. Absent if the share is small, or if `limited` or `shared_cpus`
    /// leaves the cause open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_pressure: Option<String>,
    /// Share of the time of all CPUs of the generator's machine in which any
    /// program used them, 0 to 1; `null` if the system did not provide it. The highest of
    /// several machines.
    pub machine_busy_share: Option<f64>,
    /// `credit_starved_s` as a share of the clients' time.
    pub credit_starved_share: f64,
    /// `held_back_s` as a share of the clients' time: back-pressure of sockets.
    pub held_back_share: f64,
    /// Delay in noticing events, over all threads; `null` without events. In a merged result,
    /// each value is that of the worst machine.
    pub lateness_ns: Option<LatenessDoc>,
    /// One element for each thread, in their order. Of several machines, those of the first come
    /// first.
    pub workers: Vec<WorkerDoc>,
}

/// A worker thread in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct WorkerDoc {
    /// The CPU that the thread was pinned to; `null` if it was not pinned.
    pub cpu: Option<u64>,
    /// Share of the window in which the thread used a CPU, user and system, 0 to 1.
    /// If its load ended before the window did, the share is of the time until
    /// then.
    pub cpu_share: f64,
    /// Share in which the thread waited for a CPU that others used; `null` if the
    /// system did not provide it.
    pub waiting_share: Option<f64>,
    /// Delay in noticing events; `null` without events.
    pub lateness_ns: Option<LatenessDoc>,
}

/// Time from when a timer expired until its thread noticed that, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LatenessDoc {
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Maximum.
    pub max: u64,
}

impl LatenessDoc {
    fn of(histogram: &Histogram<u64>) -> Option<Self> {
        (!histogram.is_empty()).then(|| Self {
            p50: histogram.value_at_quantile(0.5),
            p99: histogram.value_at_quantile(0.99),
            max: histogram.max(),
        })
    }
}

/// Returns a wait in seconds, summed over clients, as a share of their time.
pub(crate) fn share_of_time(wait_s: f64, clients: f64, window_s: f64) -> f64 {
    per(wait_s, window_s * clients)
}

impl From<&LoadPointRecord> for GeneratorDoc {
    fn from(record: &LoadPointRecord) -> Self {
        let waits = [record.credit_starved, record.held_back];
        Self::of(
            &record.generator,
            waits,
            record.window,
            record.mean_clients(),
        )
    }
}

impl GeneratorDoc {
    /// Returns the generator of one host of several, in a window of this length.
    pub(crate) fn of_host(host: &HostRecord, window: Duration) -> Option<Self> {
        let waits = [host.credit_starved, host.held_back];
        let generator = host.generator.as_ref()?;
        Some(Self::of(generator, waits, window, host.mean_clients))
    }

    /// Returns a generator whose clients were held up for these times, without credits and
    /// without room in their sockets.
    fn of(
        generator: &GeneratorRecord,
        waits: [Duration; 2],
        window: Duration,
        clients: f64,
    ) -> Self {
        let share =
            |wait: Duration| share_of_time(wait.as_secs_f64(), clients, window.as_secs_f64());
        let [starved, held_back] = waits.map(share);
        Self {
            limited: generator.limited.is_some(),
            reason: generator.limited.clone(),
            shared_cpus: generator.shared_cpus.clone(),
            back_pressure: generator.back_pressure.clone(),
            machine_busy_share: generator.machine_busy,
            credit_starved_share: starved,
            held_back_share: held_back,
            lateness_ns: LatenessDoc::of(&generator.lateness()),
            workers: generator.workers.iter().map(WorkerDoc::from).collect(),
        }
    }
}

impl From<&WorkerRecord> for WorkerDoc {
    fn from(worker: &WorkerRecord) -> Self {
        Self {
            cpu: worker.cpu.map(|cpu| cpu as u64),
            cpu_share: worker.cpu_share,
            waiting_share: worker.waiting_share,
            lateness_ns: LatenessDoc::of(&worker.lateness),
        }
    }
}

/// Resources that the generator's process used in the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientDoc {
    /// CPU seconds in user mode.
    pub cpu_user_s: f64,
    /// CPU seconds in the kernel.
    pub cpu_system_s: f64,
    /// Microseconds of both per operation; `null` without operations.
    pub cpu_us_per_op: Option<f64>,
    /// Largest resident set of the process so far, in bytes. The sum of several machines.
    pub max_rss_bytes: u64,
}

impl ClientDoc {
    /// Returns the CPU seconds in both modes.
    pub(crate) fn cpu_s(&self) -> f64 {
        self.cpu_user_s + self.cpu_system_s
    }
}
