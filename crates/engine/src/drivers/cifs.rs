//! The driver in CIFS: a session for each client of the group, on one connection.
//!
//! [`open`] opens files before the load, [`mix`], [`listing`] and [`replay`] encode operations,
//! [`answer`] converts answers, and [`renewal`] reauthenticates expired sessions.

mod answer;
mod encode;
mod group;
mod listing;
pub(crate) mod mix;
mod open;
mod renewal;
pub(crate) mod replay;
mod search;
mod to;

use std::hint;
use std::task::{Context, Poll};

use rustix::net::RecvFlags;
use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_protocol::ProtocolError;
use smbench_protocol::cifs::CifsEvent;
use smbench_protocol::frame::{Inbound, Payload};

use crate::drivers::backlog::{self, Backlog};
use crate::drivers::driver::{Busy, Call, Driver, LoadSockets, Opened, Scratch, Sink};
use crate::drivers::dropped::{self, Dropped};
use crate::drivers::links::Payloads;
use crate::drivers::links::drops;
use crate::drivers::remains::{Reopening, SessionRemains};
use crate::drivers::renewals::Renewals;
use crate::drivers::site::Site;
use crate::drivers::site_connect::SiteDriver;
use crate::machine::clock;
use crate::smb::session::cifs::CifsSession;
use crate::smb::session::{SessionError, SessionStream};
pub(crate) use encode::CifsEncode;
use group::{CifsGroup, WATCH_TAG};

/// The sessions of a group on their connection, with their open files.
pub(crate) struct Cifs<E> {
    session: CifsSession,
    backlog: Backlog,
    group: CifsGroup<E>,
    payload: Payload,
    payloads: Payloads,
    /// Number of the address of the server, if there are several.
    node: Option<usize>,
}

