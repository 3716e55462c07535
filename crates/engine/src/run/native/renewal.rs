//! Sessions that have expired, authenticated again while the load of the
//! others goes on (MS-SMB2 3.2.5.1.6, 3.2.4.2.3.1).
//!
//! A session's first answer with STATUS_NETWORK_SESSION_EXPIRED begins it; how
//! long it may take is for whoever waits for the calls to say. It is done on the
//! group's first connection and counts for all of them. Few sessions ever are
//! here, so that all is looked up in a list.

use std::pin::Pin;
use std::task::{Context, Poll};

use smbench_protocol::{Credentials, NtStatus, Reauthentication, SessionIndex};

use super::{Held, Native};
use crate::clock::Nanos;
use crate::run::driver::{Scratch, Sink};
use crate::run::operation::Dropped;
use crate::session::SessionError;

/// A KDC is asked, where tickets are needed.
type Fetching = Pin<Box<dyn Future<Output = Result<Credentials, SessionError>>>>;

/// A session that is being authenticated again.
struct Renewal {
    /// Whose it is.
    member: usize,
    /// When it was found expired.
    since: Nanos,
    stage: Stage,
}

enum Stage {
    Found,
    /// What to log on with is being got.
    Fetching(Fetching),
    /// The first request waits for a credit.
    Ready,
    /// The server is to answer.
    Asked,
    /// The next request waits for a credit.
    Unfinished,
}

/// The sessions of a group that are being authenticated again.
#[derive(Default)]
pub(super) struct Renewals(Vec<Renewal>);

impl Renewals {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the session of this member takes no requests.
    pub(super) fn concern(&self, member: usize) -> bool {
        self.0.iter().any(|renewal| renewal.member == member)
    }

    /// A request in the session of this member was answered with nothing but
    /// that it has expired.
    pub(super) fn found(&mut self, member: usize, now: Nanos) {
        if !self.concern(member) {
            self.0.push(Renewal {
                member,
                since: now,
                stage: Stage::Found,
            });
        }
    }

    /// The server has answered.
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
            Reauthentication::Unfinished => self.0[at].stage = Stage::Unfinished,
            Reauthentication::Done => {
                let renewal = self.0.swap_remove(at);
                sink.reauthenticated(renewal.since);
            }
            Reauthentication::Refused(status) => return Err(Refused { member, status }),
        }
        Ok(())
    }
}

/// The server lets the member's user in no more.
pub(super) struct Refused {
    pub(super) member: usize,
    pub(super) status: NtStatus,
}

/// The member whose session this is.
pub(super) fn member_of(held: &[Held], session: SessionIndex) -> Option<usize> {
    held.iter().position(|held| held.session == session)
}

impl From<SessionError> for Dropped {
    fn from(error: SessionError) -> Self {
        Self::NotRenewed(error.to_string())
    }
}

impl Native {
    /// Why a session is not authenticated again.
    #[cold]
    pub(super) fn refused(&mut self, refused: &Refused, scratch: &mut Scratch) -> Dropped {
        let Refused { member, status } = *refused;
        let (first, _) = self.links.first(scratch);
        let used = &self.held[member].credentials;
        first.not_renewed(used, status).into()
    }

    /// Gets what sessions found expired log on with, and sends what is ready.
    #[cold]
    pub(super) fn renew(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Dropped> {
        for Renewal { member, stage, .. } in &mut self.renewals.0 {
            let held = &mut self.held[*member];
            if let Stage::Found = stage {
                let (first, _) = self.links.first(scratch);
                *stage = Stage::Fetching(Box::pin(first.renewal(&held.credentials)));
            }
            if let Stage::Fetching(fetching) = stage
                && let Poll::Ready(fetched) = fetching.as_mut().poll(context)
            {
                held.credentials = fetched?;
                *stage = Stage::Ready;
            }
        }
        self.send_renewals(scratch)
    }

    /// Sends what is ready, as far as credits allow.
    #[cold]
    pub(super) fn send_renewals(&mut self, scratch: &mut Scratch) -> Result<(), Dropped> {
        for Renewal { member, stage, .. } in &mut self.renewals.0 {
            let held = &self.held[*member];
            let (first, out) = self.links.first(scratch);
            if !first.connection.affords(&[1]) {
                break;
            }
            match stage {
                Stage::Ready => {
                    first.begin_reauthentication(held.session, &held.credentials, out)?;
                }
                Stage::Unfinished => {
                    let sent = first
                        .connection
                        .continue_reauthentication(held.session, out);
                    debug_assert!(sent.is_ok(), "credits have been looked for");
                }
                Stage::Found | Stage::Fetching(_) | Stage::Asked => continue,
            }
            *stage = Stage::Asked;
        }
        Ok(())
    }
}
