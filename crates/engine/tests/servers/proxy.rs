//! A relay between client and server that can freeze, cut or alter the traffic. It
//! simulates failures that a real server does not produce on demand.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Failure of the bytes from the server.
#[derive(Clone, Copy)]
pub(crate) enum Trouble {
    /// No more bytes arrive; the connection stays open.
    Freeze,
    /// The connection is closed in both directions.
    Cut,
    /// One bit of the next byte is flipped, and the other bytes are passed on.
    Flip,
}

/// Passes bytes on until `trouble` hits every connection, after `after` bytes from
/// the server on all of them together.
pub(crate) struct Proxy {
    address: SocketAddr,
    /// Addresses of the clients, in the order in which they connected.
    peers: Arc<Mutex<Vec<IpAddr>>>,
}

impl Proxy {
    pub(crate) fn start(server: SocketAddr, trouble: Trouble, after: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let carried = Arc::new(AtomicU64::new(0));
        let peers = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&peers);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                seen.lock().unwrap().push(client.peer_addr().unwrap().ip());
                let Ok(server) = TcpStream::connect(server) else {
                    continue;
                };
                let (client_up, server_up) = (client.try_clone(), server.try_clone());
                thread::spawn(move || relay_all(client_up.unwrap(), server_up.unwrap()));
                let carried = Arc::clone(&carried);
                thread::spawn(move || relay_until(server, client, &carried, after, trouble));
            }
        });
        Self { address, peers }
    }

    /// Starts a relay that only observes.
    pub(crate) fn witness(server: SocketAddr) -> Self {
        Self::start(server, Trouble::Cut, u64::MAX)
    }

    /// Returns the addresses of the clients, in the order in which they connected.
    pub(crate) fn peers(&self) -> Vec<IpAddr> {
        self.peers.lock().unwrap().clone()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }
}

fn relay_all(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

fn relay_until(
    mut from: TcpStream,
    mut to: TcpStream,
    carried: &AtomicU64,
    after: u64,
    trouble: Trouble,
) {
    let mut chunk = vec![0; 64 * 1024];
    while let Ok(len @ 1..) = from.read(&mut chunk) {
        let before = carried.fetch_add(len as u64, Ordering::Relaxed);
        match trouble {
            // Continues to read, so that the server notices nothing.
            Trouble::Freeze if before >= after => continue,
            Trouble::Cut if before >= after => break,
            Trouble::Flip => {
                let at = after.checked_sub(before).map(|at| at as usize);
                if let Some(byte) = at.and_then(|at| chunk[..len].get_mut(at)) {
                    *byte ^= 1;
                }
            }
            Trouble::Freeze | Trouble::Cut => {}
        }
        if to.write_all(&chunk[..len]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
