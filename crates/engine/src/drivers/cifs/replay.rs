//! Encodes the operations of a trace as requests.
//!
//! Each operation is the one request that was recorded, with its information level. Only
//! the deletion of a tree takes several requests.

use smbench_model::trace::Record;
use smbench_protocol::cifs::command::find::{
    FindFirst2Request, FindFirst2Response, find_flags, find_level,
};
use smbench_protocol::cifs::command::information::CifsTarget;
use smbench_protocol::cifs::command::names::{
    CifsDeleteRequest, CifsRenameRequest, DirectoryPathRequest,
};
use smbench_protocol::cifs::command::write::WriteMode;
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::cifs::{FileNumber, TRANSACTION_DATA_MAX};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, OplockLevel};
use smbench_protocol::command::lock::lock_flags;
use smbench_protocol::command::query_directory::DirectoryClass;
use smbench_protocol::command::write::write_flags;
use smbench_protocol::connection::NoCredit;
use smbench_protocol::{FileId, NtStatus, ProtocolError};

use super::answer::CifsAnswered;
use super::encode::CifsEncode;
use super::group::{CifsClient, CifsGroup, CifsPlace};
use super::to::CifsTo;
use crate::drivers::deltree::DeltreeRequest;
use crate::drivers::driver::{Answer, Busy, Call, Extent};
use crate::drivers::dropped::Dropped;
use crate::drivers::replaying::{DeletionRequest, Following, RecordNames, Replaying, places};
use crate::drivers::requests::recorded::{is_file, recorded, set};
use crate::drivers::site::Site;
use crate::smb::session::SessionError;
use crate::smb::session::cifs::{CifsSession, SEARCH_ATTRIBUTES};

/// Names of one answer while a tree is deleted.
const NAMES: u16 = 1000;
/// What lists a directory, behind its path.
const ALL_BELOW: &str = r"\*";

/// Encodes the operations of a trace.
pub(crate) type CifsTrace = Replaying<FileNumber>;

impl CifsEncode for CifsTrace {
    fn new(site: &Site) -> Result<Self, SessionError> {
        Self::of_site(site)
    }

    /// Creates the files that a client needs at the start.
    async fn prepare(
        &mut self,
        site: &Site,
        client: u32,
        session: &mut CifsSession,
        _: &mut CifsClient,
    ) -> Result<Vec<CifsPlace>, SessionError> {
        self.populate(site, client, session).await?;
        let trace = site.track(client);
        self.add(site, client, vec![FileNumber::default(); places(trace)])?;
        let slots = 0..site.plan.only().outstanding;
        Ok(slots.map(|_| CifsPlace::default()).collect())
    }

    fn encode(
        group: &mut CifsGroup<Self>,
        session: &mut CifsSession,
        call: &Call,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let operation = &call.operation;
        group.encoder.check(call)?;
        let (record, file) = (group.encoder.record(call), *group.encoder.handle(call));
        let place = &mut group.places[call.slot as usize];
        (place.asks_to_cache, place.open) = (false, file);
        let to = CifsTo {
            connection: &mut session.connection,
            session: group.held[call.member].session,
            tag: call.slot,
            out,
        };
        match record {
            Record::Read { .. } => to.read(file, operation),
            Record::Write { flags, .. } => to.write(file, operation, write_mode(flags), data),
            Record::Flush(_) => to.flush(file),
            Record::Close { .. } => to.close(file),
            Record::Lock { flags, .. } => to.lock(file, flags.into(), operation),
            Record::Echo
            | Record::Query { .. }
            | Record::List { .. }
            | Record::RenameOpen { .. }
            | Record::MarkDeleted { .. }
            | Record::SetSecurity(_) => unreachable!("a plan in CIFS has none of these"),
            Record::Unlock { .. } => to.lock(file, lock_flags::UNLOCK, operation),
            Record::QueryFile { level, .. } => {
                to.query(CifsTarget::Fid(file.0), level.level, TRANSACTION_DATA_MAX)
            }
            Record::QueryFs { level } => to.query_fs(level.level, TRANSACTION_DATA_MAX),
            Record::SetFile { level, size, .. } => {
                let set = set(level, size, FileId::default());
                to.set(file, &set.info, Some(level.level))
            }
            by_name => group.by_name(call, by_name, to),
        }
        .map_err(|NoCredit| Busy::Credits)?;
        group.encoder.begin(call, false);
        Ok(())
    }

