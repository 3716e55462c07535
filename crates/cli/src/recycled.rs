//! Describes recycle bins that a clean-up found.

use smbench_engine::prepared::RemovedFiles;
use smbench_model::record::RecycleBin;
use smbench_report::units::{bytes, counted, plain};

use crate::failure::{Exit, Failure};
use crate::output::{complain, print};

/// Returns a line for each bin with removed files, and for each with files that stay.
pub(crate) fn described(bins: &[RecycleBin]) -> String {
    let mut text = String::new();
    for bin in bins {
        let path = plain(&bin.path);
        if bin.files_removed > 0 {
            let files = counted(bin.files_removed, "file");
            let size = bytes(bin.bytes_removed);
            text += &format!("removed {files} ({size}) from the recycle bin {path}\n");
        }
        if let Some(refusal) = bin.refusal() {
            text += &format!("note: {}\n", plain(&refusal));
        }
        if let Some(unproven) = bin.unproven() {
            text += &format!("left alone: {}\n", plain(&unproven));
        }
    }
    text
}

/// Reports the files of smbench that stay in bins. Returns the exit code for them.
pub(crate) fn judge(bins: &[RecycleBin]) -> Exit {
    let left: Vec<_> = bins.iter().filter_map(RecycleBin::leftover).collect();
    for text in &left {
        complain(plain(text));
    }
    if left.is_empty() {
        Exit::Done
    } else {
        Exit::Setup
    }
}

/// Prints what was removed. Returns the exit code for it.
pub(crate) fn print_removed(removed: &RemovedFiles) -> Result<Exit, Failure> {
    let directory = removed.directory.as_deref();
    let directory = directory.map(|directory| format!("removed {}\n", plain(directory)));
    let text = directory.unwrap_or_default() + &described(&removed.bins);
    if text.is_empty() {
        print("nothing to remove\n")?;
    } else {
        print(&text)?;
    }
    Ok(judge(&removed.bins))
}
