//! The sessions of a group that are being reauthenticated while the load of the others
//! continues (MS-SMB2 3.2.5.1.6 and 3.2.4.2.3.1, MS-SMB 3.2.5.1).
//!
//! Reauthentication starts with the first answer of STATUS_NETWORK_SESSION_EXPIRED in a
//! session. Its time limit is that of the operations that wait for it. Only a few sessions
//! are reauthenticated at a time, so a list is enough for all look-ups.

use std::pin::Pin;
use std::task::{Context, Poll};

use smbench_model::Nanos;
use smbench_protocol::Credentials;

use super::driver::Sink;
use super::dropped::Dropped;
use crate::machine::tasks::on_tokio;
use crate::smb::session::SessionError;

/// A future that fetches credentials; it asks a KDC if a ticket is needed.
type Fetching = Pin<Box<dyn Future<Output = Result<Credentials, SessionError>>>>;

/// The sessions of a group that are being reauthenticated. `A` is the state of a session
/// whose first request was sent.
pub(super) struct Renewals<A> {
    /// Credentials of the last log-on of each member.
    credentials: Box<[Credentials]>,
    under_way: Vec<Renewal<A>>,
}

/// A session that is being reauthenticated.
struct Renewal<A> {
    /// Index of the session's member.
    member: usize,
    /// Instant at which the session was found expired.
    since: Nanos,
    stage: RenewalStage<A>,
}

/// How far a reauthentication is.
pub(super) enum RenewalStage<A> {
    Found,
    /// Credentials are being fetched.
    Fetching(Fetching),
    /// The first request can be sent.
    Ready,
    /// The first request was sent.
    Asked(A),
}

impl<A> Renewals<A> {
    pub(super) fn new(credentials: Vec<Credentials>) -> Self {
        Self {
            credentials: credentials.into_boxed_slice(),
            under_way: Vec::new(),
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Returns whether the session of this member takes no requests.
    pub(super) fn concern(&self, member: usize) -> bool {
        let mut all = self.under_way.iter();
        all.any(|renewal| renewal.member == member)
    }

    /// Returns the credentials of the last log-on of this member.
    pub(super) fn credentials(&self, member: usize) -> &Credentials {
        &self.credentials[member]
    }

    /// Starts the reauthentication of this member's session, unless it has already
    /// started.
    pub(super) fn found(&mut self, member: usize, now: Nanos) {
        if !self.concern(member) {
            self.under_way.push(Renewal {
                member,
                since: now,
                stage: RenewalStage::Found,
            });
        }
    }

    /// Fetches credentials for the sessions found expired. `begin` starts it.
    pub(super) fn fetch<F>(
        &mut self,
        context: &mut Context<'_>,
        begin: impl Fn(&Credentials) -> F,
    ) -> Result<(), Dropped>
    where
        F: Future<Output = Result<Credentials, SessionError>> + 'static,
    {
        for Renewal { member, stage, .. } in &mut self.under_way {
            let credentials = &mut self.credentials[*member];
            if let RenewalStage::Found = stage {
                *stage = RenewalStage::Fetching(Box::pin(on_tokio(begin(credentials))));
            }
            if let RenewalStage::Fetching(fetching) = stage
                && let Poll::Ready(fetched) = fetching.as_mut().poll(context)
            {
                *credentials = fetched?;
                *stage = RenewalStage::Ready;
            }
        }
        Ok(())
    }

    /// Returns the member, the credentials and the stage of each reauthentication.
    pub(super) fn all(
        &mut self,
    ) -> impl Iterator<Item = (usize, &Credentials, &mut RenewalStage<A>)> {
        let under_way = self.under_way.iter_mut();
        under_way.map(|Renewal { member, stage, .. }| (*member, &self.credentials[*member], stage))
    }

    /// Returns the stage of this member's reauthentication, if there is one.
    pub(super) fn stage(&mut self, member: usize) -> Option<&mut RenewalStage<A>> {
        let mut all = self.under_way.iter_mut();
        let renewal = all.find(|renewal| renewal.member == member)?;
        Some(&mut renewal.stage)
    }

    /// Ends and reports the reauthentication of this member's session.
    pub(super) fn done(&mut self, member: usize, sink: &mut impl Sink) {
        let mut all = self.under_way.iter();
        if let Some(at) = all.position(|renewal| renewal.member == member) {
            sink.reauthenticated(self.under_way.swap_remove(at).since);
        }
    }
}

impl From<SessionError> for Dropped {
    fn from(error: SessionError) -> Self {
        Self::NotRenewed(error.to_string())
    }
}
