//! Operations of CIFS, which name their files.

use super::RecordedTree;
use crate::trace::TraceLine;

impl RecordedTree {
    /// Follows an operation of CIFS by name.
    pub(super) fn follow_name(&mut self, line: &TraceLine, path: u32, status: &str) {
        const FIND_FIRST2: u32 = 1;
        const QUERY_PATH: u32 = 5;
        let is_done = status == "STATUS_SUCCESS";
        let subcommand = line.level.unwrap_or(0) >> 16;
        let (name, is_missing) = (
            line.command.as_str(),
            status == "STATUS_OBJECT_NAME_NOT_FOUND",
        );
        match (name, subcommand) {
            ("cifs_transaction2", FIND_FIRST2)
                if is_done
                    || status == "STATUS_NO_SUCH_FILE"
                    || status == "STATUS_NO_MORE_FILES" =>
            {
                self.found(path, true, 0);
            }
            ("cifs_transaction2", QUERY_PATH) if is_done => {
                let seen = self.node(path).and_then(|node| node.directory);
                self.found(path, seen.unwrap_or(false), 0);
            }
            ("cifs_delete" | "cifs_delete_directory", _) if is_done => {
                self.found(path, name == "cifs_delete_directory", 0);
                self.vanished(path);
            }
            ("cifs_create_directory", _) if is_done => self.created(path),
            ("cifs_create_directory", _) if status == "STATUS_OBJECT_NAME_COLLISION" => {
                self.found(path, true, 0);
            }
            ("cifs_rename", _) if is_done => {
                if let Some(to) = line.to {
                    self.found(path, false, 0);
                    self.renamed(path, to);
                }
            }
            _ if is_missing && name.starts_with("cifs_") => {
                self.parent_found(path);
                self.absent(path);
            }
            _ => {}
        }
    }
}
