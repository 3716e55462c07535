//! Answers of SMB2, and what follows from them.

mod listing;
mod requests;

use smbench_protocol::crypto::PreauthHash;
use smbench_protocol::{Cipher, Dialect};

use super::{EarlyAnswer, Receiver, SmbState, WaitingMax};
use crate::command::CommandKey;
use crate::cutter::CapturedMessage;
use crate::fields::Fields;
use crate::ledger::{CaptureLedger, FinalAnswer, OpenRequest};
use crate::opens::OpenKey;
use crate::smb2::{AnswerFields, Smb2Header, Smb2Ids, UNSOLICITED, answer, code};
use crate::tcp::Moment;

/// FileId of the open that an earlier request of the compound makes.
const RELATED_FILE: [u8; 16] = [0xff; 16];
const SUCCESS: u32 = 0;
const MORE_PROCESSING_REQUIRED: u32 = 0xc000_0016;
/// FILE_ATTRIBUTE_DIRECTORY and FILE_DIRECTORY_FILE.
const DIRECTORY: u32 = 0x10;
const DIRECTORY_FILE: u32 = 1;
/// Log-ons in progress that are kept.
const LOGONS_MAX: usize = 1024;

/// What a connection negotiated.
#[derive(Debug, Default)]
pub(super) struct Smb2State {
    pub(super) dialect: Option<u16>,
    cipher: Option<u16>,
    /// The hash over the negotiation, if keys were given.
    pub(super) preauth: PreauthHash,
}

impl Smb2State {
    /// Returns the number of the cipher of the connection.
    pub(super) fn cipher_id(&self) -> Option<u16> {
        let of_dialect = match self.dialect? {
            // 3.0 and 3.0.2 have only one.
            0x0300 | 0x0302 => Some(Cipher::Aes128Ccm as u16),
            _ => None,
        };
        self.cipher.or(of_dialect)
    }

    /// Returns the name of the cipher of the connection.
    pub(super) fn cipher_name(&self) -> Option<String> {
        let id = self.cipher_id()?;
        let known = Cipher::ALL.into_iter().find(|cipher| *cipher as u16 == id);
        Some(known.map_or_else(|| format!("cipher {id}"), |cipher| cipher.to_string()))
    }
}

/// What earlier messages of a compound say.
#[derive(Clone, Copy, Debug, Default)]
struct CompoundState {
    group: Option<u64>,
    ids: Option<Smb2Ids>,
    /// Whether the last request continues the one before.
    is_related: bool,
    open: Option<OpenKey>,
    /// The id of the request that makes the open of the compound.
    creator: Option<u64>,
}

