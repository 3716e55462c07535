//! Programs that the lab and its tests depend on.
//!
//! Invariant: on a developer's machine, a missing program skips a test with a
//! message. With the environment variable `CI` set, it fails the test, so that
//! every test runs there.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::LabError;

/// Folders of daemons that may be missing in `PATH`. For ordinary users on
/// Debian it has no administration folders.
const EXTRA_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/local/samba/sbin"];

/// A program that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    program: &'static str,
    package: &'static str,
}

impl Tool {
    /// Samba's file server.
    pub const SMBD: Self = Self::new("smbd", "samba");
    /// Samba's user database editor.
    pub const PDBEDIT: Self = Self::new("pdbedit", "samba");
    /// Samba's checker of its configuration.
    pub const TESTPARM: Self = Self::new("testparm", "samba-common-bin");
    /// Samba's command-line client.
    pub const SMBCLIENT: Self = Self::new("smbclient", "smbclient");
    /// MIT's Kerberos server.
    pub const KRB5KDC: Self = Self::new("krb5kdc", "krb5-kdc");
    /// MIT Kerberos's tool that makes the KDC's database.
    pub const KDB5_UTIL: Self = Self::new("kdb5_util", "krb5-kdc");
    /// MIT Kerberos's tool that edits the KDC's database.
    pub const KADMIN_LOCAL: Self = Self::new("kadmin.local", "krb5-admin-server");
    /// MIT Kerberos's tool that gets tickets.
    pub const KINIT: Self = Self::new("kinit", "krb5-user");
    /// Wireshark's command-line capture tool.
    pub const TSHARK: Self = Self::new("tshark", "tshark");

    /// Makes a tool from the names of its program and its Debian package.
    #[must_use]
    pub const fn new(program: &'static str, package: &'static str) -> Self {
        Self { program, package }
    }

    /// Returns the path of the program.
    ///
    /// # Errors
    /// [`LabError::MissingTool`] if it is in no folder of `PATH`, and in no
    /// usual administration folder.
    pub fn find(self) -> Result<PathBuf, LabError> {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .chain(EXTRA_FOLDERS.iter().map(PathBuf::from))
            .map(|folder| folder.join(self.program))
            .find(|candidate| is_program(candidate))
            .ok_or(LabError::MissingTool {
                program: self.program,
                package: self.package,
            })
    }
}

pub(crate) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The reason why a test cannot run here. The test prints it and returns.
#[derive(Debug)]
pub struct Skip(LabError);

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "*** TEST SKIPPED: {} ***", self.0)
    }
}

/// Checks at the start of a test that its `tools` are installed.
///
/// # Errors
/// [`Skip`] with the first missing tool. The test prints it and returns.
///
/// # Panics
/// Panics if a tool is missing and the environment variable `CI` is set.
pub fn require(tools: &[Tool]) -> Result<(), Skip> {
    require_with(tools, env::var_os("CI").is_some())
}

/// Folders of Samba's modules for shares. Debian has one for each architecture below the
/// first.
const MODULE_FOLDERS: [&str; 4] = [
    "/usr/lib",
    "/usr/lib/samba/vfs",
    "/usr/lib64/samba/vfs",
    "/usr/local/samba/lib/vfs",
];

/// Checks at the start of a test that Samba's module `module` is installed.
///
/// # Errors
/// [`Skip`] if it is missing. The test prints it and returns.
///
/// # Panics
/// Panics if it is missing and the environment variable `CI` is set.
pub(crate) fn require_module(module: &'static str) -> Result<(), Skip> {
    let file = format!("{module}.so");
    let debian = fs::read_dir(MODULE_FOLDERS[0]).into_iter().flatten();
    let debian = debian.flatten().map(|arch| arch.path().join("samba/vfs"));
    let mut folders = debian.chain(MODULE_FOLDERS[1..].iter().map(PathBuf::from));
    if folders.any(|folder| folder.join(&file).exists()) {
        return Ok(());
    }
    let missing = LabError::MissingTool {
        program: module,
        package: "samba-vfs-modules",
    };
    let is_ci = env::var_os("CI").is_some();
    assert!(!is_ci, "this test must run in CI: {missing}");
    Err(Skip(missing))
}

fn require_with(tools: &[Tool], is_ci: bool) -> Result<(), Skip> {
    for tool in tools {
        if let Err(missing) = tool.find() {
            assert!(!is_ci, "this test must run in CI: {missing}");
            return Err(Skip(missing));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Tool, require_with};

    const ABSENT: Tool = Tool::new("smbench-no-such-program", "no-such-package");

    #[test]
    fn a_present_program_is_found() {
        let path = Tool::new("sh", "dash").find().unwrap();
        assert!(path.ends_with("sh"), "{}", path.display());
        require_with(&[Tool::new("sh", "dash")], true).unwrap();
    }

    #[test]
    fn a_missing_program_skips_with_the_command_that_installs_it() {
        let skip = require_with(&[ABSENT], false).unwrap_err();
        assert_eq!(
            skip.to_string(),
            "*** TEST SKIPPED: smbench-no-such-program not found; \
             install it with: apt-get install no-such-package ***"
        );
    }

    #[test]
    #[should_panic(expected = "this test must run in CI: smbench-no-such-program not found")]
    fn a_missing_program_fails_in_ci() {
        let _ = require_with(&[ABSENT], true);
    }
}
