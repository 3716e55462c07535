//! The profiles of the populations of a profile.

use std::path::Path;

use smbench_model::profile::{Profile, builtin};

use super::{LOADFILE, ProfileError, TRACE, is_path, load_one};
use crate::loadfile::Unknown;

/// Loads the profiles of the populations of a profile, which was loaded from `path`.
pub(super) fn loaded(
    profile: Profile,
    path: &str,
    unknown: Unknown,
) -> Result<Profile, ProfileError> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let tables = profile.spec.population.iter();
    let populations = tables.map(|table| {
        let member = load_one(&relative(&table.profile, folder), unknown);
        member.map_err(|reason| ProfileError::Population {
            path: path.to_owned(),
            name: table.name.clone(),
            reason: Box::new(reason),
        })
    });
    Ok(Profile {
        populations: populations.collect::<Result<_, _>>()?,
        ..profile
    })
}

/// Returns the name of a profile that a file in this folder names. A path is relative to it.
fn relative(name_or_path: &str, folder: &Path) -> String {
    let mut prefixes = [LOADFILE, TRACE].into_iter();
    let prefix = prefixes.find(|prefix| name_or_path.starts_with(prefix));
    let path = name_or_path.strip_prefix(prefix.unwrap_or_default());
    let path = path.unwrap_or(name_or_path);
    if prefix.is_some() || builtin(path).is_none() && is_path(path) {
        let path = folder.join(path);
        format!("{}{}", prefix.unwrap_or_default(), path.display())
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_file() {
        for (written, expected) in [
            ("walk", "walk"),
            ("mine.toml", "work/mine.toml"),
            ("../mine.toml", "work/../mine.toml"),
            ("/etc/mine.toml", "/etc/mine.toml"),
            ("loadfile:client.txt", "loadfile:work/client.txt"),
            ("trace:monday", "trace:work/monday"),
            ("unknown", "unknown"),
        ] {
            assert_eq!(relative(written, Path::new("work")), expected);
        }
    }
}
