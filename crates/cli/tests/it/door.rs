//! A door in front of a server. It refuses or delays connections, which no real server does
//! on demand.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Which connections the door refuses or delays.
#[derive(Clone, Copy)]
pub(crate) enum DoorPolicy {
    /// All are let in.
    LetIn,
    /// Every n-th connection is closed at once.
    RefuseEvery(u64),
    /// From this connection on, holds back connections for this time.
    HoldBackOnce(u64, Duration),
}

/// An open door. Its threads end with the process.
pub(crate) struct Door {
    address: SocketAddr,
    seen: Arc<AtomicU64>,
}

impl Door {
    /// Returns the target behind the door.
    pub(crate) fn url(&self) -> String {
        format!("smb://smbench@{}/bench", self.address)
    }

    /// Returns the number of connections so far.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }
}

/// Opens a door on a free port.
pub(crate) fn open_door(server: SocketAddr, policy: DoorPolicy) -> Door {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let held_until = Arc::new(Mutex::new(None));
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    thread::spawn(move || {
        for (number, client) in (1..).zip(listener.incoming().flatten()) {
            count.store(number, Ordering::Relaxed);
            match policy {
                DoorPolicy::RefuseEvery(every) if number % every == 0 => continue,
                DoorPolicy::HoldBackOnce(first, length) if number == first => {
                    *held_until.lock().unwrap() = Some(Instant::now() + length);
                }
                _ => {}
            }
            let held_until = *held_until.lock().unwrap();
            thread::spawn(move || {
                let until = held_until.unwrap_or_else(Instant::now);
                thread::sleep(until.saturating_duration_since(Instant::now()));
                let _ = pass_on(&client, server);
            });
        }
    });
    Door { address, seen }
}

fn pass_on(client: &TcpStream, server: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    io::copy(&mut &server, &mut &*client)?;
    client.shutdown(Shutdown::Both)
}
