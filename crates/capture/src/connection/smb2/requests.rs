//! Requests of SMB2.

use super::{CompoundState, RELATED_FILE};
use crate::command::CommandKey;
use crate::connection::{Receiver, SmbState};
use crate::cutter::CapturedMessage;
use crate::fields::Fields;
use crate::ledger::{OpenLogon, OpenRequest};
use crate::logon::{LogonToken, token};
use crate::opens::OpenKey;
use crate::smb2::{RequestFields, RequestTarget, Smb2Header, Smb2Ids, code, request};
use crate::trace::TraceCreate;

/// Where a SESSION_SETUP has its flags, and SMB2_SESSION_FLAG_BINDING (MS-SMB2 2.2.5).
const SETUP_FLAGS: usize = 66;
const BINDING: u8 = 1;
/// Where a SESSION_SETUP names the session that it takes the place of (MS-SMB2 2.2.5).
const PREVIOUS_SESSION: usize = 80;

impl Receiver<'_> {
    pub(super) fn request(
        &mut self,
        header: Smb2Header,
        bytes: &[u8],
        message: CapturedMessage<'_>,
        chain: &mut CompoundState,
    ) {
        let connection = self.state.learn(self.from, false, self.ledger);
        let client = self.state.client();
        let key = CommandKey::Smb2(header.command);
        let mut open = self.ledger.asked(key, message.end, client, connection);
        open.line.group = chain.group;
        let Some(mut ids) = header.ids else {
            self.ledger.detailed(&mut open);
            return self.ledger.needs_no_answer(open);
        };
        if header.is_related()
            && let Some(before) = chain.ids
        {
            ids.tree = before.tree;
            ids.session = before.session;
        }
        (chain.ids, chain.is_related) = (Some(ids), header.is_related());
        let is_of_session =
            ids.session != 0 && !matches!(header.command, code::NEGOTIATE | code::SESSION_SETUP);
        if is_of_session {
            let server = self.state.server();
            open.session = self.ledger.sessions.of(server, ids.session);
        }
        if !header.is_async() {
            open.share = self
                .ledger
                .share_of((open.session, ids.tree), header.command);
        }
        if header.command == code::NEGOTIATE {
            self.hash_negotiation(bytes);
        }
        let asked = request(header.command, bytes);
        self.detail(&mut open, asked, ids, chain);
        if header.command == code::SESSION_SETUP {
            let blob = Fields(bytes).part(76, 78).unwrap_or_default();
            let mut logon = self.state.logging_on(ids.session, token(blob));
            // Of 0 there is no session.
            logon.previous = Fields(bytes).u64(PREVIOUS_SESSION).unwrap_or(0);
            logon.is_binding = Fields(bytes).u8(SETUP_FLAGS).unwrap_or(0) & BINDING != 0;
            self.hash_logon_request(&mut logon, bytes);
            open.logon = Some(Box::new(logon));
        }
        self.ledger.detailed(&mut open);
        if header.command == code::CANCEL {
            return self.ledger.needs_no_answer(open);
        }
        self.state.wait(ids.message, open, self.ledger);
        if !self.state.early.is_empty() {
            self.take_early(ids.message);
        }
    }

    /// Fills in what a request is about.
    fn detail(
        &mut self,
        open: &mut OpenRequest,
        asked: RequestFields,
        ids: Smb2Ids,
        chain: &mut CompoundState,
    ) {
        open.line.offset = asked.offset;
        open.line.length = asked.length;
        open.line.level = asked.level;
        open.line.flags = asked.flags;
        open.line.value = asked.value;
        let is_create = asked.create.is_some();
        match asked.target {
            RequestTarget::Name(name) if open.key == CommandKey::Smb2(code::TREE_CONNECT) => {
                let share = name.rsplit('\\').next().unwrap_or_default();
                open.line.path = self.ledger.share_named(share);
            }
            RequestTarget::Name(name) => {
                let (paths, names) = (&mut self.ledger.paths, &mut self.ledger.names);
                open.line.path = paths.below(open.share, &name, names);
                chain.open = None;
                chain.creator = Some(ids.message);
            }
            // Alone it is the id of no open.
            RequestTarget::File(RELATED_FILE) if !chain.is_related => {}
            RequestTarget::File(RELATED_FILE) => self.related(open, chain),
            RequestTarget::File(id) => {
                let key = OpenKey::Smb2(open.session, id);
                chain.open = Some(key);
                self.used(open, key);
            }
            RequestTarget::None => {}
        }
        if let Some(create) = asked.create {
            open.line.create = Some(Box::new(TraceCreate {
                access: create.access,
                attributes: create.attributes,
                share: create.share,
                disposition: create.disposition,
                options: create.options,
                oplock: create.oplock,
                contexts: create.contexts,
                lease: create.lease,
                allocation: create.allocation,
                durable: create.durable,
                ..TraceCreate::default()
            }));
        }
        match asked.further {
            Some(further) if open.key == CommandKey::Smb2(code::QUERY_DIRECTORY) => {
                open.line.pattern = Some(self.ledger.names.pattern(&further));
            }
            Some(further) => {
                let (paths, names) = (&mut self.ledger.paths, &mut self.ledger.names);
                open.line.to = paths.below(open.share, &further, names);
            }
            None => {}
        }
        debug_assert!(!is_create || open.line.create.is_some());
    }

    /// Fills in the open that a request uses.
    fn used(&mut self, open: &mut OpenRequest, key: OpenKey) {
        open.open = Some(key);
        let OpenKey::Smb2(_, id) = key else { return };
        // An IOCTL of the connection names no file.
        if id == RELATED_FILE {
            return;
        }
        let found = self.ledger.open_of(key, open.share);
        open.line.handle = found.map(|found| found.handle);
        open.line.path = found.and_then(|found| found.path);
    }

    /// Fills in the open of an earlier request of the compound.
    fn related(&mut self, open: &mut OpenRequest, chain: &CompoundState) {
        if let Some(key) = chain.open {
            self.used(open, key);
        } else if let Some(creator) = chain.creator.and_then(|id| self.state.pending.get(&id)) {
            open.line.path = creator.line.path;
        }
    }
}

impl SmbState {
    /// Returns the log-on of a session after a further token.
    pub(in crate::connection) fn logging_on(&self, id: u64, token: LogonToken<'_>) -> OpenLogon {
        let before = self.logons.get(&id).cloned().unwrap_or_default();
        OpenLogon {
            mechanism: token.mechanism.or(before.mechanism),
            user: token.user.or(before.user),
            ..before
        }
    }
}
