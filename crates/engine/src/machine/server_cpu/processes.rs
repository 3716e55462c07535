//! CPU time of the processes that serve a port of this machine, from /proc
//! (proc(5)).
//!
//! The server is the process whose socket listens on the port, together with all
//! processes that it has started: Samba has one for each connection. What their CPU times
//! say together is in [`FamilyTimes`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::iter;
use std::net::SocketAddr;

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process, all_processes};
use procfs::{CurrentSI as _, KernelStats, ProcError};
use smbench_model::setting::SERVER_METRICS;

use super::family::{FamilyMember, FamilyTimes};

/// Programs that accept connections for a server elsewhere, in a container or on
/// another machine. The kernel shortens their names to 15 characters.
const FORWARDERS: [&str; 28] = [
    "autossh",
    "conmon",
    "docker-proxy",
    "envoy",
    "gvproxy",
    "haproxy",
    "kubectl",
    "nc",
    "nc.openbsd",
    "nc.traditional",
    "ncat",
    "nginx",
    "passt",
    "passt.avx2",
    "pasta",
    "pasta.avx2",
    "rootlesskit",
    "rootlessport",
    "slirp4netns",
    "socat",
    "socat1",
    "ssh",
    "sshd",
    "sshd-session",
    "stunnel",
    "stunnel4",
    // It listens for its units, and nearly every process of the machine is its child.
    "systemd",
    "systemd-socket-",
];

/// Highest number of readings, until no process ends during one.
const READINGS_MAX: u32 = 10;

/// The processes that listen on the ports of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listeners {
    /// Name and number of the first process at each address.
    names: Vec<String>,
    pids: BTreeSet<i32>,
}

impl Listeners {
    /// Finds the processes that serve these addresses of this machine, as [`Self::of`] does. An
    /// address at which nothing listens has none.
    pub(crate) fn of_all(servers: &[SocketAddr]) -> Result<Self, String> {
        let listens = |server: &&SocketAddr| {
            let found = sockets(**server, &TcpState::Listen);
            found.is_ok_and(|found| !found.is_empty())
        };
        let mut up: Vec<_> = servers.iter().filter(listens).collect();
        if up.is_empty() {
            // It tells the reason.
            up.extend(servers.first());
        }
        let found = up.into_iter().map(|server| Self::of(*server));
        let found = found.reduce(|all, more| {
            let (mut all, more) = (all?, more?);
            // One process can have several addresses.
            if !more.pids.is_subset(&all.pids) {
                all.names.extend(more.names);
                all.pids.extend(more.pids);
            }
            Ok(all)
        });
        let elsewhere = || format!("the server is on another machine; give {SERVER_METRICS}");
        found.unwrap_or_else(|| Err(elsewhere()))
    }

    /// Finds the processes that serve `server`, an address of this machine. Must
    /// not run under load, because it reads every descriptor of every process.
    pub(crate) fn of(server: SocketAddr) -> Result<Self, String> {
        let inodes = sockets(server, &TcpState::Listen)?;
        let mut found = BTreeMap::new();
        let mut refused = false;
        // Any process may end while it is read.
        for process in all_processes().map_err(unreadable)?.flatten() {
            let Ok(descriptors) = process.fd() else {
                refused = true;
                continue;
            };
            let mut targets = descriptors.flatten().map(|descriptor| descriptor.target);
            if targets.any(|target| is_among(&target, &inodes))
                && let Ok(stat) = process.stat()
            {
                found.insert(process.pid, stat.comm);
            }
        }
        let Some((pid, name)) = found.first_key_value() else {
            let port = server.port();
            return Err(if refused {
                format!(
                    "the processes of the server on port {port} belong to another user; run as \
                     that user or as root, or give {SERVER_METRICS}"
                )
            } else {
                format!(
                    "no process has port {port}: the server is in the kernel or a container; \
                     give {SERVER_METRICS}"
                )
            });
        };
        // One forwarder among several listeners is enough: their CPU time is then
        // not all of the server's.
        let is_forwarder = |name: &&String| FORWARDERS.contains(&name.as_str());
        if let Some(name) = found.values().find(is_forwarder) {
            return Err(format!(
                "{name} only passes connections on to the server; give {SERVER_METRICS}"
            ));
        }
        Ok(Self {
            names: vec![format!("{name} (process {pid})")],
            pids: found.into_keys().collect(),
        })
    }

