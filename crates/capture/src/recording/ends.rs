//! The files that the end of a session, or of its connection to a share, closes without a
//! CLOSE. A replay closes them at the same place: others may delete them afterwards.
//!
//! Durable handles outlive a session that ended without a log-off.

use std::collections::{BTreeMap, HashMap};

use super::effect::is_open_shown;
use super::step::{CLOSED_BY_END, takes_back};
use crate::trace::{SESSION_END, TraceCreate, TraceLine};

/// A file that a session has open.
#[derive(Clone, Copy)]
struct OpenedFile {
    path: u32,
    is_durable: bool,
}

/// The files that each session has open, and the shares that it is connected to.
#[derive(Default)]
pub(super) struct SessionEnds {
    /// By session and handle.
    open: HashMap<u32, BTreeMap<u64, OpenedFile>>,
    /// Connections to a share that have not ended.
    connected: HashMap<(u32, u32), u32>,
}

impl SessionEnds {
    /// Follows a line of a session. Returns the files that it closes, each as a line.
    pub(super) fn follow(
        &mut self,
        session: u32,
        line: &TraceLine,
        share: impl Fn(u32) -> Option<u32>,
    ) -> Vec<TraceLine> {
        let is_done = line.status.as_deref() == Some("STATUS_SUCCESS");
        match (line.command.as_str(), line.path) {
            ("tree_connect" | "cifs_tree_connect_andx", Some(path)) if is_done => {
                *self.connected.entry((session, path)).or_default() += 1;
            }
            ("tree_disconnect" | "cifs_tree_disconnect", Some(path)) if is_done => {
                let left = self.connected.entry((session, path)).or_default();
                *left = left.saturating_sub(1);
                // With another connection to the share, nothing shows whose files they are.
                if *left == 0 {
                    return self.closed(session, line, |file| share(file.path) == Some(path));
                }
            }
            ("logoff" | "cifs_logoff_andx", _) if is_done => {
                return self.closed(session, line, |_| true);
            }
            (SESSION_END, _) => return self.closed(session, line, |file| !file.is_durable),
            ("close" | "cifs_close", _) if is_done => {
                if let (Some(open), Some(handle)) = (self.open.get_mut(&session), line.handle) {
                    open.remove(&handle);
                }
            }
            (_, Some(path)) if line.status.as_deref().is_some_and(is_open_shown) => {
                let renamed = line.to.filter(|_| is_done);
                if let Some(handle) = line.handle {
                    let open = self.open.entry(session).or_default();
                    let file = open.entry(handle).or_insert(OpenedFile {
                        path,
                        is_durable: line.create.as_deref().is_some_and(is_durable),
                    });
                    file.path = renamed.unwrap_or(path);
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn closed(
        &mut self,
        session: u32,
        end: &TraceLine,
        is_closed: impl Fn(OpenedFile) -> bool,
    ) -> Vec<TraceLine> {
        let Some(open) = self.open.get_mut(&session) else {
            return Vec::new();
        };
        let closed = open.extract_if(.., |_, file| is_closed(*file));
        let lines = closed.map(|(handle, file)| TraceLine {
            command: CLOSED_BY_END.to_owned(),
            path: Some(file.path),
            handle: Some(handle),
            ..end.clone()
        });
        lines.collect()
    }
}

/// Returns whether the server keeps a handle when its connection ends. The answer to a request
/// for an earlier durable handle does not repeat that it is one (MS-SMB2 3.3.5.9.7).
fn is_durable(create: &TraceCreate) -> bool {
    create.kept || takes_back(create)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(command: &str, path: Option<u32>, handle: Option<u64>) -> TraceLine {
        TraceLine {
            command: command.to_owned(),
            path,
            handle,
            status: Some("STATUS_SUCCESS".to_owned()),
            ..TraceLine::default()
        }
    }

    #[test]
    fn the_end_of_a_session_closes_what_is_open() {
        let mut ends = SessionEnds::default();
        // Shares are below 10, and their files have two digits.
        let mut follow = |line: TraceLine| {
            let closed = ends.follow(1, &line, |path| Some(path / 10));
            let closed = closed.into_iter().map(|line| {
                assert_eq!(line.command, CLOSED_BY_END);
                (line.path.unwrap(), line.handle.unwrap())
            });
            closed.collect::<Vec<_>>()
        };
        for share in [1, 2, 2] {
            assert_eq!(follow(line("tree_connect", Some(share), None)), []);
        }
        for (handle, path) in (1..).zip([11, 12, 21, 22]) {
            assert_eq!(follow(line("create", Some(path), Some(handle))), []);
        }
        let renamed = TraceLine {
            to: Some(13),
            ..line("set_info", Some(12), Some(2))
        };
        follow(renamed);
        follow(line("close", Some(11), Some(1)));
        let refused = TraceLine {
            status: Some("STATUS_NETWORK_NAME_DELETED".to_owned()),
            ..line("tree_disconnect", None, None)
        };
        assert_eq!(follow(refused), []);
        assert_eq!(follow(line("tree_disconnect", Some(1), None)), [(13, 2)]);
        // The session is connected to the share once more.
        assert_eq!(follow(line("tree_disconnect", Some(2), None)), []);
        assert_eq!(follow(line("logoff", None, None)), [(21, 3), (22, 4)]);
        assert_eq!(follow(line("logoff", None, None)), []);
        // Without a log-off, durable handles stay.
        for (handle, kept) in [(5, true), (6, false)] {
            let create = TraceCreate {
                contexts: vec!["DH2Q".to_owned()],
                kept,
                ..TraceCreate::default()
            };
            follow(TraceLine {
                create: Some(Box::new(create)),
                ..line("create", Some(23), Some(handle))
            });
        }
        assert_eq!(follow(line(SESSION_END, None, None)), [(23, 6)]);
        assert_eq!(follow(line("logoff", None, None)), [(23, 5)]);
    }
}
