//! Replays the traces of a group of clients, whatever the driver: their names, their
//! open handles, and what follows from an answer. Only the deletion of a tree
//! allocates.
//!
//! Not here: the requests. A driver maps each record to its own.

mod frame;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_model::operations::replay::waits_for;
use smbench_model::trace::{CreateDetail, Record, Trace};
use smbench_protocol::NtStatus;
use smbench_protocol::command::WireName;

pub(super) use self::frame::{FramePlace, HeldFrame};
use super::copies::CopyPlace;
use super::deltree::{Deltree, DeltreeRequest, DeltreeStep};
use super::driver::{Answer, Busy, Call, Extent};
use super::requests::create::Unique;
use super::requests::recorded::wire_name;
use super::site::Site;
use crate::smb::calls::FileCalls;
use crate::smb::session::{SessionError, random_u64};
use crate::smb::share::{REPLAY_DIRECTORY, join, populate};

/// Maximum length of the directory's name in UTF-16 units. It leaves room for any
/// name below it.
const ROOT_UNITS_MAX: usize = 16_000;

/// The replays of a group of clients. `H` is what a driver keeps of an open handle.
pub(crate) struct Replaying<H> {
    /// The directory of all clients, with a backslash at the end.
    root: WireName,
    /// State of each member.
    clients: Vec<ReplayedClient<H>>,
    /// State of each slot, in the order of the members.
    slots: Vec<ReplayedSlot>,
    outstanding: usize,
    /// Buffers for the names in a request.
    name: WireName,
    other: WireName,
    unique: Unique,
    pub(super) held: HeldFrame,
}

struct ReplayedClient<H> {
    trace: Arc<Trace>,
    /// The number that replaces the 1 in `client1`.
    number: WireName,
    /// The handles of the trace. The last place is for operations without a handle.
    /// At most a file that was opened against its record is open there, until its
    /// own close.
    handles: Box<[H]>,
    /// Its place among the clients of its copy, if it waits for them.
    place: Option<CopyPlace>,
}

#[derive(Default)]
struct ReplayedSlot {
    current: Option<ReplayedCall>,
    /// The tree that the operation in flight deletes.
    deltree: Option<Box<Deltree>>,
}

/// An operation in flight.
struct ReplayedCall {
    member: usize,
    operation: Operation,
    /// Whether its frame contains a CLOSE.
    closes: bool,
    /// Whether the CLOSE was sent again.
    is_closing: bool,
    /// The first status that is not a success.
    status: NtStatus,
}

/// The names of an operation by name.
pub(super) struct RecordNames<'a> {
    /// Its path.
    pub(super) name: &'a mut WireName,
    /// The new path of a rename, or the pattern of a listing.
    pub(super) other: &'a WireName,
    /// What a CREATE has beside its record.
    pub(super) detail: Option<&'a CreateDetail>,
    /// Names of its durable handles.
    pub(super) unique: &'a mut Unique,
}

/// A request of the deletion of a tree.
pub(super) struct DeletionRequest<'a> {
    pub(super) request: DeltreeRequest,
    pub(super) name: &'a WireName,
}

/// What follows from an answer.
pub(super) enum Following<'a> {
    /// Other answers to the same frame.
    Answers,
    /// The CLOSE of the frame once more.
    Close,
    /// The next request of the deletion of a tree.
    Deletion,
    /// Nothing. This is the answer for the loop.
    End(Answer<'a>),
}

impl<H> Replaying<H> {
    /// Makes the replays of a group without members.
    pub(super) fn of_site(site: &Site) -> Result<Self, SessionError> {
        let root = root_of(site) + "\\";
        if root.encode_utf16().count() > ROOT_UNITS_MAX {
            return Err(SessionError::Path {
                doing: format!("work in '{root}'"),
            });
        }
        Ok(Self {
            root: wire_name(&root)?,
            clients: Vec::new(),
            slots: Vec::new(),
            outstanding: site.plan.only().outstanding as usize,
            name: WireName::default(),
            other: WireName::default(),
            unique: Unique::new(random_u64()),
            held: HeldFrame::default(),
        })
    }

    /// Creates the files that a client needs at the start.
    pub(super) async fn populate(
        &self,
        site: &Site,
        client: u32,
        session: &mut impl FileCalls,
    ) -> Result<(), SessionError> {
        let (trace, copy) = (site.track(client), site.copy_of(client));
        populate(session, &root_of(site), copy, trace, site.salt).await
    }

