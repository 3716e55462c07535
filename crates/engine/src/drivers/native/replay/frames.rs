//! Sends the requests that were recorded in one frame as a frame again.

use smbench_model::action::SetClass;
use smbench_model::trace::Record;
use smbench_protocol::FileId;
use smbench_protocol::command::create::CreateRequest;
use smbench_protocol::command::flush::FlushRequest;
use smbench_protocol::command::lock::{LockElement, LockRequest, lock_flags};
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::connection::{Chain, NoCredit};
use smbench_protocol::header::Command;

use super::captured::{self, CreateCaching};
use super::{GroupState, TraceEncoder};
use crate::drivers::driver::{Busy, Call, Scratch};
use crate::drivers::links::Links;
use crate::drivers::native::encode::read;
use crate::drivers::native::state::CachingNews;
use crate::drivers::replaying::{FramePlace, RecordNames};
use crate::drivers::requests::info;
use crate::drivers::requests::recorded::{recorded, set};

impl GroupState<TraceEncoder> {
    /// Returns the place of a call in its frame, if it may be sent now. If another frame is
    /// held back, that is sent first, as far as it is there.
    pub(super) fn frame_place(
        &mut self,
        links: &mut Links,
        call: &Call,
        out: &mut Vec<u8>,
    ) -> Result<FramePlace, Busy> {
        let mut place = self.encoder.place_of(call);
        if place == FramePlace::Alone && !self.encoder.held.is_empty() {
            let sent = self.send_held(links, out);
            sent.map_err(|NoCredit| Busy::Credits)?;
            place = self.encoder.place_of(call);
        }
        self.encoder.check(call)?;
        if place == FramePlace::First {
            self.encoder.begin_frame(call)?;
            if !links.connection().affords(&self.encoder.held.charges) {
                return Err(Busy::Credits);
            }
        }
        Ok(place)
    }

    /// Holds back a call of a frame, and sends the frame with its last call.
    pub(super) fn hold(
        &mut self,
        links: &mut Links,
        call: &Call,
        place: FramePlace,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        self.encoder.held.hold(call, data);
        if place == FramePlace::Last && self.send_held(links, out).is_err() {
            self.encoder.held.take_back();
            return Err(Busy::Credits);
        }
        self.places[call.slot as usize].due = 0;
        self.encoder.begin(call, false);
        Ok(())
    }

    /// Sends what is held back, if there are credits for it.
    pub(super) fn flush_held(&mut self, links: &mut Links, scratch: &mut Scratch) {
        let charges = self.encoder.held.charges_so_far();
        if links.count() > 1 {
            if links.choose(|link| link.affords(charges)).is_err() {
                return;
            }
            let mut out = links.take_buffer();
            // Without credits, it is sent later.
            let _ = self.send_held(links, &mut out);
            links.put_buffer(out);
        } else {
            let _ = self.send_held(links, &mut scratch.output);
        }
    }

    fn send_held(&mut self, links: &mut Links, out: &mut Vec<u8>) -> Result<(), NoCredit> {
        let mut held = std::mem::take(&mut self.encoder.held);
        let connection = links.connection();
        let sent = if connection.affords(held.charges_so_far()) {
            let session = self.held[held.calls[0].member].session;
            let output_max = connection.negotiated().output_len(info::LISTING_LEN);
            let mut chain = connection.chain(session, out);
            let mut data = &held.data[..];
            for (at, call) in held.calls.iter().enumerate() {
                let file = match at {
                    0 => self.encoder.handle(call).file,
                    _ => FileId::RELATED,
                };
                let about = RequestAbout { file, output_max };
                chain = self.add(chain, call, about, &mut data);
            }
            chain.finish()
        } else {
            Err(NoCredit)
        };
        if sent.is_ok() {
            held.clear();
        }
        self.encoder.held = held;
        sent
    }

