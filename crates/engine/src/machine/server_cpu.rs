//! How much of its CPUs the server under test used: measured, never guessed.
//!
//! A `Meter` is read when the window opens and when it closes. It reads counters.
//! If the server runs on this machine, they are those of its processes
//! (`processes`). If an exporter of metrics runs on the server's machine, they are
//! those of that whole machine ([`exporter`]). If neither is available, the meter
//! gives the reason. That costs the run nothing else: the meter is read on a thread
//! of its own, and every read has a limit. Not here: CPU of the generator, which is
//! in `process`.
//!
//! The listening process is searched for once, before the load, because the search
//! reads every descriptor of the machine. Under load only `stat` of each process is
//! read. The CPU time of these reads is measured on their thread. It counts neither
//! as the generator's nor as the machine's. An exporter's CPU share is computed from
//! its own counters, so network delay does not affect it. Counters that run much
//! faster or slower than time are refused.

mod disks;
mod exposition;
mod family;
pub(crate) mod processes;
mod quiet;

use std::net::SocketAddr;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::cpu::{
    CpuScope, CpuSource, MetricsUrl, ServerCpuRecord, ServerCpuUse, UnreadServer,
};
use smbench_model::setting::SERVER_METRICS;
use thiserror::Error;

use crate::machine::counters::metrics;
use crate::machine::process::CpuTime;
use crate::machine::{clock, exporter, process};
use exposition::CpuSeconds;
use family::FamilyTimes;
use processes::Listeners;

/// An exporter that does not tell the CPU time of its machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("failed to read CPU counters from {url}: {reason}; check {SERVER_METRICS}")]
pub struct MetricsError {
    /// Where it was asked, without a query.
    pub url: String,
    /// Why not.
    pub reason: String,
}

/// Asks an exporter once, so that one that does not answer is found before the
/// load. Blocks the thread for 2 seconds at most. Processes are looked for once
/// the server's address is known: where they cannot be had, the run goes on.
pub(crate) fn check(source: &CpuSource) -> Result<(), MetricsError> {
    let CpuSource::Exporter(url) = source else {
        return Ok(());
    };
    let error = |reason| MetricsError {
        url: url.to_string(),
        reason,
    };
    counters(url).map(|_| ()).map_err(error)
}

/// Reads the counters of one server.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    source: String,
    /// The source of the counters, or the reason why there is none.
    kind: Result<SourceKind, String>,
}

#[derive(Clone, Debug)]
enum SourceKind {
    Processes(Listeners),
    Exporter(MetricsUrl),
}

/// One reading of a meter.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    began: Nanos,
    ended: Nanos,
    /// CPU time of this machine that the reading took.
    cost: CpuTime,
    found: Result<CpuTotals, String>,
    /// Memory in use on the server's machine, if an exporter told it.
    memory: Option<u64>,
}

impl Reading {
    /// Returns the instant of all its counters: the middle of the reading, if it is not
    /// known.
    const fn at(&self) -> Nanos {
        match &self.found {
            Ok(CpuTotals::Processes(times)) => times.read_at(),
            _ => Nanos(self.began.0.midpoint(self.ended.0)),
        }
    }

    /// Returns the CPU time of this machine that the reading took until `end`. The
    /// reading may end later; its CPU time is taken as spread evenly over its
    /// duration.
    pub(crate) fn cost_until(&self, end: Nanos) -> CpuTime {
        if end >= self.ended {
            return self.cost;
        }
        if end <= self.began {
            return CpuTime::default();
        }
        let whole = self.ended.since(self.began).as_secs_f64();
        self.cost.share(end.since(self.began).as_secs_f64() / whole)
    }
}

#[derive(Clone, Debug)]
enum CpuTotals {
    Processes(FamilyTimes),
    Machine(CpuSeconds),
}

impl Meter {
    /// Returns the bytes of memory of the server's processes, or those in use on its machine at
    /// a reading of an exporter. `None` if they are not known.
    pub(crate) fn memory(&self, reading: &Reading) -> Option<u64> {
        match &self.kind {
            Ok(SourceKind::Processes(listeners)) => listeners.memory(),
            _ => reading.memory,
        }
    }

