//! Reauthentication of expired sessions.

use std::task::Context;

use smbench_protocol::cifs::CifsCompletion;
use smbench_protocol::cifs::handshake::CifsSetupProgress;

use super::Cifs;
use super::group::CifsGroup;
use crate::drivers::driver::Sink;
use crate::drivers::dropped::Dropped;
use crate::drivers::renewals::RenewalStage;
use crate::smb::session::cifs::CifsSession;

/// Tag of the requests for the first member; those of the others follow.
pub(super) const FIRST_TAG: u32 = 1 << 31;

impl<E> Cifs<E> {
    /// Fetches credentials for expired sessions, and sends requests that are ready.
    #[cold]
    pub(super) fn renew(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Dropped> {
        let stream = &self.session.stream;
        let renewals = &mut self.group.renewals;
        renewals.fetch(context, |used| stream.renewal(used))?;
        self.send_renewals(out)
    }

    /// Sends the first requests that are ready, as far as MaxMpxCount allows.
    #[cold]
    pub(super) fn send_renewals(&mut self, out: &mut Vec<u8>) -> Result<(), Dropped> {
        let Self { session, group, .. } = self;
        for (member, credentials, stage) in group.renewals.all() {
            if session.connection.room() == 0 {
                break;
            }
            if let RenewalStage::Ready = stage {
                let renewed = group.held[member].session;
                let tag = FIRST_TAG + member as u32;
                let setup = session.begin_renewal(renewed, credentials, tag, out)?;
                *stage = RenewalStage::Asked(Box::new(setup));
            }
        }
        Ok(())
    }
}

/// Processes the answer to a request of a reauthentication, and appends the next one.
#[cold]
pub(super) fn answered<E>(
    group: &mut CifsGroup<E>,
    member: usize,
    done: &CifsCompletion<'_>,
    session: &mut CifsSession,
    out: &mut Vec<u8>,
    sink: &mut impl Sink,
) -> Result<(), Dropped> {
    let renewals = &mut group.renewals;
    let Some(RenewalStage::Asked(setup)) = renewals.stage(member) else {
        return Ok(());
    };
    match setup.receive(&mut session.connection, done, out) {
        Ok(CifsSetupProgress::NotYet) => {}
        Ok(CifsSetupProgress::Ready(_)) => renewals.done(member, sink),
        Err(source) => {
            let used = renewals.credentials(member);
            return Err(session.not_renewed(used, source).into());
        }
    }
    Ok(())
}