    /// Returns the names and numbers of the first listeners, for messages.
    pub(crate) fn name(&self) -> String {
        self.names.join(", ")
    }

    /// Describes the processes whose figures are summed.
    pub(crate) fn families(&self) -> String {
        let families = self.names.iter();
        let families: Vec<_> = families
            .map(|name| format!("{name} and its children"))
            .collect();
        families.join(", ")
    }

    /// Returns the numbers of the listeners.
    pub(crate) fn pids(&self) -> impl Iterator<Item = i32> {
        self.pids.iter().copied()
    }

    /// Returns the listeners and all processes that they have started.
    pub(crate) fn members(&self) -> Result<Vec<i32>, String> {
        Ok(family(&all_kin()?, &self.pids).collect())
    }

    /// Returns the processes that the listeners have started, and that have a connection of
    /// `server`.
    pub(crate) fn serving(&self, server: SocketAddr) -> Result<Vec<i32>, String> {
        let inodes = sockets(server, &TcpState::Established)?;
        let mut serving = self.members()?;
        serving.retain(|pid| !self.pids.contains(pid) && has_socket(*pid, &inodes));
        Ok(serving)
    }

    /// Returns the number of the first listener. Fails if several addresses have processes of
    /// their own.
    pub(crate) fn only_pid(&self) -> Result<i32, String> {
        match self.names.len() {
            ..=1 => Ok(self.pids.first().copied().unwrap_or_default()),
            _ => Err(format!("{} are several servers", self.name())),
        }
    }

    /// Returns the bytes of memory of the listeners and of all processes that they have
    /// started, also those that are swapped out, without those of files. Shared memory is
    /// counted once. `None` if it cannot be read.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.sum(|pid| {
            let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
            let kib = |field: &str| -> Option<u64> {
                let line = rollup.lines().find_map(|line| line.strip_prefix(field))?;
                line.split_whitespace().next()?.parse().ok()
            };
            // The system takes and gives pages of files as it likes. Old kernels do not tell.
            let files = kib("Pss_File:").unwrap_or(0);
            let kib = kib("Pss:")?.saturating_sub(files) + kib("SwapPss:").unwrap_or(0);
            Some(kib << 10)
        })
    }

    /// Returns how many descriptors the listeners and all processes that they have started have
    /// open. `None` if they cannot be read.
    pub(crate) fn handles(&self) -> Option<u64> {
        self.sum(|pid| {
            let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
            Some(descriptors.count() as u64)
        })
    }

    /// Adds up a figure of the listeners and of all processes that they have started. `None` if
    /// one of them does not show it, as one of another user: a part would pass for the whole.
    fn sum(&self, of: impl Fn(i32) -> Option<u64>) -> Option<u64> {
        let all = all_kin().ok()?;
        let mut sum = 0;
        for pid in family(&all, &self.pids) {
            match of(pid) {
                Some(figure) => sum += figure,
                None if has_ended(pid) => {}
                None => return None,
            }
        }
        (sum > 0).then_some(sum)
    }

    /// Fails if this process, the generator, is one of the listeners. Its CPU time would
    /// otherwise count as the server's.
    pub(crate) fn are_others(self) -> Result<Self, String> {
        if self.pids.contains(&own_pid()) {
            Err(format!(
                "{} is the server and smbench; give {SERVER_METRICS}",
                self.name()
            ))
        } else {
            Ok(self)
        }
    }

    /// Reads the CPU times, user and system, of the listeners and of all processes that
    /// they have started. Reads again, a few times, if processes end meanwhile.
    pub(super) fn cpu_times(&self) -> Result<FamilyTimes, String> {
        let mut best: Option<FamilyTimes> = None;
        for _ in 0..READINGS_MAX {
            let all = all_kin()?;
            let members = family(&all, &self.pids).map(|pid| all[&pid].member);
            let times = FamilyTimes::read(&members.collect::<Vec<_>>());
            if let Some(gone) = self.pids.iter().find(|pid| !times.has(**pid)) {
                return Err(format!("process {gone} of the server is gone"));
            }
            if best.as_ref().is_none_or(|best| times.is_surer_than(best)) {
                best = Some(times);
            }
            if best.as_ref().is_some_and(FamilyTimes::is_certain) {
                break;
            }
        }
        best.ok_or_else(|| format!("{} was not read", self.name()))
    }
}

