//! One of several connections of a group that is lost while the others stand, and the
//! connection that takes its place.

use smbench_model::Nanos;
use smbench_protocol::SessionIndex;
use smbench_protocol::connection::{Binding, Repetition};

use crate::smb::session::caching::Acknowledged;
use crate::smb::session::{Endpoint, Session, SessionError, SessionStream};

/// The oldest request in flight on a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct OldestRequest {
    /// Its message id when it was last looked at.
    pub(crate) message_id: Option<u64>,
    /// Number of further looks at which it was the same.
    pub(crate) looks: u32,
}

/// The oldest request of each connection.
pub(crate) type OldestRequests = Vec<OldestRequest>;

/// A lost connection.
#[derive(Debug)]
pub struct LostChannel {
    /// The slots of the calls that were in flight on it.
    pub(crate) slots: Vec<u32>,
    /// The endpoint of another connection in its place.
    pub(crate) endpoint: Endpoint,
}

/// What another connection in the place of a lost one needs, for one log-on.
#[derive(Debug)]
pub struct ChannelSetup {
    /// The endpoint for the first member.
    pub(crate) endpoint: Endpoint,
    /// All clients of the group, in their order.
    pub(crate) members: Vec<ChannelMember>,
}

/// A client whose session is bound to another connection.
#[derive(Debug)]
pub(crate) struct ChannelMember {
    pub(crate) client: u32,
    pub(crate) session: SessionIndex,
    pub(crate) binding: Binding,
}

/// A connection of all sessions that has the credits for its load.
#[derive(Debug)]
pub struct BoundChannel(pub(crate) Box<Session>);

/// What a connection learned while it was set up under load.
#[derive(Debug, Default)]
pub struct ChannelNews {
    /// Number of breaks of oplocks and leases.
    pub(crate) breaks: u64,
    /// Durations and outcomes of the acknowledgements of breaks.
    pub(crate) acknowledged: Vec<(Nanos, Acknowledged)>,
}

impl ChannelSetup {
    /// Connects to the server. Uses nothing up.
    pub(crate) async fn connect(&self) -> Result<SessionStream, SessionError> {
        SessionStream::connect(&self.endpoint).await
    }

    /// Binds the sessions to a new connection, and earns the credits for its load.
    pub(crate) async fn bind(self, stream: SessionStream) -> Result<BoundChannel, SessionError> {
        let mut members = self.members.into_iter();
        let Some(first) = members.next() else {
            unreachable!("a group has a client");
        };
        let mut session = Session::bind(stream, first.binding).await?;
        for member in members {
            let ChannelMember {
                client,
                session: index,
                binding,
            } = member;
            session.bind_next(client, index, binding).await?;
        }
        session.earn_credits().await?;
        session.settle().await?;
        Ok(BoundChannel(Box::new(session)))
    }
}

/// Says of the call in a slot how it is sent again; `None` if that could do harm.
pub(crate) type RepeatedAs<'a> = &'a dyn Fn(u32) -> Option<Repetition>;
