//! Files of other programs that are given as profiles.

/// Returns what a file of another program is, and how to use it.
pub(super) fn foreign(path: &str, text: &str) -> Option<(&'static str, String)> {
    /// Options of fio that no profile has.
    const FIO: [&str; 8] = [
        "rw",
        "readwrite",
        "rwmixread",
        "bs",
        "bssplit",
        "ioengine",
        "iodepth",
        "numjobs",
    ];
    let keys = text
        .lines()
        .map(|line| line.split('=').next().unwrap_or(line));
    if keys.map(str::trim).any(|key| FIO.contains(&key)) {
        let advice = "docs/from/fio.md shows how to write it as one";
        return Some(("a job of fio", advice.to_owned()));
    }
    let is_iometer = text.lines().any(|line| line.starts_with("'TEST SETUP"));
    is_iometer.then(|| {
        let advice = format!("convert it with `smbench import iometer {path}`");
        ("a configuration of Iometer", advice)
    })
}
