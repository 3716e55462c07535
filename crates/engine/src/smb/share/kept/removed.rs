//! What a removal of prepared files returns.

use smbench_model::record::RecycleBin;

/// The result of removing prepared files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedFiles {
    /// The directory, as a path from the share's root; `None` if there was none.
    pub directory: Option<String>,
    /// Recycle bins that hold or held files of smbench.
    pub bins: Vec<RecycleBin>,
}
