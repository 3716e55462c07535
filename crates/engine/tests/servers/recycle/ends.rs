//! Searches of a bin that end early.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::record::RunRecord;

use crate::support::{plan, short, target};

const BIN: &str = "@Recycle";
/// The run's directory in it, which the search looks for next.
const OWN: &str = r"@Recycle\smbench-";
const THEIRS: &str = "@Recycle/thesis.doc";

/// What happens when a request names a path.
#[derive(Clone)]
enum Event {
    /// The run is cancelled, then the request goes on.
    Cancel(Cancel),
    /// The connection is lost.
    Cut,
}

/// Starts a relay that lets the event happen at the first request that names `path`. Returns
/// its port.
fn relay(server: SocketAddr, path: &str, event: Event) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let name: Vec<u8> = path.encode_utf16().flat_map(u16::to_le_bytes).collect();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(server) else {
                return;
            };
            let (mut answers, mut to_client) =
                (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || {
                let _ = std::io::copy(&mut answers, &mut to_client);
                let _ = to_client.shutdown(Shutdown::Both);
            });
            let (name, event) = (name.clone(), event.clone());
            thread::spawn(move || carry(client, server, &name, &event));
        }
    });
    port
}

fn carry(mut client: TcpStream, mut server: TcpStream, name: &[u8], event: &Event) {
    let mut chunk = vec![0; 64 * 1024];
    // A request may arrive in two parts.
    let mut tail = Vec::new();
    while let Ok(len @ 1..) = client.read(&mut chunk) {
        tail.extend_from_slice(&chunk[..len]);
        if tail.windows(name.len()).any(|bytes| bytes == name) {
            match event {
                Event::Cancel(cancel) => cancel.cancel(),
                Event::Cut => {
                    let _ = client.shutdown(Shutdown::Both);
                    let _ = server.shutdown(Shutdown::Both);
                    return;
                }
            }
        }
        tail.drain(..tail.len().saturating_sub(name.len()));
        if server.write_all(&chunk[..len]).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}

/// Runs on a share with such a bin. The event happens when a request names `path`.
fn run(path: &str, event: Event, cancel: &Cancel) -> RunRecord {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    server.memory().put(THEIRS, b"a thesis").unwrap();
    let port = relay(server.address(), path, event);
    let mut target = target(&server.url(), server.password());
    target.port = port;
    let plan = plan("file-server", &short(), target);
    let record = execute(&plan, &mut Unobserved, cancel).unwrap();
    // Only what is of somebody else.
    assert_eq!(server.memory().paths(), ["@Recycle/", THEIRS]);
    record
}

#[test]
fn an_interrupt_ends_the_search_of_a_bin_and_is_reported() {
    for path in [BIN, OWN] {
        let cancel = Cancel::default();
        let record = run(path, Event::Cancel(cancel.clone()), &cancel);
        let [bin] = &record.recycle_bins[..] else {
            panic!("{path}: {:?}", record.recycle_bins);
        };
        assert!(bin.ended_early, "{path}: {bin:?}");
        let told = "the recycle bin '@Recycle' was not searched to its end: interrupted";
        assert_eq!(record.leftover.as_deref(), Some(told), "{path}");
    }
}

#[test]
fn a_connection_that_is_lost_in_a_search_is_reported() {
    for (path, doubt) in [(BIN, "it may not exist; "), (OWN, "")] {
        let record = run(path, Event::Cut, &Cancel::default());
        let [bin] = &record.recycle_bins[..] else {
            panic!("{path}: {:?}", record.recycle_bins);
        };
        assert!(bin.ended_early, "{path}: {bin:?}");
        let told = record.leftover.unwrap();
        let begin =
            format!("the recycle bin '@Recycle' was not searched to its end: {doubt}failed to ");
        assert!(told.starts_with(&begin), "{told}");
        assert!(
            told.ends_with("; further bins were not looked for"),
            "{told}"
        );
    }
}
