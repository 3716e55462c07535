//! Encodes the operations of a trace, and processes their answers.
//!
//! SMB1 did some operations by name in one request. SMB2 needs a CREATE and a CLOSE
//! around them. All three are sent in one frame, and its first status that is not a
//! success is the status of the operation. A client has one operation in flight, so
//! the number of its slot is that of the member. Only the deletion of a tree
//! allocates.
//!
//! A server may leave the rest of a frame undone after a failure. The CLOSE is then
//! sent once more, so that nothing stays open.

mod deltree;
mod wire;

use smbench_model::kind::OpKind;
use smbench_model::trace::{NO_HANDLE, Record, Trace, Verb};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, Disposition, OplockLevel, access, options};
use smbench_protocol::command::flush::FlushRequest;
use smbench_protocol::command::lock::{LockElement, LockRequest, lock_flags};
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::command::set_info::{Existing, SetInfo, SetInfoRequest};
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::connection::NoCredit;
use smbench_protocol::header::Command;
use smbench_protocol::{Completion, Connection, FileId, NtStatus, SessionIndex};

use super::open::open_directory;
use super::{Native, Place};
use crate::drivers::driver::{Answer, Busy, Call, Extent};
use crate::drivers::dropped::Dropped;
use crate::drivers::site::Site;
use crate::smb::session::caching::Object;
use crate::smb::session::{Session, SessionError};
use crate::smb::share::{REPLAY_DIRECTORY, join, populate};
use deltree::{Deltree, Next};
use wire::{To, close, deletion, existing, listing, query, recorded, set};

/// Charges of the longest frame: CREATE, another request, CLOSE.
pub(super) const FRAME_CHARGES: [u16; 3] = [1; 3];
/// Maximum length of the directory's name in UTF-16 units. It leaves room for any
/// name below it.
const ROOT_UNITS_MAX: usize = 16_000;

/// State of the replaying clients of a group.
pub(super) struct Replay {
    /// The directory of all clients, with a backslash at the end.
    root: WireName,
    players: Box<[Player]>,
    /// Buffers for the names in a request.
    name: WireName,
    other: WireName,
}

/// State of one client.
pub(super) struct Player {
    /// The number that replaces the 1 in `client1`.
    number: WireName,
    /// The directory of all clients, for queries about its file system.
    directory: FileId,
    /// Open files, indexed by the handle of the trace.
    handles: Box<[Handle]>,
    current: Option<Current>,
}

/// An open file and its oplock.
#[derive(Clone, Copy, Default)]
struct Handle {
    open: FileId,
    level: OplockLevel,
}

/// An operation in flight.
struct Current {
    record: Record,
    /// Whether its frame contains a CLOSE.
    closes: bool,
    /// Whether the CLOSE was sent again.
    is_closing: bool,
    /// First status of its frame that is not a success.
    status: NtStatus,
    deltree: Option<Box<Deltree>>,
}

/// Creates the files and opens the directory that a client needs at the start.
pub(crate) async fn open(
    site: &Site,
    trace: &Trace,
    client: u32,
    session: &mut Session,
) -> Result<Player, SessionError> {
    let root = join(&site.directory, REPLAY_DIRECTORY);
    populate(session, &root, client, trace, site.salt).await?;
    let number = (u64::from(client) + 1).to_string();
    Ok(Player {
        number: wire_name(&number)?,
        directory: open_directory(session, &root).await?,
        handles: vec![Handle::default(); trace.handles as usize].into_boxed_slice(),
        current: None,
    })
}

impl Replay {
    pub(crate) fn new(site: &Site, players: Vec<Player>) -> Result<Self, SessionError> {
        let root = join(&site.directory, REPLAY_DIRECTORY) + "\\";
        match root.encode_utf16().count() <= ROOT_UNITS_MAX {
            true => Ok(Self {
                root: wire_name(&root)?,
                players: players.into_boxed_slice(),
                name: WireName::default(),
                other: WireName::default(),
            }),
            false => Err(SessionError::Path {
                doing: format!("work in '{root}'"),
            }),
        }
    }
}

fn wire_name(name: &str) -> Result<WireName, SessionError> {
    WireName::new(name).map_err(|_| SessionError::Path {
        doing: format!("open '{name}'"),
    })
}

