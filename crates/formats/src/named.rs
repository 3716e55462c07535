//! Names that users write: what a wrong one may mean, and why a file is not read.
//!
//! Every list of names uses these: profiles, suites, servers, commands, options. Not
//! here: the lists.

use std::io;
use std::path::Path;

/// Shortest part of a name that stands for the whole.
const PREFIX_MIN: usize = 3;

/// Returns ` (did you mean NAME?)` for the name nearest to this one. The text is empty if
/// none is near, because a far guess misleads more than no guess.
#[must_use]
pub fn suggestion(written: &str, names: &[&str]) -> String {
    let bare = |name: &str| name.trim_start_matches('-').to_lowercase();
    let wanted = bare(written);
    // A third of the letters may be wrong, but not the only one.
    let letters = wanted.chars().count();
    let far = letters.div_ceil(3).min(3).min(letters.saturating_sub(1));
    let distance = |name: &str| {
        let name = bare(name);
        if name.starts_with(&wanted) && wanted.len() >= PREFIX_MIN {
            0
        } else {
            strsim::osa_distance(&wanted, &name)
        }
    };
    let distances = names.iter().map(|name| (distance(name), name));
    let nearest = distances.min_by_key(|(distance, _)| *distance);
    match nearest.filter(|(distance, _)| *distance <= far) {
        Some((_, name)) => format!(" (did you mean {name}?)"),
        None => String::new(),
    }
}

/// Returns ` (did you mean the file PATH?)` if a folder has a file of this name, or of this
/// name with `.toml`. Otherwise it returns the suggestion from names.
#[must_use]
pub fn path_suggestion(written: &str, folder: &Path, names: &[&str]) -> String {
    let files = [format!("{written}.toml"), format!("./{written}")];
    let mut files = files.iter();
    match files.find(|file| folder.join(file).is_file()) {
        Some(file) => format!(" (did you mean the file {file}?)"),
        None => suggestion(written, names),
    }
}

/// Returns the message of a file that cannot be read.
#[must_use]
pub fn unreadable(path: &str, reason: &io::Error) -> String {
    match reason.kind() {
        io::ErrorKind::NotFound => format!("failed to read {path}: the file does not exist"),
        _ => format!("failed to read {path}: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_suggested() {
        let names = [
            "a",
            "file-server",
            "web-server",
            "find",
            "schema",
            "--think-time",
        ];
        for (written, expected) in [
            ("fileserver", "file-server"),
            ("File-Sever", "file-server"),
            ("web", "web-server"),
            ("fidn", "find"),
            ("--think", "--think-time"),
        ] {
            let expected = format!(" (did you mean {expected}?)");
            assert_eq!(suggestion(written, &names), expected);
        }
        for written in ["oltp", "fio", "benchmark", "fi", "--server", "b", ""] {
            assert_eq!(suggestion(written, &names), "", "{written}");
        }
    }

    #[test]
    fn a_file_of_the_name_is_suggested_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["office.toml", "night"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        for (written, expected) in [
            ("office", " (did you mean the file office.toml?)"),
            ("night", " (did you mean the file ./night?)"),
            ("office-lik", " (did you mean office-like?)"),
            ("oltp", ""),
        ] {
            let found = path_suggestion(written, folder.path(), &["office-like"]);
            assert_eq!(found, expected);
        }
    }
}
