//! What all connections of a capture add to: counts, sessions, names, and the trace.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use smbench_protocol::crypto::PreauthHash;
use smbench_protocol::kerberos::RecordedLogon;

use crate::command::CommandKey;
use crate::cutter::LongBytes;
use crate::distil::Distiller;
use crate::keys::KeyRing;
use crate::names::{NameTreatment, NameWriter, NodeNumber, PathTable};
use crate::opens::{OpenFile, OpenKey, OpenOwner, OpenTable};
use crate::sessions::{SessionNumber, SessionTable};
use crate::slice::CaptureSlice;
use crate::status::status_text;
use crate::tally::CaptureTally;
use crate::tcp::Moment;
use crate::trace::{LineWriter, SESSION_END, TraceLine};

/// Trees that are kept.
const TREES_MAX: usize = 1 << 16;
/// Clients that are kept by address.
const CLIENTS_MAX: usize = 100_000;

/// A tree: the id that the server gave is of a session.
pub(crate) type TreeKey = (Option<SessionNumber>, u32);

/// A request that waits for its answer.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    pub(crate) key: CommandKey,
    pub(crate) sent: Moment,
    client: IpAddr,
    /// Whether it is in the slice. That is known with its details.
    pub(crate) is_in_slice: bool,
    /// Whether it counts as in flight.
    pub(crate) is_in_flight: bool,
    pub(crate) session: Option<SessionNumber>,
    /// The open that it uses.
    pub(crate) open: Option<OpenKey>,
    /// The share's node.
    pub(crate) share: Option<NodeNumber>,
    pub(crate) line: TraceLine,
    pub(crate) logon: Option<Box<OpenLogon>>,
}

/// A log-on that waits for its answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenLogon {
    pub(crate) mechanism: Option<&'static str>,
    /// The id of the session that the server ends for it.
    pub(crate) previous: u64,
    /// It adds a connection to a session.
    pub(crate) is_binding: bool,
    pub(crate) user: Option<String>,
    /// The hash over its messages, if keys were given.
    pub(crate) preauth: Option<PreauthHash>,
    /// The CHALLENGE message of NTLM.
    pub(crate) challenge: Option<Box<[u8]>>,
    /// What a keytab shows of a log-on by Kerberos.
    pub(crate) kerberos: Option<RecordedLogon>,
    /// The session key, if a given password is the user's.
    pub(crate) key: Option<Vec<u8>>,
}

/// The final answer of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FinalAnswer {
    pub(crate) status: u32,
    pub(crate) moved: Option<u64>,
    pub(crate) at: Moment,
}

/// What all connections add to.
pub(crate) struct CaptureLedger {
    pub(crate) tally: CaptureTally,
    pub(crate) sessions: SessionTable,
    pub(crate) names: NameWriter,
    pub(crate) paths: PathTable,
    pub(crate) slice: CaptureSlice,
    pub(crate) trace: Option<LineWriter>,
    pub(crate) distiller: Option<Distiller>,
    pub(crate) opens: OpenTable,
    /// Shares of SMB2 by their trees: those of a session are the same on all its
    /// connections.
    trees: HashMap<TreeKey, Option<NodeNumber>>,
    pub(crate) keys: KeyRing,
    /// Memory for a decrypted message.
    pub(crate) plain: Vec<u8>,
    /// Memory for long messages while they arrive.
    pub(crate) long: LongBytes,
    /// Requests by the share that they go to.
    pub(crate) shares: BTreeMap<NodeNumber, u64>,
    pub(crate) dialects: BTreeMap<String, u64>,
    pub(crate) clients: BTreeSet<IpAddr>,
    pub(crate) connections: u32,
    /// Number of the last request.
    pub(crate) requests: u64,
    /// Requests and answers of all connections that wait for each other.
    pub(crate) waiting: usize,
    groups: u64,
    /// The time of the first frame.
    pub(crate) begin_ns: u64,
}

impl CaptureLedger {
    pub(crate) fn new(treatment: NameTreatment) -> Self {
        Self {
            tally: CaptureTally::default(),
            sessions: SessionTable::default(),
            names: NameWriter::new(treatment),
            paths: PathTable::default(),
            slice: CaptureSlice::default(),
            trace: None,
            distiller: None,
            opens: OpenTable::default(),
            trees: HashMap::new(),
            keys: KeyRing::default(),
            plain: Vec::new(),
            long: LongBytes::default(),
            shares: BTreeMap::new(),
            dialects: BTreeMap::new(),
            clients: BTreeSet::new(),
            connections: 0,
            requests: 0,
            waiting: 0,
            groups: 0,
            begin_ns: 0,
        }
    }

