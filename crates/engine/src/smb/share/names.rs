//! Names of files and directories that a run makes on the share.

pub(super) const DIRECTORY_PREFIX: &str = "smbench-";
/// Digits of [`crate::smb::session::random_u64`] in hexadecimal.
pub(super) const DIRECTORY_DIGITS: usize = 16;
pub(super) const MARKER: &str = "smbench.run";
/// Name of the directory of prepared files, below the target's path.
pub(super) const FILEIO_DIRECTORY: &str = "smbench-fileio";
/// Name of the manifest in that directory.
pub(super) const MANIFEST: &str = "fileio.json";
