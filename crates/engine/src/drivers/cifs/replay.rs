//! Encodes the operations of a trace as requests, and follows their answers.
//!
//! Each operation is the one request that was recorded, with its information level. Only
//! the deletion of a tree takes several requests, and only it allocates. A client has one
//! operation in flight, so the number of its slot is that of the member.

use std::sync::Arc;

use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_model::trace::{PathNumber, Record, Trace};
use smbench_protocol::cifs::command::find::{
    FindFirst2Request, FindFirst2Response, find_flags, find_level,
};
use smbench_protocol::cifs::command::information::CifsTarget;
use smbench_protocol::cifs::command::lock::CifsLock;
use smbench_protocol::cifs::command::names::{
    CifsDeleteRequest, CifsRenameRequest, DirectoryPathRequest,
};
use smbench_protocol::cifs::command::write::WriteMode;
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::cifs::{FileNumber, TRANSACTION_DATA_MAX};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, OplockLevel};
use smbench_protocol::command::query_directory::DirectoryClass;
use smbench_protocol::connection::NoCredit;
use smbench_protocol::{FileId, NtStatus, ProtocolError};

use super::CifsEncode;
use super::answer::CifsAnswered;
use super::group::{CifsClient, CifsGroup, CifsPlace};
use super::to::CifsTo;
use crate::drivers::deltree::{Deltree, DeltreeRequest, DeltreeStep};
use crate::drivers::driver::{Answer, Busy, Call, Extent};
use crate::drivers::dropped::Dropped;
use crate::drivers::requests::recorded::{
    ROOT_UNITS_MAX, compose, is_file, recorded, set, wire_name,
};
use crate::drivers::site::Site;
use crate::smb::session::SessionError;
use crate::smb::session::cifs::{CifsSession, SEARCH_ATTRIBUTES};
use crate::smb::share::{REPLAY_DIRECTORY, join, populate};

/// Names of one answer while a tree is deleted.
const NAMES: u16 = 1000;

/// Encodes the operations of a trace.
pub(crate) struct CifsTrace {
    trace: Arc<Trace>,
    /// The directory of all clients, with a backslash at the end.
    root: WireName,
    /// State of each member.
    players: Vec<CifsPlayer>,
    /// Buffers for the names in a request.
    name: WireName,
    other: WireName,
    backslash: WireName,
}

/// State of one client.
struct CifsPlayer {
    /// The number that replaces the 1 in `client1`.
    number: WireName,
    current: Option<Operation>,
    /// The tree that the operation in flight deletes.
    deltree: Option<Box<Deltree>>,
}

impl CifsEncode for CifsTrace {
    fn new(site: &Site) -> Result<Self, SessionError> {
        let root = join(&site.directory, REPLAY_DIRECTORY) + "\\";
        match root.encode_utf16().count() <= ROOT_UNITS_MAX {
            true => Ok(Self {
                trace: site.trace(),
                root: wire_name(&root)?,
                players: Vec::new(),
                name: WireName::default(),
                other: WireName::default(),
                backslash: wire_name("\\")?,
            }),
            false => Err(SessionError::Path {
                doing: format!("work in '{root}'"),
            }),
        }
    }

    /// Creates the files that a client needs at the start.
    async fn prepare(
        &mut self,
        site: &Site,
        client: u32,
        session: &mut CifsSession,
        held: &mut CifsClient,
    ) -> Result<Vec<CifsPlace>, SessionError> {
        let root = join(&site.directory, REPLAY_DIRECTORY);
        populate(session, &root, client, &self.trace, site.salt).await?;
        // The last place is for operations without a handle. At most a file that was opened
        // against the record is open there, until its own close.
        let handles = self.trace.handles as usize + 1;
        held.files = vec![FileNumber::default(); handles].into_boxed_slice();
        let number = (u64::from(client) + 1).to_string();
        self.players.push(CifsPlayer {
            number: wire_name(&number)?,
            current: None,
            deltree: None,
        });
        Ok(vec![CifsPlace::default()])
    }

