//! Requests that get an answer only if something is wrong: NT_CANCEL and the acknowledgement
//! of an oplock break.

use super::{CifsConnection, CifsEvent, CifsReplies};
use crate::NtStatus;
use crate::cifs::command::encode_empty;
use crate::cifs::command::lock::{CifsBreak, encode_release};
use crate::cifs::header::{CifsCommand, CifsHeader};
use crate::connection::{NotInFlight, ProtocolError, SessionIndex};

/// The number of requests that are remembered, of each kind.
pub(super) const KEPT: usize = 64;

/// The last requests of this kind.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    released: Vec<Released>,
    cancelled: Vec<Cancelled>,
}

/// An NT_CANCEL.
#[derive(Clone, Copy, Debug)]
struct Cancelled {
    /// The MID of the request that it is about.
    mid: u16,
    session: SessionIndex,
    tag: u32,
}

/// An acknowledgement of a break.
#[derive(Clone, Copy, Debug)]
struct Released {
    mid: u16,
    session: SessionIndex,
    broken: CifsBreak,
}

/// Appends an item, and drops the first one if there are too many.
fn keep<T>(all: &mut Vec<T>, item: T) {
    if all.len() == KEPT {
        all.remove(0);
    }
    all.push(item);
}

impl CifsConnection {
    /// Appends an NT_CANCEL of the request with this tag. It gets no answer; the request
    /// does.
    ///
    /// # Errors
    /// If no such request is in flight.
    pub fn cancel(
        &mut self,
        session: SessionIndex,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), NotInFlight> {
        let mut in_flight = self.in_flight.iter();
        let entry = in_flight
            .find(|entry| entry.tag == tag)
            .ok_or(NotInFlight)?;
        let mid = entry.mid;
        let cancelled = Cancelled { mid, session, tag };
        keep(&mut self.unanswered.cancelled, cancelled);
        let header = self.header(session, CifsCommand::NtCancel, mid);
        self.append(&header, CifsReplies::No, out, encode_empty);
        Ok(())
    }

    /// Appends the acknowledgement of an oplock break. It gets no answer, unless the file
    /// is closed meanwhile, or the session has expired.
    pub fn release(&mut self, session: SessionIndex, broken: CifsBreak, out: &mut Vec<u8>) {
        let mid = self.take_mid();
        let released = Released {
            mid,
            session,
            broken,
        };
        keep(&mut self.unanswered.released, released);
        let header = self.header(session, CifsCommand::LockingAndX, mid);
        // Samba reserves the sequence number of an answer, unlike for an NT_CANCEL.
        self.append(&header, CifsReplies::Yes, out, |out| {
            encode_release(broken.file, broken.level, out);
        });
    }

    /// Judges an answer to no request in flight. An expired session answers an NT_CANCEL with
    /// an error, and so does an acknowledgement. A closed file does the latter as well.
    #[cold]
    pub(super) fn unasked<'a>(
        &mut self,
        header: &CifsHeader,
    ) -> Result<CifsEvent<'a>, ProtocolError> {
        let Unanswered {
            released,
            cancelled,
        } = &mut self.unanswered;
        let mid = header.mid;
        match header.command {
            CifsCommand::NtCancel => {
                let known = cancelled.iter().position(|cancelled| cancelled.mid == mid);
                let at = known.ok_or(ProtocolError::Unasked(mid.into()))?;
                let Cancelled { session, tag, .. } = cancelled.remove(at);
                Ok(match header.status {
                    NtStatus::NETWORK_SESSION_EXPIRED => CifsEvent::Uncancelled { session, tag },
                    _ => CifsEvent::Part,
                })
            }
            CifsCommand::LockingAndX => {
                let known = released.iter().position(|released| released.mid == mid);
                let at = known.ok_or(ProtocolError::Unasked(mid.into()))?;
                let Released {
                    session, broken, ..
                } = released.remove(at);
                Ok(match header.status {
                    NtStatus::NETWORK_SESSION_EXPIRED => CifsEvent::Unreleased { session, broken },
                    _ => CifsEvent::Part,
                })
            }
            _ => Err(ProtocolError::Unasked(mid.into())),
        }
    }
}
