//! The embedded server over the wire, driven by the real `smbclient`.

use std::fs;
use std::num::NonZeroU64;

use smbench_lab::{EmbeddedOptions, EmbeddedServer, Fault, ShareAccess, Signing, Tool};
use tempfile::TempDir;

use crate::client::{Client, SIGNING_ENABLED, SIGNING_REQUIRED, has, negotiate, pattern};

/// Length of a file that is larger than one transfer, and not a multiple of a
/// chunk.
const FILE_BYTES: usize = 9 * 1024 * 1024 + 12_345;

/// Starts a server with these options, and runs `test` with a client and a
/// local folder.
fn with_client(options: EmbeddedOptions, test: impl FnOnce(&EmbeddedServer, &Client<'_>)) {
    if !has(&[Tool::SMBCLIENT]) {
        return;
    }
    let server = EmbeddedServer::start(options).unwrap();
    let folder = TempDir::new().unwrap();
    let client = Client {
        port: server.port(),
        share: "bench",
        user: server.user(),
        password: server.password(),
        arguments: &[],
        folder: folder.path(),
    };
    test(&server, &client);
}

#[test]
fn files_and_directories_behave_over_the_wire() {
    with_client(EmbeddedOptions::default(), |server, client| {
        let memory = server.memory();
        let data = pattern(FILE_BYTES);
        fs::write(client.folder.join("local"), &data).unwrap();

        client.run("mkdir dir; put local dir\\file; get dir\\file back");
        assert_eq!(fs::read(client.folder.join("back")).unwrap(), data);
        assert_eq!(memory.contents("dir/file").unwrap(), data);
        let counts = memory.counts();
        assert_eq!(counts.bytes_written, FILE_BYTES as u64);
        assert_eq!(counts.bytes_read, FILE_BYTES as u64);

        let listing = client.run("ls dir\\*");
        assert!(listing.contains(&FILE_BYTES.to_string()), "{listing}");
        assert!(client.run("ls FI*; ls dir\\f?le").contains("file"));
        assert!(client.fail("ls no*").contains("NO_SUCH_FILE"));

        client.run("rename dir\\file dir\\other");
        assert_eq!(memory.paths(), ["dir/", "dir/other"]);
        assert!(client.run("rmdir dir").contains("NOT_EMPTY"));
        assert_eq!(memory.paths(), ["dir/", "dir/other"]);
        client.run("del dir\\other; rmdir dir");
        assert!(memory.paths().is_empty());
        assert_eq!(memory.used_bytes(), 0);
        assert_eq!(memory.counts().open_handles, 0);
    });
}

#[test]
fn a_wrong_password_is_refused_as_often_as_it_is_tried() {
    with_client(EmbeddedOptions::default(), |_, client| {
        let wrong = Client {
            password: "wrong",
            ..*client
        };
        // This is more often than the server's default throttle accepts.
        for _ in 0..12 {
            assert!(wrong.fail("ls").contains("NT_STATUS_LOGON_FAILURE"));
        }
        client.run("ls");
    });
}

#[test]
fn a_missing_share_is_named_as_such() {
    with_client(EmbeddedOptions::default(), |_, client| {
        let missing = Client {
            share: "nowhere",
            ..*client
        };
        assert!(missing.fail("ls").contains("NT_STATUS_BAD_NETWORK_NAME"));
    });
}

#[test]
fn a_read_only_share_serves_and_refuses() {
    let options = EmbeddedOptions {
        access: ShareAccess::ReadOnly,
        ..EmbeddedOptions::default()
    };
    with_client(options, |server, client| {
        server.memory().put("given", b"data").unwrap();
        client.run("get given copy");
        assert_eq!(fs::read(client.folder.join("copy")).unwrap(), b"data");
        assert!(client.fail("put copy new").contains("ACCESS_DENIED"));
        assert_eq!(server.memory().paths(), ["given"]);
    });
}

#[test]
fn a_full_share_says_so() {
    let options = EmbeddedOptions {
        capacity_bytes: Some(1 << 20),
        ..EmbeddedOptions::default()
    };
    with_client(options, |server, client| {
        fs::write(client.folder.join("big"), pattern(2 << 20)).unwrap();
        fs::write(client.folder.join("small"), pattern(1 << 19)).unwrap();
        assert!(client.fail("put big").contains("NT_STATUS_DISK_FULL"));
        client.run("del big");
        let free = client.run("put small; ls");
        let expected = "256 blocks of size 4096. 128 blocks available";
        assert!(free.contains(expected), "{free}");
        assert_eq!(server.memory().used_bytes(), 1 << 19);
    });
}

#[test]
fn a_corrupting_share_hands_out_a_flipped_byte() {
    let options = EmbeddedOptions {
        fault: Fault::FlipByteEvery(NonZeroU64::MIN),
        ..EmbeddedOptions::default()
    };
    with_client(options, |server, client| {
        let data = pattern(4096);
        server.memory().put("f", &data).unwrap();
        client.run("get f");
        let got = fs::read(client.folder.join("f")).unwrap();
        let wrong = got.iter().zip(&data).filter(|(got, sent)| got != sent);
        assert_eq!((got.len(), wrong.count()), (4096, 1));
    });
}

#[test]
fn signing_is_asked_for_when_required() {
    for (signing, expected) in [
        (Signing::Optional, SIGNING_ENABLED),
        (Signing::Required, SIGNING_ENABLED | SIGNING_REQUIRED),
    ] {
        let server = EmbeddedServer::start(EmbeddedOptions {
            signing,
            ..EmbeddedOptions::default()
        })
        .unwrap();
        let (_, mode) = negotiate(server.address());
        assert_eq!(mode, expected, "{signing:?}");
    }
}

#[test]
fn more_connections_are_served_than_the_stock_limit_of_1024() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let held: Vec<_> = (0..1100).map(|_| negotiate(server.address())).collect();
    assert!(held.iter().all(|&(_, mode)| mode == SIGNING_ENABLED));
    server.stop();
}

#[test]
fn every_dialect_is_served() {
    with_client(EmbeddedOptions::default(), |_, client| {
        for dialect in ["SMB2_02", "SMB2_10", "SMB3_00", "SMB3_02", "SMB3_11"] {
            let minimum = format!("--option=client min protocol={dialect}");
            let maximum = format!("--option=client max protocol={dialect}");
            let client = Client {
                arguments: &[&minimum, &maximum],
                ..*client
            };
            client.run("ls");
        }
    });
}
