//! A server with faults: a relay that answers WRITEs itself without passing them on, or that
//! delivers an older WRITE again after a newer one. It notes the first READ that must find each.
//! This is exact for one client with one request at a time, and requests of one size.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Size of the header of a message.
const HEADER: usize = 64;
const READ: u16 = 8;
const WRITE: u16 = 9;
/// Flag of a response.
const RESPONSE: u8 = 1;

/// What the relay does with each n-th WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It answers the WRITE with success, and does not pass it on.
    Drop,
    /// It passes the WRITE on, and then an older one of the same place.
    Repeat,
}

/// A relay with faults.
pub(super) struct FaultyRelay {
    pub(super) port: u16,
    state: Arc<Mutex<RelayState>>,
}

#[derive(Default)]
struct RelayState {
    writes: usize,
    /// The last WRITE of each place.
    last: HashMap<u64, Vec<u8>>,
    /// The places with faults.
    faults: Vec<u64>,
    /// Those of them that no later WRITE has set right, and no READ has found.
    wrong: BTreeSet<u64>,
    /// Those that a READ was the first to find, in their order.
    wrong_reads: Vec<u64>,
}

impl FaultyRelay {
    pub(super) fn start(server: SocketAddr, fault: Fault, each: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Self {
            port: listener.local_addr().unwrap().port(),
            state: Arc::default(),
        };
        let state = Arc::clone(&relay.state);
        thread::spawn(move || {
            for client in listener.incoming() {
                let server = TcpStream::connect(server).unwrap();
                let line = Arc::new(RelayedLine {
                    client: client.unwrap(),
                    server,
                    state: Arc::clone(&state),
                    ids: Mutex::default(),
                });
                let back = Arc::clone(&line);
                thread::spawn(move || {
                    let _ = line.requests(fault, each);
                    line.end();
                });
                thread::spawn(move || {
                    let _ = back.responses();
                    back.end();
                });
            }
        });
        relay
    }

    /// Returns the offsets of the WRITEs with faults.
    pub(super) fn faults(&self) -> Vec<u64> {
        self.state.lock().unwrap().faults.clone()
    }

    /// Returns the offsets of the WRITEs with faults that a READ must have found, in the order of
    /// the first READs.
    pub(super) fn wrong_reads(&self) -> Vec<u64> {
        self.state.lock().unwrap().wrong_reads.clone()
    }

    /// Returns the offsets of faults that no READ has found, and no later WRITE has set right.
    pub(super) fn unread(&self) -> Vec<u64> {
        self.state.lock().unwrap().wrong.iter().copied().collect()
    }
}

/// A connection of a client, and the one to the server that belongs to it.
struct RelayedLine {
    client: TcpStream,
    server: TcpStream,
    state: Arc<Mutex<RelayState>>,
    /// The client's number of each message to the server; `None` if the client did not send it.
    ids: Mutex<HashMap<u64, Option<u64>>>,
}

impl RelayedLine {
    fn end(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    fn requests(&self, fault: Fault, each: usize) -> io::Result<()> {
        // How much further the server's numbers are than the client's.
        let mut ahead = 0_u64;
        let mut again: Option<Vec<u8>> = None;
        loop {
            let mut message = receive(&self.client)?;
            if let Some(older) = again.take() {
                let first = id(&message);
                self.pass(older, None, first.wrapping_add(ahead))?;
                ahead = ahead.wrapping_add(1);
            }
            if is(READ, &message) {
                let offset = number(&message, HEADER + 8);
                let length = message[HEADER + 4..HEADER + 8].try_into().unwrap();
                let end = offset + u64::from(u32::from_le_bytes(length));
                let mut state = self.state.lock().unwrap();
                let found: Vec<_> = state.wrong.range(offset..end).copied().collect();
                for place in found {
                    state.wrong.remove(&place);
                    state.wrong_reads.push(place);
                }
            }
            if !is(WRITE, &message) {
                let first = id(&message);
                self.pass(message, Some(first), first.wrapping_add(ahead))?;
                continue;
            }
            let offset = number(&message, HEADER + 8);
            let mut state = self.state.lock().unwrap();
            state.writes += 1;
            let is_due = state.writes.is_multiple_of(each);
            let older = state.last.insert(offset, message.clone());
            let older = older.filter(|older| older.len() == message.len());
            state.wrong.remove(&offset);
            match (fault, older) {
                (Fault::Drop, Some(_)) if is_due => {
                    state.faults.push(offset);
                    state.wrong.insert(offset);
                    ahead = ahead.wrapping_sub(1);
                    let length = message[HEADER + 4..HEADER + 8].to_vec();
                    message.truncate(HEADER);
                    message[16] |= RESPONSE;
                    message[8..12].fill(0);
                    message.extend([17, 0, 0, 0]);
                    message.extend(length);
                    message.extend([0; 9]);
                    send(&self.client, &message)?;
                    continue;
                }
                (Fault::Repeat, Some(older)) if is_due => {
                    state.faults.push(offset);
                    state.wrong.insert(offset);
                    again = Some(older);
                }
                _ => {}
            }
            drop(state);
            let first = id(&message);
            self.pass(message, Some(first), first.wrapping_add(ahead))?;
        }
    }

    /// Sends a message to the server, with this number there.
    fn pass(&self, mut message: Vec<u8>, of_client: Option<u64>, there: u64) -> io::Result<()> {
        let ahead = there.wrapping_sub(of_client.unwrap_or_else(|| id(&message)));
        let mut ids = self.ids.lock().unwrap();
        renumber(&mut message, |id| {
            let there = id.wrapping_add(ahead);
            ids.insert(there, of_client.map(|_| id));
            there
        });
        drop(ids);
        send(&self.server, &message)
    }

    fn responses(&self) -> io::Result<()> {
        loop {
            let mut message = receive(&self.server)?;
            let mut is_own = false;
            let ids = self.ids.lock().unwrap();
            renumber(&mut message, |there| match ids.get(&there) {
                Some(Some(id)) => *id,
                Some(None) => {
                    is_own = true;
                    there
                }
                None => there,
            });
            drop(ids);
            if !is_own {
                send(&self.client, &message)?;
            }
        }
    }
}

/// Changes the number of each part of a message.
fn renumber(message: &mut [u8], mut new: impl FnMut(u64) -> u64) {
    let mut at = 0;
    // Another protocol begins with an SMB1 NEGOTIATE, which has no such number.
    while message.get(at) == Some(&0xfe) {
        let id = new(number(message, at + 24));
        message[at + 24..at + 32].copy_from_slice(&id.to_le_bytes());
        let next = u32::from_le_bytes(message[at + 20..at + 24].try_into().unwrap());
        if next == 0 {
            break;
        }
        at += next as usize;
    }
}

/// Returns whether a message is one request of this command.
fn is(command: u16, message: &[u8]) -> bool {
    let found = u16::from_le_bytes([message[12], message[13]]);
    message[0] == 0xfe && command == found && message[20..24] == [0; 4]
}

fn id(message: &[u8]) -> u64 {
    number(message, 24)
}

fn number(message: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(message[at..at + 8].try_into().unwrap())
}

fn receive(mut from: &TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut message = vec![0; u32::from_be_bytes(length) as usize];
    from.read_exact(&mut message)?;
    Ok(message)
}

fn send(mut to: &TcpStream, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    to.write_all(&[&length, message].concat())
}