    /// Returns the number of the next compound.
    pub(crate) const fn next_group(&mut self) -> u64 {
        self.groups += 1;
        self.groups
    }

    /// Counts a connection, and returns its number.
    pub(crate) fn add_connection(&mut self, client: IpAddr) -> u32 {
        self.connections += 1;
        if self.clients.len() < CLIENTS_MAX {
            self.clients.insert(client);
        }
        self.connections
    }

    /// Numbers a request, and returns it without its details.
    pub(crate) fn asked(
        &mut self,
        key: CommandKey,
        sent: Moment,
        client: IpAddr,
        connection: u32,
    ) -> OpenRequest {
        self.requests += 1;
        OpenRequest {
            key,
            sent,
            client,
            is_in_slice: false,
            is_in_flight: false,
            session: None,
            open: None,
            share: None,
            line: TraceLine {
                number: self.requests,
                at_ns: sent.time_ns.saturating_sub(self.begin_ns),
                connection,
                ..TraceLine::default()
            },
            logon: None,
        }
    }

    /// Counts a request once its details are known, if it is in the slice.
    pub(crate) fn detailed(&mut self, request: &mut OpenRequest) {
        let share = request.share.or(request.line.path);
        request.is_in_slice = self.slice.has(request.sent, request.client)
            && self.slice.has_session(self.sessions.get(request.session))
            && self.slice.has_share(share);
        if !request.is_in_slice {
            return;
        }
        if let Some(session) = self.sessions.get(request.session) {
            session.requests += 1;
            session.client.get_or_insert(request.client);
        }
        if let Some(share) = request.share {
            *self.shares.entry(share).or_default() += 1;
        }
        for path in [request.share, request.line.path, request.line.to] {
            self.paths.mark_in_slice(path);
        }
        let command = self.tally.command(request.key);
        command.requests += 1;
        if let Some(length) = request.line.length {
            command.add_size(length);
        }
        request.is_in_flight = is_worked_on(request.key);
        if request.is_in_flight {
            self.tally.concurrency.asked(request.sent);
        }
    }

    /// Counts an answer or a notification of this command.
    pub(crate) fn counted_answer(&mut self, key: CommandKey, status: u32) {
        let command = self.tally.command(key);
        command.responses += 1;
        *command.statuses.entry(status).or_default() += 1;
    }

    /// Ends a request that waited, with its answer.
    pub(crate) fn answered(&mut self, mut request: Box<OpenRequest>, answer: FinalAnswer) {
        self.waiting -= 1;
        let took = answer.at.time_ns.saturating_sub(request.sent.time_ns);
        let moved = answer.moved.unwrap_or(0);
        if request.is_in_slice {
            let command = self.tally.command(request.key);
            command.matched += 1;
            command.bytes += moved;
            // A histogram that grows takes any value.
            let _ = command.service.record(took);
            if request.is_in_flight {
                self.tally.concurrency.answered(answer.at, moved);
            } else if is_worked_on(request.key) {
                self.tally.concurrency.moved(answer.at, moved);
            }
        }
        request.line.took_ns = Some(took);
        request.line.moved = answer.moved;
        self.write(request, Some(answer.status));
    }

    /// Ends a request that waited, and has no answer in the capture.
    pub(crate) fn unanswered(&mut self, request: Box<OpenRequest>, at: Moment) {
        self.waiting -= 1;
        if request.is_in_slice {
            *self.tally.unanswered.entry(request.key).or_default() += 1;
        }
        if request.is_in_flight {
            self.tally.concurrency.left(1, at);
        }
        self.write(request, None);
    }

    /// Ends a request that never has an answer.
    pub(crate) fn needs_no_answer(&mut self, request: OpenRequest) {
        if request.is_in_flight {
            self.tally.concurrency.left(1, request.sent);
        }
        self.write(Box::new(request), None);
    }

    /// Ends a session that logged off.
    pub(crate) fn log_off(&mut self, session: SessionNumber) {
        self.sessions.end(session);
        self.opens.end(OpenOwner::Session(Some(session)));
    }

