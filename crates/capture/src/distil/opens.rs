//! Opens of a session, from CREATE to CLOSE: which action of a profile each is.

use std::collections::HashMap;

use super::asked::info_name;
use crate::trace::{TraceCreate, TraceLine};

/// CreateOptions (MS-SMB2 2.2.13).
const DIRECTORY_FILE: u32 = 1;
const DELETE_ON_CLOSE: u32 = 0x1000;

/// Opens that a session has at the same time and that are followed.
const OPENS_MAX: usize = 10_000;

/// An open and what was done with it.
#[derive(Clone, Debug, Default)]
pub(super) struct DistilledOpen {
    /// The action that opens and closes, if it is for nothing else.
    pub(super) create: String,
    pub(super) path: Option<u32>,
    /// Bytes of the file when it was opened.
    pub(super) bytes: u64,
    pub(super) begin_ns: u64,
    /// Requests worked on it.
    pub(super) is_used: bool,
    /// An action that opens a file of its own: `rename`.
    pub(super) change: Option<String>,
    /// Class of its listing, and its requests.
    pub(super) listing: Option<String>,
    pub(super) listed: u64,
    /// The listing has come to its end.
    pub(super) is_listed: bool,
    /// End of the last READ or WRITE.
    pub(super) end: Option<u64>,
}

/// The opens of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct DistilledOpens {
    open: HashMap<u64, DistilledOpen>,
}

impl DistilledOpens {
    pub(super) fn begin(&mut self, line: &TraceLine, create: &TraceCreate) {
        if let Some(handle) = line.handle
            && self.open.len() < OPENS_MAX
        {
            let open = DistilledOpen {
                create: create_action(create),
                path: line.path,
                bytes: create.size.unwrap_or(0),
                begin_ns: line.at_ns,
                ..DistilledOpen::default()
            };
            self.open.insert(handle, open);
        }
    }

    pub(super) fn get(&mut self, line: &TraceLine) -> Option<&mut DistilledOpen> {
        self.open.get_mut(&line.handle?)
    }

    pub(super) fn end(&mut self, line: &TraceLine) -> Option<DistilledOpen> {
        self.open.remove(&line.handle?)
    }

    /// Returns those that were not closed.
    pub(super) fn rest(&mut self) -> Vec<DistilledOpen> {
        self.open.drain().map(|(_, open)| open).collect()
    }
}

impl DistilledOpen {
    /// Notes a request of a listing.
    pub(super) fn list(&mut self, line: &TraceLine) {
        self.listed += 1;
        self.listing = info_name(line).or(self.listing.take());
        self.is_listed |= line.status.as_deref() == Some("STATUS_NO_MORE_FILES");
    }
}

/// Returns the action of a CREATE and a CLOSE. Names other than those of the client's files
/// are scratch names.
pub(super) fn create_action(create: &TraceCreate) -> String {
    let disposition = match create.disposition {
        0 => "supersede",
        1 => "open",
        2 => "create",
        5 => "overwrite_if",
        4 if create.options & DELETE_ON_CLOSE == 0 => "overwrite_if",
        _ => "open_if",
    };
    let is_deleting = create.options & DELETE_ON_CLOSE != 0;
    let is_directory = create.options & DIRECTORY_FILE != 0;
    match (disposition, is_directory, is_deleting) {
        ("open", false, false) => "op = \"create\"".to_owned(),
        // A scratch name that does not exist cannot be opened.
        ("open", true, false) => {
            "op = \"create\"\ndirectory = true\ndisposition = \"open_if\"".to_owned()
        }
        (_, true, true) => "op = \"create\"\ndirectory = true".to_owned(),
        (_, false, true) | ("create", false, _) => {
            "op = \"create\"\ndisposition = \"create\"".to_owned()
        }
        ("create", true, _) => "op = \"create\"\ndirectory = true".to_owned(),
        (other, true, _) => {
            let other = if other == "open_if" { other } else { "open_if" };
            format!("op = \"create\"\ndirectory = true\ndisposition = \"{other}\"")
        }
        (other, false, _) => format!("op = \"create\"\ndisposition = \"{other}\""),
    }
}
