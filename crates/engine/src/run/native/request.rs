//! Encodes operations as requests. Nothing here allocates: names are encoded and
//! files are opened before the load begins.

pub(in crate::run) mod create;
pub(in crate::run) mod info;

use smbench_model::action::Action;
use smbench_model::files::ScratchName;
use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::flush::FlushRequest;
use smbench_protocol::command::ioctl::copy_chunk::{CopyChunk, CopyChunkRequest};
use smbench_protocol::command::ioctl::{IoctlRequest, fsctl};
use smbench_protocol::command::lock::{LockElement, LockRequest, lock_flags};
use smbench_protocol::command::read::{ReadRequest, read_flags};
use smbench_protocol::command::write::{WriteRequest, write_flags};
use smbench_protocol::connection::{EMPTY_BODY, NoCredit};
use smbench_protocol::credit::charge_for;
use smbench_protocol::header::Command;
use smbench_protocol::{Connection, FileId, SessionIndex};

use super::Native;
use super::replay::FRAME_CHARGES;
use crate::run::driver::{Busy, Call};
use crate::session::caching::Object;
use create::Name;

/// Number of requests in a frame of CREATE, another request, CLOSE.
const FRAME_REQUESTS: u8 = 3;
/// Bytes that every server copies at a time, and the maximum number of such chunks
/// in one request.
const CHUNK_LEN: u32 = 1 << 20;
const CHUNKS_MAX: usize = 8;
/// Maximum bytes of the list of a server's interfaces: as many as one credit pays
/// for.
const INTERFACES_LEN: u32 = 64 * 1024;

impl Native {
    /// Appends the request of a call, or its frame of several requests.
    pub(super) fn encode(
        &mut self,
        call: &Call,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        if self.replay.is_some() {
            return self.encode_recorded(call, out, data);
        }
        match call.operation.kind {
            OpKind::Read => {
                let request = self.read_request(call, self.held_file(call));
                let (connection, session) = self.connection(call);
                connection.read(session, call.slot, &request, out)
            }
            OpKind::Write => {
                let request = self.write_request(call);
                let (connection, session) = self.connection(call);
                connection.write(session, call.slot, &request, out, data)
            }
            OpKind::Flush | OpKind::FinalFlush => {
                let request = FlushRequest {
                    file_id: self.held_file(call),
                };
                self.request(Command::Flush, call, out, |out| request.encode(out))
            }
            OpKind::LogOn => return self.log_on(call, out),
            _ => self.encode_rest(call, out),
        }
        .map_err(|NoCredit| Busy::Credits)
    }

    /// Encodes operations that carry no data of their own.
    fn encode_rest(&mut self, call: &Call, out: &mut Vec<u8>) -> Result<(), NoCredit> {
        match call.operation.kind {
            OpKind::Read | OpKind::Write | OpKind::Flush | OpKind::FinalFlush | OpKind::LogOn => {
                unreachable!("these were told apart")
            }
            OpKind::LogOff => self.log_off(call, out),
            OpKind::OplockBreak | OpKind::Reauthentication => {
                unreachable!("no mix holds what servers ask for")
            }
            OpKind::Create => self.create(call, out),
            OpKind::Close => {
                let request = close(self.opened(call));
                self.request(Command::Close, call, out, |out| request.encode(out))
            }
            OpKind::Lock | OpKind::Unlock => self.lock(call, out),
            OpKind::QueryFile
            | OpKind::QueryFs
            | OpKind::QuerySecurity
            | OpKind::SetFile
            | OpKind::Rename
            | OpKind::Delete
            | OpKind::SetSecurity => self.info(call, out),
            OpKind::QueryDirectory | OpKind::ChangeNotify => self.directory(call, out),
            OpKind::Cancel => {
                let (connection, _) = self.connection(call);
                connection.cancel(call.slot, out).unwrap_or_else(|_| {
                    unreachable!("the loop knows of every answer before it cancels")
                });
                Ok(())
            }
            OpKind::CopyChunk => self.copy_chunk(call, out),
            OpKind::QueryInterfaces => {
                let request = IoctlRequest {
                    code: fsctl::FSCTL_QUERY_NETWORK_INTERFACE_INFO,
                    file_id: FileId::RELATED,
                    input: &[],
                    output_max: INTERFACES_LEN,
                };
                self.request(Command::Ioctl, call, out, |out| request.encode(out))
            }
            OpKind::Echo => self.request(Command::Echo, call, out, |out| {
                out.extend_from_slice(&EMPTY_BODY);
            }),
            OpKind::ValidateNegotiate => {
                let (connection, session) = self.connection(call);
                connection.validate_negotiation(session, call.slot, out)
            }
            OpKind::TreeConnect => {
                let session = self.held[call.member].session;
                let connection = self.links.connection();
                connection.tree_connect(session, call.slot, &self.share, out)
            }
            OpKind::TreeDisconnect => {
                let tree = self.places[call.slot as usize].tree;
                let (connection, session) = self.connection(call);
                connection.tree_disconnect(session, call.slot, tree, out)
            }
            OpKind::CreateReadClose | OpKind::CreateQueryClose | OpKind::CreateSetClose => {
                self.frame(call, out)
            }
            OpKind::QueryPath
            | OpKind::FindFirst
            | OpKind::Unlink
            | OpKind::RenamePath
            | OpKind::Mkdir
            | OpKind::Rmdir
            | OpKind::Deltree => unreachable!("no mix holds what replays alone have"),
        }
    }

