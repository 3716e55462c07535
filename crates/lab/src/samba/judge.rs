//! Checks that Samba accepts each line of a configuration.
//!
//! smbd ignores unknown parameters and missing files. A benchmark would then
//! measure something other than the configuration says. testparm(1) reads a
//! file as smbd does, and reports such lines.

use std::path::Path;
use std::process::Command;

use super::config::is_of_template;
use crate::LabError;
use crate::process::output;

/// testparm reports missing files from this debug level on.
const LEVEL: &str = "--debuglevel=2";
/// Beginnings of testparm's messages about ignored lines (Samba 4.17), and our
/// words for them.
const PASSED_OVER: [(&str, &str); 2] = [
    ("Ignoring unknown parameter ", "unknown parameter "),
    ("Can't find include file ", "no file "),
];
/// testparm's message about a file that smbd would not start with either.
const NOT_LOADED: &str = "Error loading services.";

/// Fails if Samba ignores or rejects a line of the file.
pub(super) fn check(testparm: &Path, configuration: &Path) -> Result<(), LabError> {
    let mut command = Command::new(testparm);
    command
        .args(["--suppress-prompt", LEVEL])
        .arg(configuration);
    let output = output(&mut command, "").map_err(LabError::io("run testparm"))?;
    // The exit status is not useful. It is 0 for an ignored line, and it may be
    // 1 if testparm only gives advice.
    match complaint(&String::from_utf8_lossy(&output.stderr)) {
        Some(said) => Err(LabError::Configuration { said }),
        None => Ok(()),
    }
}

/// Fails if smbd has ignored a line, by its log. For a build without a testparm.
pub(super) fn check_log(log: &str) -> Result<(), LabError> {
    match complaint(log) {
        Some(said) => Err(LabError::Configuration { said }),
        None => Ok(()),
    }
}

/// Returns testparm's complaint about a file, if there is one. Lines of the template are no
/// reason, because a release may not have their parameters yet.
fn complaint(said: &str) -> Option<String> {
    let passed_over = said.lines().find_map(|line| {
        PASSED_OVER.iter().find_map(|(begin, problem)| {
            let what = line.trim().strip_prefix(begin)?;
            if is_of_template(what.trim_matches('"')) {
                return None;
            }
            Some(format!("{problem}{what}"))
        })
    });
    passed_over.or_else(|| {
        let (before, _) = said.split_once(NOT_LOADED)?;
        // The first line names the file. The last line is the reason.
        let why = before
            .lines()
            .skip(1)
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let why = why.last().unwrap_or("it cannot be read");
        Some(why.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn errors_of_testparm_are_distinguished_from_its_advice() {
        let fine = "Load smb config files from c.conf\n\
                    lpcfg_do_global_parameter: WARNING: The \"null passwords\" option is deprecated\n\
                    Loaded services file OK.\n\
                    ERROR: lock directory /run/samba does not exist\n";
        assert_eq!(complaint(fine), None);
        for (said, expected) in [
            (
                "Unknown parameter encountered: \"strict snyc\"\n\
                 Ignoring unknown parameter \"strict snyc\"\n\
                 Loaded services file OK.\n",
                "unknown parameter \"strict snyc\"",
            ),
            (
                "Can't find include file /no/such\nLoaded services file OK.\n",
                "no file /no/such",
            ),
            (
                "set_variable_helper(maybe): value is not boolean!\nError loading services.\n",
                "set_variable_helper(maybe): value is not boolean!",
            ),
            ("Error loading services.\n", "it cannot be read"),
            (
                // Of a release that is older than the template.
                "Ignoring unknown parameter \"rpc start on demand helpers\"\n\
                 Ignoring unknown parameter \"strict snyc\"\n\
                 Loaded services file OK.\n",
                "unknown parameter \"strict snyc\"",
            ),
        ] {
            let said = format!("Load smb config files from c.conf\n{said}");
            assert_eq!(complaint(&said).as_deref(), Some(expected));
        }
    }
}