impl Receiver<'_> {
    /// Takes a message or a compound.
    pub(super) fn smb2(&mut self, message: CapturedMessage<'_>) {
        let mut chain = CompoundState::default();
        let mut rest = message.bytes;
        loop {
            let Some(header) = Smb2Header::read(rest) else {
                if !message.is_cut {
                    self.ledger.tally.malformed(message.end);
                }
                return;
            };
            let len = if header.next == 0 {
                rest.len()
            } else {
                header.next.min(rest.len())
            };
            let (one, behind) = rest.split_at(len);
            if header.next > 0 && chain.group.is_none() && !header.is_answer() {
                chain.group = Some(self.ledger.next_group());
            }
            if header.is_answer() {
                self.answer(header, one, message);
            } else {
                self.request(header, one, message, &mut chain);
            }
            let is_wrong = !header.next.is_multiple_of(8) || (1..64).contains(&header.next);
            match header.next {
                0 => return,
                _ if is_wrong => return self.ledger.tally.malformed(message.end),
                // The next one is cut off.
                _ if behind.is_empty() && message.bytes.len() < message.wire_len => {
                    if !message.is_cut {
                        self.ledger.tally.unreadable.cut_messages += 1;
                    }
                    return;
                }
                _ if behind.is_empty() => return self.ledger.tally.malformed(message.end),
                _ => rest = behind,
            }
        }
    }

    fn answer(&mut self, header: Smb2Header, bytes: &[u8], message: CapturedMessage<'_>) {
        self.state.learn(self.from, true, self.ledger);
        let (at, key) = (message.end, CommandKey::Smb2(header.command));
        let Some(ids) = header.ids.filter(|ids| ids.message != UNSOLICITED) else {
            if self.ledger.slice.has_unasked(at, self.state.client()) {
                self.ledger.counted_answer(key, header.status);
                let tally = self.ledger.tally.command(key);
                match header.ids {
                    Some(_) => tally.notifications += 1,
                    None => tally.unasked += 1,
                }
            }
            return;
        };
        // The NEGOTIATE of CIFS may ask for SMB2 (MS-SMB2 3.3.5.3.1).
        if header.command == code::NEGOTIATE && !self.state.pending.contains_key(&ids.message) {
            self.negotiated(bytes);
            self.state.cifs_was_answered(self.ledger, at);
        }
        if self.state.pending.contains_key(&ids.message) {
            self.answer_waiting(header, ids, bytes, at);
            return;
        }
        let most = WaitingMax::of(self.ledger).answers;
        while self.state.early.len() >= most
            && let Some(oldest) = self.state.early.pop_front()
        {
            self.state.unasked(&oldest, self.ledger);
        }
        self.ledger.waiting += 1;
        self.state.early.push_back(EarlyAnswer {
            id: ids.message,
            bytes: bytes[..bytes.len().min(early_len(header.command))].into(),
            at,
        });
    }

    /// Takes the answers that came before their request.
    fn take_early(&mut self, id: u64) {
        while let Some(at) = self.state.early.iter().position(|early| early.id == id)
            && let Some(early) = self.state.early.remove(at)
        {
            self.ledger.waiting -= 1;
            let header = Smb2Header::read(&early.bytes);
            if let Some((header, ids)) = header.and_then(|header| Some((header, header.ids?))) {
                self.answer_waiting(header, ids, &early.bytes, early.at);
            }
        }
    }

    /// Takes an answer whose request waits.
    fn answer_waiting(&mut self, header: Smb2Header, ids: Smb2Ids, bytes: &[u8], at: Moment) {
        let key = CommandKey::Smb2(header.command);
        let Some(waiting) = self.state.pending.get_mut(&ids.message) else {
            return;
        };
        if waiting.is_in_slice {
            self.ledger.counted_answer(key, header.status);
        }
        if header.is_interim() {
            waiting.line.pending = true;
            if waiting.is_in_slice {
                self.ledger.tally.command(key).pending += 1;
            }
            return;
        }
        let Some(request) = self.state.take(ids.message) else {
            return;
        };
        let answered = if header.status == SUCCESS || header.status >> 30 == 2 {
            answer(header.command, bytes)
        } else {
            AnswerFields::default()
        };
        self.conclude(request, header, ids, bytes, answered, at);
    }

    /// Ends a request with its final answer, and follows what it changes.
    fn conclude(
        &mut self,
        mut request: Box<OpenRequest>,
        header: Smb2Header,
        ids: Smb2Ids,
        bytes: &[u8],
        answered: AnswerFields,
        at: Moment,
    ) {
        let is_done = header.status == SUCCESS;
        match header.command {
            code::NEGOTIATE if is_done => self.negotiated(bytes),
            code::SESSION_SETUP => {
                if is_done {
                    self.end_previous(&request, ids, at);
                }
                self.logged_on(&mut request, header.status, ids, bytes);
            }
            code::LOGOFF if is_done => {
                let server = self.state.server();
                if let Some(session) = self.ledger.sessions.find(server, ids.session) {
                    self.ledger.log_off(session);
                }
            }
            code::TREE_CONNECT if is_done => {
                let tree = (request.session, ids.tree);
                self.ledger.connect_tree(tree, request.line.path);
                request.share = request.line.path;
            }
            code::TREE_DISCONNECT if is_done => request.line.path = request.share,
            code::QUERY_DIRECTORY if is_done => self.listed(&request, bytes),
            code::CREATE => self.opened(&mut request, answered),
            code::CLOSE if is_done => {
                if let Some(key) = request.open {
                    self.ledger.opens.close(key);
                }
            }
            code::SET_INFO if is_done => {
                let open = request.open.and_then(|key| self.ledger.opens.get(key));
                if let (Some(open), Some(to)) = (open, request.line.to) {
                    open.path = Some(to);
                }
            }
            _ => {}
        }
        let answer = FinalAnswer {
            status: header.status,
            moved: answered.moved,
            at,
        };
        self.ledger.answered(request, answer);
    }

    fn opened(&mut self, request: &mut OpenRequest, answered: AnswerFields) {
        let (Some(file), Some(opened)) = (answered.file, answered.opened) else {
            return;
        };
        let Some(create) = &mut request.line.create else {
            return;
        };
        create.granted = Some(opened.oplock);
        create.kept = opened.is_durable;
        create.action = Some(opened.action);
        create.size = Some(opened.size);
        let is_directory =
            opened.attributes & DIRECTORY != 0 || create.options & DIRECTORY_FILE != 0;
        self.ledger.found(request, is_directory);
        let key = OpenKey::Smb2(request.session, file);
        let open = self.ledger.opens.add(key, request.line.path);
        request.line.handle = open.map(|open| open.handle);
        request.open = Some(key);
        // The rest of the compound uses it.
        let (path, handle) = (request.line.path, request.line.handle);
        if let Some(group) = request.line.group {
            let rest = self.state.pending.values_mut();
            for one in rest.filter(|one| one.line.group == Some(group)) {
                if one.open.is_none() && one.line.handle.is_none() && one.line.path == path {
                    one.open = Some(key);
                    one.line.handle = handle;
                }
            }
        }
    }

    /// Ends the session that another one takes the place of (MS-SMB2 3.3.5.5.3).
    fn end_previous(&mut self, request: &OpenRequest, ids: Smb2Ids, at: Moment) {
        let logon = request.logon.as_ref();
        let previous = logon.map_or(0, |logon| logon.previous);
        if previous == ids.session {
            return;
        }
        let server = self.state.server();
        if let Some(session) = self.ledger.sessions.find(server, previous) {
            let connection = request.line.connection;
            self.ledger.end_session(session, connection, at);
        }
    }

    fn logged_on(&mut self, request: &mut OpenRequest, status: u32, ids: Smb2Ids, bytes: &[u8]) {
        let mut logon = request.logon.take().map(|logon| *logon).unwrap_or_default();
        match status {
            MORE_PROCESSING_REQUIRED => {
                self.hash_logon_answer(&mut logon, bytes);
                if self.state.logons.len() < LOGONS_MAX {
                    self.state.logons.insert(ids.session, logon);
                }
            }
            SUCCESS => {
                self.state.logons.remove(&ids.session);
                let server = self.state.server();
                let sessions = &mut self.ledger.sessions;
                request.session = if logon.is_binding {
                    sessions.joined(server, ids.session)
                } else {
                    sessions.of(server, ids.session)
                };
                self.state.join(request.session, self.ledger);
                Self::end_logon(&mut logon, bytes);
                self.find_keys(request.session, ids.session, &logon);
                let cipher = self.state.smb2.cipher_name();
                self.ledger
                    .name_session(request.session, logon.user.as_deref());
                if let Some(session) = self.ledger.sessions.get(request.session) {
                    session.logon = logon.mechanism.or(session.logon);
                    session.cipher = session.cipher.take().or(cipher);
                }
            }
            _ => {
                self.state.logons.remove(&ids.session);
                *self.ledger.sessions.refused.entry(status).or_default() += 1;
            }
        }
    }

    /// Learns dialect and cipher (MS-SMB2 2.2.4).
    fn negotiated(&mut self, bytes: &[u8]) {
        let fields = Fields(bytes);
        let Some(dialect) = fields.u16(68) else {
            return;
        };
        // 0x02ff asks for another NEGOTIATE.
        if dialect == 0x02ff {
            return;
        }
        self.hash_negotiation(bytes);
        let smb2 = &mut self.state.smb2;
        if smb2.dialect.is_none() {
            let name = Dialect::from_revision(dialect)
                .map_or_else(|| format!("0x{dialect:04x}"), |known| known.to_string());
            *self.ledger.dialects.entry(name).or_default() += 1;
        }
        smb2.dialect = Some(dialect);
        if dialect >= 0x0311 {
            smb2.cipher = chosen_cipher(fields);
        }
    }
}