    /// Appends a request that costs one credit.
    fn request(
        &mut self,
        command: Command,
        call: &Call,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        let (connection, session) = self.connection(call);
        connection.request(session, command, 1, call.slot, out, body)
    }

    /// Returns the connection chosen for a call, and the session there.
    fn connection(&mut self, call: &Call) -> (&mut Connection, SessionIndex) {
        let session = self.held[call.member].session;
        (self.links.connection(), session)
    }

    /// Returns the held-open file of a call.
    fn held_file(&self, call: &Call) -> FileId {
        self.held[call.member].files[call.operation.file as usize]
    }

    /// Returns the open that the CREATE of the call's action created.
    fn opened(&self, call: &Call) -> FileId {
        self.places[call.slot as usize].open
    }

    fn read_request(&self, call: &Call, file_id: FileId) -> ReadRequest {
        let unbuffered = matches!(
            self.mix.action(&call.operation),
            Action::Read { unbuffered: true }
        );
        ReadRequest {
            file_id,
            offset: call.operation.offset,
            length: call.operation.length,
            minimum_count: 0,
            flags: if unbuffered {
                read_flags::UNBUFFERED
            } else {
                0
            },
        }
    }

    fn write_request(&self, call: &Call) -> WriteRequest {
        let mut flags = 0;
        if let Action::Write {
            write_through,
            unbuffered,
        } = self.mix.action(&call.operation)
        {
            flags |= if *write_through {
                write_flags::WRITE_THROUGH
            } else {
                0
            };
            flags |= if *unbuffered {
                write_flags::UNBUFFERED
            } else {
                0
            };
        }
        WriteRequest {
            file_id: self.held_file(call),
            offset: call.operation.offset,
            length: call.operation.length,
            flags,
        }
    }

    fn create(&mut self, call: &Call, out: &mut Vec<u8>) -> Result<(), NoCredit> {
        let dialect = self.links.connection().negotiated().dialect;
        let action = self.mix.action(&call.operation);
        let (mut contexts, mut len) = create::contexts(action, dialect, || self.unique.next_guid());
        let (name, object) = match create::name(action) {
            Name::File => {
                let file = call.operation.file;
                let name = &self.held[call.member].paths[file as usize];
                (name, Object::File(file))
            }
            Name::Scratch(name) => {
                let path = &self.places[call.slot as usize].paths[name as usize];
                (path, Object::Scratch(call.slot, name))
            }
        };
        let (oplock, lease) = match create::may_cache(action) {
            true => self.cache.request(call.member, object),
            false => (OplockLevel::None, None),
        };
        if let Some(lease) = lease {
            contexts[len] = lease;
            len += 1;
        }
        let mut request = create::request(action, name, &contexts[..len]);
        let asks = oplock != OplockLevel::None;
        if asks {
            request.oplock = oplock;
            request.contexts = &contexts[..len];
        }
        self.places[call.slot as usize].asks_to_cache = asks;
        let session = self.held[call.member].session;
        let connection = self.links.connection();
        connection.request(session, Command::Create, 1, call.slot, out, |out| {
            request.encode(out);
        })
    }

    fn lock(&mut self, call: &Call, out: &mut Vec<u8>) -> Result<(), NoCredit> {
        let Operation {
            kind,
            offset,
            length,
            ..
        } = call.operation;
        let exclusive = matches!(
            self.mix.action(&call.operation),
            Action::Lock {
                exclusive: true,
                ..
            }
        );
        let flags = match kind {
            OpKind::Unlock => lock_flags::UNLOCK,
            // A lock that waits would block the slot without loading the server.
            _ if exclusive => lock_flags::EXCLUSIVE | lock_flags::FAIL_IMMEDIATELY,
            _ => lock_flags::SHARED | lock_flags::FAIL_IMMEDIATELY,
        };
        let locks = [LockElement {
            offset,
            length: length.into(),
            flags,
        }];
        let request = LockRequest {
            file_id: self.held_file(call),
            sequence: 0,
            locks: &locks,
        };
        self.request(Command::Lock, call, out, |out| {
            // Encoding a single range cannot fail.
            let _ = request.encode(out);
        })
    }

