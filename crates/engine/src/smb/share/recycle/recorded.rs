//! The names that a replay makes, in the marker of its run. After the run was killed,
//! they show which empty files of a recycle bin are of the replay.

use std::collections::BTreeSet;

use smbench_model::trace::{Recording, Trace};
use smbench_protocol::FileId;

use super::marker::HEADING;
use crate::smb::calls::{FileCalls, LISTING_NAMES_MAX};
use crate::smb::session::SessionError;
use crate::smb::share::{ShareSession, Workspace};

/// Most bytes of a marker. A request of any server can carry them. Further names are
/// left out.
const MARKER_BYTES_MAX: usize = 16 * 1024;

impl Workspace {
    /// Notes that so many clients that replay this recording make files of the recorded
    /// names.
    pub(crate) async fn note_recorded(&mut self, recording: &Recording, clients: u32) {
        let names = names(recording, clients);
        let text = to_text(&names);
        self.seen.replayed(names);
        let doing = "write the run's marker";
        let limit = self.session.write_limit().max(1) as usize;
        let mut offset = 0;
        for part in text.as_bytes().chunks(limit) {
            let length = part.len() as u32;
            let written = self
                .session
                .write_at(doing, self.marker, offset, length, |out| {
                    out.extend_from_slice(part);
                });
            match written.await {
                Ok(taken) if taken as usize == part.len() => offset += u64::from(taken),
                // Without names, a clean-up after a kill leaves empty files in the bin.
                _ => return,
            }
        }
    }
}

/// Returns the recorded names in the marker of a killed run.
pub(in crate::smb::share) async fn recorded_in(
    session: &mut ShareSession,
    marker: FileId,
) -> Result<Vec<String>, SessionError> {
    let doing = "read the run's marker";
    let read = session
        .read_start(doing, marker, MARKER_BYTES_MAX as u32)
        .await;
    match read {
        Ok(data) => Ok(from_text(&data)),
        Err(error) if error.status().is_some() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns the last parts of all recorded names, with those that each client has for itself.
fn names(recording: &Recording, clients: u32) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in recording.tracks().flat_map(Trace::paths) {
        let clients = if path.is_own() { clients.max(1) } else { 1 };
        for client in 0..clients {
            let path = path.display(client);
            let name = path.rsplit('\\').next().unwrap_or_default();
            let is_of_all = client > 0 && names.contains(name);
            if is_of_all || names.len() >= LISTING_NAMES_MAX {
                break;
            }
            names.insert(name.to_owned());
        }
    }
    names
}

fn to_text(names: &BTreeSet<String>) -> String {
    let mut text = format!("{HEADING}\n");
    for name in names {
        if text.len() + name.len() < MARKER_BYTES_MAX {
            text += name;
            text.push('\n');
        }
    }
    text
}

fn from_text(data: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.lines();
    if lines.next() == Some(HEADING) {
        lines.map(str::to_owned).collect()
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb::share::recycle::marker::is_marker;

    #[test]
    fn names_are_read_back_as_far_as_they_fit() {
        let names = BTreeSet::from(["A.TMP", "B.TMP"].map(str::to_owned));
        let text = to_text(&names);
        assert!(is_marker(text.as_bytes()));
        assert_eq!(from_text(text.as_bytes()), ["A.TMP", "B.TMP"]);
        assert_eq!(from_text(b""), Vec::<String>::new());
        assert_eq!(from_text(b"A.TMP\n"), Vec::<String>::new());
        let many = (0..10_000)
            .map(|number| format!("{number:05}.TMP"))
            .collect();
        let text = to_text(&many);
        assert!(text.len() <= MARKER_BYTES_MAX, "{}", text.len());
        assert!(from_text(text.as_bytes()).len() > 1_000);
    }
}
