//! How far the search for names of a slot is.

use smbench_protocol::command::WireName;
use smbench_protocol::command::query_directory::DirectoryClass;

/// The search of a slot.
#[derive(Default)]
pub(super) struct CifsSearch {
    /// The names that the request in flight asks for, if it belongs to a search.
    pub(super) asked: Option<FindAsked>,
    /// Number of the search.
    pub(super) sid: u16,
    /// The last name of the last answer.
    pub(super) last: Vec<u8>,
    /// Directory and pattern of its names.
    pub(super) pattern: WireName,
}

/// What a request of a search asks for.
#[derive(Clone, Copy)]
pub(super) enum FindAsked {
    /// The first names, as many as fit. Only their format is checked.
    Part,
    /// The first names.
    First(DirectoryClass),
    /// Further names.
    Next(DirectoryClass),
}

impl CifsSearch {
    /// Notes that the slot asks for the first names only.
    pub(super) const fn asks_for_part(&mut self) {
        self.asked = Some(FindAsked::Part);
    }
}
