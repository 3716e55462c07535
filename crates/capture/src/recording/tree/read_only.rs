//! The files that operations make read-only. A replay makes none, because nobody could delete
//! it, so it leaves out the opens that such a file refuses.

use std::collections::HashSet;

use crate::trace::TraceLine;

/// FILE_ATTRIBUTE_READONLY (MS-FSCC 2.6).
const READONLY: u32 = 1;
/// FILE_OPENED (MS-SMB2 2.2.14): the file keeps its attributes.
const OPENED: u32 = 1;
/// The level of a SET_INFO of times and attributes (MS-FSCC 2.4.7).
const BASIC: u32 = 0x0104;

/// The read-only files of a capture so far.
#[derive(Debug, Default)]
pub(in crate::recording) struct ReadOnlyNames {
    /// Numbers of their names.
    names: HashSet<u32>,
    /// Numbers of the opens that they refused.
    refused: HashSet<u64>,
}

impl ReadOnlyNames {
    /// Follows an operation on a name.
    pub(super) fn follow(&mut self, line: &TraceLine, path: u32, status: &str) {
        let is_done = status == "STATUS_SUCCESS";
        match &line.create {
            Some(create) if is_done && create.action.is_some_and(|action| action != OPENED) => {
                self.set(path, create.attributes);
            }
            Some(_) if status == "STATUS_ACCESS_DENIED" && self.names.contains(&path) => {
                self.refused.insert(line.number);
            }
            None if is_done && line.level == Some(BASIC) => {
                // 0 changes nothing.
                if let Some(attributes) = line.value.filter(|&attributes| attributes > 0) {
                    self.set(path, attributes as u32);
                }
            }
            None if is_done => {
                if let Some(to) = line.to
                    && self.names.remove(&path)
                {
                    self.names.insert(to);
                }
            }
            _ => {}
        }
    }

    fn set(&mut self, path: u32, attributes: u32) {
        if attributes & READONLY == 0 {
            self.names.remove(&path);
        } else {
            self.names.insert(path);
        }
    }

    /// Returns whether a read-only file refused an open.
    pub(in crate::recording) fn has_refused(&self, line: &TraceLine) -> bool {
        self.refused.contains(&line.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceCreate;

    #[test]
    fn a_read_only_file_refuses_opens_until_its_attributes_change() {
        const DONE: &str = "STATUS_SUCCESS";
        const DENIED: &str = "STATUS_ACCESS_DENIED";
        let mut names = ReadOnlyNames::default();
        let mut number = 0;
        let mut follow = |path, line: TraceLine, status| {
            number += 1;
            let line = TraceLine { number, ..line };
            names.follow(&line, path, status);
            names.has_refused(&line)
        };
        let create = |action: Option<u32>, attributes| TraceLine {
            create: Some(Box::new(TraceCreate {
                action,
                attributes,
                ..TraceCreate::default()
            })),
            ..TraceLine::default()
        };
        let basic = |attributes| TraceLine {
            level: Some(BASIC),
            value: Some(attributes),
            ..TraceLine::default()
        };
        let rename = TraceLine {
            to: Some(2),
            ..TraceLine::default()
        };
        for (path, line, status, is_refused) in [
            (1, create(Some(2), 0x20), DONE, false),
            (1, create(None, 0), DENIED, false),
            (1, create(Some(3), 0x21), DONE, false),
            (1, create(None, 0), DENIED, true),
            (1, create(None, 0), "STATUS_SHARING_VIOLATION", false),
            // Opened, it keeps its attributes.
            (1, create(Some(1), 0x80), DONE, false),
            (1, basic(0), DONE, false),
            (1, rename, DONE, false),
            (1, create(None, 0), DENIED, false),
            (2, create(None, 0), DENIED, true),
            (2, basic(0x80), DONE, false),
            (2, create(None, 0), DENIED, false),
            (2, basic(0x01), DONE, false),
            (2, create(None, 0), DENIED, true),
        ] {
            let shown = format!("{path} {line:?} {status}");
            assert_eq!(follow(path, line, status), is_refused, "{shown}");
        }
    }
}
