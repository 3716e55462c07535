//! Reader for files of Kerberos.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The largest file of Kerberos in bytes.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Reads a file. A file above the size limit is an error.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other("larger than 16 MiB"));
    }
    Ok(bytes)
}
