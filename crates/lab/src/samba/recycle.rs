//! Servers for tests whose share has a recycle bin.

use super::{SambaOptions, ScratchSamba};
use crate::tools::require_module;

impl ScratchSamba {
    /// Starts a server for a test like [`ScratchSamba::or_skip`], with a recycle bin on
    /// its share. `lines` are settings of the bin.
    ///
    /// # Panics
    /// As [`ScratchSamba::or_skip`], and so if the module is missing.
    #[must_use]
    #[expect(clippy::print_stderr, reason = "a skipped test has a message")]
    pub fn with_recycle_bin_or_skip(lines: &[&str], mut options: SambaOptions) -> Option<Self> {
        if let Err(skip) = require_module("recycle") {
            eprintln!("{skip}");
            return None;
        }
        options.extra_share.push("vfs objects = recycle".to_owned());
        options
            .extra_share
            .extend(lines.iter().map(ToString::to_string));
        Self::or_skip(options)
    }
}