impl Native {
    /// Appends the request of a replayed call, or its frame of several requests.
    pub(super) fn encode_recorded(
        &mut self,
        call: &Call,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let Self {
            links,
            mix,
            held,
            places,
            replay,
            cache,
            ..
        } = self;
        let (Some(trace), Some(replay)) = (mix.trace(), replay) else {
            unreachable!("a replay has a trace");
        };
        let Replay {
            root,
            players,
            name,
            other,
        } = &mut **replay;
        let place = &mut places[call.slot as usize];
        let player = &mut players[call.member];
        let record = trace.records[call.operation.file as usize];
        let is_stray = call.operation.kind == OpKind::Close && record.verb == Verb::Create;
        let handle = match (is_stray, record.subject) {
            (true, _) => place.open,
            (false, NO_HANDLE) => FileId::default(),
            (false, handle) => {
                let handle = player.handles.get(handle as usize);
                handle.map_or_else(FileId::default, |handle| handle.open)
            }
        };
        let to = To {
            connection: links.connection(),
            session: held[call.member].session,
            tag: call.slot,
            out,
        };
        let path = |name: &mut WireName, path: u32| {
            let parts = trace.paths[path as usize].parts(root, &player.number);
            name.set_joined(parts)
                .unwrap_or_else(|_| unreachable!("their lengths have been looked at"));
        };
        place.asks_to_cache = false;
        let mut deltree = None;
        let verb = match is_stray {
            true => Verb::Close,
            false => record.verb,
        };
        let sent = match verb {
            Verb::Read => {
                let request = ReadRequest {
                    file_id: handle,
                    offset: record.offset,
                    length: record.length,
                    minimum_count: 0,
                    flags: 0,
                };
                to.connection
                    .read(to.session, to.tag, &request, to.out)
                    .map(|()| 1)
            }
            Verb::Write => {
                let request = WriteRequest {
                    file_id: handle,
                    offset: record.offset,
                    length: record.length,
                    flags: 0,
                };
                to.connection
                    .write(to.session, to.tag, &request, to.out, data)
                    .map(|()| 1)
            }
            Verb::Flush => {
                let request = FlushRequest { file_id: handle };
                to.request(Command::Flush, |out| request.encode(out))
                    .map(|()| 1)
            }
            Verb::Create => {
                path(name, record.subject);
                let is_file = record.length & options::FILE_DIRECTORY_FILE == 0;
                let (oplock, lease) = match is_file && record.extra != NO_HANDLE {
                    true => cache.request(call.member, Object::File(record.subject)),
                    false => (OplockLevel::None, None),
                };
                place.asks_to_cache = oplock != OplockLevel::None;
                let request = CreateRequest {
                    oplock,
                    contexts: lease.as_slice(),
                    ..recorded(&record, name)
                };
                to.request(Command::Create, |out| request.encode(out))
                    .map(|()| 1)
            }
            Verb::Close => {
                let request = close(handle);
                to.request(Command::Close, |out| request.encode(out))
                    .map(|()| 1)
            }
            Verb::Lock | Verb::Unlock => {
                let locks = [LockElement {
                    offset: record.offset,
                    length: record.length.into(),
                    flags: match verb {
                        Verb::Unlock => lock_flags::UNLOCK,
                        _ => lock_flags::EXCLUSIVE | lock_flags::FAIL_IMMEDIATELY,
                    },
                }];
                let request = LockRequest {
                    file_id: handle,
                    sequence: 0,
                    locks: &locks,
                };
                let encode = |out: &mut Vec<u8>| {
                    // Encoding a single range cannot fail.
                    let _ = request.encode(out);
                };
                to.request(Command::Lock, encode).map(|()| 1)
            }
            Verb::QueryFile => {
                let request = query(&record, handle);
                to.request(Command::QueryInfo, |out| request.encode(out))
                    .map(|()| 1)
            }
            Verb::QueryFs => {
                let request = query(&record, player.directory);
                to.request(Command::QueryInfo, |out| request.encode(out))
                    .map(|()| 1)
            }
            Verb::SetFile => {
                let request = set(&record, handle);
                to.request(Command::SetInfo, |out| request.encode(out))
                    .map(|()| 1)
            }
            Verb::QueryPath => {
                path(name, record.subject);
                let create = existing(name, access::FILE_READ_ATTRIBUTES);
                let query = query(&record, FileId::RELATED);
                to.frame_of(&create, Command::QueryInfo, |out| query.encode(out))
            }
            Verb::Find => {
                path(name, record.subject);
                // A pattern is not below the run's directory, so it gets no prefix.
                let pattern = trace.paths[record.extra as usize].pattern(&player.number);
                other
                    .set_joined(pattern)
                    .unwrap_or_else(|_| unreachable!("its length has been looked at"));
                to.list(name, &listing(&record, other))
            }
            Verb::Unlink => {
                path(name, record.subject);
                to.touch(&deletion(name, options::FILE_NON_DIRECTORY_FILE))
            }
            Verb::Rmdir => {
                path(name, record.subject);
                to.touch(&deletion(name, options::FILE_DIRECTORY_FILE))
            }
            Verb::Mkdir => {
                path(name, record.subject);
                to.touch(&CreateRequest {
                    disposition: Disposition::Create,
                    options: options::FILE_DIRECTORY_FILE,
                    ..existing(name, access::FILE_READ_ATTRIBUTES)
                })
            }
            Verb::Rename => {
                path(name, record.subject);
                path(other, record.extra);
                let create = existing(name, access::DELETE);
                let set = SetInfoRequest {
                    file_id: FileId::RELATED,
                    info: SetInfo::Rename {
                        to: other,
                        existing: Existing::Keep,
                    },
                };
                to.frame_of(&create, Command::SetInfo, |out| set.encode(out))
            }
            Verb::Deltree => {
                path(name, record.subject);
                let begun = Box::new(Deltree::of(name.to_string()));
                let sent = begun.send(to, name);
                deltree = Some(begun);
                sent
            }
            Verb::Sleep => unreachable!("a pause is no operation"),
        };
        place.due = sent.map_err(|NoCredit| Busy::Credits)?;
        player.current = Some(Current {
            closes: place.due > 1,
            record,
            is_closing: false,
            status: NtStatus::SUCCESS,
            deltree,
        });
        Ok(())
    }
}