    /// Returns how many handles the server's processes have open: files, sockets and others.
    /// `None` if they are not known.
    pub(crate) fn handles(&self) -> Option<u64> {
        match &self.kind {
            Ok(SourceKind::Processes(listeners)) => listeners.handles(),
            _ => None,
        }
    }

    /// Finds out what of the server cannot be read, and why. Blocks the thread for 2 seconds at
    /// most.
    pub(crate) fn unread(&self) -> UnreadServer {
        match &self.kind {
            Ok(SourceKind::Processes(listeners)) => {
                let name = listeners.name();
                let reason =
                    || format!("{name} has processes that it cannot be read of; run as root");
                UnreadServer {
                    memory: listeners.memory().is_none().then(reason),
                    handles: listeners.handles().is_none().then(reason),
                }
            }
            Ok(SourceKind::Exporter(url)) => {
                let lacking = "its answer has no memory of node_exporter or windows_exporter";
                let memory = match exporter::scrape(url) {
                    Ok(text) if metrics::memory(&text).is_some() => None,
                    Ok(_) => Some(lacking.to_owned()),
                    Err(reason) => Some(reason),
                };
                UnreadServer {
                    memory: memory.map(|reason| format!("{url}: {reason}")),
                    handles: Some(format!("{url} does not tell the handles of the server")),
                }
            }
            Err(reason) => UnreadServer {
                memory: Some(reason.clone()),
                handles: Some(reason.clone()),
            },
        }
    }

    /// Makes a meter for the server at the addresses `here` of this machine, or for one
    /// elsewhere if there are none. Looks for the server's processes now.
    pub(crate) fn new(source: &CpuSource, here: &[SocketAddr]) -> Self {
        let (source, kind) = match source {
            CpuSource::Off => (String::new(), Err(format!("{SERVER_METRICS} is off"))),
            CpuSource::Exporter(url) => (url.to_string(), Ok(SourceKind::Exporter(url.clone()))),
            CpuSource::Processes => match Listeners::of_all(here).and_then(Listeners::are_others) {
                Ok(found) => (
                    format!("{}, on this machine", found.families()),
                    Ok(SourceKind::Processes(found)),
                ),
                Err(reason) => (String::new(), Err(reason)),
            },
        };
        Self { source, kind }
    }

    /// Reads the counters after other ones, whose cost the reading includes. Blocks the
    /// thread for 2 seconds at most, in addition to the others.
    pub(crate) fn read_after<T>(&self, others: impl FnOnce() -> T) -> (Reading, T) {
        let had = process::thread_cpu_time();
        let others = others();
        let began = clock::now();
        let mut memory = None;
        let found = match &self.kind {
            Ok(SourceKind::Processes(listeners)) => listeners.cpu_times().map(CpuTotals::Processes),
            Ok(SourceKind::Exporter(url)) => exporter::scrape(url).and_then(|text| {
                memory = metrics::memory(&text);
                CpuSeconds::parse(&text).map(CpuTotals::Machine)
            }),
            Err(reason) => Err(reason.clone()),
        };
        let reading = Reading {
            began,
            ended: clock::now(),
            cost: process::thread_cpu_time().since(had),
            found,
            memory,
        };
        (reading, others)
    }

    /// Returns whether it reads processes of this machine.
    pub(crate) const fn is_of_processes(&self) -> bool {
        matches!(self.kind, Ok(SourceKind::Processes(_)))
    }

    /// Returns the CPU time used in a `window`, from two readings close to its
    /// ends. The load ended at `load_end`, perhaps before the closing reading.
    pub(crate) fn between(
        &self,
        opening: Option<Reading>,
        closing: Option<Reading>,
        window: Nanos,
        load_end: Nanos,
    ) -> ServerCpuRecord {
        let used = match opening.zip(closing) {
            Some((opening, closing)) => used(opening, closing, window, load_end),
            None => Err("the window did not both open and close".to_owned()),
        };
        ServerCpuRecord {
            source: self.source.clone(),
            used,
        }
    }
}

/// Returns the busy share between two answers of an exporter, `elapsed` apart; see
/// [`CpuSeconds::busy_since`].
#[cfg(feature = "fuzzing")]
pub(crate) fn busy_between(
    opening: &[u8],
    closing: &[u8],
    elapsed: Duration,
) -> Result<(f64, u32), String> {
    let parsed = |answer| CpuSeconds::parse(&String::from_utf8_lossy(answer));
    let [opening, closing] = [opening, closing].map(parsed);
    closing?.busy_since(&opening?, elapsed)
}

