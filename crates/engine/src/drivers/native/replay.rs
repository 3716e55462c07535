//! Encodes the operations of a trace as requests, and follows their answers.
//!
//! SMB1 did some operations by name in one request. SMB2 needs a CREATE and a CLOSE
//! around them. All three are sent in one frame, and its first status that is not a
//! success is the status of the operation. A client has one operation in flight, so
//! the number of its slot is that of the member. Only the deletion of a tree
//! allocates.
//!
//! A server may leave the rest of a frame undone after a failure. The CLOSE is then
//! sent once more, so that nothing stays open.

mod wire;

use std::sync::Arc;

use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_model::trace::{PathNumber, Record, Trace};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, Disposition, OplockLevel, access, options};
use smbench_protocol::command::lock::lock_flags;
use smbench_protocol::command::query_info::InfoType;
use smbench_protocol::command::set_info::{Existing, SetInfo, SetInfoRequest};
use smbench_protocol::connection::NoCredit;
use smbench_protocol::header::Command;
use smbench_protocol::{Completion, Connection, FileId, NtStatus, ProtocolError, directory};

use super::encode::{Encode, To};
use super::group::{ClientSession, GroupState, SlotObjects};
use crate::drivers::deltree::{Deltree, DeltreeStep};
use crate::drivers::driver::{Answer, Busy, Call, Extent};
use crate::drivers::dropped::Dropped;
use crate::drivers::links::Links;
use crate::drivers::prepare::open_directory;
use crate::drivers::requests::recorded::{
    ROOT_UNITS_MAX, compose, existing, is_file, recorded, set, wire_name,
};
use crate::drivers::site::Site;
use crate::smb::session::caching::Object;
use crate::smb::session::{Session, SessionError};
use crate::smb::share::{REPLAY_DIRECTORY, join, populate};
use wire::{deletion, listing, query};

/// Encodes the operations of a trace.
pub(crate) struct TraceEncoder {
    trace: Arc<Trace>,
    /// The directory of all clients, with a backslash at the end.
    root: WireName,
    /// State of each member.
    players: Vec<Player>,
    /// Buffers for the names in a request.
    name: WireName,
    other: WireName,
}

/// State of one client.
struct Player {
    /// The number that replaces the 1 in `client1`.
    number: WireName,
    /// Oplocks of the open files.
    levels: Box<[OplockLevel]>,
    current: Option<Current>,
    /// The tree that the operation in flight deletes.
    deltree: Option<Box<Deltree>>,
}

/// An operation in flight.
struct Current {
    operation: Operation,
    /// Whether its frame contains a CLOSE.
    closes: bool,
    /// Whether the CLOSE was sent again.
    is_closing: bool,
    /// First status of its frame that is not a success.
    status: NtStatus,
}

impl Encode for TraceEncoder {
    fn new(site: &Site) -> Result<Self, SessionError> {
        let root = join(&site.directory, REPLAY_DIRECTORY) + "\\";
        match root.encode_utf16().count() <= ROOT_UNITS_MAX {
            true => Ok(Self {
                trace: site.trace(),
                root: wire_name(&root)?,
                players: Vec::new(),
                name: WireName::default(),
                other: WireName::default(),
            }),
            false => Err(SessionError::Path {
                doing: format!("work in '{root}'"),
            }),
        }
    }

    /// Creates the files and opens the directory that a client needs at the start.
    async fn prepare(
        &mut self,
        site: &Site,
        client: u32,
        session: &mut Session,
        held: &mut ClientSession,
    ) -> Result<Vec<SlotObjects>, SessionError> {
        let root = join(&site.directory, REPLAY_DIRECTORY);
        populate(session, &root, client, &self.trace, site.salt).await?;
        held.directory = open_directory(session, &root).await?;
        // The last place is for operations without a handle. At most a file that
        // was opened against the record is open there, until its own close.
        let handles = self.trace.handles as usize + 1;
        held.files = vec![FileId::default(); handles].into_boxed_slice();
        let number = (u64::from(client) + 1).to_string();
        self.players.push(Player {
            number: wire_name(&number)?,
            levels: vec![OplockLevel::None; handles].into_boxed_slice(),
            current: None,
            deltree: None,
        });
        Ok(vec![SlotObjects::default()])
    }

