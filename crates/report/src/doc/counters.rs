//! What the server counted by itself under the load.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::cpu::CpuScope;
use smbench_model::kind::OpKind;
use smbench_model::record::{CountersRecord, LoadPointRecord, ServerCalls};

use super::named::Named;

/// The server's own counters of a load point, from its first operation to the last one, ramps
/// included. Set-ups and log-offs of sessions are not among them. In a merged result, they are
/// those of the part that counted the most, and `sent` is the sum of all parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ServerCountersDoc {
    /// Source of the counters. Empty without one.
    pub source: String,
    /// Why there are no counters. Absent if there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<String>,
    /// Requests by their SMB2 command: `create`, `read`, `query_info` and so on. Of a Windows
    /// server: `read`, `write` and `metadata`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, CommandCountersDoc>,
    /// The server's calls into the file system, by its name of the call, such as `pread`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, CallCountersDoc>,
    /// Sessions at the server when the load had ended. Absent, like the next two keys, if the
    /// source does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// Connected shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_connects: Option<u64>,
    /// Open files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// Memory of the server with all sessions. Absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ServerMemoryDoc>,
}

/// Requests of a command, as the generator and as the server saw them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CommandCountersDoc {
    /// Requests that the operations of the load sent. Absent if operations do not have a known
    /// number of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Mean service time of these operations in the window, in nanoseconds. Absent if an
    /// operation has requests of other commands as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_mean_ns: Option<f64>,
    /// Requests that the server counted, those of other clients included.
    pub counted: u64,
    /// Mean time of them at the server, in nanoseconds. Absent if it does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_mean_ns: Option<f64>,
    /// `service_mean_ns` less `server_mean_ns`: network, and queues outside of the server's
    /// own time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference_ns: Option<f64>,
}

/// The server's calls of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CallCountersDoc {
    /// Number of calls.
    pub count: u64,
    /// Mean time of a call in nanoseconds. Absent if the server does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
}

/// Memory of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ServerMemoryDoc {
    /// Whether it is that of the serving processes, or of the server's whole machine. What
    /// processes share is counted once.
    pub scope: Named<CpuScope>,
    /// Bytes with all sessions, before the load.
    pub before_bytes: u64,
    /// Bytes with all sessions, after the load.
    pub after_bytes: u64,
    /// `after_bytes` for each session of the load point. Absent for a whole machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_session_bytes: Option<u64>,
}

/// Commands of an operation whose number of requests is not known.
enum SentRequests {
    /// One request of each.
    Each(&'static [&'static str]),
    /// Any number of each.
    Any(&'static [&'static str]),
}

