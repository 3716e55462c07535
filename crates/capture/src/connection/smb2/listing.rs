//! The names in answers of QUERY_DIRECTORY: they were on the share, even if nobody opened
//! them.

use smbench_protocol::command::query_directory::{DirectoryClass, QueryDirectoryResponse};

use super::DIRECTORY;
use crate::connection::Receiver;
use crate::fields::utf16;
use crate::ledger::OpenRequest;
use crate::names::ListedName;

impl Receiver<'_> {
    /// Keeps the names of a listing.
    pub(super) fn listed(&mut self, request: &OpenRequest, message: &[u8]) {
        let class = request.line.level.and_then(class_of);
        let (Some(directory), Some(class)) = (request.line.path, class) else {
            return;
        };
        let Ok(found) = QueryDirectoryResponse::decode(message) else {
            return;
        };
        let (paths, names) = (&mut self.ledger.paths, &mut self.ledger.names);
        for entry in found.entries(class).map_while(Result::ok) {
            let name = utf16(entry.name);
            if matches!(name.as_str(), "" | "." | "..") {
                continue;
            }
            let number = paths.child(Some(directory), &name, names);
            let Some(node) = number.and_then(|number| paths.get(number)) else {
                return;
            };
            let details = entry.details;
            let listed = ListedName {
                is_directory: details.map(|has| has.file_attributes & DIRECTORY != 0),
                size: details.map(|has| has.end_of_file),
            };
            node.listed.get_or_insert(listed);
            if request.is_in_slice {
                paths.mark_in_slice(number);
            }
        }
    }
}

fn class_of(number: u32) -> Option<DirectoryClass> {
    Some(match number {
        1 => DirectoryClass::Directory,
        2 => DirectoryClass::FullDirectory,
        3 => DirectoryClass::BothDirectory,
        12 => DirectoryClass::Names,
        37 => DirectoryClass::IdBothDirectory,
        38 => DirectoryClass::IdFullDirectory,
        _ => return None,
    })
}
