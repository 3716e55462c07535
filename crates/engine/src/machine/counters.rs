//! The counters that a server has of its own requests.
//!
//! They are read when all sessions are set up and the load has not begun, and again when the
//! load has ended and all sessions are still there. So no set-up is among them, nothing is read
//! under load, and the server must have counted what was sent. Each process of smbd adds what
//! it counted to the profile once in a second, so a profile is read after that time.
//! Not here: what the generator counted, and when readings are made (`run/point/cpu_reader.rs`).

pub(super) mod metrics;
mod smbstatus;

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use smbench_model::cpu::{CounterSource, CpuScope, MetricsUrl};
use smbench_model::record::{CountersRecord, ServerCalls, ServerCounters, ServerMemory};

use super::exporter;
use super::server_cpu::processes::Listeners;
use smbstatus::{Smbstatus, SmbstatusTopic};

/// Time after the last request until all processes of smbd have added to the profile: one
/// second, and some more for a busy machine.
const PROFILE_DELAY: Duration = Duration::from_millis(1300);

/// Reads the counters of one server.
#[derive(Clone, Debug)]
pub(crate) struct CounterMeter {
    source: String,
    kind: Result<CounterKind, String>,
    /// The processes whose memory is read.
    processes: Option<Listeners>,
}

#[derive(Clone, Debug)]
enum CounterKind {
    Samba(Smbstatus, SmbstatusTopic),
    Exporter(MetricsUrl),
}

/// One reading of the counters.
#[derive(Clone, Debug)]
pub(crate) struct ServerCounterReading {
    counters: Result<ServerCounters, String>,
    memory: Option<(CpuScope, u64)>,
}

impl CounterMeter {
    /// Makes a meter for the server at the addresses `here` of this machine, or for one elsewhere
    /// if there are none. `None` if no counters were asked for. Looks for the server's processes
    /// now, so it must not run under load.
    pub(crate) fn new(source: &CounterSource, here: &[SocketAddr]) -> Option<Self> {
        let listeners = || match here {
            [] => Err("the server is on another machine; give a URL of its metrics".to_owned()),
            servers => Listeners::of_all(servers).and_then(Listeners::are_others),
        };
        let (subject, found) = match source {
            CounterSource::Off => return None,
            CounterSource::Exporter(url) => {
                return Some(Self {
                    source: url.to_string(),
                    kind: Ok(CounterKind::Exporter(url.clone())),
                    processes: listeners().ok(),
                });
            }
            CounterSource::Auto | CounterSource::Profile => (SmbstatusTopic::Profile, listeners()),
            CounterSource::Status => (SmbstatusTopic::Open, listeners()),
        };
        let smbstatus = found
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|found| Smbstatus::of(found.only_pid()?));
        let subject = match (source, &smbstatus) {
            (CounterSource::Auto, Ok(smbstatus)) if !has_profile(smbstatus) => SmbstatusTopic::Open,
            _ => subject,
        };
        Some(Self {
            source: smbstatus
                .as_ref()
                .map_or(String::new(), |smbstatus| smbstatus.name(subject)),
            kind: smbstatus.map(|smbstatus| CounterKind::Samba(smbstatus, subject)),
            processes: found.ok(),
        })
    }

    /// Returns how long after a request its counters are complete.
    pub(crate) const fn delay(&self) -> Duration {
        match self.kind {
            Ok(CounterKind::Samba(_, SmbstatusTopic::Profile)) => PROFILE_DELAY,
            // It may have the profile of smbd.
            Ok(CounterKind::Exporter(_)) => PROFILE_DELAY,
            _ => Duration::ZERO,
        }
    }

    /// Reads the counters, blocking the thread for some seconds at most.
    pub(crate) fn read(&self) -> ServerCounterReading {
        let own = self.processes.as_ref().and_then(Listeners::memory);
        let own = own.map(|bytes| (CpuScope::Processes, bytes));
        match &self.kind {
            Ok(CounterKind::Samba(smbstatus, subject)) => ServerCounterReading {
                counters: smbstatus.read(*subject),
                memory: own,
            },
            Ok(CounterKind::Exporter(url)) => {
                let text = exporter::scrape(url);
                let of_machine = text.as_ref().ok().and_then(|text| metrics::memory(text));
                ServerCounterReading {
                    counters: text.and_then(|text| metrics::counters(&text)),
                    memory: own.or(of_machine.map(|bytes| (CpuScope::Machine, bytes))),
                }
            }
            Err(reason) => ServerCounterReading {
                counters: Err(reason.clone()),
                memory: own,
            },
        }
    }

    /// Returns what was counted between two readings.
    pub(crate) fn between(
        &self,
        before: Option<ServerCounterReading>,
        after: Option<ServerCounterReading>,
    ) -> CountersRecord {
        let Some((before, after)) = before.zip(after) else {
            return CountersRecord {
                source: self.source.clone(),
                counted: Err("the load did not both begin and end".to_owned()),
                memory: None,
            };
        };
        let memory = before.memory.zip(after.memory);
        CountersRecord {
            source: self.source.clone(),
            counted: counted(before.counters, after.counters),
            memory: memory.map(|((scope, before), (_, after))| ServerMemory {
                scope,
                before,
                after,
            }),
        }
    }
}