    fn encode(
        group: &mut CifsGroup<Self>,
        session: &mut CifsSession,
        call: &Call,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let operation = &call.operation;
        let record = *group.encoder.trace.record(operation.action);
        let file = group.held_file(call);
        let place = &mut group.places[call.slot as usize];
        (place.asks_to_cache, place.open) = (false, file);
        let to = CifsTo {
            connection: &mut session.connection,
            session: group.held[call.member].session,
            tag: call.slot,
            out,
        };
        match record {
            // Also the close of a file that was opened against its record.
            _ if operation.kind == OpKind::Close => to.close(file),
            Record::Read { .. } => to.read(file, operation),
            Record::Write { .. } => to.write(file, operation, WriteMode::Buffered, data),
            Record::Flush(_) => to.flush(file),
            Record::Lock { .. } => to.lock(file, CifsLock::Exclusive, operation),
            Record::Unlock { .. } => to.lock(file, CifsLock::Unlock, operation),
            Record::QueryFile { level, .. } => {
                to.query(CifsTarget::Fid(file.0), level.level, TRANSACTION_DATA_MAX)
            }
            Record::QueryFs { level } => to.query_fs(level.level, TRANSACTION_DATA_MAX),
            Record::SetFile { level, size, .. } => {
                let set = set(level, size, FileId::default());
                to.set(file, &set.info, Some(level.level))
            }
            _ => group.by_name(call, &record, to),
        }
        .map_err(|NoCredit| Busy::Credits)?;
        group.encoder.players[call.member].current = Some(*operation);
        Ok(())
    }

    fn answered<'a>(
        group: &mut CifsGroup<Self>,
        answered: CifsAnswered<'a, '_>,
        session: &mut CifsSession,
        out: &mut Vec<u8>,
    ) -> Result<Option<Answer<'a>>, Dropped> {
        let CifsAnswered { mut answer, done } = answered;
        // A client has one slot.
        let member = done.tag as usize;
        let CifsTrace {
            players,
            name,
            other,
            ..
        } = &mut group.encoder;
        let Some(player) = players.get_mut(member) else {
            return Ok(Some(answer));
        };
        if answer.extent == Extent::Expired {
            (player.current, player.deltree) = (None, None);
            return Ok(Some(answer));
        }
        if let Some(deltree) = &mut player.deltree {
            let is_listing = matches!(deltree.request(), DeltreeRequest::Listing(_));
            if is_listing && done.status == NtStatus::SUCCESS {
                let (parameters, data) = done.transaction().map_err(ProtocolError::from)?;
                let names = FindFirst2Response::decode(parameters, data)
                    .and_then(|response| response.found.names(DirectoryClass::BothDirectory));
                deltree.found(names.map_err(ProtocolError::from)?);
            }
            match deltree.go_on(done.status) {
                DeltreeStep::Send => {
                    let to = CifsTo {
                        connection: &mut session.connection,
                        session: group.held[member].session,
                        tag: done.tag,
                        out,
                    };
                    let sent = to.delete_from(deltree, name, other);
                    sent.map_err(|NoCredit| Dropped::NoCredits)?;
                    return Ok(None);
                }
                DeltreeStep::End(status) => answer.status = status,
            }
            player.deltree = None;
        }
        let Some(Operation { kind, file, .. }) = player.current.take() else {
            return Ok(Some(answer));
        };
        let handle = &mut group.held[member].files[file as usize];
        match (kind, answer.status) {
            (OpKind::Create, NtStatus::SUCCESS) => *handle = group.places[member].open,
            (OpKind::Create | OpKind::Close, _) => *handle = FileNumber::default(),
            _ => {}
        }
        Ok(Some(answer))
    }
}

