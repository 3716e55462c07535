//! Objects of leases, and their numbers in lease keys.

use smbench_model::files::ScratchName;

/// Object of a lease: a file of the client, a scratch file of a slot, or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// The file with this index, private or shared.
    File(u32),
    /// A scratch file of this slot.
    Scratch(u32, ScratchName),
    /// The directory with this number.
    Directory(u32),
    /// The file that the client copies to the server with this number.
    Copy(u32),
}

impl Object {
    /// Returns a number below 2^40 that no other object of the client has.
    pub(super) const fn number(self) -> u64 {
        match self {
            Self::File(file) => file as u64,
            Self::Scratch(slot, name) => slot as u64 | (name as u64 + 1) << 32,
            Self::Directory(number) => number as u64 | 0x40 << 32,
            Self::Copy(number) => number as u64 | 0x80 << 32,
        }
    }
}
