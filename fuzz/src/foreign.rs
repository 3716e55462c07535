//! Targets for data that smbench keeps on servers, and for answers of programs
//! that run beside them.

use std::time::Duration;

use smbench_engine::fuzzing;

use crate::FuzzTarget;

/// Targets of this module.
pub const TARGETS: &[FuzzTarget] = &[("manifest", manifest), ("exposition", exposition)];

/// Reads the manifest of prepared files. A written manifest must read back the
/// same.
pub fn manifest(data: &[u8]) {
    if let Some(written) = fuzzing::manifest(data) {
        let again = fuzzing::manifest(written.as_bytes());
        assert_eq!(again.as_deref(), Some(&*written));
    }
}

/// Reads two answers of a metrics exporter, which a zero byte separates. The
/// first byte of the input is the time between them in seconds.
///
/// The result is the busy share of the CPUs and their number, or an error of
/// one line.
pub fn exposition(data: &[u8]) {
    let Some((&seconds, answers)) = data.split_first() else {
        return;
    };
    let mut answers = answers.splitn(2, |&byte| byte == 0);
    let opening = answers.next().unwrap_or_default();
    let closing = answers.next().unwrap_or(opening);
    let elapsed = Duration::from_secs(seconds.into());
    match fuzzing::busy_between(opening, closing, elapsed) {
        Ok((share, cpus)) => {
            assert!((0.0..=1.0).contains(&share), "{share}");
            assert!(cpus > 0);
            // With more time between the answers, a counter cannot become too
            // fast. It can only become too slow.
            match fuzzing::busy_between(opening, closing, 2 * elapsed) {
                Ok(again) => assert_eq!(again, (share, cpus)),
                Err(reason) => assert!(reason.contains("slower than time"), "{reason}"),
            }
        }
        Err(reason) => assert!(!reason.contains('\n'), "{reason}"),
    }
}