impl CifsGroup<CifsTrace> {
    /// Encodes an operation by name.
    fn by_name(&mut self, call: &Call, record: &Record, to: CifsTo<'_>) -> Result<(), NoCredit> {
        let CifsTrace {
            trace,
            root,
            players,
            name,
            other,
            backslash,
        } = &mut self.encoder;
        let player = &mut players[call.member];
        let mut below = |path: PathNumber| compose(name, trace.path(path), root, &player.number);
        match *record {
            Record::Create {
                path,
                options,
                disposition,
                handle,
            } => {
                below(path);
                let oplock = match is_file(options) && handle.is_some() {
                    true => self.asked,
                    false => OplockLevel::None,
                };
                self.places[call.slot as usize].asks_to_cache = oplock != OplockLevel::None;
                to.create(&CreateRequest {
                    oplock,
                    ..recorded(name, options, disposition)
                })
            }
            Record::QueryPath { path, level } => {
                below(path);
                to.query(CifsTarget::Path(name), level.level, TRANSACTION_DATA_MAX)
            }
            Record::Find {
                directory,
                pattern,
                level,
                most,
            } => {
                below(directory);
                // The root ends with a backslash already.
                let is_root = name.as_bytes().ends_with(backslash.as_bytes());
                let between = (!is_root).then_some(&*backslash);
                let pattern = trace.path(pattern).pattern(&player.number);
                let parts = [&*name].into_iter().chain(between).chain(pattern);
                other
                    .set_joined(parts)
                    .unwrap_or_else(|_| unreachable!("its length has been looked at"));
                let most = u16::try_from(most).unwrap_or(u16::MAX);
                let place = &mut self.places[call.slot as usize];
                (to.find(other, level.level, most)).map(|()| place.lists = true)
            }
            Record::Unlink(path) => {
                below(path);
                to.delete(name)
            }
            Record::Rmdir(path) => {
                below(path);
                to.directory(CifsCommand::DeleteDirectory, name)
            }
            Record::Mkdir(path) => {
                below(path);
                to.directory(CifsCommand::CreateDirectory, name)
            }
            Record::Rename { from, to: target } => {
                below(from);
                compose(other, trace.path(target), root, &player.number);
                let rename = CifsRenameRequest {
                    search_attributes: SEARCH_ATTRIBUTES,
                    from: name,
                    to: other,
                };
                to.request(CifsCommand::Rename, |out| rename.encode(out))
            }
            Record::Deltree(path) => {
                below(path);
                let begun = Deltree::of(name.to_string());
                let begun = player.deltree.insert(Box::new(begun));
                to.delete_from(begun, name, other)
            }
            other => unreachable!("{} has another method", other.verb()),
        }
    }
}

impl CifsTo<'_> {
    /// Deletes a file.
    fn delete(self, path: &WireName) -> Result<(), NoCredit> {
        let request = CifsDeleteRequest {
            search_attributes: SEARCH_ATTRIBUTES,
            path,
        };
        self.request(CifsCommand::Delete, |out| request.encode(out))
    }

    /// Makes or deletes a directory.
    fn directory(self, command: CifsCommand, path: &WireName) -> Result<(), NoCredit> {
        let request = DirectoryPathRequest { path };
        self.request(command, |out| request.encode(out))
    }

    /// Lists up to `most` names that match the pattern at the end of a path.
    fn find(self, pattern: &WireName, level: u16, most: u16) -> Result<(), NoCredit> {
        let find = FindFirst2Request {
            search_attributes: SEARCH_ATTRIBUTES,
            search_count: most,
            flags: find_flags::SMB_FIND_CLOSE_AFTER_REQUEST,
            level,
            pattern,
            max_data: TRANSACTION_DATA_MAX,
        };
        self.transaction2(|out| find.encode(out))
    }

    /// Sends the next request of the deletion of a tree.
    fn delete_from(
        self,
        deltree: &Deltree,
        name: &mut WireName,
        pattern: &mut WireName,
    ) -> Result<(), NoCredit> {
        // Setting a name cannot fail: each came from a listing, so it is short enough.
        match deltree.request() {
            DeltreeRequest::Listing(path) => {
                let _ = pattern.set(&join(path, "*"));
                let level = find_level::SMB_FIND_FILE_BOTH_DIRECTORY_INFO;
                self.find(pattern, level, NAMES)
            }
            DeltreeRequest::File(path) => {
                let _ = name.set(path);
                self.delete(name)
            }
            DeltreeRequest::Directory(path) => {
                let _ = name.set(path);
                self.directory(CifsCommand::DeleteDirectory, name)
            }
        }
    }
}