    fn answered<'a>(
        group: &mut CifsGroup<Self>,
        answered: CifsAnswered<'a, '_>,
        session: &mut CifsSession,
        out: &mut Vec<u8>,
    ) -> Result<Option<Answer<'a>>, Dropped> {
        let CifsAnswered { answer, done } = answered;
        let (encoder, slot) = (&mut group.encoder, done.tag as usize);
        let place = match group.places.get(slot) {
            Some(place) if answer.extent != Extent::Expired => place,
            _ => return Ok(Some(answer)),
        };
        let opened = match answer.status {
            NtStatus::SUCCESS => place.open,
            _ => FileNumber::default(),
        };
        if answer.status == NtStatus::SUCCESS
            && let Some(deltree) = encoder.listing_deltree(done.tag)
        {
            let (parameters, data) = done.transaction().map_err(ProtocolError::from)?;
            let names = FindFirst2Response::decode(parameters, data)
                .and_then(|response| response.found.names(DirectoryClass::BothDirectory));
            deltree.found(names.map_err(ProtocolError::from)?);
        }
        match encoder.follow(answer, opened, false) {
            Following::End(answer) => Ok(Some(answer)),
            // Requests here have one answer each, and close nothing themselves.
            Following::Answers | Following::Close => Ok(None),
            Following::Deletion => {
                let to = CifsTo {
                    connection: &mut session.connection,
                    session: group.held[slot / group.outstanding].session,
                    tag: done.tag,
                    out,
                };
                let sent = to.delete_from(encoder.deletion(done.tag, ALL_BELOW));
                sent.map_err(|NoCredit| Dropped::NoCredits)?;
                Ok(None)
            }
        }
    }
}

/// Returns the mode of a WRITE with these flags of SMB2.
const fn write_mode(flags: u8) -> WriteMode {
    if flags as u32 & write_flags::WRITE_THROUGH == 0 {
        WriteMode::Buffered
    } else {
        WriteMode::Through
    }
}

impl CifsGroup<CifsTrace> {
    /// Encodes an operation by name.
    fn by_name(&mut self, call: &Call, record: Record, to: CifsTo<'_>) -> Result<(), NoCredit> {
        let encoder = &mut self.encoder;
        let RecordNames {
            name,
            other,
            detail,
            ..
        } = encoder.names(call.member, &record);
        let place = &mut self.places[call.slot as usize];
        match record {
            Record::Create {
                options,
                disposition,
                handle,
                ..
            } => {
                let oplock = if is_file(options) && handle.is_some() {
                    self.asked
                } else {
                    OplockLevel::None
                };
                place.asks_to_cache = oplock != OplockLevel::None;
                to.create(&CreateRequest {
                    oplock,
                    ..recorded(name, options, disposition, detail)
                })
            }
            Record::QueryPath { level, .. } => {
                to.query(CifsTarget::Path(name), level.level, TRANSACTION_DATA_MAX)
            }
            Record::Find { level, most, .. } => {
                name.append_below(other)
                    .unwrap_or_else(|_| unreachable!("its length has been looked at"));
                let most = u16::try_from(most).unwrap_or(u16::MAX);
                to.find(name, level.level, most)?;
                place.search.asks_for_part();
                Ok(())
            }
            Record::Unlink(_) => to.delete(name),
            Record::Rmdir(_) => to.directory(CifsCommand::DeleteDirectory, name),
            Record::Mkdir(_) => to.directory(CifsCommand::CreateDirectory, name),
            Record::Rename { .. } => {
                let rename = CifsRenameRequest {
                    search_attributes: SEARCH_ATTRIBUTES,
                    from: name,
                    to: other,
                };
                to.request(CifsCommand::Rename, |out| rename.encode(out))
            }
            Record::Deltree(_) => to.delete_from(encoder.begin_deletion(call.slot, ALL_BELOW)),
            other => unreachable!("{} has a handle", other.verb()),
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
        DeletionRequest { request, name }: DeletionRequest<'_>,
    ) -> Result<(), NoCredit> {
        match request {
            DeltreeRequest::Listing => {
                let level = find_level::SMB_FIND_FILE_BOTH_DIRECTORY_INFO;
                self.find(name, level, NAMES)
            }
            DeltreeRequest::File => self.delete(name),
            DeltreeRequest::Directory => self.directory(CifsCommand::DeleteDirectory, name),
        }
    }
}
