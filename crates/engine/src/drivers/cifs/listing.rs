//! Whole listings in CIFS: NT_CREATE_ANDX of the directory, FIND_FIRST2, then FIND_NEXT2 until
//! the search has ended, and CLOSE. The server ends the search.

use smbench_model::action::Action;
use smbench_model::kind::OpKind;
use smbench_protocol::cifs::command::find::{
    FindFirst2Request, FindFirst2Response, FindNext2Request, FoundNames, find_flags,
};
use smbench_protocol::cifs::{CifsCompletion, TRANSACTION_DATA_MAX};
use smbench_protocol::command::query_directory::{DirectoryClass, DirectoryEntry};
use smbench_protocol::connection::NoCredit;
use smbench_protocol::{DecodeError, NtStatus};

use super::group::{CifsGroup, CifsPlace};
use super::mix::{CifsMix, NAMES, level_of};
use super::search::FindAsked;
use super::to::CifsTo;
use crate::drivers::driver::{Answer, Busy, Call};
use crate::drivers::requests::create::{StepCreate, of_step};
use crate::drivers::walking::{WalkFault, WalkPlace, WalkedDirectory};
use crate::smb::session::cifs::SEARCH_ATTRIBUTES;

impl CifsPlace {
    /// Notes the names of an answer to a request of a search, if it is one. Returns the answer
    /// with the number of names. With the last names it has STATUS_NO_MORE_FILES, because the
    /// answer says that the search has ended.
    pub(super) fn note_found<'a>(
        &mut self,
        done: &CifsCompletion<'_>,
        answer: Answer<'a>,
    ) -> Result<Answer<'a>, WalkFault> {
        let Some(asked) = self.search.asked.take() else {
            return Ok(answer);
        };
        if done.status != NtStatus::SUCCESS {
            return Ok(answer);
        }
        let (parameters, data) = done.transaction()?;
        let (found, class) = match asked {
            FindAsked::Part => {
                FindFirst2Response::decode(parameters, data)?;
                return Ok(answer);
            }
            FindAsked::First(class) => {
                let first = FindFirst2Response::decode(parameters, data)?;
                self.search.sid = first.sid;
                (first.found, class)
            }
            FindAsked::Next(class) => (FoundNames::decode(parameters, data)?, class),
        };
        let last = &mut self.search.last;
        last.clear();
        let noted = found.entries(class).inspect(|entry| {
            if let Ok(entry) = entry {
                last.clear();
                last.extend_from_slice(entry.name);
            }
        });
        let moved = match &mut self.walked {
            Some(walked) => walked.note(noted)?,
            None => count(noted)?,
        };
        let is_over = found.end_of_search || found.search_count == 0;
        let status = if is_over {
            NtStatus::NO_MORE_FILES
        } else {
            done.status
        };
        Ok(Answer {
            moved,
            status,
            ..answer
        })
    }
}

impl WalkPlace for CifsPlace {
    fn walked(&mut self) -> &mut Option<Box<WalkedDirectory>> {
        &mut self.walked
    }
}

/// Counts the names but `.` and `..`.
fn count<'a>(
    entries: impl Iterator<Item = Result<DirectoryEntry<'a>, DecodeError>>,
) -> Result<u32, DecodeError> {
    let mut names = 0;
    for entry in entries {
        let is_dots = matches!(entry?.name, b".\0" | b".\0.\0");
        names += u32::from(!is_dots);
    }
    Ok(names)
}

impl CifsGroup<CifsMix> {
    /// Encodes a step of a listing, or of the listing of a walk, but the first of a walk.
    pub(super) fn list(&mut self, call: &Call, to: CifsTo<'_>) -> Result<(), NoCredit> {
        let slot = call.slot as usize;
        match call.operation.kind {
            OpKind::ListOpen => {
                let name = self.encoder.folder.directory(call.operation.file);
                self.places[slot].asks_to_cache = false;
                to.create(&of_step(StepCreate::Directory, name))
            }
            OpKind::ListFirst | OpKind::WalkFirst => self.find_first(call, to),
            OpKind::ListNext | OpKind::WalkNext => self.find_next(call, to),
            OpKind::WalkClose => {
                self.walked(call).ended();
                to.close(self.places[slot].open)
            }
            _ => to.close(self.places[slot].open),
        }
    }

    /// Encodes the open of the next directory of a walk.
    pub(super) fn walk(&mut self, call: &Call, to: CifsTo<'_>) -> Result<(), Busy> {
        let of_member = call.member * self.outstanding;
        let places = &mut self.places[of_member..of_member + self.outstanding];
        let at = call.slot as usize - of_member;
        places[at].asks_to_cache = false;
        self.encoder.walks[call.member].open_next(places, at, |path| {
            to.create(&of_step(StepCreate::Directory, path))
        })
    }

    fn walked(&mut self, call: &Call) -> &mut WalkedDirectory {
        self.encoder.walks[call.member].walked(&mut self.places[call.slot as usize])
    }

    fn find_first(&mut self, call: &Call, to: CifsTo<'_>) -> Result<(), NoCredit> {
        if call.operation.kind == OpKind::WalkFirst {
            self.walked(call).listing();
        }
        let (class, max_data) = self.asked(call);
        let names = &self.encoder.names[call.operation.action as usize];
        let place = &mut self.places[call.slot as usize];
        let directory = match &place.walked {
            Some(walked) => walked.path(),
            None => self.encoder.folder.directory(call.operation.file),
        };
        let pattern = &mut place.search.pattern;
        let joined = pattern.set_joined([directory]);
        let joined = joined.and_then(|()| pattern.append_below(names));
        joined.unwrap_or_else(|_| unreachable!("the directory was opened by its path"));
        let find = FindFirst2Request {
            search_attributes: SEARCH_ATTRIBUTES,
            search_count: NAMES,
            flags: find_flags::SMB_FIND_CLOSE_AT_EOS,
            level: level_of(class),
            pattern,
            max_data,
        };
        to.transaction2(|out| find.encode(out))?;
        place.search.asked = Some(FindAsked::First(class));
        Ok(())
    }

    fn find_next(&mut self, call: &Call, to: CifsTo<'_>) -> Result<(), NoCredit> {
        if call.operation.kind == OpKind::WalkNext {
            self.walked(call).listing();
        }
        let (class, max_data) = self.asked(call);
        let search = &mut self.places[call.slot as usize].search;
        let find = FindNext2Request {
            sid: search.sid,
            search_count: NAMES,
            level: level_of(class),
            flags: find_flags::SMB_FIND_CLOSE_AT_EOS | find_flags::SMB_FIND_CONTINUE_FROM_LAST,
            resume_name: &search.last,
            max_data,
        };
        to.transaction2(|out| find.encode(out))?;
        search.asked = Some(FindAsked::Next(class));
        Ok(())
    }

    /// Returns the information that a listing asks for, and the bytes of an answer.
    fn asked(&self, call: &Call) -> (DirectoryClass, u16) {
        match self.encoder.mix.action(&call.operation) {
            Action::List { class, buffer, .. } | Action::Walk { class, buffer, .. } => {
                let most = u32::from(TRANSACTION_DATA_MAX);
                (*class, most.min(*buffer) as u16)
            }
            other => unreachable!("{other:?} lists nothing"),
        }
    }
}