/// Returns how many bytes are kept of an answer that comes before its request. Those of
/// log-ons are long, and a CREATE may have contexts.
const fn early_len(command: u16) -> usize {
    match command {
        code::NEGOTIATE | code::SESSION_SETUP | code::CREATE => 4096,
        _ => 160,
    }
}

/// Returns the cipher in the contexts of a NEGOTIATE answer (2.2.4.1).
fn chosen_cipher(fields: Fields<'_>) -> Option<u16> {
    const ENCRYPTION: u16 = 2;
    let count = fields.u16(70)?;
    let mut at = fields.u32(124)? as usize;
    for _ in 0..count.min(16) {
        let (kind, len) = (fields.u16(at)?, usize::from(fields.u16(at + 2)?));
        if kind == ENCRYPTION {
            return fields.u16(at + 10);
        }
        at = (at + 8 + len).next_multiple_of(8);
    }
    None
}

impl SmbState {
    /// Counts an answer whose request is not in the capture.
    pub(super) fn unasked(&self, early: &EarlyAnswer, ledger: &mut CaptureLedger) {
        ledger.waiting -= 1;
        if let Some(header) = Smb2Header::read(&early.bytes)
            && ledger.slice.has_unasked(early.at, self.client())
        {
            let key = CommandKey::Smb2(header.command);
            ledger.counted_answer(key, header.status);
            let tally = ledger.tally.command(key);
            tally.pending += u64::from(header.is_interim());
            tally.unasked += 1;
        }
    }
}
