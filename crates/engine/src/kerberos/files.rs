//! Files of Kerberos.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Bytes after which a file is none of Kerberos'.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The content of a file, unless it is larger than any should be.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other("larger than 16 MiB"));
    }
    Ok(bytes)
}
