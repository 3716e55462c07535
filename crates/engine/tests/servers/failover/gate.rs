//! A relay whose path can be cut for a time.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use socket2::SockRef;

/// Carries connections to a server while it is open. Clones are the same gate.
#[derive(Clone)]
pub(super) struct Gate {
    port: u16,
    state: Arc<Mutex<GateState>>,
}

struct GateState {
    is_open: bool,
    server: SocketAddr,
    listener: TcpListener,
    clients: Vec<Carried>,
    count: usize,
}

impl GateState {
    fn cut(&mut self) {
        for carried in self.clients.drain(..) {
            let _ = carried.client.shutdown(Shutdown::Both);
        }
    }
}

/// A connection of a client.
struct Carried {
    client: TcpStream,
    /// Whether nothing passes any more, without an end of the connection.
    is_silent: Arc<AtomicBool>,
    /// Number of bytes that it has carried, both ways.
    bytes: Arc<AtomicU64>,
}

/// Carries bytes one way until the connection ends.
fn carry(mut from: TcpStream, mut to: TcpStream, is_silent: &AtomicBool, count: &AtomicU64) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        count.fetch_add(read as u64, Ordering::Relaxed);
        if !is_silent.load(Ordering::Relaxed) && to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

impl Gate {
    pub(super) fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let gate = Self {
            port: listener.local_addr().unwrap().port(),
            state: Arc::new(Mutex::new(GateState {
                is_open: true,
                server,
                listener: listener.try_clone().unwrap(),
                clients: Vec::new(),
                count: 0,
            })),
        };
        let state = Arc::clone(&gate.state);
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else {
                    return;
                };
                let mut state = state.lock().unwrap();
                if !state.is_open {
                    continue;
                }
                let Ok(server) = TcpStream::connect(state.server) else {
                    return;
                };
                let is_silent = Arc::<AtomicBool>::default();
                let bytes = Arc::<AtomicU64>::default();
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (is_silent, bytes) = (Arc::clone(&is_silent), Arc::clone(&bytes));
                    thread::spawn(move || carry(from, to, &is_silent, &bytes));
                }
                state.clients.push(Carried {
                    client,
                    is_silent,
                    bytes,
                });
                state.count += 1;
            }
        });
        gate
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the number of connections that it has carried.
    pub(super) fn count(&self) -> usize {
        self.state.lock().unwrap().count
    }

    /// Returns the number of bytes that each connection has carried, in the order in which they
    /// came.
    pub(super) fn carried(&self) -> Vec<u64> {
        let state = self.state.lock().unwrap();
        let bytes = state
            .clients
            .iter()
            .map(|carried| carried.bytes.load(Ordering::Relaxed));
        bytes.collect()
    }

    /// Cuts all connections, and takes no further ones.
    pub(super) fn close(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_open = false;
        state.cut();
    }

    /// Cuts all connections, and carries further ones to another server.
    pub(super) fn lead_to(&self, server: SocketAddr) {
        let mut state = self.state.lock().unwrap();
        state.server = server;
        state.cut();
    }

    /// Cuts one of the connections that were last taken; 0 is the last one.
    pub(super) fn cut_from_the_end(&self, number: usize) {
        let state = self.state.lock().unwrap();
        let carried = state.clients.iter().rev().nth(number).unwrap();
        let _ = carried.client.shutdown(Shutdown::Both);
    }

    /// Lets nothing pass on the present connections, and does not end them.
    pub(super) fn silence(&self) {
        for carried in &self.state.lock().unwrap().clients {
            carried.is_silent.store(true, Ordering::Relaxed);
        }
    }

    /// Cuts all connections, and refuses further ones for good.
    pub(super) fn remove(&self) {
        self.close();
        let state = self.state.lock().unwrap();
        let ended = SockRef::from(&state.listener).shutdown(Shutdown::Both);
        ended.unwrap();
    }

    /// Takes connections again.
    pub(super) fn open(&self) {
        self.state.lock().unwrap().is_open = true;
    }
}
