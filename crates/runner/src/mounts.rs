//! Paths of this machine where a server belongs: smbench speaks SMB itself, so that the
//! system's client and its cache are not measured.
//!
//! The kernel knows the share of a mounted folder. Not here: anything below the folder.

use std::fs;
use std::path::{Path, PathBuf};

use smbench_model::target::{Target, TargetError, UrlPassword};

use crate::failure::Failure;

/// File systems of mounted SMB shares.
const SMB: [&str; 3] = ["cifs", "smb3", "smbfs"];

/// Parses the URL of a server. If it is a path of this machine, the message says so, and
/// names the share that is mounted there.
pub fn parse_target(text: &str) -> Result<(Target, UrlPassword), Failure> {
    Target::parse(text).map_err(|error| match error {
        TargetError::NoScheme if is_local(text) => Failure::Usage(not_measured(text)),
        error => error.into(),
    })
}

/// Returns whether a text is a path of this machine, and no share.
fn is_local(text: &str) -> bool {
    let begins = ["/", "./", "../", "~/"];
    let is_path = begins.iter().any(|begin| text.starts_with(begin)) || matches!(text, "." | "..");
    is_path || Path::new(text).is_dir()
}

/// Does not repeat the text, because it may have a password.
fn not_measured(text: &str) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let path = fs::canonicalize(text).unwrap_or_else(|_| PathBuf::from(text));
    let url = match mounted(&path, &mounts) {
        Some(target) => format!("{}, which is mounted there", target.redacted()),
        None => "smb://USER@HOST/SHARE".to_owned(),
    };
    format!(
        "the target is a path of this machine: smbench speaks SMB itself and does not measure \
         mounts; write {url}"
    )
}

/// Returns the share of a path. `mounts` is the text of `/proc/mounts`.
fn mounted(path: &Path, mounts: &str) -> Option<Target> {
    let entries = mounts.lines().rev().filter_map(|line| {
        let mut fields = line.split(' ').map(plain);
        let (source, at) = (fields.next()?, PathBuf::from(fields.next()?));
        let below = path.strip_prefix(&at).ok()?.to_owned();
        Some((source, below, fields.next()?, fields.next()?))
    });
    // The last one of the deepest folder is the one that is seen.
    let deepest = entries.min_by_key(|(_, below, ..)| below.components().count());
    let (source, below, kind, options) = deepest?;
    if !SMB.contains(&&*kind) {
        return None;
    }
    let (mut target, _) = Target::parse(&source).ok()?;
    let mut options = options
        .split(',')
        .filter_map(|option| option.split_once('='));
    let mut option = |wanted| options.find(|(name, _)| *name == wanted);
    target.user = option("username").map_or_else(String::new, |(_, user)| user.to_owned());
    let below = below.iter().map(|part| part.to_string_lossy());
    let path = target.path.split('\\').map(Into::into).chain(below);
    let path: Vec<_> = path.filter(|part| !part.is_empty()).collect();
    target.path = path.join("\\");
    Some(target)
}

/// Returns a field of `/proc/mounts` without its octal escapes.
fn plain(field: &str) -> String {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let replace = |text: String, (escape, letter): (&str, &str)| text.replace(escape, letter);
    escapes.into_iter().fold(field.to_owned(), replace)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
/dev/vda1 / ext4 rw,relatime 0 0
//nas/share/team /mnt/my\\040nas cifs rw,vers=3.1.1,cache=strict,username=ann,uid=0 0 0
tmpfs /mnt/my\\040nas/cache tmpfs rw 0 0
";

    #[test]
    fn the_share_of_a_mounted_folder_is_named() {
        let url = |path: &str| mounted(Path::new(path), MOUNTS).map(|target| target.redacted());
        let found = |text: &str| Some(text.to_owned());
        assert_eq!(url("/mnt/my nas"), found("smb://ann@nas/share/team"));
        assert_eq!(
            url("/mnt/my nas/a b"),
            found("smb://ann@nas/share/team/a%20b")
        );
        assert_eq!(url("/mnt/my nas/cache"), None);
        assert_eq!(url("/home"), None);
        assert_eq!(mounted(Path::new("/"), ""), None);
    }

    #[test]
    fn a_path_is_no_server() {
        let message = |text: &str| parse_target(text).unwrap_err().to_string();
        for text in ["/mnt/nas", "./folder", "..", "src"] {
            let expected = "the target is a path of this machine: smbench speaks SMB itself";
            assert!(
                message(text).starts_with(expected),
                "{text}: {}",
                message(text)
            );
        }
        assert!(
            message("nas").starts_with("the target is not a URL"),
            "{}",
            message("nas")
        );
        assert!(!message("/ann:secret@nas/share").contains("secret"));
    }
}
