//! Requests and answers of CIFS.

use std::collections::HashMap;

use super::{Receiver, SmbState};
use crate::cifs::{
    CifsIds, CifsPart, ForeignCifsHeader, cifs_answer, cifs_code, cifs_created, cifs_request,
    cifs_token,
};
use crate::command::CommandKey;
use crate::cutter::CapturedMessage;
use crate::ledger::{CaptureLedger, FinalAnswer, OpenRequest};
use crate::logon::token;
use crate::opens::OpenKey;
use crate::sessions::SessionNumber;
use crate::tcp::Moment;
use crate::trace::TraceCreate;

const SUCCESS: u32 = 0;
const MORE_PROCESSING_REQUIRED: u32 = 0xc000_0016;
/// The MID of oplock breaks.
const UNSOLICITED: u16 = 0xffff;
/// The id of the NEGOTIATE that SMB2 answers.
const NEGOTIATE_ID: u64 = CIFS_IDS | u64::MAX >> 2;
/// Ids of CIFS are apart from those of SMB2, which the same connection may have before.
const CIFS_IDS: u64 = 1 << 63;

/// What a connection of CIFS knows.
#[derive(Debug, Default)]
pub(super) struct CifsState {
    /// Sessions by user id.
    users: HashMap<u16, Option<SessionNumber>>,
    has_dialect: bool,
}

/// Returns the id under which a command of a message waits. Messages of a chain have one
/// id, so its commands have numbers.
fn waiting_id(ids: CifsIds, command: u8, number: usize) -> u64 {
    if command == cifs_code::NEGOTIATE {
        return NEGOTIATE_ID;
    }
    let ids = u64::from(ids.process) << 16 | u64::from(ids.multiplex);
    // Fewer than 16 commands are in a message.
    CIFS_IDS | ids << 4 | number as u64
}

