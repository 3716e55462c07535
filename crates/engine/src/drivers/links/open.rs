//! The set-up of a group's sessions, and of all its connections.

use smbench_model::Nanos;
use smbench_protocol::SessionIndex;

use crate::drivers::reconnecting::ReconnectPolicy;
use crate::drivers::remains::Reopening;
use crate::drivers::site::Site;
use crate::machine::clock;
use crate::smb::session::{Endpoint, LogoffScope, Session, SessionError};

/// The sessions of a group during set-up.
pub(in crate::drivers) struct OpenSessions {
    /// The connection on which they are set up. Requests can be made in its current
    /// session.
    pub(in crate::drivers) first: Session,
    /// Session of each client.
    pub(in crate::drivers) indices: Vec<SessionIndex>,
    /// Set-up time of each session.
    pub(in crate::drivers) took: Vec<Nanos>,
    /// The GUID of the client, if its connections have one in common.
    pub(in crate::drivers) client_guid: Option<[u8; 16]>,
}

impl OpenSessions {
    /// Opens the first session of these clients, on a connection of its own: in the place of
    /// those that were lost, if they come back.
    pub(in crate::drivers) async fn open(
        site: &Site,
        clients: &[u32],
        again: Option<&Reopening>,
    ) -> Result<Self, SessionError> {
        let per_session = site.plan.sessions.connections.connections_per_session;
        let mut endpoint = of_first(site, clients);
        if per_session > 1 || site.reconnect != ReconnectPolicy::Never {
            endpoint = endpoint.of_one_client();
        }
        if let Some(again) = again {
            let names = &site.plan.sessions.failover.nodes;
            endpoint = again.at_next(endpoint, names).await;
            if let Some(client_guid) = again.before.client_guid {
                endpoint = endpoint.of_client(client_guid);
            }
            endpoint = endpoint.in_place_of(previous(Some(again), 0));
        }
        let client_guid = endpoint.client_guid();
        let begin = clock::now();
        let first = Session::open(&endpoint).await;
        let first = first.map_err(SessionError::of_further)?;
        Ok(Self {
            first,
            indices: vec![SessionIndex::FIRST],
            took: vec![clock::now().since(begin)],
            client_guid,
        })
    }

    /// Opens the session of the next client on the same connection, and makes it the current
    /// one.
    pub(in crate::drivers) async fn open_next(
        &mut self,
        client: u32,
        again: Option<&Reopening>,
    ) -> Result<(), SessionError> {
        let begin = clock::now();
        self.first.log_on_as(client);
        if again.is_some() {
            let number = self.indices.len();
            self.first.replace_next(previous(again, number));
        }
        self.indices.push(self.first.open_another(None).await?);
        self.took.push(clock::now().since(begin));
        Ok(())
    }

    /// Opens the further connections of all sessions.
    pub(in crate::drivers) async fn connect(
        &mut self,
        site: &Site,
        clients: &[u32],
    ) -> Result<Vec<Session>, SessionError> {
        let mut further = Vec::new();
        let per_session = site.plan.sessions.connections.connections_per_session;
        if per_session > 1 {
            // Under load, the socket does not tell it.
            self.first.keep_address()?;
        }
        for channel in 1..per_session {
            let connection_number = number(site, clients, channel);
            let added = self.connect_one(connection_number, clients).await;
            further.push(added.map_err(|source| SessionError::Channel {
                number: channel + 1,
                source: Box::new(source),
            })?);
        }
        Ok(further)
    }

    /// Opens a connection for the log-ons of each of these slots, if a log-off would end the
    /// sessions of the clients.
    pub(in crate::drivers) async fn connect_for_log_ons(
        &self,
        site: &Site,
        clients: &[u32],
        slots: usize,
    ) -> Result<Vec<Session>, SessionError> {
        let mut apart = Vec::new();
        if site.endpoint.logoff == LogoffScope::Connection {
            let endpoint = of_first(site, clients);
            for _ in 0..slots {
                apart.push(Session::open(&endpoint).await?);
            }
        }
        Ok(apart)
    }

    async fn connect_one(&mut self, number: u32, clients: &[u32]) -> Result<Session, SessionError> {
        let mut endpoint = self.first.beside()?.of_connection(number);
        let mut link: Option<Session> = None;
        let sessions = self.indices.iter().zip(&mut self.took);
        for ((&index, took), &client) in sessions.zip(clients) {
            let begin = clock::now();
            endpoint = endpoint.for_client(client);
            let binding = self.first.connection.binding(index);
            let binding =
                binding.ok_or_else(|| SessionError::NoChannelKey { at: endpoint.at() })?;
            match &mut link {
                None => link = Some(Session::open_channel(&endpoint, binding).await?),
                Some(link) => link.bind_next(client, index, binding).await?,
            }
            *took = *took + clock::now().since(begin);
        }
        link.ok_or_else(|| unreachable!("a group has a client"))
    }
}

/// Returns the endpoint of the first connection of these clients, for the first of them.
fn of_first(site: &Site, clients: &[u32]) -> Endpoint {
    let endpoint = site.endpoint.of_connection(number(site, clients, 0));
    endpoint
        .at_latest()
        .for_client(clients.first().copied().unwrap_or(0))
}

/// Returns the id of the lost session of the client with this index in its group; 0 for none.
fn previous(again: Option<&Reopening>, member: usize) -> u64 {
    let client = again.and_then(|again| again.before.clients.get(member));
    client.map_or(0, |client| client.id)
}

/// Returns the number of a group's connection among all connections of the load
/// point.
fn number(site: &Site, clients: &[u32], channel: u32) -> u32 {
    let connections = &site.plan.sessions.connections;
    let first = clients.first().copied().unwrap_or(0);
    let group = first / connections.sessions_per_connection;
    group * connections.connections_per_session + channel
}
