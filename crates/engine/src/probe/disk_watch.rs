//! Finds out whether a server on this machine has data on its disk when it answers
//! a FLUSH, or a WRITE. It watches the disk instead of judging by the time that they
//! take.
//!
//! The server's process is the one at the other end of our connection
//! (proc_pid_fd(5), proc_net_tcp(5)), and it has the file that we write open. The
//! file leads to the disk and to the disk's count of cache flushes
//! ([`crate::machine::storage`]). A server that honours a FLUSH flushes that cache before it
//! answers. So does a server whose WRITEs wait for stable storage. Two controls confirm
//! the observation. Pauses of the same length without a request must mostly see no cache
//! flush. An fsync(2) of our own on that file must see one. If any of these steps is
//! impossible, the finding is unknown, with the reason.
//!
//! If each WRITE waits, nothing is left for a FLUSH to do. Some file systems then flush
//! no cache, and the server honours it all the same.
//!
//! Other ways were rejected. Tracing the server's system calls slows it, needs
//! rights and misses io_uring. The written bytes in `/proc/PID/io` do not say when
//! they reached the disk. A disk without a volatile cache counts no flushes, and the
//! finding is then unknown.

use std::fmt;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::machine::capacity::address;
use crate::machine::storage::{Disks, Storage};

/// Number of our own syncs that are observed.
const SYNCS: usize = 8;
/// In one of this many pauses or answers, a flush caused by others is tolerated.
const STRAY_ONE_IN: usize = 4;

smbench_protocol::named! {
    /// Reaction of a server to a FLUSH (MS-SMB2 3.3.5.11).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FlushPolicy {
        /// The server answers only when the written data is on stable storage.
        Honours => "honours",
        /// The server answers without writing the data to stable storage.
        Ignores => "ignores",
        /// No observation has shown which of the two it is.
        Unknown => "unknown",
    }
}

smbench_protocol::named! {
    /// Reaction of a server to a WRITE without write-through (MS-SMB2 3.3.5.13).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WritePolicy {
        /// The server answers only when the data is on stable storage.
        Waits => "waits",
        /// The server answers when the data is in its cache.
        Buffers => "buffers",
        /// No observation has shown which of the two it is.
        Unknown => "unknown",
    }
}

/// A policy and the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFinding<P> {
    /// The policy that was found.
    pub policy: P,
    /// How it was found, or the reason why it is unknown, as a lower-case clause.
    pub evidence: String,
}

/// What the disk showed of FLUSHes and of WRITEs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PolicyFindings {
    pub(super) flush: PolicyFinding<FlushPolicy>,
    pub(super) write: PolicyFinding<WritePolicy>,
}

impl PolicyFindings {
    pub(super) fn unknown(why: &str) -> Self {
        Self {
            flush: PolicyFinding {
                policy: FlushPolicy::Unknown,
                evidence: why.to_owned(),
            },
            write: PolicyFinding {
                policy: WritePolicy::Unknown,
                evidence: why.to_owned(),
            },
        }
    }
}

/// A request that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchedRequest {
    Write,
    Flush,
}

/// Watches the disk below a file that the server has open.
pub(super) struct DiskWatch {
    /// Path of the file through the server's own descriptor.
    file: PathBuf,
    disks: Disks,
    writes: RequestsAndPauses,
    flushes: RequestsAndPauses,
}

/// Requests and the pauses between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RequestsAndPauses {
    /// Counts of requests, and of those during which the disk flushed its cache.
    requests: Sightings,
    pauses: Sightings,
}

/// Number of observations, and of those that saw a flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sightings {
    looks: usize,
    seen: usize,
}

impl Sightings {
    fn add(&mut self, before: Option<u64>, after: Option<u64>) {
        self.looks += 1;
        self.seen += usize::from(matches!((before, after), (Some(a), Some(b)) if b > a));
    }

    const fn are_all(self) -> bool {
        self.looks > 0 && self.seen == self.looks
    }

    const fn are_few(self) -> bool {
        self.looks > 0 && self.seen * STRAY_ONE_IN <= self.looks
    }
}

