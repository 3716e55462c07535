use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::{EmbeddedOptions, EmbeddedServer, reachable};
use crate::LabError;

/// Limit for each step, longer than any of them takes.
const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn a_server_is_described_by_its_url_and_gone_after_stop() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let port = server.port();
    assert_eq!(
        server.url(),
        format!("smb://smbench@127.0.0.1:{port}/bench")
    );
    assert_eq!(server.password().len(), 32);
    let address = server.address();
    let client = TcpStream::connect(address).unwrap();
    server.stop();
    // While another test starts a program, that program briefly holds copies of
    // this process's sockets. Until then a client can still connect.
    let begin = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(begin.elapsed() < LIMIT, "{address} still listens");
        thread::sleep(Duration::from_millis(10));
    }
    drop(client);
}

#[test]
fn it_starts_and_stops_inside_another_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
        TcpStream::connect(server.address()).unwrap();
        drop(server);
    });
}

#[test]
fn every_share_has_files_of_its_own() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        shares: vec!["one".into(), "two".into()],
        ..EmbeddedOptions::default()
    })
    .unwrap();
    server.memory().put("here", b"1").unwrap();
    assert_eq!(server.share("ONE").unwrap().paths(), ["here"]);
    assert!(server.share("two").unwrap().paths().is_empty());
    assert!(server.share("three").is_none());
}

#[test]
fn unusable_options_are_refused() {
    let start = |options| EmbeddedServer::start(options).unwrap_err();
    let no_share = start(EmbeddedOptions {
        shares: Vec::new(),
        ..EmbeddedOptions::default()
    });
    assert!(matches!(no_share, LabError::NoShare));
    let twice = start(EmbeddedOptions {
        shares: vec!["a".into(), "A".into()],
        ..EmbeddedOptions::default()
    });
    assert!(matches!(twice, LabError::Embedded(_)), "{twice}");
    let bad_name = start(EmbeddedOptions {
        user: "a@b".into(),
        ..EmbeddedOptions::default()
    });
    assert!(matches!(bad_name, LabError::Name { what: "user", .. }));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap();
    let busy = start(EmbeddedOptions {
        listen,
        ..EmbeddedOptions::default()
    });
    assert_eq!(busy.to_string(), format!("cannot listen on {listen}"));
}

#[test]
fn the_url_of_a_server_that_listens_everywhere_is_reachable() {
    let of = |text: &str| reachable(text.parse().unwrap()).to_string();
    assert_eq!(of("0.0.0.0:445"), "127.0.0.1:445");
    assert_eq!(of("[::]:445"), "[::1]:445");
    assert_eq!(of("10.0.0.1:445"), "10.0.0.1:445");
}
