//! The storage below a folder of this machine, and how often its disks flushed
//! their caches.
//!
//! Linux counts the cache flushes that a disk has completed (field 16 of
//! `/sys/block/DISK/stat`, Documentation/block/stat.rst, since 5.5). A file system
//! makes one for each fsync(2) that it honours, unless the disk has no volatile
//! cache. Not here: what a server does.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel's list of mounted file systems (proc_pid_mountinfo(5)).
const MOUNTS: &str = "/proc/self/mountinfo";
/// Greatest depth of disks made of other disks (LVM on RAID on partitions).
const STACK_MAX: u32 = 8;

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Type of the file system: `ext4`, `tmpfs`.
    pub filesystem: String,
    /// Mounted device or source: `/dev/sda1`, `tmpfs`.
    pub source: String,
    /// Device number in the kernel's form, `MAJOR:MINOR`.
    device: String,
}

/// The physical disks below a file system, as folders of sysfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disks(Vec<PathBuf>);

impl Storage {
    /// Returns the file system that holds `path`; `None` if there is no such path,
    /// or if the kernel does not report it.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let path = fs::canonicalize(path).ok()?;
        Self::among(&fs::read_to_string(MOUNTS).ok()?, &path)
    }

    /// Returns the innermost mount of `mounts` that contains `path`. Of two mounts
    /// at the same place, the later one hides the other.
    fn among(mounts: &str, path: &Path) -> Option<Self> {
        let mut found: Option<(PathBuf, Self)> = None;
        for line in mounts.lines() {
            let Some((point, storage)) = mount(line) else {
                continue;
            };
            let is_inner = |(outer, _): &(PathBuf, _)| point.starts_with(outer);
            if path.starts_with(&point) && found.as_ref().is_none_or(is_inner) {
                found = Some((point, storage));
            }
        }
        found.map(|(_, storage)| storage)
    }

    /// Returns the mount with this number.
    pub(crate) fn of_mount(mounts: &str, number: &str) -> Option<Self> {
        let mut lines = mounts.lines();
        let line = lines.find(|line| line.split(' ').next() == Some(number))?;
        mount(line).map(|(_, storage)| storage)
    }

    /// Returns whether the file system is in memory. Flushing it costs nothing,
    /// because it never writes to a disk.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        matches!(self.filesystem.as_str(), "tmpfs" | "ramfs")
    }

    /// Returns the disks of the file system; `None` if none of them is on this
    /// machine.
    #[must_use]
    pub fn disks(&self) -> Option<Disks> {
        let block = |name: &Path| fs::canonicalize(name).ok();
        // Btrfs and similar file systems have a device number of their own. Their
        // mounted source leads to the disk.
        let device = block(&Path::new("/sys/dev/block").join(&self.device)).or_else(|| {
            let node = fs::canonicalize(self.source.strip_prefix("/dev/").map(|_| &self.source)?);
            let node = node.ok()?;
            block(&Path::new("/sys/class/block").join(node.file_name()?))
        })?;
        let mut disks = Vec::new();
        collect(&device, STACK_MAX, &mut disks);
        (!disks.is_empty()).then_some(Disks(disks))
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.filesystem == self.source {
            f.write_str(&self.filesystem)
        } else {
            write!(f, "{} of {}", self.filesystem, self.source)
        }
    }
}

impl Disks {
    /// Cache flushes completed since the system started; `None` where the
    /// kernel does not count them.
    #[must_use]
    pub fn flushes(&self) -> Option<u64> {
        self.0.iter().try_fold(0_u64, |sum, disk| {
            let stat = fs::read_to_string(disk.join("stat")).ok()?;
            let flushes: u64 = stat.split_ascii_whitespace().nth(15)?.parse().ok()?;
            Some(sum.saturating_add(flushes))
        })
    }

    /// Returns whether each disk has a cache that must be flushed. The kernel never
    /// flushes a disk without such a cache.
    #[must_use]
    pub fn have_volatile_caches(&self) -> bool {
        self.0.iter().all(|disk| {
            fs::read_to_string(disk.join("queue/write_cache"))
                .is_ok_and(|cache| cache.trim() == "write back")
        })
    }
}

impl fmt::Display for Disks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().filter_map(|disk| disk.file_name());
        let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
        f.write_str(&names.join(", "))
    }
}

/// Reads a line of mountinfo: the mount point and the file system.
fn mount(line: &str) -> Option<(PathBuf, Storage)> {
    let (place, what) = line.split_once(" - ")?;
    let mut place = place.split(' ');
    let device = place.nth(2)?;
    let point = place.nth(1)?;
    let mut what = what.split(' ');
    let storage = Storage {
        filesystem: what.next()?.to_owned(),
        source: unescaped(what.next()?),
        device: device.to_owned(),
    };
    Some((unescaped(point).into(), storage))
}

/// Replaces octal escapes; mountinfo has them for spaces, tabs, newlines and
/// backslashes.
fn unescaped(text: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (octal, plain)| {
        text.replace(octal, plain)
    })
}

