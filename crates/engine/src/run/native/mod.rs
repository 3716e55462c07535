//! The driver over our own protocol: one session on one connection.
//!
//! What is opened before the load is in [`open`], how an operation looks on the
//! wire in [`request`], what comes back in [`answer`].

mod answer;
mod open;
mod request;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use smbench_protocol::command::WireName;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::ioctl::copy_chunk::ResumeKey;
use smbench_protocol::frame::Payload;
use smbench_protocol::{Event, FileId, NtStatus, ProtocolError, TreeId};
use tokio::io::{AsyncRead, ReadBuf};

use crate::clock::{self, Nanos};
use crate::plan::Verify;
use crate::run::backlog::{self, Backlog};
use crate::run::driver::{Answer, Busy, Call, Driver, Extent, Opened, Scratch, Sink};
use crate::run::operation::Dropped;
use crate::run::worker::Assignment;
use crate::session::caching::{self, Cache};
use crate::session::{self, Session, SessionError};
use crate::stream::Mix;

/// ECHOs sent at most to earn the credits of one client's window.
const EARNING_ECHOS: u32 = 64;

/// A session, what it holds open, and the bytes its socket has not taken yet.
pub(super) struct Native {
    session: Session,
    mix: Arc<Mix>,
    /// By member.
    held: Box<[Held]>,
    /// By slot; none where no action needs to know its slot's past.
    places: Box<[Place]>,
    /// By action of the mix; none where nothing is listed.
    patterns: Box<[WireName]>,
    /// The share, for connecting to it once more.
    share: WireName,
    /// Bytes in each file.
    file_size: u64,
    unique: Unique,
    backlog: Backlog,
    payload: Payload,
}

/// What a client works on.
#[derive(Default)]
struct Held {
    /// Its files, or the shared ones, where any action works on them.
    files: Box<[FileId]>,
    /// Their paths, where any action opens them.
    paths: Box<[WireName]>,
    /// What stands for them as sources of copies, where any action copies.
    resume_keys: Box<[ResumeKey]>,
    /// The run's directory, where any action works on it.
    directory: FileId,
}

/// Names for durable handles, no two alike.
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

/// What a slot has of its own.
#[derive(Default)]
struct Place {
    /// What the CREATE of its action opened.
    open: FileId,
    /// What the TREE_CONNECT of its action connected.
    tree: TreeId,
    /// The oplock it holds.
    level: OplockLevel,
    /// Answers still to come to its frame of several requests.
    due: u8,
    /// Paths of its scratch names, in the order of
    /// [`ScratchName::ALL`](crate::plan::ScratchName::ALL).
    paths: Box<[WireName]>,
}

impl Driver for Native {
    async fn open(worker: &Assignment, clients: &[u32]) -> Result<Opened<Self>, SessionError> {
        let [client] = clients else {
            unreachable!("each client has a connection of its own");
        };
        let begin = clock::now();
        let mut session = Session::open(&worker.endpoint.of_connection(*client)).await?;
        let took = clock::now().since(begin);
        let asked = worker.plan.caching;
        let dialect = session.connection.negotiated().dialect;
        session.cache = Cache::new(asked, dialect, session::random_u64());
        let (held, granted) = open::hold(worker, *client, &mut session).await?;
        let places = open::places(worker, clients, &mut session).await?;
        session.earn_credits(EARNING_ECHOS).await?;
        let breaks = session.cache.take_breaks();
        Ok(Opened {
            driver: Self {
                session,
                mix: Arc::clone(&worker.mix),
                held: Box::from([held]),
                places,
                patterns: open::patterns(worker)?,
                share: open::share(worker)?,
                file_size: worker.plan.workload.files.size,
                unique: Unique {
                    seed: session::random_u64(),
                    count: 0,
                },
                backlog: Backlog::default(),
                payload: match worker.plan.verify {
                    Verify::Off => Payload::Discard,
                    Verify::ReadBack => Payload::Keep,
                },
            },
            session_setup: vec![took],
            granted,
            breaks,
        })
    }

    fn has_room(&self, scratch: &Scratch) -> bool {
        self.backlog.len() + scratch.output.len() < backlog::FULL_LEN
    }

    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        self.encode(call, &mut scratch.output, fill)
    }

    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> std::io::Result<()> {
        let Session {
            connection, cache, ..
        } = &mut self.session;
        if cache.is_due() {
            cache.acknowledge(connection, clock::now(), &mut scratch.output);
        }
        self.backlog
            .flush(&mut self.session.stream, context, &mut scratch.output)
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        let mut buffer = ReadBuf::new(&mut scratch.input);
        Pin::new(&mut self.session.stream)
            .poll_read(context, &mut buffer)
            .map(|outcome| {
                outcome?;
                match buffer.filled().len() {
                    0 => Err(Dropped::Closed),
                    len => Ok(len),
                }
            })
    }

    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let Session {
            inbound,
            connection,
            cache,
            ..
        } = &mut self.session;
        let places = &mut self.places;
        let mut input = &mut scratch.input[..received];
        while let Some(frame) = inbound
            .next(&mut input, self.payload)
            .map_err(ProtocolError::from)?
        {
            let mut messages = connection.open(frame)?;
            while let Some(message) = messages.next_message().map_err(ProtocolError::from)? {
                match connection.receive(message)? {
                    Event::Completed(done) if done.tag >= caching::FIRST_TAG => {
                        if let Some((sent, outcome)) = cache.answered(done.tag, done.status) {
                            sink.acknowledged(sent, outcome);
                        }
                    }
                    Event::Completed(done) => {
                        let place = places.get_mut(done.tag as usize);
                        let answer = answer::of(&done, place).map_err(ProtocolError::from)?;
                        if cache.is_on()
                            && let Some(granted) =
                                caching::granted(&done).map_err(ProtocolError::from)?
                        {
                            sink.granted(granted);
                        }
                        sink.answer(&answer)?;
                    }
                    Event::Pending { tag } if tag >= caching::FIRST_TAG => {}
                    Event::Pending { tag } => sink.answer(&Answer {
                        slot: tag,
                        extent: Extent::Interim,
                        status: NtStatus::PENDING,
                        moved: 0,
                        data: None,
                    })?,
                    Event::Break(notification) => {
                        sink.broken();
                        cache.broken(&notification, |open| level_of(places, open));
                    }
                    Event::Reauthentication(_) => {}
                }
            }
        }
        // Before any further operation takes the credits.
        if cache.is_due() {
            cache.acknowledge(connection, now, &mut scratch.output);
        }
        Ok(())
    }

    async fn close(self) {
        self.session.log_off().await;
    }
}

/// Where the oplock of what a slot opened is kept.
fn level_of(places: &mut [Place], open: FileId) -> Option<&mut OplockLevel> {
    let mut places = places.iter_mut();
    places.find_map(|place| (place.open == open).then_some(&mut place.level))
}
