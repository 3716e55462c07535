//! Encodes the operations of a mix as requests. Nothing here allocates: names are
//! encoded and files are opened before the load begins.

mod flags;

use std::sync::Arc;

use smbench_model::action::Action;
use smbench_model::files::ScratchName;
use smbench_model::kind::OpKind;
use smbench_model::operations::Mix;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::ioctl::copy_chunk::{CopyChunk, CopyChunkRequest};
use smbench_protocol::command::ioctl::{IoctlRequest, fsctl};
use smbench_protocol::connection::{EMPTY_BODY, NoCredit};
use smbench_protocol::credit::charge_for;
use smbench_protocol::header::Command;
use smbench_protocol::{Completion, Connection, FileId};

use super::encode::{Encode, To, read};
use super::open;
use super::state::{CachingNews, ClientSession, GroupState, SlotObjects};
use crate::drivers::driver::{Answer, Busy, Call};
use crate::drivers::dropped::Dropped;
use crate::drivers::folder::NumberedPaths;
use crate::drivers::links::Links;
use crate::drivers::listings;
use crate::drivers::prepare;
use crate::drivers::requests::create::{self, Name, Unique};
use crate::drivers::requests::{copied_chunks, flags_of_lock, info};
use crate::drivers::site::Site;
use crate::drivers::walking::WalkQueue;
use crate::smb::session::caching::Object;
use crate::smb::session::{self, Session, SessionError};

/// Number of requests in a frame of CREATE, another request, CLOSE.
pub(super) const FRAME_REQUESTS: u8 = 3;
/// Maximum number of chunks in one request.
const CHUNKS_MAX: usize = 8;
/// Maximum bytes of the list of a server's interfaces, for one credit.
const INTERFACES_LEN: u32 = 64 * 1024;

/// Encodes the operations of a mix.
pub(crate) struct MixEncoder {
    pub(super) mix: Arc<Mix>,
    /// Search pattern of each action of the mix; empty if no action lists a
    /// directory.
    pub(super) patterns: Box<[WireName]>,
    /// Paths by number.
    pub(super) folder: NumberedPaths,
    /// The directories that each member walks; empty if clients do not walk.
    pub(super) walks: Vec<WalkQueue>,
    /// Name of the share, for further tree connects.
    share: WireName,
    /// Size of each file in bytes.
    pub(super) file_size: u64,
    unique: Unique,
}

impl Encode for MixEncoder {
    fn new(site: &Site) -> Result<Self, SessionError> {
        Ok(Self {
            mix: Arc::clone(&site.mix),
            patterns: open::patterns(site)?,
            folder: NumberedPaths::of(site)?,
            walks: Vec::new(),
            share: prepare::share(site, |server, share| format!(r"\\{server}\{share}"))?,
            file_size: site.plan.only().workload.files.size,
            unique: Unique::new(session::random_u64()),
        })
    }

    async fn prepare(
        &mut self,
        site: &Site,
        client: u32,
        session: &mut Session,
        _: &mut ClientSession,
    ) -> Result<Vec<SlotObjects>, SessionError> {
        self.walks.extend(WalkQueue::of(site)?);
        open::places(site, client, session).await
    }

    fn encode(
        group: &mut GroupState<Self>,
        links: &mut Links,
        call: &Call,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let operation = &call.operation;
        match operation.kind {
            OpKind::Read => {
                let (file, flags) = (group.held_file(call), group.read_flags(operation));
                group.to(links, call, out).read(file, operation, flags)
            }
            OpKind::Write => {
                let (file, flags) = (group.held_file(call), group.write_flags(operation));
                let to = group.to(links, call, out);
                to.write(file, operation, flags, data)
            }
            OpKind::Flush | OpKind::FinalFlush => {
                let file = group.held_file(call);
                group.to(links, call, out).flush(file)
            }
            OpKind::LogOn => return group.log_on(links, call, out),
            OpKind::WalkOpen => return group.walk(call, group.to(links, call, out)),
            kind => {
                let to = group.to(links, call, out);
                let sent = if kind.is_step() {
                    group.step(call, to, data)
                } else {
                    group.encode_rest(call, to)
                };
                group.note_change(call, sent)
            }
        }
        .map_err(|NoCredit| Busy::Credits)
    }

    fn answered<'a>(
        _: &mut GroupState<Self>,
        answer: Answer<'a>,
        _: &Completion<'_>,
        _: &mut Connection,
        _: &mut Vec<u8>,
    ) -> Result<Option<Answer<'a>>, Dropped> {
        Ok(Some(answer))
    }

    fn holder<'a>(
        &'a mut self,
        open: FileId,
        _: &[ClientSession],
        places: &'a mut [SlotObjects],
    ) -> Option<(usize, &'a mut OplockLevel)> {
        let mut places = places.iter_mut().enumerate();
        let (slot, place) = places.find(|(_, place)| place.open == open)?;
        Some((slot, &mut place.level))
    }
}

