//! Encodes the steps of operations of several requests, and lookups. Paths are made from
//! numbers in memory that is used again.

use smbench_model::action::{Action, SetClass};
use smbench_model::files::ScratchName;
use smbench_model::kind::OpKind;
use smbench_model::operations::{Mix, Operation};
use smbench_protocol::FileId;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::CreateRequest;
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::connection::NoCredit;
use smbench_protocol::credit::charge_for;
use smbench_protocol::header::Command;

use super::encode::{To, read};
use super::request::MixEncoder;
use super::state::{CachingNews, GroupState, SlotObjects};
use crate::drivers::driver::{Busy, Call, slot_of};
use crate::drivers::folder::NumberedPaths;
use crate::drivers::requests::create::{self, StepCreate};
use crate::drivers::requests::info;
use crate::drivers::walking::{WalkPlace, WalkedDirectory};

/// The most bytes that a look at the data of a file reads: what one credit covers.
const LOOK_BYTES_MAX: u64 = 64 << 10;

impl GroupState<MixEncoder> {
    /// Encodes a step. `data` appends the data of a WRITE.
    pub(super) fn step(
        &mut self,
        call: &Call,
        mut to: To<'_>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        let operation = &call.operation;
        let open = self.places[slot_of(call.slot)].open;
        match operation.kind {
            OpKind::CopyInWrite | OpKind::SaveWrite => to.write(open, operation, 0, data),
            OpKind::CopyOutRead => to.read(open, operation, 0),
            OpKind::ListClose if self.keeps_listing(call) => Ok(()),
            kind if kind.lists_on() => self.list(call, &mut to),
            OpKind::SaveFlush => to.flush(open),
            OpKind::CopyInTimes => {
                let size = self.encoder.file_size;
                to.set(&info::set(SetClass::Basic, open, size, None))
            }
            OpKind::WalkClose => {
                self.walked(call).ended();
                to.close(open)
            }
            OpKind::ListClose | OpKind::CopyInClose | OpKind::CopyOutClose | OpKind::SaveClose => {
                to.close(open)
            }
            OpKind::SaveBackup | OpKind::SaveRename | OpKind::SaveDelete => self.rename(call, to),
            OpKind::NeighbourLook | OpKind::NeighbourRead => self.stat(call, to),
            _ => self.open_step(call, to),
        }
    }

    /// Encodes the CREATE of a step, or of a lookup.
    pub(super) fn open_step(&mut self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        if self.listings.is_some() {
            return self.open_leased(call, to);
        }
        let client = self.held[call.member].client;
        let place = self.places.get_mut(call.slot as usize);
        let MixEncoder { folder, mix, .. } = &mut self.encoder;
        let name = named(folder, mix, place.as_deref(), client, &call.operation);
        to.create(&create::of_step(purpose(call.operation.kind), name))?;
        if let Some(place) = place {
            place.caching = CachingNews::None;
        }
        Ok(())
    }

    /// Encodes QUERY_DIRECTORY for the next names.
    fn list(&mut self, call: &Call, to: &mut To<'_>) -> Result<(), NoCredit> {
        if matches!(call.operation.kind, OpKind::WalkFirst | OpKind::WalkNext) {
            self.walked(call).listing();
        }
        let place = &mut self.places[call.slot as usize];
        let (Action::List { class, buffer, .. } | Action::Walk { class, buffer, .. }) =
            self.encoder.mix.action(&call.operation)
        else {
            unreachable!("only a listing lists");
        };
        let pattern = &self.encoder.patterns[call.operation.action as usize];
        let negotiated = to.connection.negotiated();
        let listing = info::names(*class, place.open, pattern, negotiated.output_len(*buffer));
        place.lists = Some(*class);
        let charge = charge_for(listing.output_length);
        let command = Command::QueryDirectory;
        let (session, tag) = (to.session, to.tag);
        to.connection
            .request(session, command, charge, tag, to.out, |out| {
                listing.encode(out);
            })
    }

    /// Encodes the CREATE of the next directory of a walk.
    pub(super) fn walk(&mut self, call: &Call, to: To<'_>) -> Result<(), Busy> {
        let of_member = call.member * self.outstanding;
        let places = &mut self.places[of_member..of_member + self.outstanding];
        let at = call.slot as usize - of_member;
        places[at].caching = CachingNews::None;
        self.encoder.walks[call.member].open_next(places, at, |path| {
            to.create(&create::of_step(StepCreate::Directory, path))
        })
    }

    fn walked(&mut self, call: &Call) -> &mut WalkedDirectory {
        self.encoder.walks[call.member].walked(&mut self.places[call.slot as usize])
    }

