//! A man in the middle who reads SMB: carries a real server's messages to the
//! client and hands those of interest to a script, which sends what it likes
//! in their place, at the pace it likes, and may ruin the connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use smbench_protocol::header::{Command, Header};
use socket2::SockRef;

/// How long a thread of the relay is blind to what others tell it.
const BLINK: Duration = Duration::from_millis(20);
/// How long before an answer is due an attentive relay gets up.
const EARLY: Duration = Duration::from_millis(1);

/// Whether the relay gives its CPU away while it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attention {
    /// It sleeps, and is as late as its wake-ups.
    Drowsy,
    /// It spins, so that what it says of times is right to some microseconds. For
    /// one connection, on a machine with nothing else to do.
    Awake,
}

/// Which of the server's messages a script gets to see.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// Every one.
    All,
    /// Answers to this command, as far as they are not encrypted.
    Command(Command),
    /// Those that carry a payload: the way to tell READs among encrypted ones.
    Long,
}

impl Of {
    fn sees(self, message: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Command(command) => {
                Header::decode(message).is_ok_and(|header| header.command == command)
            }
            Self::Long => message.len() > 4096,
        }
    }
}

/// A message of the server, without its length prefix.
pub(crate) struct Answer {
    pub(crate) message: Vec<u8>,
    /// How many the script has seen before, on all connections together.
    pub(crate) nth: u64,
}

/// What the client gets instead.
pub(crate) struct Reaction {
    /// Sent first, as they are.
    bytes: Vec<u8>,
    pace: Pace,
    then: Then,
}

enum Pace {
    AtOnce,
    /// One byte per segment, as far as TCP lets us say.
    ByteByByte,
    /// As late as this: after the server's answer, or, of an attentive relay,
    /// after the client's request.
    After(Duration),
}

enum Then {
    GoOn,
    /// Nothing more comes; the connection stays open.
    Freeze,
    /// Our writing side is shut; what the client sends is still read.
    ShutWrite,
    /// Our reading side is shut, and nothing more comes.
    ShutRead,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// The same bytes, as long as anyone takes them.
    Repeat(Vec<u8>),
}

/// `message` behind its length.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    prefixed(message.len(), message)
}

/// `message` behind a length that may be a lie.
pub(crate) fn prefixed(len: usize, message: &[u8]) -> Vec<u8> {
    let mut frame = (len as u32).to_be_bytes().to_vec();
    frame.extend_from_slice(message);
    frame
}

impl Reaction {
    /// The message, as the script has left it.
    pub(crate) fn send(message: &[u8]) -> Self {
        Self::raw(framed(message))
    }

    /// These bytes, which need not be SMB.
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

/// What a script does with an answer.
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
    /// Nanoseconds since `born` at which the client last asked for something.
    asked: AtomicU64,
    /// The times from there to each answer of the script.
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

    /// Waits before an answer, and notes how long the client waits for it by then.
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
        // Room for it before the time is taken: nothing comes between that and the answer.
        let mut held = self.held.lock().unwrap();
        held.reserve(1);
        held.push(Duration::from_nanos(self.age_ns() - asked));
    }
}

impl Relay {
    pub(crate) fn start(server: SocketAddr, of: Of, script: Script) -> Self {
        Self::with_attention(server, of, script, Attention::Drowsy)
    }

    /// One that does not sleep while it waits for the client, nor over the end of
    /// a delay.
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

    /// Messages that the script has seen.
    pub(crate) fn seen(&self) -> u64 {
        self.shared.seen.load(Ordering::Relaxed)
    }

    /// How long the script has held each answer, from when the request came in: as
    /// the client must see it, where it asks for one at a time.
    pub(crate) fn held(&self) -> Vec<Duration> {
        self.shared.held.lock().unwrap().clone()
    }

    /// Messages that the script has seen and passed on, whatever else it sent.
    pub(crate) fn genuine(&self) -> u64 {
        self.shared.genuine.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // The listener's thread looks up when somebody knocks.
        let _ = TcpStream::connect(self.address);
    }
}