/// Returns the requests that an operation sends.
const fn requests(kind: OpKind) -> SentRequests {
    use OpKind as K;
    use SentRequests::{Any, Each};
    match kind {
        K::Read | K::CopyOutRead => Each(&["read"]),
        K::Write | K::CopyInWrite | K::SaveWrite => Each(&["write"]),
        K::Flush | K::FinalFlush | K::SaveFlush => Each(&["flush"]),
        K::Create
        | K::LookupMissing
        | K::ListOpen
        | K::WalkOpen
        | K::CopyInCreate
        | K::CopyOutOpen
        | K::SaveCreate => Each(&["create"]),
        K::Close
        | K::ListClose
        | K::WalkClose
        | K::CopyInClose
        | K::CopyOutClose
        | K::SaveClose => Each(&["close"]),
        K::Lock | K::Unlock => Each(&["lock"]),
        K::QueryFile | K::QueryFs | K::QuerySecurity => Each(&["query_info"]),
        K::SetFile | K::Rename | K::Delete | K::SetSecurity | K::CopyInTimes => Each(&["set_info"]),
        K::QueryDirectory | K::ListFirst | K::ListNext | K::WalkFirst | K::WalkNext => {
            Each(&["query_directory"])
        }
        K::ChangeNotify => Each(&["change_notify"]),
        // Most are answered after others were sent.
        K::Watch => Any(&["change_notify"]),
        K::Cancel => Each(&["cancel"]),
        K::CopyChunk | K::QueryInterfaces | K::ValidateNegotiate => Each(&["ioctl"]),
        K::Echo => Each(&["echo"]),
        K::TreeConnect => Each(&["tree_connect"]),
        K::TreeDisconnect => Each(&["tree_disconnect"]),
        K::LogOff | K::SessionEnd => Each(&["logoff"]),
        K::CreateReadClose | K::NeighbourRead => Each(&["create", "read", "close"]),
        K::CreateQueryClose | K::QueryPath | K::Stat | K::NeighbourLook => {
            Each(&["create", "query_info", "close"])
        }
        K::CreateSetClose | K::RenamePath | K::SaveBackup | K::SaveRename => {
            Each(&["create", "set_info", "close"])
        }
        K::FindFirst => Each(&["create", "query_directory", "close"]),
        K::Unlink | K::Mkdir | K::Rmdir | K::SaveDelete => Each(&["create", "close"]),
        K::OplockBreak => Each(&["oplock_break"]),
        K::Deltree => Any(&["create", "query_directory", "set_info", "close"]),
        K::LogOn => Any(&["session_setup", "tree_connect"]),
        K::Session => Any(&["negotiate", "session_setup", "tree_connect"]),
        K::Reauthentication => Any(&["session_setup"]),
        // Nothing is sent.
        K::ListCached | K::ListBreak => Each(&[]),
        // Their steps are counted.
        K::Neighbour | K::List | K::Walk | K::CopyIn | K::CopyOut | K::SaveOffice => Each(&[]),
        // Parts of a session.
        K::SessionConnect | K::SessionNegotiate | K::SessionLogOn | K::SessionTreeConnect => {
            Each(&[])
        }
    }
}

/// What operations sent of one command.
#[derive(Clone, Copy, Default)]
struct CommandSent {
    count: u64,
    is_unknown: bool,
    /// Operations of the window with only this command, and the sum of their times.
    alone: (u64, f64),
    has_others: bool,
}

fn sent(record: &LoadPointRecord, is_split: bool) -> BTreeMap<&'static str, CommandSent> {
    let mut all: BTreeMap<&str, CommandSent> = BTreeMap::new();
    for kind in OpKind::ALL {
        let whole = record.ops.whole(kind);
        let count = whole.count + whole.errors;
        if count == 0 {
            continue;
        }
        let (names, is_any) = match requests(kind) {
            SentRequests::Each(names) => (names, false),
            SentRequests::Any(names) => (names, true),
        };
        for name in names {
            let of = all.entry(name).or_default();
            of.count += count;
            // After a CREATE that fails, a server does not carry out the rest of the frame.
            let is_partial = names.len() > 1 && whole.errors > 0;
            let is_piecewise = is_split && matches!(*name, "read" | "write");
            of.is_unknown |= is_any || is_partial || is_piecewise;
            if names.len() > 1 || is_any {
                of.has_others = true;
            } else {
                let window = record.ops.window(kind);
                let times = &window.service;
                of.alone.0 += times.len();
                of.alone.1 += times.mean() * times.len() as f64;
            }
        }
    }
    all
}

fn mean_ns(calls: ServerCalls) -> Option<f64> {
    let time = calls.time.filter(|_| calls.count > 0)?;
    Some(time.as_nanos() as f64 / calls.count as f64)
}

impl ServerCountersDoc {
    /// Joins what several parts of one load point read from the same server, with this many
    /// clients in all. Each part has counted the requests of all, so that the part that counted
    /// the most is taken, and what the parts sent is added up. `None` if no part read any.
    pub(crate) fn joined(parts: &[Option<&Self>], clients: u64) -> Option<Self> {
        let read = || parts.iter().copied().flatten();
        let counted = |doc: &&Self| doc.commands.values().map(|of| of.counted).sum::<u64>();
        let most = read()
            .filter(|doc| doc.not_measured.is_none())
            .max_by_key(counted);
        let Some(most) = most else {
            return read().next().cloned();
        };
        let mut joined = most.clone();
        for (name, of) in &mut joined.commands {
            let of_part = |part: &Option<&Self>| part.map(|part| part.command(name));
            let of_parts = parts.iter().map(|part| of_part(part).unwrap_or_default());
            *of = of.sent_by(&of_parts.collect::<Vec<_>>());
        }
        if let Some(memory) = &mut joined.memory {
            let each = memory.after_bytes / clients.max(1);
            memory.per_session_bytes = memory.per_session_bytes.map(|_| each);
        }
        Some(joined)
    }

