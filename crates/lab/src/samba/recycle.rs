//! Servers for tests whose share has a VFS module.

use super::{SambaOptions, ScratchSamba};
use crate::tools::require_module;

impl ScratchSamba {
    /// Starts a server for a test like [`ScratchSamba::or_skip`], with a recycle bin on
    /// its share. `lines` are settings of the bin.
    ///
    /// # Panics
    /// As [`ScratchSamba::or_skip`], and so if the module is missing.
    #[must_use]
    pub fn with_recycle_bin_or_skip(lines: &[&str], options: SambaOptions) -> Option<Self> {
        Self::with_module_or_skip("recycle", "recycle", lines, options)
    }

    /// Starts a server for a test like [`ScratchSamba::or_skip`], with what a Mac asks for.
    ///
    /// # Panics
    /// As [`ScratchSamba::or_skip`], and so if the module is missing.
    #[must_use]
    pub fn for_macs_or_skip(options: SambaOptions) -> Option<Self> {
        Self::with_module_or_skip("fruit", "catia fruit streams_xattr", &[], options)
    }

    #[expect(clippy::print_stderr, reason = "a skipped test has a message")]
    fn with_module_or_skip(
        module: &'static str,
        objects: &str,
        lines: &[&str],
        mut options: SambaOptions,
    ) -> Option<Self> {
        if let Err(skip) = require_module(module) {
            eprintln!("{skip}");
            return None;
        }
        let objects = format!("vfs objects = {objects}");
        let lines = lines.iter().map(ToString::to_string);
        options
            .extra_share
            .extend([objects].into_iter().chain(lines));
        Self::or_skip(options)
    }
}
