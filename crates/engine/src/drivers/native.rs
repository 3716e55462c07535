//! The native driver, on our own protocol implementation: a session for each client
//! of the group.
//!
//! [`open`] opens files before the load, [`request`] and [`replay`] encode
//! operations, [`answer`] converts answers, and [`renewal`] reauthenticates expired
//! sessions.

mod answer;
mod channel_replays;
pub(crate) mod encode;
mod further;
mod group;
mod handles;
mod leased;
mod lose;
pub(crate) mod open;
mod renewal;
pub(crate) mod replay;
pub(crate) mod request;
mod state;
mod steps;

use std::hint;
use std::task::{Context, Poll};

use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::record::Reclaimed;
use smbench_protocol::frame::Payload;
use smbench_protocol::{Event, NtStatus, ProtocolError};

use crate::drivers::driver::{
    Answer, BoundChannel, Busy, Call, ChannelNews, ChannelSetup, Driver, Extent, LoadSockets,
    LostChannel, OldestRequests, Opened, RepeatedAs, Scratch, Sink,
};
use crate::drivers::dropped::{Dropped, LostLink};
use crate::drivers::links::{Links, OpenSessions, Payloads, Received, drops};
use crate::drivers::remains::{ClientRemains, Reopening, SessionRemains};
use crate::drivers::renewals::Renewals;
use crate::drivers::site::Site;
use crate::drivers::site_connect::SiteDriver;
use crate::machine::clock;
use crate::smb::session::caching::Cache;
use crate::smb::session::{self, Session, SessionError, caching};
use encode::Encode;
use handles::remains_of;
use leased::listings_of;
use state::{GroupState, member_of};

/// The sessions of a group on their shared connections, with their open files.
pub(crate) struct Native<E> {
    links: Links,
    group: GroupState<E>,
    payload: Payload,
    /// State that new sessions need if the connection is lost.
    remains: Option<Box<SessionRemains>>,
}

impl<E: Encode> SiteDriver for Native<E> {
    async fn open(
        site: &Site,
        clients: &[u32],
        again: Option<&Reopening>,
    ) -> Result<Opened<Self>, SessionError> {
        let mut encoder = E::new(site)?;
        let mut sessions = OpenSessions::open(site, clients, again).await?;
        let (before, client_guid) = (again.map(|again| &again.before), sessions.client_guid);
        let first = &mut sessions.first;
        let dialect = first.connection.negotiated().dialect;
        let seed = before.and_then(|before| before.lease_seed);
        let seed = seed.unwrap_or_else(session::random_u64);
        first.cache = Cache::new(site.plan.sessions.caching, dialect, seed);
        let (mut remains, mut reclaimed) =
            (Vec::with_capacity(clients.len()), Reclaimed::default());
        let (mut held, mut granted) = (Vec::with_capacity(clients.len()), Vec::new());
        let (mut places, mut credentials, mut refused) = (Vec::new(), Vec::new(), None);
        for (at, &client) in clients.iter().enumerate() {
            if at > 0
                && let Err(error) = sessions.open_next(client, again).await
            {
                // The sessions before it stay.
                if error.is_refusal() {
                    refused = Some(((clients.len() - at) as u32, error));
                    break;
                }
                return Err(error);
            }
            let (index, session) = (sessions.indices[at], &mut sessions.first);
            let kept = before.map(|before| before.handles_of(at));
            let mut opened = open::hold(site, client, index, at, session, kept).await?;
            reclaimed.merge(&opened.reclaimed);
            granted.extend(opened.granted);
            let (id, handles) = (session.connection.session_id(index), opened.handles);
            remains.push(ClientRemains { id, handles });
            let prepared = encoder.prepare(site, client, session, &mut opened.client);
            places.extend(prepared.await?);
            held.push(opened.client);
            credentials.push(session.credentials.clone());
        }
        let (node, server) = (sessions.first.stream.node(), sessions.first.stream.server());
        let further = sessions.connect(site, clients).await?;
        let for_log_ons = sessions.connect_for_log_ons(site, clients, places.len());
        let for_log_ons = for_log_ons.await?;
        let payloads = payloads(&site.plan, &sessions.first);
        let sessions_of_all = [sessions.first].into_iter().chain(further);
        let mut links = Links::new(sessions_of_all, for_log_ons, payloads).await?;
        let mut cache = links.take_cache();
        let (breaks, acknowledged) = (cache.take_breaks(), cache.take_settled());
        let listings = listings_of(site, held.len(), places.len());
        Ok(Opened {
            session_setup: sessions.took,
            connections: links.count(),
            server,
            driver: Self {
                links,
                group: GroupState {
                    encoder,
                    cache,
                    listings,
                    renewals: Renewals::new(credentials),
                    unfinished: Vec::new(),
                    replays: None,
                    held: held.into_boxed_slice(),
                    outstanding: site.plan.only().outstanding as usize,
                    places: places.into_boxed_slice(),
                },
                remains: remains_of(site, remains, client_guid, seed, node),
                payload: payload(site.plan.only().verify),
            },
            granted,
            breaks,
            acknowledged,
            reclaimed,
            refused,
        })
    }
}

