//! The wait until a server is quiet: its CPU, its disks, and what it has not written yet are
//! below a bound for a second. It reads what [`Meter`] reads, and disks.

use std::thread;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::hooks::QuietRecord;

use super::disks::DiskTimes;
use super::exposition::CpuSeconds;
use super::{CpuTotals, Meter, SourceKind};
use crate::machine::cancel::Cancel;
use crate::machine::{clock, exporter};

/// CPUs that may be busy: of the server's processes, or as a share of its machine.
const CPU_BUSY_MAX: f64 = 0.05;
/// Share of the time in which the busiest disk may have work.
const DISK_BUSY_MAX: f64 = 0.05;
/// Bytes that may wait to be written.
const UNWRITTEN_MAX: u64 = 32 << 20;
/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(1);
/// Longest sleep without a check for a cancel.
const SLEEP: Duration = Duration::from_millis(50);

/// What a look at the server has found.
struct QuietLook {
    at: Nanos,
    cpu: CpuTotals,
    disks: DiskTimes,
}

/// How busy a server was between two looks.
struct Activity {
    busy_cpus: Result<f64, String>,
    /// The CPUs by which the bound is a share.
    cpus: f64,
    disk_busy: Option<f64>,
    unwritten: Option<u64>,
}

impl Meter {
    /// Waits until the server is quiet, blocking the thread for `most` and two looks at most.
    ///
    /// # Errors
    /// The reason why the server cannot be seen.
    pub(crate) fn until_quiet(
        &self,
        most: Duration,
        cancel: &Cancel,
    ) -> Result<QuietRecord, String> {
        let began = clock::now();
        let waited = || Duration::from(clock::now().since(began));
        let mut before = self.look()?;
        loop {
            let next = before.at + INTERVAL.into();
            while clock::now() < next && !cancel.is_cancelled() {
                thread::sleep(SLEEP);
            }
            let now = self.look()?;
            let activity = now.since(&before);
            let reason = activity.reason();
            if reason.is_none() || waited() >= most || cancel.is_cancelled() {
                return Ok(QuietRecord {
                    waited_s: waited().as_secs_f64(),
                    is_quiet: reason.is_none(),
                    source: self.source.clone(),
                    busy_cpus: activity.busy_cpus.ok(),
                    disk_busy: activity.disk_busy,
                    unwritten_bytes: activity.unwritten,
                    reason,
                });
            }
            before = now;
        }
    }

    fn look(&self) -> Result<QuietLook, String> {
        let began = clock::now();
        let (cpu, disks) = match &self.kind {
            Ok(SourceKind::Processes(listeners)) => (
                CpuTotals::Processes(listeners.cpu_times()?),
                DiskTimes::here(),
            ),
            Ok(SourceKind::Exporter(url)) => {
                let text = exporter::scrape(url)?;
                (
                    CpuTotals::Machine(CpuSeconds::parse(&text)?),
                    DiskTimes::parse(&text),
                )
            }
            Err(reason) => return Err(reason.clone()),
        };
        let at = Nanos(began.0.midpoint(clock::now().0));
        Ok(QuietLook { at, cpu, disks })
    }
}

impl QuietLook {
    fn since(&self, earlier: &Self) -> Activity {
        let elapsed: Duration = self.at.since(earlier.at).into();
        let (busy_cpus, cpus) = match (&self.cpu, &earlier.cpu) {
            (CpuTotals::Processes(now), CpuTotals::Processes(before)) => {
                let used = now.since(before);
                let cpus = used.map(|used| used.as_secs_f64() / elapsed.as_secs_f64().max(1e-9));
                (cpus, 1.0)
            }
            (CpuTotals::Machine(now), CpuTotals::Machine(before)) => {
                match now.busy_since(before, elapsed) {
                    Ok((share, cpus)) => (Ok(share * f64::from(cpus)), f64::from(cpus)),
                    Err(reason) => (Err(reason), 1.0),
                }
            }
            _ => unreachable!("a meter reads from one source"),
        };
        Activity {
            busy_cpus,
            cpus,
            disk_busy: self.disks.busy_since(&earlier.disks, elapsed),
            unwritten: self.disks.unwritten,
        }
    }
}

impl Activity {
    /// Returns what is not quiet, if anything is.
    fn reason(&self) -> Option<String> {
        match &self.busy_cpus {
            Err(reason) => return Some(format!("its CPU time is not known: {reason}")),
            Ok(busy) if *busy > CPU_BUSY_MAX * self.cpus => {
                return Some(format!("{busy:.2} of its CPUs were busy"));
            }
            Ok(_) => {}
        }
        if let Some(busy) = self.disk_busy.filter(|busy| *busy > DISK_BUSY_MAX) {
            return Some(format!("a disk was busy {:.0} % of the time", busy * 100.0));
        }
        let unwritten = self.unwritten.filter(|bytes| *bytes > UNWRITTEN_MAX)?;
        Some(format!("{} MiB were not written yet", unwritten >> 20))
    }
}