    /// Adds the next member, with its trace and a place for each handle of it.
    pub(super) fn add(
        &mut self,
        site: &Site,
        client: u32,
        handles: Vec<H>,
    ) -> Result<(), SessionError> {
        let trace = site.track(client);
        let number = (u64::from(site.copy_of(client)) + 1).to_string();
        self.clients.push(ReplayedClient {
            trace: Arc::clone(trace),
            number: wire_name(&number)?,
            handles: handles.into_boxed_slice(),
            place: site.copies.place(client, trace),
        });
        let slots = self.clients.len() * self.outstanding;
        self.slots.resize_with(slots, ReplayedSlot::default);
        Ok(())
    }

    /// Returns the record of a call. The close of a file that was opened against its
    /// record has no record of its own.
    pub(super) fn record(&self, call: &Call) -> Record {
        let operation = &call.operation;
        let trace = &self.clients[call.member].trace;
        match *trace.record(operation.action) {
            Record::Create { .. } if operation.kind == OpKind::Close => Record::Close {
                handle: None,
                flags: 0,
            },
            record => record,
        }
    }

    /// Fails if a call waits for an earlier one of its client, or for other clients of its
    /// copy.
    pub(super) fn check(&self, call: &Call) -> Result<(), Busy> {
        if self.outstanding > 1 && self.waits(call) {
            return Err(Busy::Earlier);
        }
        match &self.clients[call.member].place {
            Some(place) if !place.may_send(&call.operation) => Err(Busy::Others),
            _ => Ok(()),
        }
    }

    /// Returns whether a call waits for an earlier one of its client.
    fn waits(&self, call: &Call) -> bool {
        let of_client = call.member * self.outstanding..(call.member + 1) * self.outstanding;
        let trace = &self.clients[call.member].trace;
        of_client
            .filter(|&slot| slot != call.slot as usize && !self.held.has(slot))
            .filter_map(|slot| self.slots[slot].current.as_ref())
            .any(|earlier| waits_for(trace, &call.operation, &earlier.operation))
    }

    /// Returns the place of the handle of a call.
    pub(super) fn handle(&mut self, call: &Call) -> &mut H {
        &mut self.clients[call.member].handles[call.operation.file as usize]
    }

    /// Ends the call of a slot, and returns the place of its handle.
    #[cfg(feature = "smb-rs")]
    pub(super) fn end(&mut self, slot: u32) -> &mut H {
        let Some(call) = self.slots[slot as usize].current.take() else {
            unreachable!("a call is in flight");
        };
        let client = &mut self.clients[call.member];
        if let Some(place) = &mut client.place {
            place.answered(call.operation.action);
        }
        &mut client.handles[call.operation.file as usize]
    }

    /// Returns the handles of a member.
    #[cfg(feature = "smb-rs")]
    pub(super) fn handles_of(&self, member: usize) -> &[H] {
        &self.clients[member].handles
    }

    /// Returns the first slot of the member with this handle, and the place of the
    /// handle.
    pub(super) fn find(&mut self, is_it: impl Fn(&H) -> bool) -> Option<(usize, &mut H)> {
        let mut clients = self.clients.iter_mut().enumerate();
        clients.find_map(|(member, client)| {
            let handle = client.handles.iter_mut().find(|handle| is_it(handle))?;
            Some((member * self.outstanding, handle))
        })
    }