    /// Notes in the trace that a session ended without a log-off.
    pub(crate) fn end_session(&mut self, session: SessionNumber, connection: u32, at: Moment) {
        self.opens.end(OpenOwner::Session(Some(session)));
        let Some(record) = self.sessions.end(session) else {
            return;
        };
        if record.requests == 0 || !self.slice.has_time(at) {
            return;
        }
        self.requests += 1;
        let line = TraceLine {
            number: self.requests,
            at_ns: at.time_ns.saturating_sub(self.begin_ns),
            took_ns: Some(0),
            connection,
            session: Some(session + 1),
            command: SESSION_END.to_owned(),
            status: Some(status_text(0)),
            ..TraceLine::default()
        };
        if let Some(trace) = &mut self.trace {
            trace.write(&line);
        }
    }

    fn write(&mut self, mut request: Box<OpenRequest>, status: Option<u32>) {
        let is_wanted = self.trace.is_some() || self.distiller.is_some();
        if !request.is_in_slice || !is_wanted {
            return;
        }
        request.line.command = request.key.name();
        request.line.status = status.map(status_text);
        request.line.session = request.session.map(|number| number + 1);
        if let Some(trace) = &mut self.trace {
            trace.write(&request.line);
        }
        if let Some(distiller) = &mut self.distiller {
            distiller.add(&request.line);
        }
    }

    /// Returns the node of a share.
    pub(crate) fn share_named(&mut self, share: &str) -> Option<NodeNumber> {
        let node = self.paths.child(None, share, &mut self.names);
        let written = self.names.written(share);
        self.slice.note_share(share, &written, node);
        node
    }

    /// Notes the user of a session, as the log-on names it.
    pub(crate) fn name_session(&mut self, session: Option<SessionNumber>, user: Option<&str>) {
        if let (Some(session), Some(user)) = (self.sessions.get(session), user) {
            let written = self.names.written(user);
            session.is_of_user = self.slice.is_of_user(user, &written);
            session.user = Some(written);
        }
    }

    /// Notes the share of a tree.
    pub(crate) fn connect_tree(&mut self, tree: TreeKey, share: Option<NodeNumber>) {
        if self.trees.len() < TREES_MAX || self.trees.contains_key(&tree) {
            self.trees.insert(tree, share);
        }
    }

    /// Returns the share of a request of SMB2. The name of one whose TREE_CONNECT was not
    /// seen is made up.
    pub(crate) fn share_of(&mut self, tree: TreeKey, command: u16) -> Option<NodeNumber> {
        const CANCEL: u16 = 12;
        const ECHO: u16 = 13;
        let known = self.trees.get(&tree).copied();
        let is_of_file = (5..=17).contains(&command) && !matches!(command, CANCEL | ECHO);
        if known.is_some() || !is_of_file || self.trees.len() >= TREES_MAX {
            return known.flatten();
        }
        let share = self.paths.made_up(None);
        if let Some(node) = share.and_then(|share| self.paths.get(share)) {
            self.slice.note_share(&node.name, &node.name, share);
        }
        self.trees.insert(tree, share);
        share
    }

    /// Returns the open that a request uses. One that was not seen is made up.
    pub(crate) fn open_of(&mut self, key: OpenKey, share: Option<NodeNumber>) -> Option<OpenFile> {
        if let Some(&mut open) = self.opens.get(key) {
            return Some(open);
        }
        // Without room, no name is made up.
        if !self.opens.has_room(key) {
            return None;
        }
        let path = self.paths.made_up(share);
        self.opens.add(key, path)
    }

    /// Notes what a CREATE found: the first one of the slice that did tells the size, or else
    /// the first one of the capture.
    pub(crate) fn found(&mut self, request: &OpenRequest, is_directory: bool) {
        /// FILE_OPENED: the file was there.
        const OPENED: u32 = 1;
        let node = request.line.path.and_then(|path| self.paths.get(path));
        let (Some(node), Some(create)) = (node, &request.line.create) else {
            return;
        };
        let is_first = request.is_in_slice && !node.is_opened;
        if is_first || node.is_directory.is_none() {
            node.is_directory = Some(is_directory);
            node.size = create
                .size
                .filter(|_| create.action == Some(OPENED) && !is_directory);
        }
        node.is_opened |= request.is_in_slice;
    }
}

/// Whether the server works on the command until it answers. A CHANGE_NOTIFY waits for
/// others.
const fn is_worked_on(key: CommandKey) -> bool {
    const CHANGE_NOTIFY: u16 = 15;
    !matches!(key, CommandKey::Smb2(CHANGE_NOTIFY))
}
