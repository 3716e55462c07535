//! Cleanup after a server whose starter was killed: its folder, and possibly
//! the server itself.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{READY_INTERVAL, ROOT_PREFIX, ScratchSamba};
use crate::LabError;

/// Limit for a server to end after its starter was killed.
const ORPHAN_LIMIT: Duration = Duration::from_secs(10);

impl ScratchSamba {
    /// Stops a server whose starter was killed, if it still runs, and deletes
    /// its folder. It succeeds if the folder does not exist any more.
    ///
    /// # Errors
    /// [`LabError::Io`] if `root` is not the folder of a scratch Samba, or
    /// cannot be deleted.
    pub fn remove_remains(root: &Path) -> Result<(), LabError> {
        let failed = || LabError::io(format!("delete {}", root.display()));
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(ROOT_PREFIX) {
            return Err(failed()(io::Error::other("not a scratch Samba's folder")));
        }
        // The server ends after its starter is gone, but it may still be writing.
        let deadline = Instant::now() + ORPHAN_LIMIT;
        while !served_from(root).is_empty() {
            if Instant::now() >= deadline {
                return Err(failed()(io::Error::other("its server still runs")));
            }
            for pid in served_from(root) {
                // The signal fails only if the process has ended meanwhile.
                let _ = kill(pid, Signal::SIGTERM);
            }
            thread::sleep(READY_INTERVAL);
        }
        loop {
            match fs::remove_dir_all(root) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !root.exists() => {
                    return Ok(());
                }
                Err(error) if Instant::now() >= deadline => return Err(failed()(error)),
                Err(_) => thread::sleep(READY_INTERVAL),
            }
        }
    }
}

/// Returns the processes that were started with a configuration in this folder.
/// The folder's name is unique, so they belong to no other server.
fn served_from(root: &Path) -> Vec<Pid> {
    let root = root.as_os_str().as_bytes();
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let is_of_root = |word: &[u8]| {
        let rest = word.strip_prefix(root);
        rest.is_some_and(|rest| rest.starts_with(b"/"))
    };
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            // The content is empty if the process has ended.
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let mut words = words.split(|&byte| byte == 0);
            words
                .next()
                .is_some_and(|program| program.ends_with(b"smbd"))
                && words.any(is_of_root)
        })
        .map(Pid::from_raw)
        .collect()
}