impl<E: CifsEncode> SiteDriver for Cifs<E> {
    async fn open(
        site: &Site,
        clients: &[u32],
        again: Option<&Reopening>,
    ) -> Result<Opened<Self>, SessionError> {
        let mut encoder = E::new(site)?;
        let connections = &site.plan.sessions.connections;
        let first = clients.first().copied().unwrap_or(0);
        let number = first / connections.sessions_per_connection;
        let endpoint = site.endpoint.of_connection(number);
        let mut endpoint = endpoint.at_latest().for_client(first);
        if let Some(again) = again {
            let names = &site.plan.sessions.failover.nodes;
            endpoint = again.at_next(endpoint, names).await;
        }
        let begin = clock::now();
        let mut session = CifsSession::open(&endpoint).await?;
        let mut took = vec![clock::now().since(begin)];
        let (mut held, mut places) = (Vec::with_capacity(clients.len()), Vec::new());
        let (mut granted, mut oplocks, mut refused) = (Vec::new(), Vec::new(), None);
        let mut credentials = Vec::with_capacity(clients.len());
        for (at, &client) in clients.iter().enumerate() {
            if at > 0 {
                let begin = clock::now();
                session.log_on_as(client);
                match session.open_another().await {
                    Ok(_) => took.push(clock::now().since(begin)),
                    // The sessions before it stay.
                    Err(error) if error.is_refusal() => {
                        refused = Some(((clients.len() - at) as u32, error));
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
            let mut of_client =
                open::hold(site, client, &mut session, &mut granted, &mut oplocks).await?;
            let prepared = encoder.prepare(site, client, &mut session, &mut of_client);
            places.extend(prepared.await?);
            held.push(of_client);
            credentials.push(session.credentials.clone());
        }
        let is_unseen = site.plan.only().verify == Verify::Off && !session.connection.is_signed();
        let breaks = std::mem::take(&mut session.breaks);
        group::note_breaks(&mut oplocks, &breaks);
        let server = session.stream.server();
        let driver = Self {
            node: session.stream.node(),
            session,
            backlog: Backlog::default(),
            group: CifsGroup::new(
                site,
                encoder,
                held,
                places,
                oplocks,
                Renewals::new(credentials),
            ),
            payload: match site.plan.only().verify {
                Verify::Off => Payload::Discard,
                Verify::ReadBack => Payload::Keep,
            },
            payloads: if is_unseen && drops::is_worth_while(&site.plan) {
                Payloads::Dropped
            } else {
                Payloads::Received
            },
        };
        Ok(Opened {
            server,
            granted,
            refused,
            breaks: breaks.len() as u64,
            ..Opened::new(driver, 1, took)
        })
    }
}

impl<E: CifsEncode> Driver for Cifs<E> {
    fn begin_load(&mut self, sockets: &LoadSockets) -> Result<(), Dropped> {
        sockets.take(&mut self.session.stream.socket)
    }

    fn reset(&mut self) {
        self.session.stream.socket.reset_on_close();
    }

    fn remains(&mut self) -> SessionRemains {
        SessionRemains {
            node: self.node,
            ..SessionRemains::default()
        }
    }

    fn has_room(&self, scratch: &Scratch) -> bool {
        self.backlog.len() + scratch.output.len() < backlog::FULL_LEN
    }

    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let Self { session, group, .. } = self;
        if !group.renewals.is_empty() && group.renewals.concern(call.member) {
            return Err(Busy::Session);
        }
        E::encode(group, session, call, &mut scratch.output, data)
    }

    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> Result<(), Dropped> {
        if !self.group.renewals.is_empty() {
            hint::cold_path();
            self.renew(context, &mut scratch.output)?;
        }
        let socket = &self.session.stream.socket;
        let flushed = self.backlog.flush(socket, context, &mut scratch.output);
        flushed.map_err(|error| dropped::unsent(error, 0))
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        let SessionStream {
            socket, inbound, ..
        } = &mut self.session.stream;
        let input = &mut scratch.input;
        match self.payloads {
            Payloads::Received => socket
                .poll_receive(context, input, RecvFlags::empty())
                .map(|len| dropped::received(len, 0)),
            Payloads::Dropped => drops::receive(socket, 0, inbound, context, input),
        }
    }

    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        // Taken out, because following an answer needs the whole session.
        let mut inbound = std::mem::take(&mut self.session.stream.inbound);
        let taken = self.take_frames(&mut inbound, received, now, scratch, sink);
        self.session.stream.inbound = inbound;
        taken?;
        // Sent before further operations take their place.
        if !self.group.renewals.is_empty() {
            hint::cold_path();
            self.send_renewals(&mut scratch.output)?;
        }
        if !self.group.due.is_empty() || !self.group.uncancelled.is_empty() {
            hint::cold_path();
            self.send_due(&mut scratch.output);
        }
        Ok(())
    }

    fn is_awaited(&self) -> bool {
        !self.group.renewals.is_empty() || self.session.connection.in_flight() > 0
    }

    async fn close(self) {
        let sessions = self.group.held.iter().map(|held| held.session);
        self.session.log_off_all(sessions).await;
    }
}

impl<E> Cifs<E> {
    /// Acknowledges breaks and repeats cancels, except in sessions that are being
    /// reauthenticated.
    #[cold]
    fn send_due(&mut self, out: &mut Vec<u8>) {
        let Self { session, group, .. } = self;
        let CifsGroup {
            held,
            renewals,
            due,
            uncancelled,
            ..
        } = group;
        let connection = &mut session.connection;
        let waits = |of| group::member_of(held, of).is_some_and(|member| renewals.concern(member));
        due.retain(|&(of, broken)| {
            if !waits(of) {
                connection.release(of, broken, out);
            }
            waits(of)
        });
        uncancelled.retain(|&(of, tag)| {
            if !waits(of) {
                // The request may have been answered meanwhile.
                let _ = connection.cancel(of, tag, out);
            }
            waits(of)
        });
    }
}

impl<E: CifsEncode> Cifs<E> {
    fn take_frames(
        &mut self,
        inbound: &mut Inbound,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let Self { session, group, .. } = self;
        let Scratch { input, output, .. } = scratch;
        let mut input = &mut input[..received];
        while let Some(frame) = inbound
            .next(&mut input, self.payload)
            .map_err(ProtocolError::from)?
        {
            let event = session.connection.receive(frame.into_message())?;
            follow(event, session, group, now, output, sink)?;
        }
        Ok(())
    }
}

fn follow<E: CifsEncode>(
    event: CifsEvent<'_>,
    session: &mut CifsSession,
    group: &mut CifsGroup<E>,
    now: Nanos,
    out: &mut Vec<u8>,
    sink: &mut impl Sink,
) -> Result<(), Dropped> {
    match event {
        CifsEvent::Completed(done) if done.tag >= WATCH_TAG => {
            hint::cold_path();
            match done.tag.checked_sub(renewal::FIRST_TAG) {
                Some(member) => {
                    renewal::answered(group, member as usize, &done, session, out, sink)
                }
                None => group.watched(&done, &session.connection, now, sink),
            }
        }
        CifsEvent::Completed(done) => group.completed(&done, session, now, out, sink),
        CifsEvent::Part => Ok(()),
        CifsEvent::Break {
            session: of,
            broken,
        } => {
            hint::cold_path();
            sink.broken();
            if group.is_to_be_released(&broken) {
                group.due.push((of.unwrap_or(session.current), broken));
            }
            Ok(())
        }
        CifsEvent::Unreleased {
            session: of,
            broken,
        } => {
            hint::cold_path();
            group.unreleased(of, broken, now);
            Ok(())
        }
        CifsEvent::Uncancelled { session: of, tag } => {
            hint::cold_path();
            group.uncancelled(of, tag, now);
            Ok(())
        }
    }
}
