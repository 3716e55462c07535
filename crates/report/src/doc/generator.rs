//! How the generator fared in the window of a load point, and whether it was the
//! limit.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use smbench_model::record::{LoadPointRecord, WorkerRecord};

/// The generator in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorDoc {
    /// Whether it limited the load, so that throughput is not to be trusted.
    pub limited: bool,
    /// Why; `null` where it was not.
    pub reason: Option<String>,
    /// How a server on the same machine kept it from the CPUs. Throughput is then what both
    /// reach together. Absent where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_cpus: Option<String>,
    /// What it means that `held_back_share` is noteworthy: network or server were
    /// the limit. Absent where it is not, and where `limited` or `shared_cpus` leaves open who
    /// was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_pressure: Option<String>,
    /// Share of the time of all CPUs of the generator's machine that anyone
    /// used, 0 to 1; `null` where the system did not tell.
    pub machine_busy_share: Option<f64>,
    /// `credit_starved_s` as a share of the clients' time.
    pub credit_starved_share: f64,
    /// `held_back_s` as a share of the clients' time: back-pressure of sockets.
    pub held_back_share: f64,
    /// How late events were seen, over all threads; `null` without any.
    pub lateness_ns: Option<LatenessDoc>,
    /// One for each thread, in their order.
    pub workers: Vec<WorkerDoc>,
}

/// A worker thread in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerDoc {
    /// The CPU it was kept on; `null` where it was free.
    pub cpu: Option<u64>,
    /// Share of the window in which it used a CPU, user and system, 0 to 1. Where its
    /// load ended before the window did: of the time until then.
    pub cpu_share: f64,
    /// Share in which it waited for one, which others had; `null` where the
    /// system did not tell.
    pub waiting_share: Option<f64>,
    /// How late it saw events; `null` without any.
    pub lateness_ns: Option<LatenessDoc>,
}

/// From when a timer expired until its thread saw that, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatenessDoc {
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Latest.
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

impl From<&LoadPointRecord> for GeneratorDoc {
    fn from(record: &LoadPointRecord) -> Self {
        let generator = &record.generator;
        let clients_s = record.window.as_secs_f64() * f64::from(record.clients);
        let share = |wait_s: f64| match clients_s > 0.0 {
            true => wait_s / clients_s,
            false => 0.0,
        };
        Self {
            limited: generator.limited.is_some(),
            reason: generator.limited.clone(),
            shared_cpus: generator.shared_cpus.clone(),
            back_pressure: generator.back_pressure.clone(),
            machine_busy_share: generator.machine_busy,
            credit_starved_share: share(record.credit_starved.as_secs_f64()),
            held_back_share: share(record.held_back.as_secs_f64()),
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
