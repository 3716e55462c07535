//! Encodes the operations of a trace as requests.
//!
//! SMB1 did some operations by name in one request. SMB2 needs a CREATE and a CLOSE
//! around them. All three are sent in one frame, and its first status that is not a
//! success is the status of the operation.

mod captured;
mod frames;

use smbench_model::action::SetClass;
use smbench_model::trace::{InfoLevel, Record};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, Disposition, OplockLevel, access, options};
use smbench_protocol::command::lock::lock_flags;
use smbench_protocol::command::query_directory::{
    DirectoryClass, QueryDirectoryRequest, query_directory_flags,
};
use smbench_protocol::command::query_info::{InfoType, QueryInfoRequest};
use smbench_protocol::command::set_info::{Existing, SetInfo, SetInfoRequest};
use smbench_protocol::connection::{EMPTY_BODY, Negotiated, NoCredit};
use smbench_protocol::header::Command;
use smbench_protocol::{Completion, Connection, FileId, NtStatus, ProtocolError, directory};

use self::captured::{CreateCaching, directory_class};
use super::encode::{Encode, To};
use super::state::{CachingNews, ClientSession, GroupState, SlotObjects};
use crate::drivers::deltree::DeltreeRequest;
use crate::drivers::driver::{Answer, Busy, Call, Extent, Scratch};
use crate::drivers::dropped::Dropped;
use crate::drivers::links::Links;
use crate::drivers::prepare::open_directory;
use crate::drivers::replaying::{
    DeletionRequest, Following, FramePlace, RecordNames, Replaying, places, root_of,
};
use crate::drivers::requests::info::{self, ANSWER_LEN};
use crate::drivers::requests::recorded::{existing, recorded, set};
use crate::drivers::site::Site;
use crate::smb::session::{Session, SessionError};

/// Encodes the operations of a trace.
pub(crate) type TraceEncoder = Replaying<TracedOpen>;

/// An open file of a trace.
#[derive(Clone, Copy, Default)]
pub(crate) struct TracedOpen {
    file: FileId,
    level: OplockLevel,
}

impl Encode for TraceEncoder {
    const IS_RECORDING: bool = true;

    fn new(site: &Site) -> Result<Self, SessionError> {
        Self::of_site(site)
    }

    /// Creates the files and opens the directory that a client needs at the start.
    async fn prepare(
        &mut self,
        site: &Site,
        client: u32,
        session: &mut Session,
        held: &mut ClientSession,
    ) -> Result<Vec<SlotObjects>, SessionError> {
        self.populate(site, client, session).await?;
        held.directory = open_directory(session, &root_of(site)).await?;
        let trace = site.track(client);
        self.add(site, client, vec![TracedOpen::default(); places(trace)])?;
        let slots = 0..site.plan.only().outstanding;
        Ok(slots.map(|_| SlotObjects::default()).collect())
    }

    fn encode(
        group: &mut GroupState<Self>,
        links: &mut Links,
        call: &Call,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let (operation, slot) = (&call.operation, call.slot as usize);
        let place = group.frame_place(links, call, out)?;
        if place != FramePlace::Alone {
            return group.hold(links, call, place, out, data);
        }
        let (record, file) = (group.encoder.record(call), group.encoder.handle(call).file);
        let to = group.to(links, call, out);
        group.places[slot].caching = CachingNews::None;
        let sent = match record {
            Record::Read { flags, .. } => to.read(file, operation, flags),
            Record::Write { flags, .. } => to.write(file, operation, flags.into(), data),
            Record::Flush(_) => to.flush(file),
            Record::Close { flags, .. } => {
                let close = captured::close(file, flags);
                to.request(Command::Close, |out| close.encode(out))
            }
            Record::Lock { flags, .. } => to.lock(file, operation, flags.into()),
            Record::Unlock { .. } => to.lock(file, operation, lock_flags::UNLOCK),
            Record::QueryFile { level, .. } => to.query_recorded(InfoType::File, level, file),
            Record::QueryFs { level } => {
                let directory = group.held[call.member].directory;
                to.query_recorded(InfoType::FileSystem, level, directory)
            }
            Record::SetFile { level, size, .. } => to.set(&set(level, size, file)),
            Record::Query {
                info,
                class,
                length,
                ..
            } => to.query_captured(info, class, length, file),
            Record::MarkDeleted { is_pending, .. } => to.set(&captured::mark(file, is_pending)),
            Record::SetSecurity(_) => to.set(&info::set(SetClass::Security, file, 0, None)),
            Record::Echo => to.request(Command::Echo, |out| out.extend_from_slice(&EMPTY_BODY)),
            Record::RenameOpen { .. } | Record::List { .. } => {
                let names = group.encoder.names(call.member, &record);
                to.with_names(&record, file, names.other)
            }
            by_name => group.by_name(call, by_name, to),
        };
        sent.map_err(|NoCredit| Busy::Credits)?;
        group.encoder.begin(call, group.places[slot].due > 1);
        Ok(())
    }

