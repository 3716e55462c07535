//! State of the clients of a group, and what answers and events change in it.

use std::hint;

use smbench_model::Nanos;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::ioctl::copy_chunk::ResumeKey;
use smbench_protocol::command::oplock_break::BreakNotification;
use smbench_protocol::connection::TreeId;
use smbench_protocol::{Completion, Connection, FileId, NtStatus, ProtocolError, SessionIndex};

use super::answer;
use super::encode::{Encode, To};
use super::further::{self, Further, SlotProgress};
use super::renewal::{RenewalWait, member_of};
use crate::drivers::driver::{Call, Extent, Sink, slot_of};
use crate::drivers::dropped::Dropped;
use crate::drivers::links::Links;
use crate::drivers::renewals::Renewals;
use crate::smb::session::caching::{self, Answered, Cache};

/// State of the clients of a group.
pub(crate) struct GroupState<E> {
    pub(super) encoder: E,
    /// Oplocks and leases granted to the sessions.
    pub(super) cache: Cache,
    pub(super) renewals: Renewals<RenewalWait>,
    /// Slots whose log-ons wait for a credit.
    pub(super) unfinished: Vec<u32>,
    /// State of each member.
    pub(super) held: Box<[ClientSession]>,
    /// Number of slots of each member.
    pub(super) outstanding: usize,
    /// State of each slot, in the order of the members; empty if no action needs
    /// it.
    pub(super) places: Box<[SlotObjects]>,
}

/// The session of a client and its open files.
pub(crate) struct ClientSession {
    /// Session index, the same on every connection of the group.
    pub(super) session: SessionIndex,
    /// Open files, private or shared; empty if no action uses them.
    pub(super) files: Box<[FileId]>,
    /// Paths of the files; empty if no action opens them.
    pub(super) paths: Box<[WireName]>,
    /// Resume keys of the files as sources of copies; empty if no action copies.
    pub(super) resume_keys: Box<[ResumeKey]>,
    /// The run's directory, if any action uses it.
    pub(super) directory: FileId,
}

/// State of a slot.
#[derive(Default)]
pub(crate) struct SlotObjects {
    /// Open that the CREATE of its action created.
    pub(super) open: FileId,
    /// Tree that the TREE_CONNECT of its action connected.
    pub(super) tree: TreeId,
    /// Oplock of the open.
    pub(super) level: OplockLevel,
    /// Whether its CREATE requested an oplock or a lease.
    pub(super) asks_to_cache: bool,
    /// Number of outstanding answers to its frame of several requests.
    pub(super) due: u8,
    /// Whether an answer of this frame said that the session has expired.
    pub(super) expired: bool,
    /// A further session that is set up or being set up.
    pub(super) further: Option<Further>,
    /// Paths of its scratch names, in the order of
    /// [`ScratchName::ALL`](smbench_model::files::ScratchName::ALL).
    pub(super) paths: Box<[WireName]>,
}

impl<E> GroupState<E> {
    /// Returns the session, tag and buffer of a call's request on the chosen connection.
    #[inline]
    pub(super) fn to<'a>(&self, links: &'a mut Links, call: &Call, out: &'a mut Vec<u8>) -> To<'a> {
        To {
            connection: links.connection(),
            session: self.held[call.member].session,
            tag: call.slot,
            out,
        }
    }

    /// Returns the held-open file of a call.
    pub(super) fn held_file(&self, call: &Call) -> FileId {
        self.held[call.member].files[call.operation.file as usize]
    }

    /// Starts the reauthentication of the session to which a slot belongs.
    #[cold]
    fn expired(&mut self, slot: u32, now: Nanos) {
        self.renewals.found(slot_of(slot) / self.outstanding, now);
    }

    /// Processes the answer to the acknowledgement of a break.
    #[cold]
    pub(super) fn acknowledged(&mut self, done: &Completion<'_>, now: Nanos, sink: &mut impl Sink) {
        match self.cache.answered(done.tag, done.status, now) {
            Some(Answered::Settled(took, outcome)) => sink.acknowledged(took, outcome),
            Some(Answered::Expired(due)) => {
                self.cache.put_back(due);
                if let Some(member) = member_of(&self.held, due.session) {
                    self.renewals.found(member, now);
                }
            }
            None => {}
        }
    }

    /// Processes an answer for the further session of a slot.
    #[cold]
    fn further_answered(
        &mut self,
        done: &Completion<'_>,
        connection: &mut Connection,
        out: &mut Vec<u8>,
        now: Nanos,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let place = &mut self.places[done.tag as usize];
        match further::answered(place, connection, done, out)? {
            SlotProgress::NotYet => Ok(()),
            SlotProgress::Unfinished => {
                self.unfinished.push(done.tag);
                Ok(())
            }
            SlotProgress::To(answer) => {
                if answer.extent == Extent::Expired {
                    self.expired(done.tag, now);
                }
                sink.answer(&answer)
            }
        }
    }
}

impl<E: Encode> GroupState<E> {
    /// Processes the answer to a request of a slot.
    #[inline]
    pub(super) fn answered(
        &mut self,
        done: &Completion<'_>,
        connection: &mut Connection,
        out: &mut Vec<u8>,
        now: Nanos,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let place = self.places.get_mut(done.tag as usize);
        if place.as_ref().is_some_and(|place| place.further.is_some()) {
            hint::cold_path();
            return self.further_answered(done, connection, out, now, sink);
        }
        let asked = place.as_ref().is_some_and(|place| place.asks_to_cache);
        let answer = answer::of(done, place).map_err(ProtocolError::from)?;
        if asked && let Some(granted) = caching::granted(done).map_err(ProtocolError::from)? {
            sink.granted(granted);
        }
        if done.status == NtStatus::NETWORK_SESSION_EXPIRED {
            hint::cold_path();
            self.expired(done.tag, now);
        }
        if let Some(answer) = answer
            && let Some(answer) = E::answered(self, answer, done, connection, out)?
        {
            sink.answer(&answer)?;
        }
        Ok(())
    }

    /// Finds the open of a break, and makes the acknowledgement due.
    #[cold]
    pub(super) fn broken(&mut self, notification: &BreakNotification, sink: &mut impl Sink) {
        sink.broken();
        let Self {
            encoder,
            cache,
            held,
            places,
            outstanding,
            ..
        } = self;
        cache.broken(notification, |open| {
            let (slot, level) = encoder.holder(open, held, places)?;
            Some((held[slot / *outstanding].session, level))
        });
    }
}
