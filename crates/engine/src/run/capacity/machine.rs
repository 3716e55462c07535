//! Reads what the system has left, from files below /proc and /sys (proc(5),
//! cgroups(7)). If a file cannot be read, its resource counts as unlimited.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::Kept;
use crate::session::Route;

/// Codes of socket states in /proc/net/tcp, from the kernel's tcp_states.h.
const TIME_WAIT: &str = "06";
const LISTEN: &str = "0A";

/// Local ports, and the sockets that use them.
#[derive(Debug)]
pub(super) struct Ports {
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
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Listening,
    Ended,
    Other,
}

impl Ports {
    /// Reads the ports of this machine; `None` if the system does not provide them.
    pub(super) fn read() -> Option<Self> {
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
    pub(super) fn range(&self) -> u64 {
        u64::from(self.range.end().saturating_sub(*self.range.start())) + 1
    }

    /// Returns whether the port of an ended connection stays unusable on this
    /// route.
    pub(super) fn kept(&self, route: &Route) -> Kept {
        match self.reuse {
            Reuse::Always => Kept::No,
            Reuse::OnLoopback if route.server.ip().is_loopback() => Kept::No,
            Reuse::Never | Reuse::OnLoopback => Kept::AWhile,
        }
    }

    /// Returns how many ports new connections on this route could use now. A port
    /// with a listening socket cannot be used. A port of another connection is
    /// unusable only if that connection has the same route.
    pub(super) fn free(&self, route: &Route) -> u64 {
        let is_taken = |socket: &&Socket| match socket.state {
            State::Listening => true,
            State::Ended if self.kept(route) == Kept::No => false,
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
                LISTEN => State::Listening,
                TIME_WAIT => State::Ended,
                _ => State::Other,
            },
        })
    })
}

/// Parses `0100007F:1F90`. The address is written as words in this machine's byte
/// order.
fn address(text: &str) -> Option<SocketAddr> {
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

/// Memory that is left in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) bytes: u64,
    /// The place, in words.
    pub(super) place: &'static str,
}

