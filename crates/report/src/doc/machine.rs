//! The machine that generated the load.

use std::fs;
use std::thread;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of machine. A value is `null` if the system did not provide it. `cpus`
/// is also `null` if it was not the same in all passes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineDoc {
    /// Name of the operating system in its own words: `Debian GNU/Linux 12
    /// (bookworm)`.
    pub system: Option<String>,
    /// Release of the kernel: `6.1.0-13-amd64`.
    pub kernel: Option<String>,
    /// Model of the first CPU in the system's words.
    pub cpu: Option<String>,
    /// Hardware threads that this process may use.
    pub cpus: Option<u32>,
    /// Main memory in bytes.
    pub memory_bytes: Option<u64>,
}

impl MachineDoc {
    /// Describes this machine.
    #[must_use]
    pub fn this() -> Self {
        let read = |path| fs::read_to_string(path).ok();
        Self {
            system: read("/etc/os-release").and_then(|text| {
                let name = value(&text, "PRETTY_NAME", '=')?;
                Some(name.trim_matches('"').to_owned())
            }),
            kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
            cpu: read("/proc/cpuinfo").and_then(|text| value(&text, "model name", ':')),
            cpus: thread::available_parallelism()
                .ok()
                .and_then(|cpus| u32::try_from(cpus.get()).ok()),
            memory_bytes: read("/proc/meminfo").and_then(|text| {
                let kib = value(&text, "MemTotal", ':')?;
                let kib: u64 = kib.strip_suffix("kB")?.trim().parse().ok()?;
                kib.checked_mul(1024)
            }),
        }
    }

    /// Returns whether the other machine can generate the same load, as far as is
    /// known. Memory is not compared, because it differs by some KiB from one boot
    /// to the next.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let without_memory = |machine: &Self| Self {
            memory_bytes: None,
            ..machine.clone()
        };
        without_memory(self) == without_memory(other)
    }
}

/// Returns the text after the separator in the first line that begins with `name`.
fn value(text: &str, name: &str, separator: char) -> Option<String> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(separator));
    let (_, value) = pairs.find(|(key, _)| key.trim() == name)?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz: fast\nmodel name\t: other\n";
        let found = value(text, "model name", ':');
        assert_eq!(found.as_deref(), Some("Some CPU @ 2.00GHz: fast"));
        assert_eq!(value(text, "model", ':'), None);
        assert_eq!(value("MemTotal:\n", "MemTotal", ':'), None);
    }

    #[test]
    fn a_machine_is_the_same_after_another_start() {
        let this = MachineDoc::this();
        let restarted = MachineDoc {
            memory_bytes: this.memory_bytes.map(|bytes| bytes - 8192),
            ..this.clone()
        };
        assert!(restarted != this && restarted.is_same(&this));
        let with_fewer_cpus = MachineDoc {
            cpus: Some(0),
            ..this.clone()
        };
        assert!(!with_fewer_cpus.is_same(&this));
    }

    #[test]
    fn this_machine_has_memory_and_a_kernel() {
        let this = MachineDoc::this();
        assert!(this.memory_bytes.unwrap() > 1 << 20, "{this:?}");
        assert!(this.cpus.unwrap() > 0 && this.kernel.is_some(), "{this:?}");
    }
}