impl<E: Encode> Driver for Native<E> {
    fn begin_load(&mut self, sockets: &LoadSockets) -> Result<(), Dropped> {
        self.links.begin_load(sockets)
    }

    fn reset(&mut self) {
        self.links.reset();
    }

    fn interrupted(&mut self, oldest: &mut OldestRequests) -> Option<Dropped> {
        self.links.interrupted(oldest)
    }

    fn lose_connection(&mut self, lost: &LostLink, again: RepeatedAs<'_>) -> Option<LostChannel> {
        self.lose(lost, again)
    }

    fn channel_setup(&mut self, lost: &LostChannel) -> Option<ChannelSetup> {
        self.set_up_again(lost)
    }

    fn add_connection(
        &mut self,
        added: BoundChannel,
        sockets: &LoadSockets,
    ) -> Result<ChannelNews, Dropped> {
        let learned = self.links.add(*added.0, &self.group.sessions(), sockets)?;
        Ok(self.group.learn(learned))
    }

    fn remains(&mut self) -> SessionRemains {
        self.remains
            .take()
            .map_or_else(SessionRemains::default, |remains| *remains)
    }

    fn has_room(&self, scratch: &Scratch) -> bool {
        self.links.has_room(scratch)
    }

    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let Self { links, group, .. } = self;
        if !group.renewals.is_empty() && group.renewals.concern(call.member) {
            return Err(Busy::Session);
        }
        if links.is_alone() {
            return E::encode(group, links, call, &mut scratch.output, data);
        }
        match call.operation.kind {
            OpKind::LogOff => {
                links.pick(group.link_of_further(call.slot));
                Ok(())
            }
            OpKind::LogOn if let Some(number) = links.for_log_ons(call.slot) => {
                links.pick(number);
                Ok(())
            }
            OpKind::Cancel => links.choose(|link| link.is_in_flight(call.slot)),
            _ => links.choose_free(|link| request::is_afforded(call, link)),
        }?;
        let mark = group.begin_replay(links, call)?;
        let mut out = links.take_buffer();
        let encoded = E::encode(group, links, call, &mut out, data);
        links.put_buffer(out);
        group.end_replay(links, call, mark, encoded)
    }

    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> Result<(), Dropped> {
        E::flush(&mut self.group, &mut self.links, scratch);
        if !self.group.renewals.is_empty() {
            hint::cold_path();
            self.renew(context, scratch)?;
        }
        if self.group.cache.is_due() {
            hint::cold_path();
            self.acknowledge(clock::now(), scratch);
        }
        self.links.flush(context, scratch)
    }

    fn is_awaited(&self) -> bool {
        !self.group.renewals.is_empty() || self.links.is_awaited()
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        match self.links.poll_receive(context, scratch) {
            Poll::Pending => self.group.poll_listings(context),
            received => received,
        }
    }

    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        if received == 0
            && let Some(listings) = &mut self.group.listings
        {
            listings.give(sink)?;
        }
        let Received {
            inbound,
            connection,
            out,
        } = self.links.received(&mut scratch.output);
        let group = &mut self.group;
        let mut refused = None;
        let mut input = &mut scratch.input[..received];
        while let Some(frame) = inbound
            .next(&mut input, self.payload)
            .map_err(ProtocolError::from)?
        {
            let mut messages = connection.open(frame)?;
            while let Some(message) = messages.next_message().map_err(ProtocolError::from)? {
                match connection.receive(message)? {
                    Event::Completed(done) if done.tag >= caching::FIRST_TAG => {
                        group.acknowledged(&done, now, sink);
                    }
                    Event::Completed(done) => {
                        group.answered(&done, connection, out, now, sink)?;
                    }
                    Event::Pending { tag } if tag >= caching::FIRST_TAG => {}
                    Event::Pending { tag } => {
                        hint::cold_path();
                        group.pending(tag, now);
                        sink.answer(&Answer::bare(tag, Extent::Interim, NtStatus::PENDING))?;
                    }
                    Event::Break(notification) => group.broken(&notification, now, sink),
                    Event::Reauthentication { session, progress } => {
                        hint::cold_path();
                        if let Some(member) = member_of(&group.held, session) {
                            let renewals = &mut group.renewals;
                            let answered = renewal::answered(renewals, member, progress, sink);
                            refused = refused.or(answered.err());
                        }
                    }
                }
            }
        }
        if let Some(refused) = refused {
            hint::cold_path();
            return Err(self.refused(&refused, scratch));
        }
        // Sent before further operations use up the credits.
        if !self.group.renewals.is_empty() {
            hint::cold_path();
            self.send_renewals(scratch)?;
        }
        if !self.group.unfinished.is_empty() {
            hint::cold_path();
            self.resume_log_ons(scratch);
        }
        if self.group.cache.is_due() {
            hint::cold_path();
            self.acknowledge(now, scratch);
        }
        Ok(())
    }

    fn why_overdue(&self) -> Option<Dropped> {
        let wait_alone = !self.group.unfinished.is_empty() && !self.links.is_awaited();
        wait_alone.then_some(Dropped::NoCredits)
    }

    async fn close(self) {
        let sessions = self.group.held.iter().map(|held| held.session);
        self.links.close(sessions).await;
    }
}

/// Returns what becomes of the data of READs.
const fn payload(verify: Verify) -> Payload {
    match verify {
        Verify::Off => Payload::Discard,
        Verify::ReadBack => Payload::Keep,
    }
}

/// Returns how payloads of this plan's READs are handled in sessions like this one.
fn payloads(plan: &Plan, session: &Session) -> Payloads {
    let terms = session.terms();
    let is_unseen = plan.only().verify == Verify::Off && terms.signing.is_none();
    let is_plain = is_unseen && terms.encryption.is_none();
    if is_plain && drops::is_worth_while(plan) {
        Payloads::Dropped
    } else {
        Payloads::Received
    }
}

impl<E> Native<E> {
    /// Acknowledges breaks, on a connection with credits for it.
    #[cold]
    fn acknowledge(&mut self, now: Nanos, scratch: &mut Scratch) {
        if self.links.choose(|link| link.affords(&[1])).is_err() {
            return;
        }
        let GroupState {
            held,
            renewals,
            cache,
            ..
        } = &mut self.group;
        let (connection, out) = self.links.chosen(scratch);
        cache.acknowledge(connection, now, out, |session| {
            let member = member_of(held, session);
            !member.is_some_and(|member| renewals.concern(member))
        });
    }
}