/// Serves one connection until either side or the script ends it.
fn carry(shared: &Shared, client: &TcpStream) {
    let Ok(server) = TcpStream::connect(shared.server) else {
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let gone = AtomicBool::new(false);
    thread::scope(|scope| {
        let upwards = (client.try_clone(), server.try_clone());
        let (Ok(client_up), Ok(server_up)) = upwards else {
            return;
        };
        let (gone, shared) = (&gone, &shared);
        scope.spawn(move || {
            carry_up(shared, client_up, server_up, || {
                gone.load(Ordering::Relaxed)
            });
        });
        let _ = carry_down(shared, &server, client);
        // The last owner's drop is what closes, or resets, the connection.
        gone.store(true, Ordering::Relaxed);
        let _ = server.shutdown(Shutdown::Both);
    });
}

/// Client to server, all as it comes.
fn carry_up(
    shared: &Shared,
    mut client: TcpStream,
    mut server: TcpStream,
    is_gone: impl Fn() -> bool,
) {
    let mut chunk = vec![0; 64 * 1024];
    let _ = match shared.attention {
        Attention::Drowsy => client.set_read_timeout(Some(BLINK)),
        // Of the socket, so also for what is written to it.
        Attention::Awake => client.set_nonblocking(true),
    };
    while !is_gone() {
        match client.read(&mut chunk) {
            Ok(0) => break,
            Ok(len) => {
                shared.asked.store(shared.age_ns(), Ordering::Relaxed);
                if server.write_all(&chunk[..len]).is_err() {
                    break;
                }
            }
            Err(error) if is_timeout(&error) => {}
            Err(_) => break,
        }
    }
    // A client that has gone is gone for the server as well.
    let _ = server.shutdown(Shutdown::Both);
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Server to client, message by message.
fn carry_down(shared: &Shared, mut server: &TcpStream, client: &TcpStream) -> io::Result<()> {
    client.set_write_timeout(Some(BLINK))?;
    loop {
        let mut prefix = [0; 4];
        server.read_exact(&mut prefix)?;
        let mut message = vec![0; u32::from_be_bytes(prefix) as usize];
        server.read_exact(&mut message)?;
        if !shared.of.sees(&message) {
            send(shared, client, &framed(&message))?;
            continue;
        }
        let nth = shared.seen.fetch_add(1, Ordering::Relaxed);
        let whole = framed(&message);
        let Reaction { bytes, pace, then } = (shared.script)(Answer { message, nth });
        if bytes.starts_with(&whole) || bytes.ends_with(&whole) {
            shared.genuine.fetch_add(1, Ordering::Relaxed);
        }
        match pace {
            Pace::AtOnce => send(shared, client, &bytes)?,
            Pace::ByteByByte => bytes
                .iter()
                .try_for_each(|&byte| send(shared, client, &[byte]))?,
            Pace::After(delay) => {
                shared.hold(delay);
                send(shared, client, &bytes)?;
            }
        }
        match then {
            Then::GoOn => {}
            Then::Freeze => return swallow(server),
            Then::ShutWrite => {
                client.shutdown(Shutdown::Write)?;
                return swallow(server);
            }
            Then::ShutRead => {
                client.shutdown(Shutdown::Read)?;
                return freeze(shared, client);
            }
            Then::Close => return Ok(()),
            Then::Reset => return SockRef::from(client).set_linger(Some(Duration::ZERO)),
            Then::Repeat(bytes) => loop {
                send(shared, client, &bytes)?;
            },
        }
    }
}

/// Goes on reading, so that the server never notices, until the client goes.
fn swallow(mut server: &TcpStream) -> io::Result<()> {
    io::copy(&mut server, &mut io::sink()).map(|_| ())
}

/// Waits until the client has gone, which only a write can tell once our
/// reading side is shut, and nothing may be written: until the relay goes.
fn freeze(shared: &Shared, client: &TcpStream) -> io::Result<()> {
    while !shared.is_over() && client.take_error()?.is_none() {
        thread::sleep(BLINK);
    }
    Ok(())
}

/// Writes all, unless the relay is over: the client may have stopped reading.
fn send(shared: &Shared, mut client: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match client.write(bytes) {
            Ok(len) => bytes = &bytes[len..],
            Err(error) if is_timeout(&error) && !shared.is_over() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
