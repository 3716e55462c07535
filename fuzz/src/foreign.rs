//! What servers keep, and what runs beside them answers.

use std::time::Duration;

use smbench_engine::fuzzing;

/// What prepared files are known by: what is written of it reads back the same.
pub fn manifest(data: &[u8]) {
    if let Some(written) = fuzzing::manifest(data) {
        let again = fuzzing::manifest(written.as_bytes());
        assert_eq!(again.as_deref(), Some(&*written));
    }
}

/// Two answers of an exporter of metrics, parted by a zero byte, and the seconds
/// between them in front: a share of the time and some CPUs, or one line that says
/// why not.
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
            // In more time nothing is too fast that was not, only too slow.
            match fuzzing::busy_between(opening, closing, 2 * elapsed) {
                Ok(again) => assert_eq!(again, (share, cpus)),
                Err(reason) => assert!(reason.contains("slower than time"), "{reason}"),
            }
        }
        Err(reason) => assert!(!reason.contains('\n'), "{reason}"),
    }
}