    /// Adds a request to a frame, about a file. `data` has what WRITEs from here on carry.
    fn add<'a>(
        &mut self,
        chain: Chain<'a>,
        call: &Call,
        about: RequestAbout,
        data: &mut &[u8],
    ) -> Chain<'a> {
        let (tag, operation) = (call.slot, &call.operation);
        let record = self.encoder.record(call);
        let RequestAbout { file, output_max } = about;
        self.places[tag as usize].caching = CachingNews::None;
        let set_info = match record {
            Record::Create { .. } => return self.add_create(chain, call, record),
            Record::Close { flags, .. } => {
                let close = captured::close(file, flags);
                return chain.request(Command::Close, 1, tag, |out| close.encode(out));
            }
            Record::Read { flags, .. } => return chain.read(tag, &read(file, operation, flags)),
            Record::Write { flags, .. } => {
                let (own, rest) = data.split_at(operation.length as usize);
                *data = rest;
                let write = WriteRequest {
                    file_id: file,
                    offset: operation.offset,
                    length: operation.length,
                    flags: flags.into(),
                };
                return chain.write(tag, &write, |out| out.extend_from_slice(own));
            }
            Record::Flush(_) => {
                let flush = FlushRequest { file_id: file };
                return chain.request(Command::Flush, 1, tag, |out| flush.encode(out));
            }
            Record::Lock { flags, .. } => {
                return lock(chain, call, file, flags.into());
            }
            Record::Unlock { .. } => return lock(chain, call, file, lock_flags::UNLOCK),
            Record::Query {
                info,
                class,
                length,
                ..
            } => {
                let query = captured::query(info, class, length.min(output_max), file);
                return chain.request(Command::QueryInfo, 1, tag, |out| query.encode(out));
            }
            Record::List { length, .. } => {
                let names = self.encoder.names(call.member, &record);
                let length = length.min(output_max);
                let list = captured::list(&record, file, names.other, length);
                return chain.request(Command::QueryDirectory, 1, tag, |out| list.encode(out));
            }
            Record::SetFile { level, size, .. } => set(level, size, file),
            Record::SetSecurity(_) => info::set(SetClass::Security, file, 0, None),
            Record::MarkDeleted { is_pending, .. } => captured::mark(file, is_pending),
            Record::RenameOpen { .. } => {
                let names = self.encoder.names(call.member, &record);
                let rename = captured::rename(&record, file, names.other);
                return chain.request(Command::SetInfo, 1, tag, |out| rename.encode(out));
            }
            other => unreachable!("{} has no handle", other.verb()),
        };
        chain.request(Command::SetInfo, 1, tag, |out| set_info.encode(out))
    }

    fn add_create<'a>(&mut self, chain: Chain<'a>, call: &Call, record: Record) -> Chain<'a> {
        let Record::Create {
            options,
            disposition,
            ..
        } = record
        else {
            return chain;
        };
        let RecordNames {
            name,
            detail,
            unique,
            ..
        } = self.encoder.names(call.member, &record);
        let CreateCaching { oplock, lease } =
            captured::caching(&mut self.cache, call.member, &record, detail);
        self.places[call.slot as usize].caching = CachingNews::of(oplock);
        let (contexts, len) = captured::contexts(detail, lease, unique);
        let create = CreateRequest {
            oplock,
            contexts: &contexts[..len],
            ..recorded(&*name, options, disposition, detail)
        };
        chain.request(Command::Create, 1, call.slot, |out| create.encode(out))
    }
}

/// The file of a request in a frame, and the greatest length of its answer in bytes.
#[derive(Clone, Copy)]
struct RequestAbout {
    file: FileId,
    output_max: u32,
}

/// Adds a LOCK of the range of a call.
fn lock<'a>(chain: Chain<'a>, call: &Call, file_id: FileId, flags: u32) -> Chain<'a> {
    let locks = [LockElement {
        offset: call.operation.offset,
        length: call.operation.length.into(),
        flags,
    }];
    let request = LockRequest {
        file_id,
        sequence: 0,
        locks: &locks,
    };
    chain.request(Command::Lock, 1, call.slot, |out| {
        // Encoding a single range cannot fail.
        let _ = request.encode(out);
    })
}