    /// Composes the names of an operation by name.
    pub(super) fn names(&mut self, member: usize, record: &Record) -> RecordNames<'_> {
        let Self {
            root,
            clients,
            name,
            other,
            unique,
            ..
        } = self;
        let ReplayedClient { trace, number, .. } = &clients[member];
        let path = |path| trace.path(path).parts(root, number);
        match *record {
            Record::Create { path: one, .. }
            | Record::QueryPath { path: one, .. }
            | Record::Unlink(one)
            | Record::Mkdir(one)
            | Record::Rmdir(one)
            | Record::Deltree(one) => set_joined(name, path(one)),
            Record::RenameOpen { to, .. } => set_joined(other, path(to)),
            Record::List { pattern, .. } => {
                set_joined(other, trace.path(pattern).pattern(number));
            }
            Record::Rename { from, to } => {
                set_joined(name, path(from));
                set_joined(other, path(to));
            }
            Record::Find {
                directory, pattern, ..
            } => {
                set_joined(name, path(directory));
                // A pattern is not below the run's directory, so it gets no prefix.
                set_joined(other, trace.path(pattern).pattern(number));
            }
            _ => {}
        }
        RecordNames {
            name,
            other,
            detail: trace.detail(record),
            unique,
        }
    }

    /// Begins the deletion of a tree, and returns its first request.
    pub(super) fn begin_deletion(&mut self, slot: u32, listed: &str) -> DeletionRequest<'_> {
        let deltree = Deltree::of(self.name.to_string());
        self.slots[slot as usize].deltree = Some(Box::new(deltree));
        self.deletion(slot, listed)
    }

    /// Returns the next request of the deletion of a tree, and its name. `listed` is
    /// appended to the name of a directory to list.
    pub(super) fn deletion(&mut self, slot: u32, listed: &str) -> DeletionRequest<'_> {
        let Some(deltree) = &self.slots[slot as usize].deltree else {
            unreachable!("a deletion has begun");
        };
        let (request, path) = (deltree.request(), deltree.path());
        // Setting the name cannot fail: each came from a listing, so it is short
        // enough.
        let _ = match request {
            DeltreeRequest::Listing => self.name.set(&format!("{path}{listed}")),
            DeltreeRequest::File | DeltreeRequest::Directory => self.name.set(path),
        };
        DeletionRequest {
            request,
            name: &self.name,
        }
    }

    /// Returns the deletion that waits for the listing of a directory.
    pub(super) fn listing_deltree(&mut self, slot: u32) -> Option<&mut Deltree> {
        let deltree = self.slots.get_mut(slot as usize)?.deltree.as_deref_mut()?;
        (deltree.request() == DeltreeRequest::Listing).then_some(deltree)
    }

    /// Notes that a call was sent. `closes` says whether its frame has a CLOSE.
    pub(super) fn begin(&mut self, call: &Call, closes: bool) {
        if let Some(place) = &mut self.clients[call.member].place {
            place.sent(&call.operation);
        }
        self.slots[call.slot as usize].current = Some(ReplayedCall {
            member: call.member,
            operation: call.operation,
            closes,
            is_closing: false,
            status: NtStatus::SUCCESS,
        });
    }
}

impl<H: Copy + Default> Replaying<H> {
    /// Returns what follows from an answer. `opened` is the open that the slot's last
    /// CREATE made, and `is_open` says whether there is one.
    ///
    /// Some servers do not carry out the requests of a frame after a failed one. The
    /// CLOSE is then sent once more, so that nothing stays open.
    pub(super) fn follow<'a>(
        &mut self,
        answer: Answer<'a>,
        opened: H,
        is_open: bool,
    ) -> Following<'a> {
        let slot = self.slots.get_mut(answer.slot as usize);
        let Some(ReplayedSlot { current, deltree }) = slot else {
            return Following::End(answer);
        };
        let Some(call) = current else {
            return Following::End(answer);
        };
        if call.status == NtStatus::SUCCESS {
            call.status = answer.status;
        }
        if answer.extent == Extent::Part {
            return Following::Answers;
        }
        if call.closes && is_open && !call.is_closing {
            call.is_closing = true;
            return Following::Close;
        }
        if let Some(tree) = deltree {
            match tree.go_on(call.status) {
                DeltreeStep::Send => {
                    (call.status, call.is_closing) = (NtStatus::SUCCESS, false);
                    return Following::Deletion;
                }
                DeltreeStep::End(status) => call.status = status,
            }
            *deltree = None;
        }
        let status = call.status;
        let member = call.member;
        let Operation {
            kind, file, action, ..
        } = call.operation;
        let handle = &mut self.clients[member].handles[file as usize];
        match kind {
            OpKind::Create => *handle = opened,
            OpKind::Close => *handle = H::default(),
            _ => {}
        }
        *current = None;
        if let Some(place) = &mut self.clients[member].place {
            place.answered(action);
        }
        Following::End(Answer { status, ..answer })
    }
}

/// Returns the number of places for the handles of a trace.
pub(super) fn places(trace: &Trace) -> usize {
    trace.handles as usize + 1
}

/// Returns the directory of all clients.
pub(super) fn root_of(site: &Site) -> String {
    join(&site.directory, REPLAY_DIRECTORY)
}

fn set_joined<'a>(
    name: &mut WireName,
    parts: impl IntoIterator<Item = &'a WireName, IntoIter: Clone>,
) {
    name.set_joined(parts)
        .unwrap_or_else(|_| unreachable!("their lengths have been looked at"));
}
