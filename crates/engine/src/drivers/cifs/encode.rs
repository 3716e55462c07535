//! The encoder of the operations of one source in CIFS.

use super::answer::CifsAnswered;
use super::group::{CifsClient, CifsGroup, CifsPlace};
use crate::drivers::driver::{Answer, Busy, Call};
use crate::drivers::dropped::Dropped;
use crate::drivers::site::Site;
use crate::smb::session::SessionError;
use crate::smb::session::cifs::CifsSession;

/// Encodes the operations of one source, and follows their answers.
pub(crate) trait CifsEncode: Sized + 'static {
    /// Makes the encoder of a group of clients.
    fn new(site: &Site) -> Result<Self, SessionError>;

    /// Prepares the share for a client, and makes a place for each of its slots.
    async fn prepare(
        &mut self,
        site: &Site,
        client: u32,
        session: &mut CifsSession,
        held: &mut CifsClient,
    ) -> Result<Vec<CifsPlace>, SessionError>;

    /// Appends the request of a call.
    fn encode(
        group: &mut CifsGroup<Self>,
        session: &mut CifsSession,
        call: &Call,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy>;

    /// Processes an answer, and sends the requests that follow from it. Returns the answer
    /// for the loop, if there is one yet.
    fn answered<'a>(
        group: &mut CifsGroup<Self>,
        answered: CifsAnswered<'a, '_>,
        session: &mut CifsSession,
        out: &mut Vec<u8>,
    ) -> Result<Option<Answer<'a>>, Dropped>;
}