    fn encode(
        group: &mut GroupState<Self>,
        links: &mut Links,
        call: &Call,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let operation = &call.operation;
        let record = *group.encoder.trace.record(operation.action);
        let (to, file) = (group.to(links, call, out), group.held_file(call));
        group.places[call.slot as usize].asks_to_cache = false;
        let sent = match record {
            // Also the close of a file that was opened against its record.
            _ if operation.kind == OpKind::Close => to.close(file),
            Record::Read { .. } => to.read(file, operation, 0),
            Record::Write { .. } => to.write(file, operation, 0, data),
            Record::Flush(_) => to.flush(file),
            Record::Lock { .. } => {
                let flags = lock_flags::EXCLUSIVE | lock_flags::FAIL_IMMEDIATELY;
                to.lock(file, operation, flags)
            }
            Record::Unlock { .. } => to.lock(file, operation, lock_flags::UNLOCK),
            Record::Create { .. } => group.create_recorded(call, &record, to),
            Record::QueryFile { level, .. } => {
                let negotiated = to.connection.negotiated();
                let query = query(InfoType::File, level.class, file, negotiated);
                to.query(&query)
            }
            Record::QueryFs { level } => {
                let directory = group.held[call.member].directory;
                let negotiated = to.connection.negotiated();
                let query = query(InfoType::FileSystem, level.class, directory, negotiated);
                to.query(&query)
            }
            Record::SetFile { level, size, .. } => to.set(&set(level, size, file)),
            _ => group.frame_recorded(call, &record, to),
        };
        sent.map_err(|NoCredit| Busy::Credits)?;
        group.encoder.players[call.member].current = Some(Current {
            operation: *operation,
            closes: group.places[call.slot as usize].due > 1,
            is_closing: false,
            status: NtStatus::SUCCESS,
        });
        Ok(())
    }

    fn answered<'a>(
        group: &mut GroupState<Self>,
        answer: Answer<'a>,
        done: &Completion<'_>,
        connection: &mut Connection,
        out: &mut Vec<u8>,
    ) -> Result<Option<Answer<'a>>, Dropped> {
        // A client has one slot.
        let member = done.tag as usize;
        let encoder = &mut group.encoder;
        let Some(player) = encoder.players.get_mut(member) else {
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
        if let (Some(deltree), Command::QueryDirectory) = (&mut player.deltree, done.command)
            && answer.status == NtStatus::SUCCESS
        {
            let found = directory::decode_response(done.message());
            deltree.found(found.map_err(ProtocolError::from)?);
        }
        if answer.extent == Extent::Part {
            return Ok(None);
        }
        let (place, held) = (&mut group.places[member], &mut group.held[member]);
        let to = To {
            connection,
            session: held.session,
            tag: done.tag,
            out,
        };
        // Some servers do not carry out the requests after a failed one, so the
        // CLOSE is sent again.
        let is_open = place.open != FileId::default();
        if current.closes && is_open && !current.is_closing {
            current.is_closing = true;
            to.close(place.open)
                .map_err(|NoCredit| Dropped::NoCredits)?;
            return Ok(None);
        }
        if current.closes {
            place.open = FileId::default();
        }
        if let Some(deltree) = &mut player.deltree {
            match deltree.go_on(current.status) {
                DeltreeStep::Send => {
                    let sent = to.delete_from(deltree, &mut encoder.name);
                    place.due = sent.map_err(|NoCredit| Dropped::NoCredits)?;
                    current.status = NtStatus::SUCCESS;
                    current.is_closing = false;
                    return Ok(None);
                }
                DeltreeStep::End(status) => current.status = status,
            }
        }
        let (Operation { kind, file, .. }, status) = (current.operation, current.status);
        (player.current, player.deltree) = (None, None);
        match kind {
            OpKind::Create => {
                held.files[file as usize] = std::mem::take(&mut place.open);
                player.levels[file as usize] = place.level;
            }
            OpKind::Close => held.files[file as usize] = FileId::default(),
            _ => {}
        }
        Ok(Some(Answer { status, ..answer }))
    }

    fn holder<'a>(
        &'a mut self,
        open: FileId,
        held: &[ClientSession],
        _: &'a mut [SlotObjects],
    ) -> Option<(usize, &'a mut OplockLevel)> {
        let mut players = self.players.iter_mut().zip(held).enumerate();
        players.find_map(|(member, (player, held))| {
            let handle = held.files.iter().position(|file| *file == open)?;
            Some((member, &mut player.levels[handle]))
        })
    }
}

