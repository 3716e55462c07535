//! A relay that cuts connections to a server.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use smbench_lab::{EmbeddedServer, ScratchSamba};
use socket2::SockRef;

/// Carries connections to a server, and cuts them when it is asked to.
pub(super) struct Cutter {
    pub(super) address: SocketAddr,
    clients: Arc<Mutex<Vec<TcpStream>>>,
    /// Whether new connections are closed at once.
    refuses: Arc<AtomicBool>,
}

impl Cutter {
    pub(super) fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let clients = Arc::new(Mutex::new(Vec::new()));
        let accepted = Arc::clone(&clients);
        let refuses = Arc::new(AtomicBool::new(false));
        let is_refused = Arc::clone(&refuses);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if is_refused.load(Ordering::Relaxed) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(server) else {
                    return;
                };
                accepted.lock().unwrap().push(client.try_clone().unwrap());
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = from.shutdown(std::net::Shutdown::Both);
                        let _ = to.shutdown(std::net::Shutdown::Both);
                    });
                }
            }
        });
        Self {
            address,
            clients,
            refuses,
        }
    }

    /// Returns the number of connections so far.
    pub(super) fn count(&self) -> usize {
        self.clients.lock().unwrap().len()
    }

    /// Cuts the connections from this number on.
    pub(super) fn cut(&self, from: usize, after: After) {
        self.refuses
            .store(after == After::Refuse, Ordering::Relaxed);
        for client in &self.clients.lock().unwrap()[from..] {
            let _ = SockRef::from(client).shutdown(std::net::Shutdown::Both);
        }
    }
}

/// What happens to new connections after a cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Accept,
    Refuse,
}

/// A server behind a cutter.
pub(super) struct Server {
    pub(super) url: String,
    pub(super) address: SocketAddr,
    pub(super) password: String,
}

impl From<&EmbeddedServer> for Server {
    fn from(server: &EmbeddedServer) -> Self {
        Self {
            url: server.url(),
            address: server.address(),
            password: server.password().to_owned(),
        }
    }
}

impl From<&ScratchSamba> for Server {
    fn from(server: &ScratchSamba) -> Self {
        Self {
            url: server.url(),
            address: server.address(),
            password: server.password().to_owned(),
        }
    }
}
