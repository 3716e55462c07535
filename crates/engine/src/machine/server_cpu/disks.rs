//! Work of disks, and bytes that are not on a disk yet, of this machine or as an exporter
//! tells it. Devices in memory do not count.

use std::collections::BTreeMap;
use std::time::Duration;

use procfs::{Current as _, Meminfo};

use crate::machine::sample::MetricSample;

/// Beginnings of the names of devices that are no disks.
const NO_DISKS: [&str; 6] = ["loop", "ram", "zram", "fd", "sr", "nbd"];
/// Time that a disk had work, and the label that names the disk.
const NODE_BUSY: (&str, &str) = ("node_disk_io_time_seconds_total", "device");
/// Time that a disk had none. Releases of windows_exporter differ in which they tell.
const WINDOWS_IDLE: [(&str, &str); 2] = [
    ("windows_physical_disk_idle_seconds_total", "disk"),
    ("windows_logical_disk_idle_seconds_total", "volume"),
];
/// Bytes that are to be written, and that are being written.
const UNWRITTEN: [&str; 2] = ["node_memory_Dirty_bytes", "node_memory_Writeback_bytes"];

/// One reading of disks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DiskTimes {
    /// Seconds with work by disk.
    busy: BTreeMap<String, f64>,
    /// Seconds without work by disk, where only these are told.
    idle: BTreeMap<String, f64>,
    /// Bytes in memory that are not on a disk yet.
    pub(super) unwritten: Option<u64>,
}

impl DiskTimes {
    /// Reads those of this machine.
    pub(super) fn here() -> Self {
        let disks = procfs::diskstats().unwrap_or_default().into_iter();
        let disks = disks.filter(|disk| is_disk(&disk.name));
        let memory = Meminfo::current().ok();
        Self {
            busy: disks
                .map(|disk| (disk.name, disk.time_in_progress as f64 / 1e3))
                .collect(),
            idle: BTreeMap::new(),
            unwritten: memory.map(|memory| memory.dirty + memory.writeback),
        }
    }

    /// Finds those in the answer of an exporter.
    pub(super) fn parse(text: &str) -> Self {
        let of = |family, label| samples(text, family, Some(label));
        let sum = |family| {
            samples(text, family, None)
                .into_values()
                .reduce(|a, b| a + b)
        };
        let unwritten = UNWRITTEN.map(sum);
        let [physical, logical] = WINDOWS_IDLE.map(|(family, label)| of(family, label));
        Self {
            busy: of(NODE_BUSY.0, NODE_BUSY.1)
                .into_iter()
                .filter(|(name, _)| is_disk(name))
                .collect(),
            idle: if physical.is_empty() {
                logical
            } else {
                physical
            },
            unwritten: unwritten[0].map(|dirty| (dirty + unwritten[1].unwrap_or(0.0)) as u64),
        }
    }

    /// Returns the share of the time since `earlier` in which the busiest disk had work, 0 to
    /// 1; `None` if no disk is known.
    pub(super) fn busy_since(&self, earlier: &Self, elapsed: Duration) -> Option<f64> {
        let elapsed_s = elapsed.as_secs_f64().max(1e-9);
        let grown = |now: &BTreeMap<String, f64>, before: &BTreeMap<String, f64>| {
            let known = now.iter().filter_map(|(name, now)| {
                let share = (now - before.get(name)?) / elapsed_s;
                share.is_finite().then_some(share)
            });
            known.collect::<Vec<_>>()
        };
        let idle = grown(&self.idle, &earlier.idle).into_iter();
        let busy = grown(&self.busy, &earlier.busy).into_iter();
        let shares = busy.chain(idle.map(|idle| 1.0 - idle));
        shares
            .max_by(f64::total_cmp)
            .map(|share| share.clamp(0.0, 1.0))
    }
}

/// Returns the values of a metric family by a label, or the only one without labels. Skips
/// lines that make no sense.
fn samples(text: &str, family: &str, label: Option<&str>) -> BTreeMap<String, f64> {
    let of_line = |line| {
        let (name, sample) = MetricSample::of_line(line)?;
        let of = match label {
            _ if name != family => return None,
            Some(label) => sample.label(label)?,
            None => String::new(),
        };
        Some((of, sample.value))
    };
    text.lines().filter_map(of_line).collect()
}

fn is_disk(name: &str) -> bool {
    !NO_DISKS.iter().any(|begin| {
        let number = name.strip_prefix(begin);
        number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_busiest_disk_counts_and_devices_in_memory_do_not() {
        let node = |sda: f64, sdb: f64| {
            DiskTimes::parse(&format!(
                "node_disk_io_time_seconds_total{{device=\"sda\"}} {sda}\n\
                 node_disk_io_time_seconds_total{{device=\"sdb\"}} {sdb}\n\
                 node_disk_io_time_seconds_total{{device=\"ram0\"}} {}\n\
                 node_memory_Dirty_bytes 4096\nnode_memory_Writeback_bytes 1024\n",
                sda * 100.0
            ))
        };
        let (before, after) = (node(1.0, 1.0), node(1.25, 1.5));
        assert_eq!(after.busy_since(&before, SECOND), Some(0.5));
        assert_eq!(after.unwritten, Some(5120));
        assert_eq!(
            DiskTimes::parse("node_load1 1\n").busy_since(&before, SECOND),
            None
        );
        assert_eq!(DiskTimes::parse("node_load1 1\n").unwritten, None);
    }

    #[test]
    fn a_windows_disk_is_busy_while_it_is_not_idle() {
        let windows = |idle: f64| {
            DiskTimes::parse(&format!(
                "windows_logical_disk_idle_seconds_total{{volume=\"C:\"}} {idle}\n"
            ))
        };
        let share = windows(7.75).busy_since(&windows(7.0), SECOND);
        assert_eq!(share, Some(0.25));
    }

    #[test]
    fn this_machine_tells_what_is_not_written_yet() {
        let now = DiskTimes::here();
        assert!(now.unwritten.is_some());
        assert!(now.busy.keys().all(|name| is_disk(name)), "{now:?}");
        assert!(is_disk("sda") && is_disk("nvme0n1") && !is_disk("loop7"));
    }
}