    /// Encodes QUERY_INFO and SET_INFO of an open.
    fn info(&mut self, call: &Call, out: &mut Vec<u8>) -> Result<(), NoCredit> {
        let session = self.held[call.member].session;
        let connection = self.links.connection();
        match self.mix.action(&call.operation) {
            Action::QueryInfo { class } => {
                let file = self.held[call.member].files[call.operation.file as usize];
                let request = info::query(*class, file);
                connection.request(session, Command::QueryInfo, 1, call.slot, out, |out| {
                    request.encode(out);
                })
            }
            Action::SetInfo { class } => {
                let (file, renamed) = match class.is_chain() {
                    true => {
                        let place = &self.places[call.slot as usize];
                        let renamed = &place.paths[ScratchName::Renamed as usize];
                        (place.open, Some(renamed))
                    }
                    false => {
                        let files = &self.held[call.member].files;
                        (files[call.operation.file as usize], None)
                    }
                };
                let request = info::set(*class, file, self.file_size, renamed);
                connection.request(session, Command::SetInfo, 1, call.slot, out, |out| {
                    request.encode(out);
                })
            }
            other => unreachable!("{other:?} asks and sets nothing"),
        }
    }

    fn directory(&mut self, call: &Call, out: &mut Vec<u8>) -> Result<(), NoCredit> {
        let directory = self.held[call.member].directory;
        let session = self.held[call.member].session;
        let connection = self.links.connection();
        match self.mix.action(&call.operation) {
            Action::QueryDirectory { class, .. } => {
                let pattern = &self.patterns[usize::from(call.operation.action)];
                let request = info::list(*class, directory, pattern);
                connection.request(session, Command::QueryDirectory, 1, call.slot, out, |out| {
                    request.encode(out);
                })
            }
            Action::ChangeNotify { filter, recursive } => {
                let request = info::watch(filter, *recursive, directory);
                self.request(Command::ChangeNotify, call, out, |out| request.encode(out))
            }
            other => unreachable!("{other:?} is about no directory"),
        }
    }

    fn copy_chunk(&mut self, call: &Call, out: &mut Vec<u8>) -> Result<(), NoCredit> {
        let Operation { file, .. } = call.operation;
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
            source: self.held[call.member].resume_keys[file as usize],
            chunks: &chunks[..count],
        };
        self.request(Command::Ioctl, call, out, |out| request.encode(out))
    }

    /// Encodes CREATE, another request and CLOSE in one frame. The last two refer
    /// to the open that the CREATE makes.
    fn frame(&mut self, call: &Call, out: &mut Vec<u8>) -> Result<(), NoCredit> {
        let tag = call.slot;
        let read = self.read_request(call, FileId::RELATED);
        let action = self.mix.action(&call.operation);
        let name = &self.held[call.member].paths[call.operation.file as usize];
        let create = create::request(action, name, &[]);
        let close = close(FileId::RELATED);
        let session = self.held[call.member].session;
        let connection = self.links.connection();
        let chain = connection
            .chain(session, out)
            .request(Command::Create, 1, tag, |out| create.encode(out));
        let chain = match action {
            Action::CreateReadClose => chain.read(tag, &read),
            Action::CreateQueryClose { class } => {
                let query = info::query(*class, FileId::RELATED);
                chain.request(Command::QueryInfo, 1, tag, |out| query.encode(out))
            }
            Action::CreateSetClose { class } => {
                let set = info::set(*class, FileId::RELATED, self.file_size, None);
                chain.request(Command::SetInfo, 1, tag, |out| set.encode(out))
            }
            other => unreachable!("{other:?} is no frame of several requests"),
        };
        chain
            .request(Command::Close, 1, tag, |out| close.encode(out))
            .finish()?;
        let place = &mut self.places[tag as usize];
        place.due = FRAME_REQUESTS;
        place.asks_to_cache = false;
        Ok(())
    }
}

/// Returns the chunks of a copy of an operation's range.
pub(in crate::run) fn copied_chunks(operation: &Operation) -> impl Iterator<Item = CopyChunk> {
    let Operation { offset, length, .. } = *operation;
    (0..length.div_ceil(CHUNK_LEN)).map(move |at| {
        let start = at * CHUNK_LEN;
        CopyChunk {
            source: offset + u64::from(start),
            target: start.into(),
            length: CHUNK_LEN.min(length - start),
        }
    })
}

/// Returns whether a connection has the credits for a call.
pub(super) fn is_afforded(call: &Call, connection: &Connection) -> bool {
    let moved = charge_for(call.operation.length);
    match call.operation.kind {
        OpKind::Read | OpKind::Write => connection.affords(&[moved]),
        OpKind::CreateReadClose => connection.affords(&[1, moved, 1]),
        OpKind::CreateQueryClose | OpKind::CreateSetClose => connection.affords(&[1; 3]),
        OpKind::QueryPath
        | OpKind::FindFirst
        | OpKind::Unlink
        | OpKind::RenamePath
        | OpKind::Mkdir
        | OpKind::Rmdir
        | OpKind::Deltree => connection.affords(&FRAME_CHARGES),
        _ => connection.affords(&[1]),
    }
}

const fn close(file_id: FileId) -> CloseRequest {
    CloseRequest { file_id, flags: 0 }
}