impl GroupState<TraceEncoder> {
    fn create_recorded(
        &mut self,
        call: &Call,
        record: &Record,
        to: To<'_>,
    ) -> Result<(), NoCredit> {
        let TraceEncoder {
            trace,
            root,
            players,
            name,
            ..
        } = &mut self.encoder;
        let Record::Create {
            path,
            options,
            disposition,
            handle,
        } = *record
        else {
            unreachable!("it has another method");
        };
        compose(name, trace.path(path), root, &players[call.member].number);
        let (oplock, lease) = match is_file(options) && handle.is_some() {
            true => self.cache.request(call.member, Object::File(path.0)),
            false => (OplockLevel::None, None),
        };
        self.places[call.slot as usize].asks_to_cache = oplock != OplockLevel::None;
        to.create(&CreateRequest {
            oplock,
            contexts: lease.as_slice(),
            ..recorded(name, options, disposition)
        })
    }

    /// Encodes an operation by name: CREATE, in most cases another request, and
    /// CLOSE in one frame.
    fn frame_recorded(&mut self, call: &Call, record: &Record, to: To<'_>) -> Result<(), NoCredit> {
        let TraceEncoder {
            trace,
            root,
            players,
            name,
            other,
        } = &mut self.encoder;
        let player = &mut players[call.member];
        let mut below = |path: PathNumber| compose(name, trace.path(path), root, &player.number);
        let due = match *record {
            Record::QueryPath { path, level } => {
                below(path);
                let create = existing(name, access::FILE_READ_ATTRIBUTES);
                let negotiated = to.connection.negotiated();
                let query = query(InfoType::File, level.class, FileId::RELATED, negotiated);
                to.frame_of(&create, Command::QueryInfo, |out| query.encode(out))
            }
            Record::Find {
                directory,
                pattern,
                level,
                most,
            } => {
                below(directory);
                // A pattern is not below the run's directory, so it gets no prefix.
                let pattern = trace.path(pattern).pattern(&player.number);
                other
                    .set_joined(pattern)
                    .unwrap_or_else(|_| unreachable!("its length has been looked at"));
                let listing = listing(level.class, most, other, to.connection.negotiated());
                to.list_by_name(name, &listing)
            }
            Record::Unlink(path) => {
                below(path);
                to.touch(&deletion(name, options::FILE_NON_DIRECTORY_FILE))
            }
            Record::Rmdir(path) => {
                below(path);
                to.touch(&deletion(name, options::FILE_DIRECTORY_FILE))
            }
            Record::Mkdir(path) => {
                below(path);
                to.touch(&CreateRequest {
                    disposition: Disposition::Create,
                    options: options::FILE_DIRECTORY_FILE,
                    ..existing(name, access::FILE_READ_ATTRIBUTES)
                })
            }
            Record::Rename { from, to: target } => {
                below(from);
                compose(other, trace.path(target), root, &player.number);
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
            Record::Deltree(path) => {
                below(path);
                let begun = Box::new(Deltree::of(name.to_string()));
                let sent = to.delete_from(&begun, name);
                player.deltree = Some(begun);
                sent
            }
            other => unreachable!("{} has another method", other.verb()),
        };
        self.places[call.slot as usize].due = due?;
        Ok(())
    }
}