/// Returns whether smbd has a profile. One that was started just now has counted nothing yet.
fn has_profile(smbstatus: &Smbstatus) -> bool {
    smbstatus.read(SmbstatusTopic::Profile).is_ok() || {
        thread::sleep(PROFILE_DELAY);
        smbstatus.read(SmbstatusTopic::Profile).is_ok()
    }
}

fn counted(
    before: Result<ServerCounters, String>,
    after: Result<ServerCounters, String>,
) -> Result<ServerCounters, String> {
    let (before, after) = (before?, after?);
    let is_anew = |(name, calls): (&String, &ServerCalls)| {
        let earlier = before.commands.get(name);
        earlier.is_some_and(|earlier| earlier.count > calls.count)
    };
    if after.commands.iter().any(is_anew) {
        return Err("the server's counters went back: it was started anew".to_owned());
    }
    Ok(ServerCounters {
        commands: since(&before.commands, after.commands),
        calls: since(&before.calls, after.calls),
        open: after.open,
    })
}

type CallsByName = std::collections::BTreeMap<String, ServerCalls>;

/// Returns the calls since an earlier reading, without kinds that were not called.
fn since(before: &CallsByName, after: CallsByName) -> CallsByName {
    let since = |(name, calls): (String, ServerCalls)| {
        let earlier = before.get(&name).copied().unwrap_or_default();
        let time = calls
            .time
            .map(|time| time.saturating_sub(earlier.time.unwrap_or_default()));
        let count = calls.count.saturating_sub(earlier.count);
        (count > 0).then_some((name, ServerCalls { count, time }))
    };
    after.into_iter().filter_map(since).collect()
}

/// Returns the name in result documents of a command that Samba names so.
fn command(of_samba: &str) -> Option<&'static str> {
    Some(match of_samba {
        "negprot" => "negotiate",
        "sesssetup" => "session_setup",
        "logoff" => "logoff",
        "tcon" => "tree_connect",
        "tdis" => "tree_disconnect",
        "create" => "create",
        "close" => "close",
        "flush" => "flush",
        "read" => "read",
        "write" => "write",
        "lock" => "lock",
        "ioctl" => "ioctl",
        "cancel" => "cancel",
        "keepalive" => "echo",
        "find" => "query_directory",
        "notify" => "change_notify",
        "getinfo" => "query_info",
        "setinfo" => "set_info",
        "break" => "oplock_break",
        _ => return None,
    })
}

/// Counters without anything in them are those of a server that does not count.
fn if_counting(counters: ServerCounters, reason: &str) -> Result<ServerCounters, String> {
    let counts = |calls: &CallsByName| calls.values().any(|calls| calls.count > 0);
    if counts(&counters.commands) {
        Ok(counters)
    } else {
        Err(reason.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::record::ServerOpen;

    use super::*;

    fn reads(count: u64, us: u64) -> ServerCounters {
        let calls = ServerCalls {
            count,
            time: Some(Duration::from_micros(us)),
        };
        ServerCounters {
            commands: [("read".to_owned(), calls)].into(),
            calls: CallsByName::new(),
            open: ServerOpen::default(),
        }
    }

    #[test]
    fn counters_are_differences_and_never_go_back() {
        let found = counted(Ok(reads(10, 500)), Ok(reads(25, 800))).unwrap();
        assert_eq!(found, reads(15, 300));
        assert_eq!(
            counted(Ok(reads(7, 1)), Ok(reads(7, 1))).unwrap().commands,
            CallsByName::new()
        );
        let anew = counted(Ok(reads(10, 500)), Ok(reads(3, 800))).unwrap_err();
        assert!(anew.contains("started anew"), "{anew}");
        assert_eq!(
            counted(Err("a".to_owned()), Ok(reads(3, 8))),
            Err("a".to_owned())
        );
    }

    #[test]
    fn what_nobody_asked_for_is_not_read_and_what_is_elsewhere_has_a_reason() {
        assert!(CounterMeter::new(&CounterSource::Off, &[]).is_none());
        let elsewhere = CounterMeter::new(&CounterSource::Auto, &[]).unwrap();
        let reading = elsewhere.read();
        let record = elsewhere.between(Some(reading.clone()), Some(reading));
        assert!(record.counted.unwrap_err().contains("another machine"));
    }
}
