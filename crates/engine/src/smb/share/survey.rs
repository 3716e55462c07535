//! What one of our directories on the share has.

use std::borrow::Cow;

use smbench_protocol::directory::Entry;

use super::files::list_respelled;
use super::names::{MARKER, is_inside, own};
use crate::smb::calls::FileCalls;
use crate::smb::session::SessionError;
use crate::smb::share::ShareSession;

/// What one of our directories has, apart from its names.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) has_marker: bool,
    /// The first entry that is not the marker.
    pub(super) other: Option<String>,
    /// The first entry that no run made.
    pub(super) foreign: Option<String>,
    /// Whether the server lists our names in another case.
    respells: bool,
}

impl Survey {
    /// Notes an entry, whose name is in our spelling if it is ours.
    fn note(&mut self, entry: &Entry) {
        let name = &entry.name;
        if name == MARKER {
            self.has_marker = true;
            return;
        }
        if own(name, entry.is_directory).is_none() {
            self.foreign.get_or_insert_with(|| name.clone());
        }
        self.other.get_or_insert_with(|| name.clone());
    }

    /// Returns a listed name, in our spelling if it is ours.
    pub(super) fn spelled<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let ours = name.to_ascii_lowercase();
        if self.respells && is_inside(&ours) {
            ours.into()
        } else {
            name.into()
        }
    }
}

/// Lists one of our directories without keeping its names.
pub(super) async fn survey(
    session: &mut ShareSession,
    directory: &str,
) -> Result<Survey, SessionError> {
    let mut found = Survey::default();
    let mut capital = None;
    let doing = format!("list directory '{directory}'");
    let mut note = |entry: &Entry| {
        if entry.name.bytes().any(|letter| letter.is_ascii_uppercase())
            && is_inside(&entry.name.to_ascii_lowercase())
        {
            capital.get_or_insert_with(|| entry.name.clone());
        }
        found.note(entry);
    };
    session.see_each(&doing, directory, 0, &mut note).await?;
    let Some(capital) = capital else {
        return Ok(found);
    };
    let entries = list_inside(session, directory).await?;
    found = Survey {
        respells: entries.iter().all(|entry| entry.name != capital),
        ..Survey::default()
    };
    entries.iter().for_each(|entry| found.note(entry));
    Ok(found)
}

/// Returns the entries of one of our directories, with our names in our spelling.
pub(super) async fn list_inside(
    session: &mut ShareSession,
    directory: &str,
) -> Result<Vec<Entry>, SessionError> {
    list_respelled(session, directory, is_inside).await
}
