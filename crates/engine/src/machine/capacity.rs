//! Reads what the system has left, from files below /proc and /sys (proc(5),
//! cgroups(7)). If a file cannot be read, its resource counts as unlimited.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::machine::route::Route;

/// Codes of socket states in /proc/net/tcp, from the kernel's tcp_states.h.
const TIME_WAIT: &str = "06";
const LISTEN: &str = "0A";

/// Local ports, and the sockets that use them.
#[derive(Debug)]
pub(crate) struct Ports {
    range: RangeInclusive<u16>,
    reserved: HashSet<u16>,
    sockets: Vec<Socket>,
    reuse: Reuse,
}

/// When new connections may reuse the ports of ended ones
/// (`net.ipv4.tcp_tw_reuse`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reuse {
    Never,
    OnLoopback,
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    local: SocketAddr,
    remote: SocketAddr,
    state: SocketState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SocketState {
    Listening,
    Ended,
    Other,
}

impl Ports {
    /// Reads the ports of this machine; `None` if the system does not provide them.
    pub(crate) fn read() -> Option<Self> {
        let setting = |name: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"));
        let sockets = |name| fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
        Some(Self {
            range: port_range(&setting("ip_local_port_range").ok()?)?,
            reserved: port_list(&setting("ip_local_reserved_ports").unwrap_or_default()),
            sockets: ["tcp", "tcp6"]
                .into_iter()
                .flat_map(|name| parse_sockets(&sockets(name)).collect::<Vec<_>>())
                .collect(),
            reuse: match setting("tcp_tw_reuse").unwrap_or_default().trim() {
                "1" => Reuse::Always,
                "2" => Reuse::OnLoopback,
                _ => Reuse::Never,
            },
        })
    }

    /// Returns the number of ports that the system uses for connections.
    pub(crate) fn range(&self) -> u64 {
        u64::from(self.range.end().saturating_sub(*self.range.start())) + 1
    }

    /// Returns whether the port of an ended connection stays unusable on this
    /// route.
    pub(crate) fn kept(&self, route: &Route) -> PortReuse {
        match self.reuse {
            Reuse::Always => PortReuse::No,
            Reuse::OnLoopback if route.server.ip().is_loopback() => PortReuse::No,
            Reuse::Never | Reuse::OnLoopback => PortReuse::AWhile,
        }
    }

    /// Returns how many ports new connections on this route could use now. A port
    /// with a listening socket cannot be used. A port of another connection is
    /// unusable only if that connection has the same route.
    pub(crate) fn free(&self, route: &Route) -> u64 {
        let is_taken = |socket: &&Socket| match socket.state {
            SocketState::Listening => true,
            SocketState::Ended if self.kept(route) == PortReuse::No => false,
            _ => socket.local.ip() == route.source && socket.remote == route.server,
        };
        let taken = self.sockets.iter().filter(is_taken);
        let taken = taken.map(|socket| socket.local.port());
        let unusable: HashSet<u16> = taken
            .chain(self.reserved.iter().copied())
            .filter(|port| self.range.contains(port))
            .collect();
        self.range() - unusable.len() as u64
    }
}

/// Parses `32768 60999`.
fn port_range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut ends = text.split_whitespace().map(str::parse);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (first <= last).then_some(first..=last)
}

/// Parses `8080,9148-9150`.
fn port_list(text: &str) -> HashSet<u16> {
    let elements = text.trim().split(',');
    let ranges = elements.filter_map(|element| {
        let (first, last) = element.split_once('-').unwrap_or((element, element));
        Some(first.parse::<u16>().ok()?..=last.parse::<u16>().ok()?)
    });
    ranges.flatten().collect()
}

fn parse_sockets(table: &str) -> impl Iterator<Item = Socket> {
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        Some(Socket {
            local: address(fields.next()?)?,
            remote: address(fields.next()?)?,
            state: match fields.next()? {
                LISTEN => SocketState::Listening,
                TIME_WAIT => SocketState::Ended,
                _ => SocketState::Other,
            },
        })
    })
}