    /// Encodes a step of a save that is about a name, in one frame.
    fn rename(&mut self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        let place = &mut self.places[call.slot as usize];
        let path = |name: ScratchName| &place.paths[name as usize];
        let [temporary, document, backup] = [
            ScratchName::Temporary,
            ScratchName::KeptFile,
            ScratchName::Renamed,
        ]
        .map(path);
        let due = match call.operation.kind {
            OpKind::SaveBackup => to.rename(document, backup)?,
            OpKind::SaveRename => to.rename(temporary, document)?,
            _ => {
                to.frame(&create::of_step(StepCreate::Deletion, backup), |chain| {
                    chain
                })?;
                2
            }
        };
        place.due = due;
        place.caching = CachingNews::None;
        Ok(())
    }

    /// Encodes a look at the attributes of a file, or at its data, in one frame.
    pub(super) fn stat(&mut self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        let (Action::Stat { class } | Action::Neighbour { class, .. }) =
            *self.encoder.mix.action(&call.operation)
        else {
            unreachable!("only these look at attributes");
        };
        let (tag, client) = (to.tag, self.held[call.member].client);
        let query = info::query(class, FileId::RELATED, to.connection.negotiated());
        let made = match (call.operation.kind, &mut self.listings) {
            (OpKind::NeighbourLook | OpKind::NeighbourRead, Some(listings)) => {
                listings.looked_at(call, client)
            }
            _ => None,
        };
        let folder = &mut self.encoder.folder;
        let files = self.encoder.mix.files();
        let (name, size) = match made {
            Some(made) => (
                folder.copy(made.client, made.number),
                files.copied_size(made.number),
            ),
            None => (
                folder.file(client, call.operation.file),
                files.size_of(call.operation.file),
            ),
        };
        if call.operation.kind == OpKind::NeighbourRead {
            let data = Operation {
                offset: 0,
                length: size.min(LOOK_BYTES_MAX) as u32,
                ..call.operation
            };
            to.frame(&create::of_step(StepCreate::Whole, name), |chain| {
                // A file that lacks its data is an error.
                let whole = ReadRequest {
                    minimum_count: data.length,
                    ..read(FileId::RELATED, &data, 0)
                };
                chain.read(tag, &whole)
            })?;
        } else {
            to.frame(&create::of_stat(class, name), |chain| {
                chain.request(Command::QueryInfo, 1, tag, |out| query.encode(out))
            })?;
        }
        let place = &mut self.places[tag as usize];
        place.due = super::request::FRAME_REQUESTS;
        place.caching = CachingNews::None;
        Ok(())
    }
}

/// Returns what the CREATE of a step, or of a lookup, is for.
pub(super) const fn purpose(kind: OpKind) -> StepCreate {
    match kind {
        OpKind::ListOpen => StepCreate::Directory,
        OpKind::LookupMissing => StepCreate::Lookup,
        OpKind::CopyInCreate => StepCreate::New,
        OpKind::CopyOutOpen => StepCreate::Whole,
        _ => StepCreate::Replaced,
    }
}

/// Returns the name that the CREATE of a step, or of a lookup, opens.
pub(super) fn named<'a>(
    folder: &'a mut NumberedPaths,
    mix: &Mix,
    place: Option<&'a SlotObjects>,
    client: u32,
    operation: &Operation,
) -> &'a WireName {
    let number = operation.file;
    match operation.kind {
        OpKind::ListOpen => folder.directory(number),
        OpKind::LookupMissing => match mix.action(operation) {
            Action::LookupMissing {
                name: Some(name), ..
            } => folder.missing_name(name, client, number),
            Action::LookupMissing { root, .. } => folder.missing(*root, client, number),
            _ => unreachable!("only a lookup looks up"),
        },
        OpKind::CopyInCreate => folder.copy(client, number),
        OpKind::CopyOutOpen => folder.file(client, number),
        _ => match place {
            Some(place) => &place.paths[ScratchName::Temporary as usize],
            None => unreachable!("a save has scratch names"),
        },
    }
}

impl WalkPlace for SlotObjects {
    fn walked(&mut self) -> &mut Option<Box<WalkedDirectory>> {
        &mut self.walked
    }
}

impl To<'_> {
    /// Sends CREATE of a name, SET_INFO that renames it and takes the place of another, and
    /// CLOSE. Returns the number of answers.
    fn rename(self, from: &WireName, other: &WireName) -> Result<u8, NoCredit> {
        let create: CreateRequest<'_, _> = create::of_step(StepCreate::Renamed, from);
        let set = info::set(SetClass::Rename, FileId::RELATED, 0, Some(other));
        let tag = self.tag;
        self.frame(&create, |chain| {
            chain.request(Command::SetInfo, 1, tag, |out| set.encode(out))
        })?;
        Ok(3)
    }
}
