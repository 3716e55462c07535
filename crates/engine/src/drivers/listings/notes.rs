//! What clients and their slots know of listings, watches and files of others.

use smbench_model::Nanos;
use smbench_protocol::FileId;
use smbench_protocol::command::lease::LeaseKey;

use crate::drivers::changes::{ChangeMark, MadeFile, SentChange};

/// What the client that keeps a listing knows of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeptListing {
    pub(super) lease: ListingLease,
    /// Its open directory.
    pub(super) open: FileId,
    pub(super) entries: u32,
    /// When the last name was received.
    pub(super) read_at: Nanos,
    /// Whether it has fewer names than the directory of the tree.
    pub(super) is_short: bool,
}

/// The lease of a listing.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListingLease {
    pub(super) directory: u32,
    /// Index of its action, which has the pattern.
    pub(super) action: u32,
    pub(super) key: LeaseKey,
    pub(super) mark: ChangeMark,
}

/// A listing that has ended. Its directory is to be closed in the session of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drivers) struct EndedListing {
    pub(in crate::drivers) member: usize,
    pub(in crate::drivers) open: FileId,
}

/// What a slot does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlotNote {
    pub(super) change: Option<SentChange>,
    pub(super) listing: Option<BegunListing>,
    pub(super) watch: Option<ChangeMark>,
    /// Number of changes up to the one that the latest notice of a watch was about, if it is known.
    pub(super) noticed: Option<u64>,
    /// The file that the client has made once this request is answered.
    pub(super) made: Option<MadeFile>,
    /// The file of another client that is looked at, and the member that looks.
    pub(super) look: Option<FileLook>,
}

/// A look at the newest file of another client.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileLook {
    pub(super) member: usize,
    /// The file; `None` as long as there is none.
    pub(super) file: Option<MadeFile>,
}

/// A listing that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct BegunListing {
    pub(super) lease: ListingLease,
    pub(super) entries: u32,
    pub(super) progress: ListingProgress,
}

/// How far a listing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListingProgress {
    /// The directory is being opened.
    Opening,
    /// A lease was granted, and names are received.
    Leased,
    /// All names were received at this instant.
    Complete(Nanos),
    /// There is no lease, or it is broken.
    Unleased,
}
