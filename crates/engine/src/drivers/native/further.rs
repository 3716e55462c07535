//! Further sessions on a client's connection, set up and ended as operations of a
//! mix. They show the cost of a log-on under load.
//!
//! A log-on takes several requests. Its slot is in flight from the first
//! SESSION_SETUP until the answer to TREE_CONNECT. If the log-on fails earlier, it
//! is in flight until the answer to LOGOFF. Unlike all other operations a log-on
//! allocates memory, because proving a password does. No mix has it on its steady
//! path.

use smbench_protocol::command::bodyless::EmptyResponse;
use smbench_protocol::connection::{EMPTY_BODY, NoCredit};
use smbench_protocol::handshake::SetupProgress;
use smbench_protocol::header::Command;
use smbench_protocol::{Completion, Connection, HandshakeError, NtStatus, ProtocolError};

use super::Native;
use super::encode::To;
use super::state::{Further, FurtherStage, GroupState, SlotObjects};
use crate::drivers::driver::{Answer, Busy, Call, Extent, Scratch};
use crate::drivers::dropped::Dropped;
use crate::drivers::links::Links;
use crate::machine::clock;

impl<E> GroupState<E> {
    /// Begins a log-on with the credentials of the client's own session.
    pub(super) fn log_on(
        &mut self,
        links: &mut Links,
        call: &Call,
        out: &mut Vec<u8>,
    ) -> Result<(), Busy> {
        let (link, session) = links.chosen_session();
        if !session.connection.affords(&[1]) {
            return Err(Busy::Credits);
        }
        let credentials = self.renewals.credentials(call.member);
        match session.begin_log_on(credentials, call.slot, out) {
            Ok(opening) => {
                self.places[call.slot as usize].further = Some(Further {
                    link,
                    stage: FurtherStage::Opening(Box::new(opening)),
                });
                Ok(())
            }
            Err(HandshakeError::NoCredit(_)) => Err(Busy::Credits),
            // The ticket has expired, so the client's own session needs a new one
            // as well.
            Err(_) => {
                self.renewals.found(call.member, clock::now());
                Err(Busy::Session)
            }
        }
    }

    /// Sends LOGOFF, which also ends the tree connect.
    pub(super) fn log_off(&self, to: To<'_>) -> Result<(), NoCredit> {
        let further = &self.places[to.tag as usize].further;
        let Some(FurtherStage::LoggedOn(session)) = further.as_ref().map(|further| &further.stage)
        else {
            unreachable!("only a session that stands is logged off");
        };
        let to = To {
            session: *session,
            ..to
        };
        to.request(Command::Logoff, |out| out.extend_from_slice(&EMPTY_BODY))
    }

    /// Returns the number of the connection of a slot's further session.
    pub(super) fn link_of_further(&self, slot: u32) -> usize {
        let further = &self.places[slot as usize].further;
        further.as_ref().map_or(0, |further| further.link)
    }
}

impl<E> Native<E> {
    /// Continues the log-ons that wait for credits, as far as credits allow.
    #[cold]
    pub(super) fn resume_log_ons(&mut self, scratch: &mut Scratch) {
        let Self { links, group, .. } = self;
        let GroupState {
            unfinished, places, ..
        } = group;
        unfinished.retain(|&slot| {
            let further = &mut places[slot as usize].further;
            let Some(Further {
                link,
                stage: FurtherStage::Opening(opening),
            }) = further
            else {
                return false;
            };
            links.pick(*link);
            let (connection, out) = links.chosen(scratch);
            opening.resume(connection, out) == SetupProgress::Unfinished
        });
    }
}

/// Progress of a slot's further session after an answer.
pub(super) enum SlotProgress {
    /// The log-on continues.
    NotYet,
    /// The log-on continues when there is a credit for the next request.
    Unfinished,
    /// The log-on or log-off has ended.
    To(Answer<'static>),
}

/// Processes an answer for the further session of a slot, and appends the next
/// request.
pub(super) fn answered(
    place: &mut SlotObjects,
    connection: &mut Connection,
    done: &Completion<'_>,
    out: &mut Vec<u8>,
) -> Result<SlotProgress, Dropped> {
    let answer = |status| Answer::bare(done.tag, Extent::Final, status);
    let Some(Further { link, stage }) = place.further.take() else {
        return Ok(SlotProgress::To(answer(done.status)));
    };
    let mut opening = match stage {
        FurtherStage::Opening(opening) => opening,
        FurtherStage::LoggedOn(session) => {
            connection.forget(session);
            if done.status == NtStatus::SUCCESS {
                EmptyResponse::decode(done.message()).map_err(ProtocolError::from)?;
            }
            return Ok(SlotProgress::To(answer(done.status)));
        }
    };
    let (stage, came) = match opening.receive(connection, done, out) {
        Ok(SetupProgress::NotYet) => (FurtherStage::Opening(opening), SlotProgress::NotYet),
        Ok(SetupProgress::Unfinished) => (FurtherStage::Opening(opening), SlotProgress::Unfinished),
        Ok(SetupProgress::Ready(session)) => (
            FurtherStage::LoggedOn(session),
            SlotProgress::To(answer(NtStatus::SUCCESS)),
        ),
        // The ticket expired during the log-on, which is tried again with a new
        // ticket.
        Err(HandshakeError::Refused { status, .. })
            if status == NtStatus::NETWORK_SESSION_EXPIRED =>
        {
            return Ok(SlotProgress::To(Answer::bare(
                done.tag,
                Extent::Expired,
                status,
            )));
        }
        Err(HandshakeError::Refused { status, .. }) => return Ok(SlotProgress::To(answer(status))),
        Err(HandshakeError::Protocol(error)) => return Err(error.into()),
        Err(other) => return Err(Dropped::LogOn(other.to_string())),
    };
    place.further = Some(Further { link, stage });
    Ok(came)
}