impl DiskWatch {
    /// Starts to watch the disk below the file whose path ends in `name` and that
    /// the server at the other end of the connection has open. The error is the
    /// reason why that is impossible.
    pub(super) fn find(ours: SocketAddr, theirs: SocketAddr, name: &str) -> Result<Self, String> {
        let socket = socket_of(theirs, ours)
            .ok_or("its end of the connection is not on this machine, or not to be seen here")?;
        let process = owner(&socket)
            .ok_or("its process cannot be looked into, for which root or its user is needed")?;
        let file = open_file(&process, name)
            .ok_or("its process has no file open that holds what is written")?;
        let storage = storage_of(&process, &file)
            .ok_or("the file system that holds what is written is unknown")?;
        let disks = storage
            .disks()
            .ok_or_else(|| format!("what is written is on {storage}, which has no disk here"))?;
        if disks.flushes().is_none() {
            return Err(format!(
                "this system does not count the cache flushes of {disks}"
            ));
        }
        if !disks.have_volatile_caches() {
            return Err(format!(
                "{disks} below it has no volatile cache, so it has none to flush"
            ));
        }
        Ok(Self {
            file,
            disks,
            writes: RequestsAndPauses::default(),
            flushes: RequestsAndPauses::default(),
        })
    }

    /// Returns the flush count of the disks; call this before each request.
    pub(super) fn before(&self) -> Option<u64> {
        self.disks.flushes()
    }

    /// Records a request that took `elapsed`; call this after its answer. Then waits
    /// for the same time, to observe the disk without a request.
    pub(super) async fn after(
        &mut self,
        what: WatchedRequest,
        before: Option<u64>,
        elapsed: Duration,
    ) {
        let after = self.disks.flushes();
        let observed = match what {
            WatchedRequest::Write => &mut self.writes,
            WatchedRequest::Flush => &mut self.flushes,
        };
        observed.requests.add(before, after);
        tokio::time::sleep(elapsed).await;
        observed.pauses.add(after, self.disks.flushes());
    }

    /// Returns the findings. Syncs the file a few times, blocking the thread.
    pub(super) fn findings(self) -> PolicyFindings {
        judge(&self.disks, self.writes, self.flushes, &self.sync())
    }

    /// Writes to the file and syncs it, as a server would.
    fn sync(&self) -> std::io::Result<Sightings> {
        let file = File::options().read(true).write(true).open(&self.file)?;
        let mut syncs = Sightings::default();
        let mut byte = [0; 1];
        for _ in 0..SYNCS {
            file.read_exact_at(&mut byte, 0)?;
            file.write_all_at(&byte, 0)?;
            let before = self.disks.flushes();
            file.sync_all()?;
            syncs.add(before, self.disks.flushes());
        }
        Ok(syncs)
    }
}

/// What was seen of one kind of requests.
enum Stability {
    /// The data was on stable storage before each answer.
    Stable,
    /// It was not.
    Unstable,
    /// That is unknown.
    Unclear,
}

/// Judges a server that keeps its files on `disks` by its WRITEs, its FLUSHes, and our
/// own syncs.
fn judge(
    disks: &impl fmt::Display,
    writes: RequestsAndPauses,
    flushes: RequestsAndPauses,
    syncs: &std::io::Result<Sightings>,
) -> PolicyFindings {
    let (write, evidence) = judge_one(disks, "WRITEs", writes, syncs);
    let write = PolicyFinding {
        policy: match write {
            Stability::Stable => WritePolicy::Waits,
            Stability::Unstable => WritePolicy::Buffers,
            Stability::Unclear => WritePolicy::Unknown,
        },
        evidence,
    };
    let (flush, evidence) = judge_one(disks, "FLUSHes", flushes, syncs);
    let flush = match (flush, write.policy) {
        (Stability::Stable, _) => (FlushPolicy::Honours, evidence),
        (_, WritePolicy::Waits) => (
            FlushPolicy::Honours,
            "each WRITE before a FLUSH had waited for stable storage, so nothing was left to do"
                .to_owned(),
        ),
        (Stability::Unstable, _) => (FlushPolicy::Ignores, evidence),
        (Stability::Unclear, _) => (FlushPolicy::Unknown, evidence),
    };
    PolicyFindings {
        flush: PolicyFinding {
            policy: flush.0,
            evidence: flush.1,
        },
        write,
    }
}

