//! The native driver, on our own protocol implementation: a session for each client
//! of the group.
//!
//! [`open`] opens files before the load, [`request`] encodes operations, [`answer`]
//! converts answers, and [`renewal`] reauthenticates expired sessions.

mod answer;
mod further;
pub(crate) mod open;
mod renewal;
mod replay;
pub(crate) mod request;

use std::hint;
use std::sync::Arc;
use std::task::{Context, Poll};

use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::operations::Mix;
use smbench_model::plan::Plan;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::ioctl::copy_chunk::ResumeKey;
use smbench_protocol::connection::TreeId;
use smbench_protocol::frame::Payload;
use smbench_protocol::{Credentials, Event, FileId, NtStatus, ProtocolError, SessionIndex};

use crate::drivers::driver::{
    Answer, Busy, Call, Connector, Driver, Extent, Opened, Scratch, Sink,
};
use crate::drivers::dropped::Dropped;
use crate::drivers::links::{Links, OpenSessions, Payloads, Received, drops};
use crate::drivers::site::Site;
use crate::machine::clock;
use crate::smb::session::caching::{Answered, Cache};
use crate::smb::session::{self, Session, SessionError, caching};
use further::{Came, Further};
use renewal::{Renewals, member_of};
use replay::Replay;

/// The sessions of a group on their shared connections, with their open files.
pub(crate) struct Native {
    links: Links,
    /// Oplocks and leases granted to the sessions.
    cache: Cache,
    mix: Arc<Mix>,
    renewals: Renewals,
    /// Slots whose log-ons wait for a credit.
    unfinished: Vec<u32>,
    /// State of each member.
    held: Box<[Held]>,
    /// Number of slots of each member.
    outstanding: usize,
    /// State of each slot, in the order of the members; empty if no action needs
    /// it.
    places: Box<[Place]>,
    /// Search pattern of each action of the mix; empty if no action lists a
    /// directory.
    patterns: Box<[WireName]>,
    /// Name of the share, for further tree connects.
    share: WireName,
    /// Size of each file in bytes.
    file_size: u64,
    unique: Unique,
    payload: Payload,
    /// State of the replay, if a trace is replayed.
    replay: Option<Box<Replay>>,
}

/// The session of a client and its open files.
struct Held {
    /// Session index, the same on every connection of the group.
    session: SessionIndex,
    /// Credentials of the session's last log-on.
    credentials: Credentials,
    /// Open files, private or shared; empty if no action uses them.
    files: Box<[FileId]>,
    /// Paths of the files; empty if no action opens them.
    paths: Box<[WireName]>,
    /// Resume keys of the files as sources of copies; empty if no action copies.
    resume_keys: Box<[ResumeKey]>,
    /// The run's directory, if any action uses it.
    directory: FileId,
}

/// Unique names for durable handles.
struct Unique {
    seed: u64,
    count: u64,
}

impl Unique {
    fn next_guid(&mut self) -> [u8; 16] {
        self.count += 1;
        let guid = u128::from(self.seed) << 64 | u128::from(self.count);
        guid.to_le_bytes()
    }
}

/// State of a slot.
#[derive(Default)]
struct Place {
    /// Open that the CREATE of its action created.
    open: FileId,
    /// Tree that the TREE_CONNECT of its action connected.
    tree: TreeId,
    /// Oplock of the open.
    level: OplockLevel,
    /// Whether its CREATE requested an oplock or a lease.
    asks_to_cache: bool,
    /// Number of outstanding answers to its frame of several requests.
    due: u8,
    /// Whether an answer of this frame said that the session has expired.
    expired: bool,
    /// A further session that is set up or being set up.
    further: Option<Further>,
    /// Paths of its scratch names, in the order of
    /// [`ScratchName::ALL`](smbench_model::files::ScratchName::ALL).
    paths: Box<[WireName]>,
}

/// Sets up the sessions of a run's groups.
#[derive(Clone)]
pub(crate) struct Connect(pub(crate) Arc<Site>);

impl Connector for Connect {
    type Driver = Native;

    async fn open(&self, clients: &[u32]) -> Result<Opened<Native>, SessionError> {
        let opened = self.open_group(clients).await;
        opened.map_err(SessionError::of_own_file)
    }
}