/// Adds the disks that a block device is made of.
fn collect(device: &Path, depth: u32, disks: &mut Vec<PathBuf>) {
    if depth == 0 {
        return;
    }
    if device.join("partition").exists() {
        // Flushes are counted for the whole disk only.
        if let Some(disk) = device.parent() {
            collect(disk, depth - 1, disks);
        }
        return;
    }
    let parts: Vec<_> = fs::read_dir(device.join("slaves"))
        .map(|entries| entries.filter_map(|entry| fs::canonicalize(entry.ok()?.path()).ok()))
        .map(Iterator::collect)
        .unwrap_or_default();
    if parts.is_empty() && !disks.iter().any(|disk| disk == device) {
        disks.push(device.to_owned());
    }
    for part in &parts {
        collect(part, depth - 1, disks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
28 27 0:25 / /tmp rw - tmpfs tmpfs rw
29 27 0:40 /@home /home rw master:2 - btrfs /dev/mapper/a\\040b rw
30 27 8:1 / /home rw - xfs /dev/sda1 rw
";

    #[test]
    fn the_innermost_and_latest_mount_is_the_one() {
        let found = |path: &str| {
            Storage::among(MOUNTINFO, Path::new(path)).map(|storage| storage.to_string())
        };
        assert_eq!(found("/var/x").as_deref(), Some("ext4 of /dev/vda1"));
        assert_eq!(found("/tmp/x").as_deref(), Some("tmpfs"));
        assert_eq!(found("/tmpx").as_deref(), Some("ext4 of /dev/vda1"));
        assert_eq!(found("/home/a").as_deref(), Some("xfs of /dev/sda1"));
        let in_memory =
            |path: &str| Storage::among(MOUNTINFO, Path::new(path)).map(|s| s.is_memory());
        assert_eq!(
            (in_memory("/tmp/x"), in_memory("/var")),
            (Some(true), Some(false))
        );
        assert_eq!(Storage::among("nonsense\n", Path::new("/")), None);
        assert_eq!(
            mount(MOUNTINFO.lines().nth(3).unwrap()).unwrap().1.source,
            "/dev/mapper/a b"
        );
    }

    #[test]
    fn disks_are_found_below_volumes_and_partitions() {
        use std::os::unix::fs::symlink;

        let sysfs = tempfile::tempdir().unwrap();
        let sysfs = sysfs.path().canonicalize().unwrap();
        for (disk, flushes) in [("sda", 30), ("sdb", 12)] {
            let part = sysfs.join(disk).join(format!("{disk}1"));
            fs::create_dir_all(&part).unwrap();
            fs::create_dir_all(sysfs.join(disk).join("queue")).unwrap();
            fs::write(part.join("partition"), "1\n").unwrap();
            let stat = format!("{} {flushes} 7\n", "0 ".repeat(15).trim_end());
            fs::write(sysfs.join(disk).join("stat"), stat).unwrap();
            fs::write(sysfs.join(disk).join("queue/write_cache"), "write back\n").unwrap();
        }
        let volume = sysfs.join("dm-0");
        fs::create_dir_all(volume.join("slaves")).unwrap();
        for (disk, part) in [("sda", "sda1"), ("sdb", "sdb1")] {
            symlink(
                sysfs.join(disk).join(part),
                volume.join("slaves").join(part),
            )
            .unwrap();
        }
        let below = |device: &Path| {
            let mut disks = Vec::new();
            collect(device, STACK_MAX, &mut disks);
            disks.sort();
            Disks(disks)
        };
        assert_eq!(below(&sysfs.join("sda/sda1")).to_string(), "sda");
        let both = below(&volume);
        assert_eq!(
            (both.to_string().as_str(), both.flushes()),
            ("sda, sdb", Some(42))
        );
        assert!(both.have_volatile_caches());
        fs::write(sysfs.join("sdb/queue/write_cache"), "write through\n").unwrap();
        assert!(!both.have_volatile_caches());
        // A kernel before 5.5.
        fs::write(sysfs.join("sdb/stat"), "0 ".repeat(15)).unwrap();
        assert_eq!(both.flushes(), None);
        // A device made of itself has no disk.
        symlink(&volume, volume.join("slaves/dm-0")).unwrap();
        fs::remove_file(volume.join("slaves/sda1")).unwrap();
        fs::remove_file(volume.join("slaves/sdb1")).unwrap();
        assert_eq!(below(&volume), Disks(Vec::new()));
    }

    #[test]
    fn this_systems_root_is_stored_somewhere() {
        let storage = Storage::of(Path::new("/")).unwrap();
        assert!(!storage.filesystem.is_empty());
        assert_eq!(Storage::of(Path::new("/no/such/path")), None);
        let memory = Storage::of(Path::new("/proc")).unwrap();
        assert_eq!((memory.filesystem.as_str(), memory.disks()), ("proc", None));
    }
}