/// What is kept of a process: a machine may have tens of thousands, and is read each minute.
#[derive(Clone, Copy)]
struct Kin {
    parent: i32,
    member: FamilyMember,
}

/// Returns all processes by number. Any process may end while it is read.
fn all_kin() -> Result<HashMap<i32, Kin>, String> {
    let processes = all_processes().map_err(unreadable)?.flatten();
    let stats = processes.filter_map(|process| process.stat().ok());
    let kin = stats.map(|stat| {
        let member = FamilyMember::of(&stat);
        (
            stat.pid,
            Kin {
                parent: stat.ppid,
                member,
            },
        )
    });
    Ok(kin.collect())
}

/// Returns the number of CPUs of this machine.
pub(super) fn cores() -> Result<u32, String> {
    let stats = KernelStats::current().map_err(unreadable)?;
    Ok(u32::try_from(stats.cpu_time.len())
        .unwrap_or(u32::MAX)
        .max(1))
}

#[expect(clippy::needless_pass_by_value, reason = "what `map_err` hands over")]
fn unreadable(error: ProcError) -> String {
    format!("/proc cannot be read: {error}")
}

/// Returns whether a process holds nothing any more: it is gone, or waits for its parent.
fn has_ended(pid: i32) -> bool {
    match Process::new(pid).and_then(|process| process.stat()) {
        Ok(stat) => matches!(stat.state, 'Z' | 'X'),
        Err(_) => true,
    }
}

/// Returns whether a process that may have ended has one of these sockets.
fn has_socket(pid: i32, inodes: &HashSet<u64>) -> bool {
    let descriptors = Process::new(pid).and_then(|process| process.fd());
    let mut descriptors = descriptors.into_iter().flatten().flatten();
    descriptors.any(|descriptor| is_among(&descriptor.target, inodes))
}

fn is_among(target: &FDTarget, inodes: &HashSet<u64>) -> bool {
    matches!(target, FDTarget::Socket(at) if inodes.contains(at))
}

/// Returns the inodes of the sockets in a state at the address itself or at the
/// unspecified address.
fn sockets(server: SocketAddr, state: &TcpState) -> Result<HashSet<u64>, String> {
    let v4 = procfs::net::tcp().map_err(unreadable)?;
    // This file is missing if the system has no IPv6.
    let v6 = procfs::net::tcp6().unwrap_or_default();
    let takes = |entry: &TcpNetEntry| {
        let at = entry.local_address;
        entry.state == *state
            && at.port() == server.port()
            && (at.ip().is_unspecified() || at.ip().to_canonical() == server.ip().to_canonical())
    };
    let entries = v4.into_iter().chain(v6).filter(takes);
    Ok(entries
        .map(|entry| entry.inode)
        .filter(|&inode| inode > 0)
        .collect())
}

fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

/// Returns these processes and all their descendants, each once. If one of them has started this
/// process, the generator, then the child by which it did is not part of the server.
fn family(all: &HashMap<i32, Kin>, roots: &BTreeSet<i32>) -> impl Iterator<Item = i32> {
    let parent = |pid: &i32| all.get(pid).map(|kin| kin.parent);
    let generator: HashSet<i32> = iter::successors(Some(own_pid()), parent).collect();
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (pid, kin) in all.iter().filter(|(pid, _)| !generator.contains(pid)) {
        children.entry(kin.parent).or_default().push(*pid);
    }
    let mut found: HashSet<i32> = HashSet::new();
    let mut next: Vec<i32> = roots.iter().copied().collect();
    while let Some(pid) = next.pop() {
        if all.contains_key(&pid) && found.insert(pid) {
            next.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found.into_iter()
}

#[cfg(test)]
mod tests;