impl Replay {
    /// Returns the client that has a file open, and the file's oplock.
    pub(super) fn find(&mut self, open: FileId) -> Option<(usize, &mut OplockLevel)> {
        let players = self.players.iter_mut().enumerate();
        let mut handles =
            players.flat_map(|(at, player)| player.handles.iter_mut().map(move |one| (at, one)));
        let (at, handle) = handles.find(|(_, handle)| handle.open == open)?;
        Some((at, &mut handle.level))
    }

    /// Processes an answer, or a part of one, and sends the requests that follow
    /// from it. Returns the answer for the loop once all parts have arrived.
    pub(super) fn answered<'a>(
        &mut self,
        answer: Answer<'a>,
        done: &Completion<'_>,
        place: &mut Place,
        (connection, session): (&mut Connection, SessionIndex),
        out: &mut Vec<u8>,
    ) -> Result<Option<Answer<'a>>, Dropped> {
        let Some(player) = self.players.get_mut(done.tag as usize) else {
            return Ok(Some(answer));
        };
        let Some(current) = &mut player.current else {
            return Ok(Some(answer));
        };
        if answer.extent == Extent::Expired {
            player.current = None;
            return Ok(Some(answer));
        }
        if current.status == NtStatus::SUCCESS {
            current.status = answer.status;
        }
        if let (Some(deltree), Command::QueryDirectory) = (&mut current.deltree, done.command)
            && answer.status == NtStatus::SUCCESS
        {
            deltree.found(done.message())?;
        }
        if answer.extent == Extent::Part {
            return Ok(None);
        }
        let to = To {
            connection,
            session,
            tag: done.tag,
            out,
        };
        // Some servers do not carry out the requests after a failed one, so the
        // CLOSE is sent again.
        let is_open = place.open != FileId::default();
        if current.closes && is_open && !current.is_closing {
            current.is_closing = true;
            let request = close(place.open);
            to.request(Command::Close, |out| request.encode(out))
                .map_err(|NoCredit| Dropped::NoCredits)?;
            return Ok(None);
        }
        if current.closes {
            place.open = FileId::default();
        }
        if let Some(deltree) = &mut current.deltree {
            match deltree.go_on(current.status) {
                Next::Send => {
                    place.due = deltree
                        .send(to, &mut self.name)
                        .map_err(|NoCredit| Dropped::NoCredits)?;
                    current.status = NtStatus::SUCCESS;
                    current.is_closing = false;
                    return Ok(None);
                }
                Next::End(status) => current.status = status,
            }
        }
        let (record, status) = (current.record, current.status);
        player.current = None;
        match record.verb {
            Verb::Create if record.extra != NO_HANDLE => {
                player.handles[record.extra as usize] = Handle {
                    open: std::mem::take(&mut place.open),
                    level: place.level,
                };
            }
            Verb::Close => {
                if let Some(handle) = player.handles.get_mut(record.subject as usize) {
                    *handle = Handle::default();
                }
            }
            _ => {}
        }
        Ok(Some(Answer { status, ..answer }))
    }
}