/// Judges requests by three observations: the requests, pauses of the same length, and
/// our own syncs. Returns the evidence, too.
fn judge_one(
    disks: &impl fmt::Display,
    what: &str,
    RequestsAndPauses { requests, pauses }: RequestsAndPauses,
    syncs: &std::io::Result<Sightings>,
) -> (Stability, String) {
    let Sightings { looks, seen } = requests;
    match syncs {
        _ if requests.are_all() && pauses.are_few() => (
            Stability::Stable,
            format!("the cache of {disks} was flushed before each of {looks} {what} was answered"),
        ),
        Ok(syncs) if requests.are_few() && syncs.are_all() => (
            Stability::Unstable,
            format!(
                "the cache of {disks} was flushed during {seen} of {looks} {what}, but by each \
                 fsync on the same file"
            ),
        ),
        Err(error) if requests.are_few() => (
            Stability::Unclear,
            format!(
                "the cache of {disks} was flushed during {seen} of {looks} {what}, but whether an \
                 fsync does that could not be tried: {error}"
            ),
        ),
        Ok(_) if requests.are_few() => (
            Stability::Unclear,
            format!("an fsync does not always flush the cache of {disks}"),
        ),
        // No other process uses the disks, so the server flushes them for some
        // requests only.
        _ if pauses.are_few() => (
            Stability::Unclear,
            format!(
                "the cache of {disks} was flushed during {seen} of {looks} {what}, neither all of \
                 them nor few"
            ),
        ),
        _ => (
            Stability::Unclear,
            format!(
                "the cache of {disks} was flushed during {seen} of {looks} {what} and {} of as \
                 many pauses: others use it, too",
                pauses.seen
            ),
        ),
    }
}

/// Returns the inode of the socket from `local` to `remote`, from the kernel's
/// list.
fn socket_of(local: SocketAddr, remote: SocketAddr) -> Option<String> {
    let lists = ["/proc/net/tcp", "/proc/net/tcp6"];
    lists.iter().find_map(|list| {
        let list = fs::read_to_string(list).ok()?;
        list.lines().skip(1).find_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let ends = (address(fields.next()?)?, address(fields.next()?)?);
            // The inode follows state, queues, timer, retransmissions, user and
            // timeout.
            let inode = fields.nth(6)?;
            (ends == (local, remote) && inode != "0").then(|| inode.to_owned())
        })
    })
}

/// Returns the folder in /proc of the process that has a socket open.
fn owner(socket: &str) -> Option<PathBuf> {
    let link = format!("socket:[{socket}]");
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let mut numbered = processes.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().bytes().all(|b| b.is_ascii_digit())
    });
    numbered
        .find(|process| {
            let mut open = descriptors(&process.path());
            open.any(|(_, target)| target.as_os_str() == link.as_str())
        })
        .map(|process| process.path())
}

/// Lists the open files of a process: the path of each descriptor, and its target.
fn descriptors(process: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> + use<> {
    let open = fs::read_dir(process.join("fd"));
    open.into_iter().flatten().filter_map(|entry| {
        let path = entry.ok()?.path();
        let target = fs::read_link(&path).ok()?;
        Some((path, target))
    })
}

/// Returns the descriptor of the file whose path ends in `name`. Folders in `name`
/// are separated by `\`. A server may store names in another case.
fn open_file(process: &Path, name: &str) -> Option<PathBuf> {
    let folded = |path: PathBuf| PathBuf::from(path.to_string_lossy().to_uppercase());
    let name = folded(name.split('\\').collect());
    let mut open =
        descriptors(process).filter(|(_, target)| folded(target.clone()).ends_with(&name));
    open.next().map(|(descriptor, _)| descriptor)
}

/// Returns the file system of an open file, found by the number of its mount.
fn storage_of(process: &Path, descriptor: &Path) -> Option<Storage> {
    let info = process.join("fdinfo").join(descriptor.file_name()?);
    let info = fs::read_to_string(info).ok()?;
    let mount = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?;
    let mounts = fs::read_to_string(process.join("mountinfo")).ok()?;
    Storage::of_mount(&mounts, mount.trim())
}

#[cfg(test)]
mod tests;