/// Parses an address of a list of sockets such as `0100007F:1F90`: words of four bytes
/// in this machine's byte order, and a port. An IPv4 address that is mapped into IPv6
/// is returned as IPv4.
pub(crate) fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = ip.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(at)?);
            }
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// What one limit leaves of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResourceLeft {
    /// Bytes, or a number of threads.
    pub(crate) amount: u64,
    /// The limit or its place, as messages name it.
    pub(crate) limit: &'static str,
}

/// Returns the memory left on this machine, and in each control group of this
/// process.
pub(crate) fn memory_left() -> Vec<ResourceLeft> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| available(&text));
    let mut left: Vec<_> = machine
        .map(|amount| ResourceLeft {
            amount,
            limit: "on this machine",
        })
        .into_iter()
        .collect();
    left.extend(groups().iter().filter_map(|group| {
        let bytes = group
            .left("memory.max", "memory.current")
            .or_else(|| group.left("memory.limit_in_bytes", "memory.usage_in_bytes"))?;
        // The kernel frees cached file contents when a program needs the memory.
        let stat = fs::read_to_string(group.folder.join("memory.stat")).unwrap_or_default();
        let cached: u64 = ["inactive_file ", "active_file ", "slab_reclaimable "]
            .into_iter()
            .filter_map(|name| field(&stat, name))
            .sum();
        Some(ResourceLeft {
            amount: bytes.saturating_add(cached),
            limit: "to this process's control group",
        })
    }));
    left
}

/// Returns MemAvailable of /proc/meminfo, in bytes.
fn available(meminfo: &str) -> Option<u64> {
    field(meminfo, "MemAvailable:").map(|kib| kib * 1024)
}

/// Returns the number behind a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Returns how many threads can still be started under each limit.
pub(crate) fn threads_left() -> Vec<ResourceLeft> {
    let most = fs::read_to_string("/proc/sys/kernel/threads-max").ok();
    let most = most.and_then(|text| text.trim().parse::<u64>().ok());
    let running = fs::read_to_string("/proc/loadavg").ok();
    let running = running.and_then(|text| threads_running(&text));
    let mut left = Vec::new();
    if let (Some(most), Some(running)) = (most, running) {
        left.push(ResourceLeft {
            amount: most.saturating_sub(running),
            limit: "kernel.threads-max",
        });
    }
    left.extend(groups().iter().filter_map(|group| {
        Some(ResourceLeft {
            amount: group.left("pids.max", "pids.current")?,
            limit: "pids.max of its control group",
        })
    }));
    left
}

/// Parses the number of threads: 80 in `0.20 0.18 0.12 1/80 11206`.
fn threads_running(loadavg: &str) -> Option<u64> {
    let running = loadavg.split_whitespace().nth(3)?;
    running.split_once('/')?.1.parse().ok()
}

/// The folder of a control group.
#[derive(Debug, PartialEq, Eq)]
struct ControlGroup {
    folder: PathBuf,
}

impl ControlGroup {
    /// Returns how much more the group may use; `None` if that is not limited.
    fn left(&self, max: &str, current: &str) -> Option<u64> {
        let number = |name: &str| {
            let text = fs::read_to_string(self.folder.join(name)).ok()?;
            text.trim().parse::<u64>().ok()
        };
        Some(number(max)?.saturating_sub(number(current)?))
    }
}

/// Returns the control groups of this process and their ancestors, of both
/// versions.
fn groups() -> Vec<ControlGroup> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    parse_groups(&text)
}

fn parse_groups(cgroup: &str) -> Vec<ControlGroup> {
    let mut folders = Vec::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let root = Path::new("/sys/fs/cgroup").join(controllers);
        // Try each ancestor up to the root: a container may see only the root.
        for ancestor in Path::new(path.trim_start_matches('/')).ancestors() {
            folders.push(ControlGroup {
                folder: root.join(ancestor),
            });
        }
    }
    folders
}

/// Whether the port of a connection that has ended is of use at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortReuse {
    /// For as long as [`TIME_WAIT`].
    AWhile,
    /// It is (`net.ipv4.tcp_tw_reuse`).
    No,
}

#[cfg(test)]
mod tests;