impl GroupState<MixEncoder> {
    /// Encodes operations that carry no data of their own.
    fn encode_rest(&mut self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        match call.operation.kind {
            OpKind::LogOff => self.log_off(to),
            OpKind::OplockBreak | OpKind::Reauthentication => {
                unreachable!("no mix holds what servers ask for")
            }
            OpKind::Session
            | OpKind::SessionEnd
            | OpKind::SessionConnect
            | OpKind::SessionNegotiate
            | OpKind::SessionLogOn
            | OpKind::SessionTreeConnect => {
                unreachable!("sessions of their own have another driver")
            }
            OpKind::Create => self.create(call, to),
            OpKind::Close => to.close(self.opened(call)),
            OpKind::Lock | OpKind::Unlock => self.lock(call, to),
            OpKind::QueryFile
            | OpKind::QueryFs
            | OpKind::QuerySecurity
            | OpKind::SetFile
            | OpKind::Rename
            | OpKind::Delete
            | OpKind::SetSecurity => self.info(call, to),
            OpKind::QueryDirectory | OpKind::ChangeNotify => self.directory(call, to),
            OpKind::Watch => self.watch(call, to),
            OpKind::Cancel => {
                to.connection.cancel(to.tag, to.out).unwrap_or_else(|_| {
                    unreachable!("the loop knows of every answer before it cancels")
                });
                Ok(())
            }
            OpKind::CopyChunk => self.copy_chunk(call, to),
            OpKind::QueryInterfaces => {
                let request = IoctlRequest {
                    code: fsctl::FSCTL_QUERY_NETWORK_INTERFACE_INFO,
                    file_id: FileId::RELATED,
                    input: &[],
                    output_max: to.connection.negotiated().output_len(INTERFACES_LEN),
                };
                to.request(Command::Ioctl, |out| request.encode(out))
            }
            OpKind::Echo => to.request(Command::Echo, |out| out.extend_from_slice(&EMPTY_BODY)),
            OpKind::ValidateNegotiate => to
                .connection
                .validate_negotiation(to.session, to.tag, to.out),
            OpKind::TreeConnect => {
                to.connection
                    .tree_connect(to.session, to.tag, &self.encoder.share, to.out)
            }
            OpKind::TreeDisconnect => {
                let tree = self.places[call.slot as usize].tree;
                to.connection
                    .tree_disconnect(to.session, to.tag, tree, to.out)
            }
            OpKind::CreateReadClose | OpKind::CreateQueryClose | OpKind::CreateSetClose => {
                self.frame(call, to)
            }
            OpKind::Stat => self.stat(call, to),
            OpKind::LookupMissing => self.open_step(call, to),
            OpKind::QueryPath
            | OpKind::FindFirst
            | OpKind::Unlink
            | OpKind::RenamePath
            | OpKind::Mkdir
            | OpKind::Rmdir
            | OpKind::Deltree => unreachable!("no mix holds what replays alone have"),
            other => unreachable!("{} was told apart, or is no request", other.name()),
        }
    }

    /// Returns the open that the CREATE of the call's action created.
    fn opened(&self, call: &Call) -> FileId {
        self.places[call.slot as usize].open
    }

    fn action(&self, call: &Call) -> &Action {
        self.encoder.mix.action(&call.operation)
    }

    fn create(&mut self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        let dialect = to.connection.negotiated().dialect;
        let MixEncoder { mix, unique, .. } = &mut self.encoder;
        let action = mix.action(&call.operation);
        let (mut contexts, mut len) = create::contexts(action, dialect, || unique.next_guid());
        let (name, object) = match create::name(action) {
            Name::File => {
                let file = call.operation.file;
                let name = self.held[call.member].path(mix.files(), file);
                (name, Object::File(file))
            }
            Name::Scratch(name) => {
                let path = &self.places[call.slot as usize].paths[name as usize];
                (path, Object::Scratch(call.slot, name))
            }
        };
        let (oplock, lease) = if create::may_cache(action) {
            let parent = listings::parent(mix.files(), object);
            self.cache.request(call.member, object, parent)
        } else {
            (OplockLevel::None, None)
        };
        if let Some(lease) = lease {
            contexts[len] = lease;
            len += 1;
        }
        let mut request = create::request(action, name, &contexts[..len]);
        if oplock != OplockLevel::None {
            request.oplock = oplock;
            request.contexts = &contexts[..len];
        }
        let sent = to.create(&request);
        self.places[call.slot as usize].caching = CachingNews::of(oplock);
        sent
    }