impl Receiver<'_> {
    pub(super) fn cifs(&mut self, message: CapturedMessage<'_>) {
        let Some(header) = ForeignCifsHeader::read(message.bytes) else {
            if !message.is_cut {
                self.ledger.tally.malformed(message.end);
            }
            return;
        };
        // An oplock break is a request of the server (MS-CIFS 2.2.4.32.1).
        let is_break = header.command == cifs_code::LOCKING_ANDX
            && header.ids.is_some_and(|ids| ids.multiplex == UNSOLICITED)
            && !header.is_answer;
        let is_of_server = header.is_answer || is_break;
        let connection = self.state.learn(self.from, is_of_server, self.ledger);
        let parts = header.parts(message.bytes);
        for (number, &part) in parts.iter().enumerate() {
            let is_last = number + 1 == parts.len();
            if is_break {
                self.notified(part, message);
            } else if header.is_answer {
                // The status is that of the command that failed, the last one.
                let status = if is_last { header.status } else { SUCCESS };
                self.cifs_answer(&header, part, number, status, message);
            } else {
                self.cifs_request(&header, part, number, connection, message);
            }
        }
        if header.is_answer && header.status != SUCCESS {
            self.drop_chain(&header, parts.len(), message.end);
        }
    }

    /// Counts an oplock break.
    fn notified(&mut self, part: CifsPart, message: CapturedMessage<'_>) {
        if self
            .ledger
            .slice
            .has_unasked(message.end, self.state.client())
        {
            let tally = self.ledger.tally.command(CommandKey::Cifs(part.command));
            // A message of the server in the form of a request.
            tally.requests += 1;
            tally.notifications += 1;
        }
    }

    fn cifs_request(
        &mut self,
        header: &ForeignCifsHeader,
        part: CifsPart,
        number: usize,
        connection: u32,
        message: CapturedMessage<'_>,
    ) {
        let client = self.state.client();
        let key = CommandKey::Cifs(part.command);
        let mut open = self.ledger.asked(key, message.end, client, connection);
        let Some(ids) = header.ids else {
            self.ledger.detailed(&mut open);
            return self.ledger.needs_no_answer(open);
        };
        self.cifs_detail(&mut open, header, part, ids, message.bytes);
        self.ledger.detailed(&mut open);
        let is_answered = !matches!(
            part.command,
            cifs_code::NT_CANCEL
                | cifs_code::TRANSACTION_SECONDARY
                | cifs_code::TRANSACTION2_SECONDARY
                | cifs_code::NT_TRANSACT_SECONDARY
        );
        if is_answered {
            let id = waiting_id(ids, part.command, number);
            self.state.wait(id, open, self.ledger);
        } else {
            self.ledger.needs_no_answer(open);
        }
    }

    fn cifs_detail(
        &mut self,
        open: &mut OpenRequest,
        header: &ForeignCifsHeader,
        part: CifsPart,
        ids: CifsIds,
        bytes: &[u8],
    ) {
        let is_of_session = !matches!(
            part.command,
            cifs_code::NEGOTIATE | cifs_code::SESSION_SETUP_ANDX
        );
        if is_of_session {
            let sessions = &mut self.ledger.sessions;
            let users = &mut self.state.cifs.users;
            let user = users.entry(ids.user);
            open.session = *user.or_insert_with(|| sessions.add_of_connection());
        }
        open.share = self.state.trees.get(&ids.tree.into()).copied().flatten();
        let asked = cifs_request(header, part, bytes);
        open.line.offset = asked.offset;
        open.line.length = asked.length;
        open.line.level = asked.level;
        open.line.flags = asked.flags;
        open.line.value = asked.value;
        if let Some(name) = asked.name {
            open.line.path = if part.command == cifs_code::TREE_CONNECT_ANDX {
                self.ledger
                    .share_named(name.rsplit('\\').next().unwrap_or_default())
            } else {
                let (paths, names) = (&mut self.ledger.paths, &mut self.ledger.names);
                paths.below(open.share, &name, names)
            };
        }
        let (paths, names) = (&mut self.ledger.paths, &mut self.ledger.names);
        if let Some(pattern) = asked.pattern {
            open.line.pattern = Some(names.pattern(&pattern));
        }
        if let Some(name) = asked.further {
            open.line.to = paths.below(open.share, &name, names);
        }
        if let Some(create) = asked.create {
            open.line.create = Some(Box::new(TraceCreate {
                access: create.access,
                attributes: create.attributes,
                share: create.share,
                disposition: create.disposition,
                options: create.options,
                ..TraceCreate::default()
            }));
        }
        if let (Some(id), Some(connection)) = (asked.file, self.state.number) {
            let key = OpenKey::Cifs { connection, id };
            open.open = Some(key);
            // The first command of a chain may make the open.
            let is_made_here = id == 0xffff;
            let found = if is_made_here {
                None
            } else {
                self.ledger.open_of(key, open.share)
            };
            open.line.handle = found.map(|found| found.handle);
            open.line.path = found.and_then(|found| found.path);
        }
        if part.command == cifs_code::SESSION_SETUP_ANDX {
            let blob = cifs_token(part, bytes).unwrap_or_default();
            let id = CIFS_IDS | u64::from(ids.user);
            open.logon = Some(Box::new(self.state.logging_on(id, token(blob))));
        }
    }

    fn cifs_answer(
        &mut self,
        header: &ForeignCifsHeader,
        part: CifsPart,
        number: usize,
        status: u32,
        message: CapturedMessage<'_>,
    ) {
        let key = CommandKey::Cifs(part.command);
        let client = self.state.client();
        let id = header.ids.map(|ids| waiting_id(ids, part.command, number));
        let request = id.and_then(|id| self.state.take(id));
        let is_in_slice = match &request {
            Some(request) => request.is_in_slice,
            None => self.ledger.slice.has_unasked(message.end, client),
        };
        if is_in_slice {
            self.ledger.counted_answer(key, status);
            let tally = self.ledger.tally.command(key);
            // Further parts of an answer follow the first one (MS-CIFS 2.2.4.46.2).
            let has_parts = matches!(
                part.command,
                cifs_code::TRANSACTION | cifs_code::TRANSACTION2 | cifs_code::NT_TRANSACT
            );
            match &request {
                Some(_) => {}
                None if has_parts => tally.pending += 1,
                None => tally.unasked += 1,
            }
        }
        let Some((mut request, ids)) = request.zip(header.ids) else {
            return;
        };
        let (file, moved) = match status {
            SUCCESS => cifs_answer(part, message.bytes),
            _ => (None, None),
        };
        if let (SUCCESS, cifs_code::NT_CREATE_ANDX) = (status, part.command) {
            self.cifs_found(&mut request, part, message.bytes);
        }
        self.cifs_changed(&mut request, part.command, status, ids, file);
        let answer = FinalAnswer {
            status,
            moved,
            at: message.end,
        };
        self.ledger.answered(request, answer);
    }

    /// Notes what a CREATE found.
    fn cifs_found(&mut self, request: &mut OpenRequest, part: CifsPart, bytes: &[u8]) {
        let found = cifs_created(part, bytes);
        let (Some((action, size, is_directory)), Some(create)) = (found, &mut request.line.create)
        else {
            return;
        };
        (create.action, create.size) = (Some(action), Some(size));
        self.ledger.found(request, is_directory);
    }

    /// Follows what an answer changes.
    fn cifs_changed(
        &mut self,
        request: &mut OpenRequest,
        command: u8,
        status: u32,
        ids: CifsIds,
        file: Option<u16>,
    ) {
        match command {
            cifs_code::NEGOTIATE if !self.state.cifs.has_dialect && status == SUCCESS => {
                self.state.cifs.has_dialect = true;
                *self.ledger.dialects.entry("cifs".to_owned()).or_default() += 1;
            }
            cifs_code::SESSION_SETUP_ANDX => self.cifs_logged_on(request, status, ids),
            cifs_code::LOGOFF_ANDX if status == SUCCESS => {
                if let Some(Some(session)) = self.state.cifs.users.remove(&ids.user) {
                    self.ledger.log_off(session);
                }
            }
            cifs_code::TREE_CONNECT_ANDX if status == SUCCESS => {
                self.state.trees.insert(ids.tree.into(), request.line.path);
            }
            cifs_code::TREE_DISCONNECT if status == SUCCESS => request.line.path = request.share,
            cifs_code::NT_CREATE_ANDX => {
                if let (Some(id), Some(connection)) = (file, self.state.number) {
                    let key = OpenKey::Cifs { connection, id };
                    let open = self.ledger.opens.add(key, request.line.path);
                    request.line.handle = open.map(|open| open.handle);
                }
            }
            cifs_code::CLOSE if status == SUCCESS => {
                if let Some(key) = request.open {
                    self.ledger.opens.close(key);
                }
            }
            _ => {}
        }
    }

    fn cifs_logged_on(&mut self, request: &mut OpenRequest, status: u32, ids: CifsIds) {
        let logon = request.logon.take().map(|logon| *logon).unwrap_or_default();
        match status {
            MORE_PROCESSING_REQUIRED => {
                let id = CIFS_IDS | u64::from(ids.user);
                self.state.logons.insert(id, logon);
            }
            SUCCESS => {
                let sessions = &mut self.ledger.sessions;
                let user = self.state.cifs.users.entry(ids.user);
                request.session = *user.or_insert_with(|| sessions.add_of_connection());
                self.ledger
                    .name_session(request.session, logon.user.as_deref());
                if let Some(session) = self.ledger.sessions.get(request.session) {
                    session.logon = logon.mechanism.or(session.logon);
                }
            }
            _ => *self.ledger.sessions.refused.entry(status).or_default() += 1,
        }
    }

    /// Ends the commands of a chain behind the one that failed: they have no answer.
    fn drop_chain(&mut self, header: &ForeignCifsHeader, answered: usize, at: Moment) {
        let Some(ids) = header.ids else { return };
        for number in answered..16 {
            let id = waiting_id(ids, 0, number);
            if let Some(request) = self.state.take(id) {
                self.ledger.unanswered(request, at);
            }
        }
    }
}

impl SmbState {
    /// Ends the NEGOTIATE of CIFS that SMB2 has answered.
    pub(super) fn cifs_was_answered(&mut self, ledger: &mut CaptureLedger, at: Moment) {
        if let Some(request) = self.take(NEGOTIATE_ID) {
            let answer = FinalAnswer {
                status: SUCCESS,
                moved: None,
                at,
            };
            ledger.answered(request, answer);
        }
    }
}
