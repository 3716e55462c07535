//! One wake-up with one answer, from the return of epoll to the next request. The caches hold
//! nothing of the session, as with a server on another machine.
//!
//! A run reads from the embedded server through a relay. The relay passes on one answer, waits
//! for the client's next request, and only then passes on the answer of another client. Many
//! clients take turns, so their state does not stay in the first-level cache. The cache for
//! instructions is simulated smaller than it is, because between two wake-ups the kernel's code
//! leaves little of ours in it.
//!
//! The relay ends the run after a number of answers.

use std::env;
use std::io::{self, ErrorKind, Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::plan::Plan;
use smbench_model::secret::Secret;
use smbench_model::spec::RunOptions;
use smbench_model::target::Target;

use crate::{count, worker_loop};

pub(crate) const INSTRUCTIONS: &str = "a wake-up with one answer";
pub(crate) const MISSES: &str = "a wake-up with one answer, first-level misses";

const CLIENTS: u64 = 64;
/// Number of counts. The least one is the result.
const COUNTS: u32 = 3;
/// The variable with the password of the server, which must not be an argument.
const PASSWORD: &str = "SMBENCH_PASSWORD";
/// Answers of the two runs whose difference is counted.
const FEW: u64 = 1_000;
const MANY: u64 = 11_000;
/// Caches in bytes, associativity and bytes per line.
const CACHES: [&str; 3] = ["--cache-sim=yes", "--I1=8192,8,64", "--D1=32768,8,64"];
/// The longest wait for the next request of a client that was answered.
const REQUEST_MAX: Duration = Duration::from_secs(20);

/// Bytes before the command in a frame: the length, and the header up to it (MS-SMB2 2.1,
/// 2.2.1.2).
const COMMAND_AT: usize = 4 + 12;
const READ: [u8; 2] = [8, 0];

/// What a wake-up needs.
pub(crate) struct WakeUp {
    pub(crate) instructions: f64,
    /// Misses of the first-level caches, of instructions and of data.
    pub(crate) misses: f64,
}

/// Counts a wake-up: the least of several counts. On a busy machine, timers expire between two
/// wake-ups, and what they run is counted with them.
pub(crate) fn count() -> Result<WakeUp, String> {
    let mut least = count_once()?;
    for _ in 1..COUNTS {
        let next = count_once()?;
        least.instructions = least.instructions.min(next.instructions);
        least.misses = least.misses.min(next.misses);
    }
    Ok(least)
}

fn count_once() -> Result<WakeUp, String> {
    let (few, many) = (counted(FEW)?, counted(MANY)?);
    let each = |events: fn(&count::CacheEvents) -> u64| {
        (events(&many) as f64 - events(&few) as f64) / (MANY - FEW) as f64
    };
    Ok(WakeUp {
        instructions: each(|events| events.instructions),
        misses: each(|events| events.first_level_misses),
    })
}

/// Counts a run with this number of answers.
fn counted(answers: u64) -> Result<count::CacheEvents, String> {
    let server = EmbeddedServer::start(EmbeddedOptions::default());
    let server = server.map_err(|error| error.to_string())?;
    let relay = Relay::start(server.address(), answers).map_err(|error| error.to_string())?;
    let (port, relay) = relay;
    let events = count::cache_events(
        &CACHES,
        &["wake-ups", &port.to_string()],
        PASSWORD,
        server.password(),
    )?;
    if relay.is_out_of_turn.load(Ordering::Relaxed) {
        Err("a client sent no request in time: the machine is too busy".to_owned())
    } else {
        Ok(events)
    }
}

/// Runs the client of a relay on this port, until the relay ends it.
pub(crate) fn run(port: &str) -> Result<(), String> {
    let password = env::var(PASSWORD).map_err(|error| format!("{PASSWORD}: {error}"))?;
    let profile = worker_loop::endless("read-4k", CLIENTS, RunOptions::default())?;
    let url = format!("smb://smbench@127.0.0.1:{port}/bench");
    let (mut target, _) = Target::parse(&url).map_err(|error| error.to_string())?;
    target.password = Secret::new(&password);
    let plan = Plan::of(&profile, target).map_err(|error| error.to_string())?;
    let record = execute(&plan, &mut Unobserved, &Cancel::default());
    let record = record.map_err(|error| error.to_string())?;
    match record.load_points.first() {
        Some(_) => Ok(()),
        None => Err("no load point".to_owned()),
    }
}

/// What the connections of a relay share.
struct Relay {
    /// Answers to READs that may still be passed on.
    left: AtomicU64,
    /// Held by the client whose turn it is.
    turn: Mutex<()>,
    /// Whether a client sent no request in time, so that answers may have come together.
    is_out_of_turn: AtomicBool,
}

impl Relay {
    /// Starts a relay to this server. It ends with the process. Returns its port as well.
    fn start(server: SocketAddr, answers: u64) -> io::Result<(u16, Arc<Self>)> {
        let listener = TcpListener::bind((server.ip(), 0))?;
        let port = listener.local_addr()?.port();
        let relay = Arc::new(Self {
            left: AtomicU64::new(answers),
            turn: Mutex::new(()),
            is_out_of_turn: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&relay);
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let relay = Arc::clone(&accepting);
                // A connection that fails has ended, which both sides see.
                let _ = relay.connect(client, server);
            }
        });
        Ok((port, relay))
    }

    /// Passes on both directions of a connection, each on a thread of its own.
    fn connect(self: Arc<Self>, client: TcpStream, server: SocketAddr) -> io::Result<()> {
        let server = TcpStream::connect(server)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (asks, asked) = channel();
        let (from, to) = (client.try_clone()?, server.try_clone()?);
        thread::spawn(move || pass_requests(from, to, &asks));
        thread::spawn(move || self.pass_answers(server, client, &asked));
        Ok(())
    }

    /// Passes on answers. After the answer to a READ, the client has the turn until it has sent
    /// its next one.
    fn pass_answers(
        &self,
        mut server: TcpStream,
        mut client: TcpStream,
        asked: &Receiver<()>,
    ) -> io::Result<()> {
        let mut frame = Vec::new();
        // The first READ of a connection was not asked for by an answer.
        let mut is_first = true;
        while next_frame(&mut server, &mut frame)? {
            if !is_read(&frame) {
                client.write_all(&frame)?;
                continue;
            }
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            if std::mem::take(&mut is_first) {
                let _ = asked.recv_timeout(REQUEST_MAX);
            }
            let left = self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    left.checked_sub(1)
                });
            if left.is_err() {
                break;
            }
            client.write_all(&frame)?;
            if asked.recv_timeout(REQUEST_MAX) == Err(RecvTimeoutError::Timeout) {
                self.is_out_of_turn.store(true, Ordering::Relaxed);
            }
        }
        client.shutdown(Shutdown::Both)?;
        server.shutdown(Shutdown::Both)
    }
}

/// Passes on requests, and reports each READ to the other direction.
fn pass_requests(
    mut client: TcpStream,
    mut server: TcpStream,
    asks: &Sender<()>,
) -> io::Result<()> {
    let mut frame = Vec::new();
    while next_frame(&mut client, &mut frame)? {
        server.write_all(&frame)?;
        if is_read(&frame) {
            // Nobody listens once the connection ends.
            let _ = asks.send(());
        }
    }
    server.shutdown(Shutdown::Write)
}

fn is_read(frame: &[u8]) -> bool {
    frame.get(COMMAND_AT..COMMAND_AT + 2) == Some(&READ)
}

/// Reads a frame with its length. Returns `false` at the end of the stream.
fn next_frame(stream: &mut impl Read, frame: &mut Vec<u8>) -> io::Result<bool> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    frame.clear();
    frame.extend_from_slice(&length);
    frame.resize(4 + u32::from_be_bytes(length) as usize, 0);
    stream.read_exact(&mut frame[4..])?;
    Ok(true)
}
