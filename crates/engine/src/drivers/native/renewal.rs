//! Reauthentication of expired sessions. It is done on the group's first connection and is
//! valid for all of them.

use std::task::Context;

use smbench_protocol::NtStatus;
use smbench_protocol::connection::Reauthentication;

use super::Native;
use super::state::RenewalWait;
use crate::drivers::driver::{Scratch, Sink};
use crate::drivers::dropped::Dropped;
use crate::drivers::renewals::{RenewalStage, Renewals};

/// The server has refused the reauthentication of this member's user.
pub(super) struct Refused {
    member: usize,
    status: NtStatus,
}

/// Processes the server's answer to a reauthentication request.
pub(super) fn answered(
    renewals: &mut Renewals<RenewalWait>,
    member: usize,
    progress: Reauthentication,
    sink: &mut impl Sink,
) -> Result<(), Refused> {
    match progress {
        Reauthentication::Unfinished => {
            if let Some(stage) = renewals.stage(member) {
                *stage = RenewalStage::Asked(RenewalWait::Credit);
            }
        }
        Reauthentication::Done => renewals.done(member, sink),
        Reauthentication::Refused(status) => return Err(Refused { member, status }),
    }
    Ok(())
}

impl<E> Native<E> {
    /// Returns the error for a session whose reauthentication was refused.
    #[cold]
    pub(super) fn refused(&mut self, refused: &Refused, scratch: &mut Scratch) -> Dropped {
        let Refused { member, status } = *refused;
        let (first, _) = self.links.first(scratch);
        let used = self.group.renewals.credentials(member);
        first.not_renewed(used, status).into()
    }

    /// Fetches credentials for expired sessions, and sends requests that are ready.
    #[cold]
    pub(super) fn renew(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Dropped> {
        let (first, _) = self.links.first(scratch);
        let renewals = &mut self.group.renewals;
        renewals.fetch(context, |used| first.stream.renewal(used))?;
        self.send_renewals(scratch)
    }

    /// Sends requests that are ready, as far as credits allow.
    #[cold]
    pub(super) fn send_renewals(&mut self, scratch: &mut Scratch) -> Result<(), Dropped> {
        let (first, out) = self.links.first(scratch);
        for (member, credentials, stage) in self.group.renewals.all() {
            let session = self.group.held[member].session;
            if !first.connection.affords(&[1]) {
                break;
            }
            match stage {
                RenewalStage::Ready => {
                    first.begin_reauthentication(session, credentials, out)?;
                }
                RenewalStage::Asked(RenewalWait::Credit) => {
                    let sent = first.connection.continue_reauthentication(session, out);
                    debug_assert!(sent.is_ok(), "credits have been looked for");
                }
                RenewalStage::Found
                | RenewalStage::Fetching(_)
                | RenewalStage::Asked(RenewalWait::Answer) => continue,
            }
            *stage = RenewalStage::Asked(RenewalWait::Answer);
        }
        Ok(())
    }
}
