//! Built-in profiles of listings, whose names say how many files the folder has: `list-100000`.

/// Returns the text of the profile with this name: `list-FILES`.
pub(super) fn builtin(name: &str) -> Option<String> {
    let files = name.strip_prefix("list-")?;
    // Only plain numbers, so that a profile has one name.
    let is_plain = !files.starts_with('0') && files.bytes().all(|byte| byte.is_ascii_digit());
    let files: u32 = files.parse().ok().filter(|_| is_plain)?;
    Some(format!(
        "# A folder is listed to its end, again and again, as in the profile list.\n\
         name = \"{name}\"\n\
         description = \"whole listings of a folder with {files} files\"\n\
         [files]\nscope = \"shared\"\ncount = {files}\nsize = \"1\"\n\
         [[operations]]\nop = \"list\"\nweight = 100\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    #[test]
    fn names_say_the_number_of_files() {
        for (name, count) in [("list-1", 1), ("list-100000", 100_000)] {
            let spec = Profile::builtin(name).unwrap().spec;
            assert_eq!(spec.name.as_deref(), Some(name));
            assert_eq!(spec.files.count, Some(count));
        }
        for name in [
            "list-",
            "list-0",
            "list-010",
            "list-1k",
            "list--1",
            "list-5000000000",
        ] {
            assert!(builtin(name).is_none(), "{name}");
        }
    }
}