    fn lock(&self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        let flags = flags_of_lock(call.operation.kind, self.action(call));
        to.lock(self.held_file(call), &call.operation, flags)
    }

    /// Encodes QUERY_INFO and SET_INFO of an open.
    fn info(&self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        match self.action(call) {
            Action::QueryInfo { class } => {
                let file = self.held_file(call);
                let query = info::query(*class, file, to.connection.negotiated());
                to.query(&query)
            }
            Action::SetInfo { class } => {
                let (file, renamed) = if class.is_chain() {
                    let place = &self.places[call.slot as usize];
                    let renamed = &place.paths[ScratchName::Renamed as usize];
                    (place.open, Some(renamed))
                } else {
                    (self.held_file(call), None)
                };
                to.set(&info::set(*class, file, self.encoder.file_size, renamed))
            }
            other => unreachable!("{other:?} asks and sets nothing"),
        }
    }

    pub(super) fn directory(&self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        let directory = self.held[call.member].directory;
        match self.action(call) {
            Action::QueryDirectory { class, .. } => {
                let pattern = &self.encoder.patterns[call.operation.action as usize];
                let list = info::list(*class, directory, pattern, to.connection.negotiated());
                to.list(&list)
            }
            Action::ChangeNotify { filter, recursive }
            | Action::Watch {
                filter, recursive, ..
            } => {
                let negotiated = to.connection.negotiated();
                let request = info::watch(filter, *recursive, directory, negotiated);
                to.request(Command::ChangeNotify, |out| request.encode(out))
            }
            other => unreachable!("{other:?} is about no directory"),
        }
    }

    fn copy_chunk(&self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        let mut chunks = [CopyChunk {
            source: 0,
            target: 0,
            length: 0,
        }; CHUNKS_MAX];
        let mut count = 0;
        for (chunk, copied) in chunks.iter_mut().zip(copied_chunks(&call.operation)) {
            *chunk = copied;
            count += 1;
        }
        let request = CopyChunkRequest {
            code: fsctl::FSCTL_SRV_COPYCHUNK,
            target: self.opened(call),
            source: self.held[call.member].resume_keys[call.operation.file as usize],
            chunks: &chunks[..count],
        };
        to.request(Command::Ioctl, |out| request.encode(out))
    }

    /// Encodes CREATE, another request and CLOSE in one frame.
    fn frame(&mut self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        let (tag, mix) = (to.tag, &self.encoder.mix);
        let action = mix.action(&call.operation);
        let negotiated = *to.connection.negotiated();
        let name = self.held[call.member].path(mix.files(), call.operation.file);
        to.frame(&create::request(action, name, &[]), |chain| match action {
            Action::CreateReadClose => chain.read(tag, &read(FileId::RELATED, &call.operation, 0)),
            Action::CreateQueryClose { class } => {
                let query = info::query(*class, FileId::RELATED, &negotiated);
                chain.request(Command::QueryInfo, 1, tag, |out| query.encode(out))
            }
            Action::CreateSetClose { class } => {
                let set = info::set(*class, FileId::RELATED, self.encoder.file_size, None);
                chain.request(Command::SetInfo, 1, tag, |out| set.encode(out))
            }
            other => unreachable!("{other:?} is no frame of several requests"),
        })?;
        let place = &mut self.places[tag as usize];
        place.due = FRAME_REQUESTS;
        place.caching = CachingNews::None;
        Ok(())
    }
}

/// Returns whether a connection has the credits for a call.
pub(super) fn is_afforded(call: &Call, connection: &Connection) -> bool {
    let moved = charge_for(call.operation.length);
    match call.operation.kind {
        OpKind::Read
        | OpKind::Write
        | OpKind::CopyInWrite
        | OpKind::CopyOutRead
        | OpKind::SaveWrite => connection.affords(&[moved]),
        OpKind::CreateReadClose => connection.affords(&[1, moved, 1]),
        OpKind::CreateQueryClose
        | OpKind::CreateSetClose
        | OpKind::Stat
        | OpKind::NeighbourLook
        | OpKind::NeighbourRead
        | OpKind::SaveBackup
        | OpKind::SaveRename
        | OpKind::SaveDelete
        | OpKind::QueryPath
        | OpKind::FindFirst
        | OpKind::Unlink
        | OpKind::RenamePath
        | OpKind::Mkdir
        | OpKind::Rmdir
        | OpKind::Deltree => connection.affords(&[1; FRAME_REQUESTS as usize]),
        _ => connection.affords(&[1]),
    }
}