    fn answered<'a>(
        group: &mut GroupState<Self>,
        answer: Answer<'a>,
        done: &Completion<'_>,
        connection: &mut Connection,
        out: &mut Vec<u8>,
    ) -> Result<Option<Answer<'a>>, Dropped> {
        let (encoder, slot) = (&mut group.encoder, done.tag as usize);
        let place = match group.places.get_mut(slot) {
            Some(place) if answer.extent != Extent::Expired => place,
            _ => {
                // It is sent alone, or its frame is made again.
                encoder.forget(done.tag);
                return Ok(Some(answer));
            }
        };
        if done.command == Command::QueryDirectory
            && answer.status == NtStatus::SUCCESS
            && let Some(deltree) = encoder.listing_deltree(done.tag)
        {
            let found = directory::decode_response(done.message());
            deltree.found(found.map_err(ProtocolError::from)?);
        }
        let (file, level) = (place.open, place.level);
        let is_open = file != FileId::default();
        let following = encoder.follow(answer, TracedOpen { file, level }, is_open);
        let closes = match following {
            Following::Answers => return Ok(None),
            Following::End(answer) => {
                place.open = FileId::default();
                return Ok(Some(answer));
            }
            Following::Close => true,
            Following::Deletion => false,
        };
        let to = To {
            connection,
            session: group.held[slot / group.outstanding].session,
            tag: done.tag,
            out,
        };
        let sent = if closes {
            to.close(file)
        } else {
            place.open = FileId::default();
            let sent = to.delete_from(encoder.deletion(done.tag, ""));
            sent.map(|answers| place.due = answers)
        };
        sent.map_err(|NoCredit| Dropped::NoCredits)?;
        Ok(None)
    }

    fn flush(group: &mut GroupState<Self>, links: &mut Links, scratch: &mut Scratch) {
        if !group.encoder.held.is_empty() {
            group.flush_held(links, scratch);
        }
    }

    fn holder<'a>(
        &'a mut self,
        open: FileId,
        _: &[ClientSession],
        _: &'a mut [SlotObjects],
    ) -> Option<(usize, &'a mut OplockLevel)> {
        let (slot, traced) = self.find(|traced| traced.file == open)?;
        Some((slot, &mut traced.level))
    }
}

impl GroupState<TraceEncoder> {
    /// Encodes an operation by name: CREATE, in most cases another request, and CLOSE
    /// in one frame. A CREATE of the trace is alone.
    fn by_name(&mut self, call: &Call, record: Record, to: To<'_>) -> Result<(), NoCredit> {
        let encoder = &mut self.encoder;
        let RecordNames {
            name,
            other,
            detail,
            unique,
        } = encoder.names(call.member, &record);
        let name = &*name;
        let place = &mut self.places[call.slot as usize];
        let negotiated = to.connection.negotiated();
        place.due = match record {
            Record::Create {
                options,
                disposition,
                ..
            } => {
                let CreateCaching { oplock, lease } =
                    captured::caching(&mut self.cache, call.member, &record, detail);
                place.caching = CachingNews::of(oplock);
                let (contexts, len) = captured::contexts(detail, lease, unique);
                return to.create(&CreateRequest {
                    oplock,
                    contexts: &contexts[..len],
                    ..recorded(name, options, disposition, detail)
                });
            }
            Record::QueryPath { level, .. } => {
                let create = existing(name, access::FILE_READ_ATTRIBUTES);
                let query = query(InfoType::File, level, FileId::RELATED, negotiated);
                to.frame_of(&create, Command::QueryInfo, |out| query.encode(out))
            }
            Record::Find { level, most, .. } => {
                let listing = listing(level, most, other, negotiated);
                to.list_by_name(name, &listing)
            }
            Record::Unlink(_) => to.touch(&deletion(name, options::FILE_NON_DIRECTORY_FILE)),
            Record::Rmdir(_) => to.touch(&deletion(name, options::FILE_DIRECTORY_FILE)),
            Record::Mkdir(_) => to.touch(&CreateRequest {
                disposition: Disposition::Create,
                options: options::FILE_DIRECTORY_FILE,
                ..existing(name, access::FILE_READ_ATTRIBUTES)
            }),
            Record::Rename { .. } => {
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
            Record::Deltree(_) => to.delete_from(encoder.begin_deletion(call.slot, "")),
            other => unreachable!("{} has a handle", other.verb()),
        }?;
        Ok(())
    }
}

/// Requests of a trace. The methods for frames return the number of answers.
impl To<'_> {
    /// Sends a query of a trace about an open file.
    fn query_recorded(
        self,
        info_type: InfoType,
        level: InfoLevel,
        file_id: FileId,
    ) -> Result<(), NoCredit> {
        let request = query(info_type, level, file_id, self.connection.negotiated());
        self.query(&request)
    }

