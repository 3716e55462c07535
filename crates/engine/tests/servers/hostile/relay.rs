//! A man in the middle for SMB. It carries a real server's messages to the client
//! and passes some of them to a script. The script sends any bytes in their place,
//! at any pace, and may break the connection.

mod carry;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use smbench_protocol::cifs::header::{CifsCommand, CifsHeader};
use smbench_protocol::header::{Command, Header};

use carry::carry;

/// Longest time until a thread of the relay notices the state of other threads.
const BLINK: Duration = Duration::from_millis(20);
/// How long before an answer is due an attentive relay stops sleeping.
const EARLY: Duration = Duration::from_millis(1);

/// Whether the relay gives up its CPU while it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attention {
    /// The relay sleeps, so its answers are as late as its wake-ups.
    Drowsy,
    /// The relay spins, so that its times are correct to some microseconds. Only
    /// for one connection, on an otherwise idle machine.
    Awake,
}

/// The messages of the server that a script sees.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// All messages.
    All,
    /// Answers to this command that are not encrypted.
    Command(Command),
    /// Messages of CIFS with this command.
    Cifs(CifsCommand),
    /// Messages with a payload; this identifies READs in encrypted traffic.
    Long,
}

impl Of {
    fn sees(self, message: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Command(command) => {
                Header::decode(message).is_ok_and(|header| header.command == command)
            }
            Self::Cifs(command) => {
                CifsHeader::decode(message).is_ok_and(|header| header.command == command)
            }
            Self::Long => message.len() > 4096,
        }
    }
}

/// A message of the server, without its length prefix.
pub(crate) struct Answer {
    pub(crate) message: Vec<u8>,
    /// Number of messages that the script has seen before, on all connections
    /// together.
    pub(crate) nth: u64,
    /// The client's port, which tells connections apart.
    pub(crate) port: u16,
}

/// Reply to the client, sent in place of the message.
pub(crate) struct Reaction {
    /// Bytes sent first, unchanged.
    bytes: Vec<u8>,
    pace: Pace,
    then: Then,
}

enum Pace {
    AtOnce,
    /// One byte per segment, if TCP allows it.
    ByteByByte,
    /// After this delay. It counts from the server's answer, or, in an attentive
    /// relay, from the client's request.
    After(Duration),
}

enum Then {
    GoOn,
    /// Nothing more is sent; the connection stays open.
    Freeze,
    /// The relay's writing side is shut; data from the client is still read.
    ShutWrite,
    /// The relay's reading side is shut, and nothing more is sent.
    ShutRead,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// The same bytes are sent as long as the client accepts them.
    Repeat(Vec<u8>),
}

/// Returns `message` with its length prefix.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    prefixed(message.len(), message)
}

/// Returns `message` with a length prefix that may be false.
pub(crate) fn prefixed(len: usize, message: &[u8]) -> Vec<u8> {
    let mut frame = (len as u32).to_be_bytes().to_vec();
    frame.extend_from_slice(message);
    frame
}

impl Reaction {
    /// Sends the message as the script left it.
    pub(crate) fn send(message: &[u8]) -> Self {
        Self::raw(framed(message))
    }

    /// Sends these bytes, which need not be SMB.
    pub(crate) const fn raw(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            pace: Pace::AtOnce,
            then: Then::GoOn,
        }
    }

    pub(crate) fn byte_by_byte(self) -> Self {
        let pace = Pace::ByteByByte;
        Self { pace, ..self }
    }

    pub(crate) fn after(self, delay: Duration) -> Self {
        let pace = Pace::After(delay);
        Self { pace, ..self }
    }

    pub(crate) fn then_freeze(self) -> Self {
        self.then(Then::Freeze)
    }

    pub(crate) fn then_shut_write(self) -> Self {
        self.then(Then::ShutWrite)
    }

    pub(crate) fn then_shut_read(self) -> Self {
        self.then(Then::ShutRead)
    }

    pub(crate) fn then_close(self) -> Self {
        self.then(Then::Close)
    }

    pub(crate) fn then_reset(self) -> Self {
        self.then(Then::Reset)
    }

    pub(crate) fn then_repeat(self, bytes: Vec<u8>) -> Self {
        self.then(Then::Repeat(bytes))
    }

    fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }
}

/// Decides what the client receives for an answer.
pub(crate) type Script = fn(Answer) -> Reaction;

/// The running relay; dropping it ends its threads.
pub(crate) struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    server: SocketAddr,
    of: Of,
    script: Script,
    attention: Attention,
    seen: AtomicU64,
    genuine: AtomicU64,
    /// Nanoseconds since `born` at which the client last sent a request.
    asked: AtomicU64,
    /// Time from that request to each answer of the script.
    held: Mutex<Vec<Duration>>,
    born: Instant,
    over: AtomicBool,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn age_ns(&self) -> u64 {
        self.born.elapsed().as_nanos() as u64
    }

    /// Waits before an answer, and records how long the client has then waited for
    /// it.
    fn hold(&self, delay: Duration) {
        let asked = self.asked.load(Ordering::Relaxed);
        match self.attention {
            Attention::Drowsy => thread::sleep(delay),
            Attention::Awake => {
                thread::sleep(delay.saturating_sub(EARLY));
                let due = asked + delay.as_nanos() as u64;
                while self.age_ns() < due {
                    std::hint::spin_loop();
                }
            }
        }
        // Memory is reserved before the time is taken, so that nothing happens
        // between that and the answer.
        let mut held = self.held.lock().unwrap();
        held.reserve(1);
        held.push(Duration::from_nanos(self.age_ns() - asked));
    }
}

impl Relay {
    pub(crate) fn start(server: SocketAddr, of: Of, script: Script) -> Self {
        Self::with_attention(server, of, script, Attention::Drowsy)
    }

    /// Starts a relay that never sleeps: neither while it waits for the client nor
    /// at the end of a delay.
    pub(crate) fn start_attentive(server: SocketAddr, of: Of, script: Script) -> Self {
        Self::with_attention(server, of, script, Attention::Awake)
    }

    fn with_attention(server: SocketAddr, of: Of, script: Script, attention: Attention) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server,
            of,
            script,
            attention,
            seen: AtomicU64::new(0),
            genuine: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            held: Mutex::default(),
            born: Instant::now(),
            over: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if of_thread.is_over() {
                    return;
                }
                let shared = Arc::clone(&of_thread);
                thread::spawn(move || carry(&shared, &client));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the number of messages that the script has seen.
    pub(crate) fn seen(&self) -> u64 {
        self.shared.seen.load(Ordering::Relaxed)
    }

    /// Returns how long the script held each answer, from the arrival of the
    /// request. A client with one request at a time must measure the same.
    pub(crate) fn held(&self) -> Vec<Duration> {
        self.shared.held.lock().unwrap().clone()
    }

    /// Returns the number of messages that the script passed on unchanged, even if
    /// it sent others as well.
    pub(crate) fn genuine(&self) -> u64 {
        self.shared.genuine.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Wakes the listener's thread.
        let _ = TcpStream::connect(self.address);
    }
}