    /// Returns the requests of a command. A part that read the counters sent none of the commands
    /// that it does not have.
    fn command(&self, name: &str) -> CommandCountersDoc {
        let none = CommandCountersDoc {
            sent: self.not_measured.is_none().then_some(0),
            ..CommandCountersDoc::default()
        };
        self.commands.get(name).copied().unwrap_or(none)
    }

    /// Builds the counters of a load point. `is_split` says that reads and writes are larger
    /// than the server's requests.
    pub(crate) fn of(record: &LoadPointRecord, is_split: bool) -> Option<Self> {
        let counters = record.counters.as_ref()?;
        let CountersRecord {
            source,
            counted,
            memory,
        } = counters;
        let sessions = u64::from(record.clients.max(1));
        let mut doc = Self {
            source: source.clone(),
            not_measured: counted.as_ref().err().cloned(),
            commands: BTreeMap::new(),
            calls: BTreeMap::new(),
            sessions: None,
            tree_connects: None,
            open_files: None,
            memory: memory.map(|memory| ServerMemoryDoc {
                scope: Named::Known(memory.scope),
                before_bytes: memory.before,
                after_bytes: memory.after,
                per_session_bytes: (memory.scope == CpuScope::Processes)
                    .then_some(memory.after / sessions),
            }),
        };
        let Ok(counted) = counted else {
            return Some(doc);
        };
        let open = counted.open;
        (doc.sessions, doc.tree_connects, doc.open_files) =
            (open.sessions, open.tree_connects, open.files);
        let call = |(name, &calls): (&String, &ServerCalls)| {
            let (count, mean_ns) = (calls.count, mean_ns(calls));
            (name.clone(), CallCountersDoc { count, mean_ns })
        };
        doc.calls = counted.calls.iter().map(call).collect();
        let mut commands: BTreeMap<_, ServerCalls> = counted.commands.clone();
        let sent = sent(record, is_split);
        if !commands.is_empty() && !commands.contains_key("metadata") {
            for name in sent.keys() {
                commands.entry((*name).to_owned()).or_default();
            }
        }
        doc.commands = commands
            .into_iter()
            .map(|(name, calls)| {
                let of = command(calls, sent.get(&*name).copied());
                (name, of)
            })
            .collect();
        Some(doc)
    }
}

impl CommandCountersDoc {
    /// Returns the same counters of the server with what all parts sent.
    fn sent_by(self, parts: &[Self]) -> Self {
        let sent: Option<u64> = parts.iter().map(|part| part.sent).sum();
        let time = |part: &Self| match part.sent? {
            0 => Some(0.0),
            sent => Some(part.service_mean_ns? * sent as f64),
        };
        let time: Option<f64> = parts.iter().map(time).sum();
        let both = sent.filter(|sent| *sent > 0).zip(time);
        let service_mean_ns = both.map(|(sent, time)| time / sent as f64);
        let both = service_mean_ns.zip(self.server_mean_ns);
        Self {
            sent,
            service_mean_ns,
            difference_ns: both.map(|(here, there)| here - there),
            ..self
        }
    }
}

fn command(calls: ServerCalls, sent: Option<CommandSent>) -> CommandCountersDoc {
    let service_mean_ns = sent.and_then(|sent| {
        let (count, sum) = sent.alone;
        (count > 0 && !sent.has_others).then(|| sum / count as f64)
    });
    let server_mean_ns = mean_ns(calls);
    let both = service_mean_ns.zip(server_mean_ns);
    CommandCountersDoc {
        sent: sent.filter(|sent| !sent.is_unknown).map(|sent| sent.count),
        service_mean_ns,
        counted: calls.count,
        server_mean_ns,
        difference_ns: both.map(|(here, there)| here - there),
    }
}