    /// Sends CREATE, another request and CLOSE.
    fn frame_of(
        self,
        create: &CreateRequest<'_, WireName>,
        command: Command,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u8, NoCredit> {
        let tag = self.tag;
        self.frame(create, |chain| chain.request(command, 1, tag, body))?;
        Ok(3)
    }

    /// Sends CREATE and CLOSE.
    fn touch(self, create: &CreateRequest<'_, WireName>) -> Result<u8, NoCredit> {
        self.frame(create, |chain| chain)?;
        Ok(2)
    }

    /// Sends the next frame of the deletion of a tree.
    fn delete_from(
        self,
        DeletionRequest { request, name }: DeletionRequest<'_>,
    ) -> Result<u8, NoCredit> {
        match request {
            DeltreeRequest::File => self.touch(&deletion(name, options::FILE_NON_DIRECTORY_FILE)),
            DeltreeRequest::Directory => self.touch(&deletion(name, options::FILE_DIRECTORY_FILE)),
            DeltreeRequest::Listing => {
                let every = WireName::every();
                let negotiated = self.connection.negotiated();
                let class = DirectoryClass::Directory;
                let query = info::list(class, FileId::RELATED, &every, negotiated);
                self.list_by_name(name, &query)
            }
        }
    }

    /// Sends CREATE, QUERY_DIRECTORY and CLOSE.
    fn list_by_name(
        self,
        directory: &WireName,
        query: &QueryDirectoryRequest<'_>,
    ) -> Result<u8, NoCredit> {
        let rights = access::FILE_LIST_DIRECTORY | access::FILE_READ_ATTRIBUTES;
        let create = CreateRequest {
            options: options::FILE_DIRECTORY_FILE,
            ..existing(directory, rights)
        };
        self.frame_of(&create, Command::QueryDirectory, |out| query.encode(out))
    }
}

/// Returns a CREATE that opens a name to delete it.
const fn deletion(name: &WireName, kind: u32) -> CreateRequest<'_, WireName> {
    let mut request = existing(name, access::DELETE);
    request.options = kind | options::FILE_DELETE_ON_CLOSE;
    request
}

/// Returns a query of a trace. A trace does not record how long an answer may be.
fn query(
    info_type: InfoType,
    InfoLevel { class, .. }: InfoLevel,
    file_id: FileId,
    negotiated: &Negotiated,
) -> QueryInfoRequest {
    QueryInfoRequest {
        info_type,
        class,
        output_length: negotiated.output_len(ANSWER_LEN),
        additional: 0,
        file_id,
    }
}

fn listing<'a>(
    level: InfoLevel,
    most: u32,
    pattern: &'a WireName,
    negotiated: &Negotiated,
) -> QueryDirectoryRequest<'a> {
    let mut request = info::list(
        directory_class(level.class),
        FileId::RELATED,
        pattern,
        negotiated,
    );
    // A limit of 1 is kept. Otherwise the size of the answer limits the number of
    // names.
    if most == 1 {
        request.flags |= query_directory_flags::RETURN_SINGLE_ENTRY;
    }
    request
}