fn counters(url: &MetricsUrl) -> Result<CpuSeconds, String> {
    CpuSeconds::parse(&exporter::scrape(url)?)
}

fn used(
    opening: Reading,
    closing: Reading,
    window: Nanos,
    load_end: Nanos,
) -> Result<ServerCpuUse, String> {
    let (opened, closed) = (opening.at(), closing.at());
    let time: Duration = closed.since(opened).into();
    let under_load = closed.min(load_end).since(opened);
    let window: Duration = window.into();
    if under_load.0 == 0 || window.is_zero() {
        return Err("no time passed while the window was open".to_owned());
    }
    match (opening.found?, closing.found?) {
        // The readings are slightly off the window's ends. There the load is the same, or
        // has ended.
        (CpuTotals::Processes(before), CpuTotals::Processes(after)) => {
            let busy = after.since(&before)?.as_secs_f64();
            Ok(ServerCpuUse {
                scope: CpuScope::Processes,
                cores: processes::cores()?,
                busy: window.mul_f64(busy / under_load.as_secs_f64()),
            })
        }
        // The share comes from the exporter's own counters, so network delay does
        // not affect it.
        (CpuTotals::Machine(before), CpuTotals::Machine(after)) => {
            let (share, cores) = after.busy_since(&before, time)?;
            Ok(ServerCpuUse {
                scope: CpuScope::Machine,
                cores,
                busy: window.mul_f64(share * f64::from(cores)),
            })
        }
        _ => unreachable!("a meter reads from one source"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Answers a request with this text for each of these.
    fn exporter(texts: [&'static str; 3]) -> (CpuSource, thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answering = thread::spawn(move || {
            for text in texts {
                let (mut socket, _) = listener.accept().unwrap();
                let _ = socket.read(&mut [0; 4096]).unwrap();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len());
                socket.write_all((head + text).as_bytes()).unwrap();
            }
        });
        (CpuSource::Exporter(url.parse().unwrap()), answering)
    }

    #[test]
    fn memory_of_a_server_elsewhere_is_that_of_its_machine_or_has_a_reason() {
        let memory = "node_memory_MemTotal_bytes 8e9\nnode_memory_MemAvailable_bytes 6e9\n\
                      node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1\n";
        let (source, answering) = exporter([memory, memory, "node_load1 2\n"]);
        let meter = Meter::new(&source, &[]);
        let unread = meter.unread();
        assert_eq!(unread.memory, None);
        assert!(
            unread
                .handles
                .unwrap()
                .contains("does not tell the handles")
        );
        let (reading, ()) = meter.read_after(|| ());
        assert_eq!(meter.memory(&reading), Some(2_000_000_000));
        let lacking = meter.unread().memory.unwrap();
        assert!(lacking.contains("has no memory"), "{lacking}");
        answering.join().unwrap();

        let unknown = Meter::new(&CpuSource::Processes, &[]).unread();
        let reason = "the server is on another machine; give server_metrics";
        assert_eq!(unknown.memory.as_deref(), Some(reason));
        assert_eq!(unknown.handles, unknown.memory);
    }

    #[test]
    fn a_look_costs_up_to_an_instant_what_it_has_taken_by_then() {
        let millis = Duration::from_millis;
        let reading = Reading {
            began: Nanos(1_000_000_000),
            ended: Nanos(1_080_000_000),
            cost: CpuTime {
                user: millis(16),
                system: millis(48),
            },
            found: Err("nothing".to_owned()),
            memory: None,
        };
        for (end_ms, user, system) in [(900, 0, 0), (1000, 0, 0), (1020, 4, 12), (1080, 16, 48)] {
            let cost = reading.cost_until(millis(end_ms).into());
            assert_eq!(
                (cost.user, cost.system),
                (millis(user), millis(system)),
                "{end_ms}"
            );
        }
        assert_eq!(reading.cost_until(Nanos::MAX), reading.cost);
        let at_once = Reading {
            ended: reading.began,
            ..reading
        };
        assert_eq!(at_once.cost_until(at_once.began), at_once.cost);
    }
}
