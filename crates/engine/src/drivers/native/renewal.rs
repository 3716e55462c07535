//! Reauthentication of expired sessions while the load of other sessions continues
//! (MS-SMB2 3.2.5.1.6, 3.2.4.2.3.1).
//!
//! It starts with the first answer of STATUS_NETWORK_SESSION_EXPIRED in a session.
//! Its time limit is that of the operations that wait for it. It is done on the
//! group's first connection and is valid for all of them. Only a few sessions are
//! reauthenticated at a time, so a list is enough for all look-ups.

use std::pin::Pin;
use std::task::{Context, Poll};

use smbench_model::Nanos;
use smbench_protocol::connection::Reauthentication;
use smbench_protocol::{Credentials, NtStatus, SessionIndex};

use super::Native;
use super::group::ClientSession;
use crate::drivers::driver::{Scratch, Sink};
use crate::drivers::dropped::Dropped;
use crate::smb::session::SessionError;

/// A future that fetches credentials; it asks a KDC if a ticket is needed.
type Fetching = Pin<Box<dyn Future<Output = Result<Credentials, SessionError>>>>;

/// A session that is being reauthenticated.
struct Renewal {
    /// Index of the session's member.
    member: usize,
    /// Instant at which the session was found expired.
    since: Nanos,
    stage: RenewalStage,
}

enum RenewalStage {
    Found,
    /// Credentials are being fetched.
    Fetching(Fetching),
    /// The first request waits for a credit.
    Ready,
    /// A request was sent and its answer is outstanding.
    Asked,
    /// The next request waits for a credit.
    Unfinished,
}

/// The sessions of a group that are being reauthenticated.
#[derive(Default)]
pub(super) struct Renewals(Vec<Renewal>);

impl Renewals {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the session of this member takes no requests.
    pub(super) fn concern(&self, member: usize) -> bool {
        self.0.iter().any(|renewal| renewal.member == member)
    }

    /// Starts the reauthentication of this member's session, unless it has already
    /// started.
    pub(super) fn found(&mut self, member: usize, now: Nanos) {
        if !self.concern(member) {
            self.0.push(Renewal {
                member,
                since: now,
                stage: RenewalStage::Found,
            });
        }
    }

    /// Processes the server's answer to a reauthentication request.
    pub(super) fn answered(
        &mut self,
        member: usize,
        progress: Reauthentication,
        sink: &mut impl Sink,
    ) -> Result<(), Refused> {
        let mut all = self.0.iter();
        let Some(at) = all.position(|renewal| renewal.member == member) else {
            return Ok(());
        };
        match progress {
            Reauthentication::Unfinished => self.0[at].stage = RenewalStage::Unfinished,
            Reauthentication::Done => {
                let renewal = self.0.swap_remove(at);
                sink.reauthenticated(renewal.since);
            }
            Reauthentication::Refused(status) => return Err(Refused { member, status }),
        }
        Ok(())
    }
}

/// The server has refused the reauthentication of this member's user.
pub(super) struct Refused {
    pub(super) member: usize,
    pub(super) status: NtStatus,
}

/// Returns the member to which this session belongs.
pub(super) fn member_of(held: &[ClientSession], session: SessionIndex) -> Option<usize> {
    held.iter().position(|held| held.session == session)
}

impl From<SessionError> for Dropped {
    fn from(error: SessionError) -> Self {
        Self::NotRenewed(error.to_string())
    }
}

impl<E> Native<E> {
    /// Returns the error for a session whose reauthentication was refused.
    #[cold]
    pub(super) fn refused(&mut self, refused: &Refused, scratch: &mut Scratch) -> Dropped {
        let Refused { member, status } = *refused;
        let (first, _) = self.links.first(scratch);
        let used = &self.group.held[member].credentials;
        first.not_renewed(used, status).into()
    }

    /// Fetches credentials for expired sessions, and sends requests that are ready.
    #[cold]
    pub(super) fn renew(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Dropped> {
        for Renewal { member, stage, .. } in &mut self.group.renewals.0 {
            let held = &mut self.group.held[*member];
            if let RenewalStage::Found = stage {
                let (first, _) = self.links.first(scratch);
                *stage = RenewalStage::Fetching(Box::pin(first.renewal(&held.credentials)));
            }
            if let RenewalStage::Fetching(fetching) = stage
                && let Poll::Ready(fetched) = fetching.as_mut().poll(context)
            {
                held.credentials = fetched?;
                *stage = RenewalStage::Ready;
            }
        }
        self.send_renewals(scratch)
    }

    /// Sends requests that are ready, as far as credits allow.
    #[cold]
    pub(super) fn send_renewals(&mut self, scratch: &mut Scratch) -> Result<(), Dropped> {
        for Renewal { member, stage, .. } in &mut self.group.renewals.0 {
            let held = &self.group.held[*member];
            let (first, out) = self.links.first(scratch);
            if !first.connection.affords(&[1]) {
                break;
            }
            match stage {
                RenewalStage::Ready => {
                    first.begin_reauthentication(held.session, &held.credentials, out)?;
                }
                RenewalStage::Unfinished => {
                    let sent = first
                        .connection
                        .continue_reauthentication(held.session, out);
                    debug_assert!(sent.is_ok(), "credits have been looked for");
                }
                RenewalStage::Found | RenewalStage::Fetching(_) | RenewalStage::Asked => continue,
            }
            *stage = RenewalStage::Asked;
        }
        Ok(())
    }
}
