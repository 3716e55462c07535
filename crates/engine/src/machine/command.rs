//! A program that is started for what it prints. Its time and its output have limits.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::clock;

/// Maximum bytes read of an output.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// Time between two looks at whether the program has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// What a program has printed.
pub(super) struct Printed {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

/// Runs a program to its end and returns what it printed. Kills it and its children at the
/// limit. The error is a text without the program's name.
pub(super) fn printed(mut command: Command, limit: Duration) -> Result<Printed, String> {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = child.map_err(|error| format!("cannot be started: {error}"))?;
    let readers = [reader(child.stdout.take()), reader(child.stderr.take())];
    let status = ended(&mut child, limit);
    if status.is_none() {
        // Its children keep its output open.
        let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
        let _ = child.wait();
    }
    let [stdout, stderr] = readers.map(|reader| reader.join().unwrap_or_default());
    let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
    match status {
        None => Err(format!("gave no answer within {} s", limit.as_secs())),
        Some(status) if status.success() => Ok(Printed { stdout, stderr }),
        Some(status) => {
            let first = stderr.lines().next().unwrap_or_default();
            Err(format!("failed ({status}): {first}"))
        }
    }
}

fn reader<R: std::io::Read + Send + 'static>(output: Option<R>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(output) = output {
            // What was read until an error is used.
            let _ = output.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Waits for the end; `None` if it does not come within the limit.
fn ended(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let begin = clock::now();
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Duration::from(clock::now().since(begin)) > limit {
            return None;
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Printed, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        printed(command, limit)
    }

    #[test]
    fn what_a_program_prints_is_kept_apart_from_its_complaints() {
        let minute = Duration::from_secs(60);
        let said = shell("echo yes; echo no >&2", minute).unwrap();
        assert_eq!((&said.stdout[..], &*said.stderr), (&b"yes\n"[..], "no"));
        let failed = shell("echo why >&2; exit 3", minute).err().unwrap();
        assert!(failed.contains("3") && failed.ends_with("why"), "{failed}");
    }

    #[test]
    fn one_that_hangs_is_killed_with_its_children() {
        let hung = shell("sleep 600 & sleep 600", Duration::ZERO)
            .err()
            .unwrap();
        assert_eq!(hung, "gave no answer within 0 s");
    }
}