/// Returns the memory left on this machine, and in each control group of this
/// process.
pub(super) fn memory_left() -> Vec<Memory> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| available(&text));
    let mut left: Vec<_> = machine
        .map(|bytes| Memory {
            bytes,
            place: "on this machine",
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
        Some(Memory {
            bytes: bytes.saturating_add(cached),
            place: "to this process's control group",
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

/// Returns how many threads can still be started, and the limit that decides.
pub(super) fn threads_left() -> Vec<(u64, &'static str)> {
    let most = fs::read_to_string("/proc/sys/kernel/threads-max").ok();
    let most = most.and_then(|text| text.trim().parse::<u64>().ok());
    let running = fs::read_to_string("/proc/loadavg").ok();
    let running = running.and_then(|text| threads_running(&text));
    let mut left = Vec::new();
    if let (Some(most), Some(running)) = (most, running) {
        left.push((most.saturating_sub(running), "kernel.threads-max"));
    }
    left.extend(groups().iter().filter_map(|group| {
        let threads = group.left("pids.max", "pids.current")?;
        Some((threads, "pids.max of its control group"))
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
struct Group {
    folder: PathBuf,
}

impl Group {
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
fn groups() -> Vec<Group> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    parse_groups(&text)
}

fn parse_groups(cgroup: &str) -> Vec<Group> {
    let mut folders = Vec::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let root = Path::new("/sys/fs/cgroup").join(controllers);
        // Try each ancestor up to the root: a container may see only the root.
        for ancestor in Path::new(path.trim_start_matches('/')).ancestors() {
            folders.push(Group {
                folder: root.join(ancestor),
            });
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt
   0: 0100007F:9C40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100007F:9C41 0100007F:01BD 01 00000000:00000000 00:00000000 00000000     0        0 2
   2: 0100007F:9C42 0100007F:01BD 06 00000000:00000000 00:00000000 00000000     0        0 3
   3: 0100007F:9C43 0100007F:01BE 01 00000000:00000000 00:00000000 00000000     0        0 4
   4: 0200007F:9C44 0100007F:01BD 01 00000000:00000000 00:00000000 00000000     0        0 5
   5: 0100007F:01BD 0100007F:9C41 01 00000000:00000000 00:00000000 00000000     0        0 6
";

    fn ports(reuse: Reuse) -> Ports {
        Ports {
            range: port_range("40000 40009\n").unwrap(),
            reserved: port_list("80,40008-40010\n"),
            sockets: parse_sockets(TCP).collect(),
            reuse,
        }
    }

    fn route(source: &str, server: &str) -> Route {
        Route {
            source: source.parse().unwrap(),
            server: server.parse().unwrap(),
            of: 1,
        }
    }

    #[test]
    fn only_what_goes_the_same_way_takes_a_port() {
        // Of the ten ports, two are reserved and one has a listening socket.
        for (source, server, reuse, free) in [
            ("127.0.0.1", "127.0.0.1:445", Reuse::Never, 5),
            ("127.0.0.1", "127.0.0.1:445", Reuse::OnLoopback, 6),
            ("127.0.0.1", "127.0.0.1:446", Reuse::Never, 6),
            ("127.0.0.2", "127.0.0.1:445", Reuse::Never, 6),
            ("127.0.0.3", "127.0.0.1:445", Reuse::Always, 7),
        ] {
            let route = route(source, server);
            assert_eq!(
                ports(reuse).free(&route),
                free,
                "{source} {server} {reuse:?}"
            );
        }
        assert_eq!(ports(Reuse::Never).range(), 10);
    }

    #[test]
    fn ports_of_ended_connections_are_kept_where_the_system_does_so() {
        let remote = route("192.0.2.1", "192.0.2.9:445");
        let local = route("127.0.0.1", "127.0.0.1:445");
        for (reuse, here, there) in [
            (Reuse::Never, Kept::AWhile, Kept::AWhile),
            (Reuse::OnLoopback, Kept::No, Kept::AWhile),
            (Reuse::Always, Kept::No, Kept::No),
        ] {
            assert_eq!(ports(reuse).kept(&local), here, "{reuse:?}");
            assert_eq!(ports(reuse).kept(&remote), there, "{reuse:?}");
        }
    }

    #[test]
    fn addresses_are_words_in_memory() {
        for (text, expected) in [
            ("0100007F:01BD", "127.0.0.1:445"),
            ("00000000000000000000000001000000:01BD", "[::1]:445"),
            ("0000000000000000FFFF00000100007F:0050", "127.0.0.1:80"),
        ] {
            assert_eq!(address(text), expected.parse().ok(), "{text}");
        }
        for text in ["", ":", "0100007F", "01:01BD", "0100007G:01BD"] {
            assert_eq!(address(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_found_in_their_files() {
        let meminfo = "MemTotal:  100 kB\nMemFree:  7 kB\nMemAvailable:     12 kB\n";
        assert_eq!(available(meminfo), Some(12 * 1024));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
        assert_eq!(threads_running("0.20 0.18 0.12 1/80 11206\n"), Some(80));
        assert_eq!(threads_running(""), None);
        assert_eq!(port_range("60999 32768"), None);
        assert_eq!(port_list("\n"), HashSet::new());
    }

    #[test]
    fn every_group_up_to_the_root_is_looked_at() {
        let folders = |text: &str| {
            let groups = parse_groups(text).into_iter();
            let folders: Vec<_> = groups
                .map(|group| group.folder.display().to_string())
                .collect();
            folders
        };
        assert_eq!(
            folders("0::/a.slice/b\n"),
            [
                "/sys/fs/cgroup/a.slice/b",
                "/sys/fs/cgroup/a.slice",
                "/sys/fs/cgroup/"
            ]
        );
        assert_eq!(
            folders("4:memory:/x\n8:pids:/\n"),
            [
                "/sys/fs/cgroup/memory/x",
                "/sys/fs/cgroup/memory/",
                "/sys/fs/cgroup/pids/"
            ]
        );
    }

    #[test]
    fn this_machine_has_something_left() {
        assert!(memory_left().iter().all(|memory| memory.bytes > 0));
        assert!(!memory_left().is_empty());
        assert!(threads_left().iter().all(|(left, _)| *left > 0));
        let ports = Ports::read().unwrap();
        assert!(ports.free(&route("127.0.0.1", "127.0.0.1:1")) > 0);
    }
}