impl Connect {
    async fn open_group(&self, clients: &[u32]) -> Result<Opened<Native>, SessionError> {
        let site = &*self.0;
        let mut sessions = OpenSessions::open(site, clients).await?;
        let first = &mut sessions.first;
        let dialect = first.connection.negotiated().dialect;
        first.cache = Cache::new(site.plan.sessions.caching, dialect, session::random_u64());
        let (mut held, mut granted) = (Vec::with_capacity(clients.len()), Vec::new());
        let mut players = Vec::new();
        for (at, &client) in clients.iter().enumerate() {
            if at > 0 {
                sessions.open_next().await?;
            }
            let (index, session) = (sessions.indices[at], &mut sessions.first);
            let (of_client, to_client) = open::hold(site, client, at, index, session).await?;
            if let Some(trace) = site.mix.trace() {
                players.push(replay::open(site, trace, client, session).await?);
            }
            held.push(of_client);
            granted.extend(to_client);
        }
        // Any of the sessions may create the entries that must exist.
        let places = open::places(site, clients, &mut sessions.first).await?;
        let replay = match site.mix.trace() {
            Some(_) => Some(Box::new(Replay::new(site, players)?)),
            None => None,
        };
        let further = sessions.connect(site, clients).await?;
        let payloads = payloads(&site.plan, &sessions.first);
        let sessions_of_all = [sessions.first].into_iter().chain(further);
        let mut links = Links::new(sessions_of_all, payloads).await?;
        let mut cache = links.take_cache();
        let (breaks, acknowledged) = (cache.take_breaks(), cache.take_settled());
        Ok(Opened {
            session_setup: sessions.took,
            connections: links.count(),
            driver: Native {
                links,
                cache,
                renewals: Renewals::default(),
                unfinished: Vec::new(),
                outstanding: site.plan.work.outstanding as usize,
                mix: Arc::clone(&site.mix),
                held: held.into_boxed_slice(),
                places,
                patterns: open::patterns(site)?,
                share: open::share(site)?,
                file_size: site.plan.work.workload.files.size,
                unique: Unique {
                    seed: session::random_u64(),
                    count: 0,
                },
                payload: match site.plan.work.verify {
                    Verify::Off => Payload::Discard,
                    Verify::ReadBack => Payload::Keep,
                },
                replay,
            },
            granted,
            breaks,
            acknowledged,
        })
    }
}

