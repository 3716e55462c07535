//! Finds out whether a server on this machine has data on its disk when it answers
//! a FLUSH. It watches the disk instead of judging by the time that a FLUSH takes.
//!
//! The server's process is the one at the other end of our connection
//! (proc_pid_fd(5), proc_net_tcp(5)), and it has the file that we write open. The
//! file leads to the disk and to the disk's count of cache flushes
//! ([`crate::machine::storage`]). A server that honours a FLUSH flushes that cache before it
//! answers. Two controls confirm the observation. Pauses of the same length without
//! a FLUSH must mostly see no cache flush. An fsync(2) of our own on that file must
//! see one. If any of these steps is impossible, the finding is unknown, with the
//! reason.
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

/// A flush policy and the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlushFinding {
    /// The policy that was found.
    pub policy: FlushPolicy,
    /// How it was found, or the reason why it is unknown, as a lower-case clause.
    pub evidence: String,
}

impl FlushFinding {
    pub(super) fn unknown(why: impl Into<String>) -> Self {
        Self {
            policy: FlushPolicy::Unknown,
            evidence: why.into(),
        }
    }
}

/// Watches the disk below a file that the server has open.
pub(super) struct DiskWatch {
    /// Path of the file through the server's own descriptor.
    file: PathBuf,
    disks: Disks,
    /// Counts of FLUSHes, and of those during which the disk flushed its cache.
    flushes: Sightings,
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
            .ok_or("the file system that holds what is written cannot be told")?;
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
                "{disks} below it has no volatile cache, so it is never told to flush one"
            ));
        }
        Ok(Self {
            file,
            disks,
            flushes: Sightings::default(),
            pauses: Sightings::default(),
        })
    }

    /// Returns the flush count of the disks; call this before each FLUSH.
    pub(super) fn before(&self) -> Option<u64> {
        self.disks.flushes()
    }

    /// Records a FLUSH that took `elapsed`; call this after its answer. Then waits
    /// for the same time, to observe the disk without a FLUSH.
    pub(super) async fn after(&mut self, before: Option<u64>, elapsed: Duration) {
        let after = self.disks.flushes();
        self.flushes.add(before, after);
        tokio::time::sleep(elapsed).await;
        self.pauses.add(after, self.disks.flushes());
    }

    /// Returns the finding. Syncs the file a few times, blocking the thread.
    pub(super) fn finding(self) -> FlushFinding {
        judge(&self.disks, self.flushes, self.pauses, &self.sync())
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

/// Judges a server that keeps its files on `disks` by three observations: FLUSHes,
/// pauses of the same length, and our own syncs.
fn judge(
    disks: &impl fmt::Display,
    flushes: Sightings,
    pauses: Sightings,
    syncs: &std::io::Result<Sightings>,
) -> FlushFinding {
    let Sightings { looks, seen } = flushes;
    let (policy, evidence) = match syncs {
        _ if flushes.are_all() && pauses.are_few() => (
            FlushPolicy::Honours,
            format!("the cache of {disks} was flushed before each of {looks} FLUSHes was answered"),
        ),
        Ok(syncs) if flushes.are_few() && syncs.are_all() => (
            FlushPolicy::Ignores,
            format!(
                "the cache of {disks} was flushed during {seen} of {looks} FLUSHes, but by each \
                 fsync on the same file"
            ),
        ),
        Err(error) if flushes.are_few() => (
            FlushPolicy::Unknown,
            format!(
                "the cache of {disks} was flushed during {seen} of {looks} FLUSHes, but whether an \
                 fsync does that could not be tried: {error}"
            ),
        ),
        Ok(_) if flushes.are_few() => (
            FlushPolicy::Unknown,
            format!("an fsync does not always flush the cache of {disks}"),
        ),
        // No other process uses the disks, so the server flushes them for some
        // FLUSHes only.
        _ if pauses.are_few() => (
            FlushPolicy::Unknown,
            format!(
                "the cache of {disks} was flushed during {seen} of {looks} FLUSHes, neither all of \
                 them nor few"
            ),
        ),
        _ => (
            FlushPolicy::Unknown,
            format!(
                "the cache of {disks} was flushed during {seen} of {looks} FLUSHes and {} of as \
                 many pauses: others use it, too",
                pauses.seen
            ),
        ),
    };
    FlushFinding { policy, evidence }
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
/// are separated by `\`.
fn open_file(process: &Path, name: &str) -> Option<PathBuf> {
    let name: PathBuf = name.split('\\').collect();
    let mut open = descriptors(process).filter(|(_, target)| target.ends_with(&name));
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