impl Driver for Native {
    fn has_room(&self, scratch: &Scratch) -> bool {
        self.links.has_room(scratch)
    }

    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        if !self.renewals.is_empty() && self.renewals.concern(call.member) {
            return Err(Busy::Session);
        }
        if self.links.count() == 1 {
            return self.encode(call, &mut scratch.output, data);
        }
        match call.operation.kind {
            OpKind::LogOff => {
                self.links.pick(self.link_of_further(call.slot));
                Ok(())
            }
            OpKind::Cancel => self.links.choose(|link| link.is_in_flight(call.slot)),
            _ => self
                .links
                .choose_free(|link| request::is_afforded(call, link)),
        }?;
        let mut out = self.links.take_buffer();
        let encoded = self.encode(call, &mut out, data);
        self.links.put_buffer(out);
        encoded
    }

    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> Result<(), Dropped> {
        if !self.renewals.is_empty() {
            hint::cold_path();
            self.renew(context, scratch)?;
        }
        if self.cache.is_due() {
            hint::cold_path();
            self.acknowledge(clock::now(), scratch);
        }
        self.links.flush(context, scratch)
    }

    fn is_awaited(&self) -> bool {
        !self.renewals.is_empty() || self.links.is_awaited()
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        self.links.poll_receive(context, scratch)
    }

    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let Received {
            inbound,
            connection,
            out,
        } = self.links.received(&mut scratch.output);
        let cache = &mut self.cache;
        let places = &mut self.places;
        let replay = &mut self.replay;
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
                        hint::cold_path();
                        match cache.answered(done.tag, done.status, now) {
                            Some(Answered::Settled(took, outcome)) => {
                                sink.acknowledged(took, outcome);
                            }
                            Some(Answered::Expired(due)) => {
                                cache.put_back(due);
                                if let Some(member) = member_of(&self.held, due.session) {
                                    self.renewals.found(member, now);
                                }
                            }
                            None => {}
                        }
                    }
                    Event::Completed(done) => {
                        let mut place = places.get_mut(done.tag as usize);
                        if let Some(place) = &mut place
                            && place.further.is_some()
                        {
                            hint::cold_path();
                            match further::answered(place, connection, &done, out)? {
                                Came::NotYet => {}
                                Came::Unfinished => self.unfinished.push(done.tag),
                                Came::To(answer) => {
                                    if answer.extent == Extent::Expired {
                                        let member = done.tag as usize / self.outstanding;
                                        self.renewals.found(member, now);
                                    }
                                    sink.answer(&answer)?;
                                }
                            }
                            continue;
                        }
                        let asked = place.as_ref().is_some_and(|place| place.asks_to_cache);
                        let answer = answer::of(&done, place).map_err(ProtocolError::from)?;
                        if asked
                            && let Some(granted) =
                                caching::granted(&done).map_err(ProtocolError::from)?
                        {
                            sink.granted(granted);
                        }
                        if done.status == NtStatus::NETWORK_SESSION_EXPIRED {
                            hint::cold_path();
                            let member = done.tag as usize / self.outstanding;
                            self.renewals.found(member, now);
                        }
                        if let Some(answer) = answer {
                            let answer = match (&mut *replay, places.get_mut(done.tag as usize)) {
                                (Some(replay), Some(place)) => {
                                    let session = self.held[done.tag as usize].session;
                                    let to = (&mut *connection, session);
                                    replay.answered(answer, &done, place, to, out)?
                                }
                                _ => Some(answer),
                            };
                            if let Some(answer) = answer {
                                sink.answer(&answer)?;
                            }
                        }
                    }
                    Event::Pending { tag } if tag >= caching::FIRST_TAG => {}
                    Event::Pending { tag } => {
                        hint::cold_path();
                        sink.answer(&Answer {
                            slot: tag,
                            extent: Extent::Interim,
                            status: NtStatus::PENDING,
                            moved: 0,
                            data: None,
                        })?;
                    }
                    Event::Break(notification) => {
                        hint::cold_path();
                        sink.broken();
                        cache.broken(&notification, |open| {
                            if let Some(replay) = replay {
                                let (member, level) = replay.find(open)?;
                                return Some((self.held[member].session, level));
                            }
                            let at = places.iter().position(|place| place.open == open)?;
                            let session = self.held[at / self.outstanding].session;
                            Some((session, &mut places[at].level))
                        });
                    }
                    Event::Reauthentication { session, progress } => {
                        hint::cold_path();
                        if let Some(member) = member_of(&self.held, session) {
                            let answered = self.renewals.answered(member, progress, sink);
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
        if !self.renewals.is_empty() {
            hint::cold_path();
            self.send_renewals(scratch)?;
        }
        if !self.unfinished.is_empty() {
            hint::cold_path();
            self.resume_log_ons(scratch);
        }
        if self.cache.is_due() {
            hint::cold_path();
            self.acknowledge(now, scratch);
        }
        Ok(())
    }

    fn why_overdue(&self) -> Option<Dropped> {
        let wait_alone = !self.unfinished.is_empty() && !self.links.is_awaited();
        wait_alone.then_some(Dropped::NoCredits)
    }

    async fn close(self) {
        let sessions = self.held.iter().map(|held| held.session);
        self.links.close(sessions).await;
    }
}

/// Returns how payloads of this plan's READs are handled in sessions like this one.
fn payloads(plan: &Plan, session: &Session) -> Payloads {
    let terms = session.terms();
    let is_unseen = plan.work.verify == Verify::Off && terms.signing.is_none();
    let is_plain = is_unseen && terms.encryption.is_none();
    match is_plain && drops::is_worth_while(plan) {
        true => Payloads::Dropped,
        false => Payloads::Received,
    }
}

impl Native {
    /// Acknowledges breaks, on a connection with credits for it.
    #[cold]
    fn acknowledge(&mut self, now: Nanos, scratch: &mut Scratch) {
        if self.links.choose(|link| link.affords(&[1])).is_err() {
            return;
        }
        let Self {
            held,
            renewals,
            cache,
            links,
            ..
        } = self;
        let (connection, out) = links.chosen(scratch);
        cache.acknowledge(connection, now, out, |session| {
            let member = member_of(held, session);
            !member.is_some_and(|member| renewals.concern(member))
        });
    }
}
