//! All errors before a run: each has one line, the documented exit code, no
//! standard output, and no result.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use smbench_lab::{EmbeddedOptions, EmbeddedServer, ShareAccess};
use tokio::net::TcpSocket;

use crate::support::{Place, Said, embedded, free_port, text};

#[track_caller]
fn refused(place: &Place, said: &Said, code: i32, parts: &[&str]) {
    said.failed_with(code, parts);
    assert!(!place.path("results").exists());
}

#[test]
fn an_unknown_profile() {
    let place = Place::new();
    let said = place.smbench(&["run", "--profile", "file-sever", "--out", "results"]);
    let expected =
        "unknown profile `file-sever` (did you mean file-server?): expected one of file-server";
    refused(&place, &said, 2, &[expected]);
}

#[test]
fn a_malformed_loadfile_is_placed_by_its_line() {
    let place = Place::new();
    place.write("mine.txt", "Mkdir \"\\a\" NT_STATUS_OK\nFrob 1\n");
    let run = |profile, more: &[&str]| {
        let args = ["run", "--profile", profile, "--out=results"];
        place.smbench(&[&args[..], more].concat())
    };
    let expected = "mine.txt, line 2: unknown verb `Frob`: expected one of NTCreateX, ";
    refused(&place, &run("loadfile:mine.txt", &[]), 2, &[expected]);
    let expected = "--skip-unknown means nothing with profile read-4k";
    refused(&place, &run("read-4k", &["--skip-unknown"]), 2, &[expected]);
    place.write("fine.txt", "Mkdir \"\\client1\" NT_STATUS_OK\n");
    let said = place.smbench(&["profiles", "show", "fine.txt"]);
    refused(&place, &said, 2, &["`smbench plan -p fine.txt` shows"]);
}

#[test]
fn what_a_loadfile_holds_is_shown_before_it_is_replayed() {
    let place = Place::new();
    let file = place.write(
        "mine.txt",
        "Mkdir \"\\client1\" NT_STATUS_OK\nFrob 1\nFrob 2\n",
    );
    let profile = format!("loadfile:{}", text(&file));
    let said = place.smbench(&[
        "plan",
        "--profile",
        &profile,
        "--skip-unknown",
        "--loops",
        "2",
    ]);
    said.succeeded();
    let shown = &said.stdout;
    for part in [
        "profile      loadfile-mine: replay of ",
        "1 operation, 2 loops of each client, 2 lines left out\n",
        "100 %  Mkdir",
        "2 lines of Frob left out\n",
        "begins with  Mkdir \"client1\" STATUS_SUCCESS\n",
    ] {
        assert!(shown.contains(part), "{part}{shown}");
    }
}

#[test]
fn malformed_toml_is_placed_by_line_and_column() {
    let place = Place::new();
    place.write("mine.toml", "read_percent = 80\nreads = 1");
    for command in ["run", "plan"] {
        let said = place.smbench(&[command, "--profile=./mine.toml", "--out=results"]);
        let expected = "mine.toml, line 2, column 1: unknown field `reads`";
        refused(&place, &said, 2, &[expected]);
    }
}

#[test]
fn a_bad_url() {
    let place = Place::new();
    let url = "smb://ann:pässword@host:x/share";
    let said = place.smbench(&["run", "--target", url, "--out", "results"]);
    refused(&place, &said, 2, &["port is not a number"]);
    assert!(!said.stderr.contains("pässword"), "{said:?}");
}

#[test]
fn a_url_where_a_file_belongs() {
    let place = Place::new();
    let url = "smb://ann:hunter2@host/share";
    for command in [&["run", "--out", url][..], &["show", url]] {
        let said = place.smbench(command);
        said.failed_with(
            2,
            &["smb://...", "expected a file, not the URL of a server"],
        );
        assert!(!said.stderr.contains("hunter2"), "{said:?}");
        assert!(!place.path("smb:").exists());
    }
    let said = place.smbench(&["show", "x://ann:hunter2@host/share"]);
    said.failed_with(2, &["failed to read x://...: the file does not exist"]);
}

#[test]
fn a_folder_made_for_results_goes_with_a_run_that_fails() {
    let place = Place::new();
    let url = format!("smb://ann@127.0.0.1:{}/share", free_port());
    place
        .run(&url, "pw", &["--out=a/b/c"])
        .failed_with(3, &["failed to connect"]);
    assert!(!place.path("a").exists());
}

#[test]
fn a_refused_port() {
    let place = Place::new();
    let port = free_port();
    let url = format!("smb://ann@127.0.0.1:{port}/share");
    let at = format!("failed to connect to 127.0.0.1:{port}: ");
    refused(&place, &place.run(&url, "pw", &[]), 3, &[&at, "refused"]);
    for command in ["probe", "cleanup"] {
        let said = place.smbench_as("pw", &[command, &url]);
        refused(&place, &said, 3, &[&at]);
    }
}

/// A failover as its users write it, without the length of the window.
#[test]
fn a_failover_without_a_duration_ends_only_for_want_of_a_server() {
    let place = Place::new();
    let port = free_port();
    let url = format!("smb://ann@127.0.0.1:{port}/bench");
    let line = "-p file-server -c 200 --verify --handles durable --reconnect 60s \
        --nodes 127.0.0.1,127.0.0.2 --out results";
    let mut args = vec!["run", url.as_str()];
    args.extend(line.split_whitespace());
    args.extend(["--event", "at 30s: drop 100%"]);
    args.extend(["--event", "at 60s: exec ./failover.sh"]);
    args.extend(["--fail-if", "blackout max > 15s"]);
    args.extend(["--fail-if", "lost writes > 0"]);
    let said = place.smbench_as("pw", &args);
    let at = format!("failed to connect to 127.0.0.1:{port}: ");
    refused(&place, &said, 3, &[&at]);
}

/// An address on loopback that never answers. Its backlog is full, so the kernel
/// drops every further SYN, as the path to an unroutable host does.
struct Silent {
    address: SocketAddr,
    _listener: tokio::net::TcpListener,
    _pending: Vec<TcpStream>,
}

impl Silent {
    fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut pending = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
            pending.push(stream);
            assert!(pending.len() < 16, "the backlog never fills");
        }
        Self {
            address,
            _listener: listener,
            _pending: pending,
        }
    }
}

#[tokio::test]
async fn an_unroutable_host() {
    let silent = Silent::new();
    let place = Place::new();
    let url = format!("smb://ann@{}/share", silent.address);
    let said = place.run(&url, "pw", &["--connect-timeout=1s"]);
    let expected = format!(
        "failed to connect to {}: no answer within 1s",
        silent.address
    );
    refused(&place, &said, 3, &[&expected]);
    let plan = place.smbench(&["plan"]);
    plan.succeeded();
    assert!(
        plan.stdout
            .contains("waits        at most 10 s to connect, "),
        "{plan:?}"
    );
}

#[test]
fn a_wrong_password() {
    let server = embedded();
    let place = Place::new();
    let said = place.run(&server.url(), "no-such-secret", &[]);
    let expected = "failed to log on as user 'smbench'";
    refused(&place, &said, 3, &[expected, "SMBENCH_PASSWORD"]);
    assert!(!said.stderr.contains("no-such-secret"), "{said:?}");
}

/// Another attempt for each profile would lock accounts.
#[test]
fn a_wrong_password_is_tried_once_however_many_profiles() {
    let server = embedded();
    let place = Place::new();
    let profiles = ["--profile=read-4k", "--profile=metadata"];
    let said = place.run(&server.url(), "no-such-secret", &profiles);
    refused(&place, &said, 3, &["failed to log on as user 'smbench'"]);
}

#[test]
fn a_missing_share() {
    let server = embedded();
    let place = Place::new();
    let url = server.url().replace("/bench", "/nothing");
    let said = place.run(&url, server.password(), &[]);
    let expected = "failed to connect to share 'nothing'";
    refused(
        &place,
        &said,
        3,
        &[expected, "there is no share of that name"],
    );
}

#[test]
fn a_missing_directory() {
    let server = embedded();
    let place = Place::new();
    let url = format!("{}/not/there", server.url());
    let said = place.run(&url, server.password(), &[]);
    refused(&place, &said, 3, &["directory in the target URL exists"]);
}

#[test]
fn a_read_only_share() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        access: ShareAccess::ReadOnly,
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let place = Place::new();
    let said = place.run(&server.url(), server.password(), &[]);
    let expected = "the share is read-only, or the user may not read or write there";
    refused(&place, &said, 3, &["failed to create", expected]);
}

#[test]
fn a_share_that_grants_no_persistent_handles() {
    let server = embedded();
    let place = Place::new();
    let more = ["--handles=persistent", "--reconnect=5s"];
    let said = place.run(&server.url(), server.password(), &more);
    let at = format!("the server 127.0.0.1:{}/bench ", server.port());
    let expected = "grants no persistent handles, which need a continuously available share; give \
                    --handles durable";
    refused(&place, &said, 3, &[&at, expected]);
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

#[test]
fn a_share_without_space() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        capacity_bytes: Some(3 << 20),
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let place = Place::new();
    let said = place.run(&server.url(), server.password(), &["--clients=4"]);
    refused(
        &place,
        &said,
        3,
        &["3 MiB free", "needs 4 MiB", "--file-size"],
    );
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

/// This is known without a server, so no connection is made.
#[test]
fn files_too_small() {
    let place = Place::new();
    let url = format!("smb://ann@127.0.0.1:{}/share", free_port());
    let said = place.run(&url, "pw", &["--file-size=1KiB"]);
    let expected = "size 2 KiB does not fit in a file of 1 KiB";
    refused(&place, &said, 2, &["--file-size", expected]);
}

/// Limits that only the server knows are checked before anything is written. If
/// writing is not allowed anyway, the run still fails because of these limits.
#[test]
fn a_servers_limits_come_before_the_first_write() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        capacity_bytes: Some(3 << 20),
        access: ShareAccess::ReadOnly,
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let place = Place::new();
    // Operations of several requests are not split.
    let chains = place.write(
        "chains.toml",
        "[[sizes]]\nsize = \"512KiB\"\nweight = 100\n\
         [[operations]]\nop = \"create_read_close\"\nweight = 100\n",
    );
    let chains = text(&chains);
    for (profile, option, parts) in [
        (
            "web-server",
            "--file-size=4MiB",
            ["3 MiB free", "needs 4 MiB"],
        ),
        (chains, "--dialect=2.0.2", ["of 512 KiB", "at most 64 KiB"]),
    ] {
        let profile = format!("--profile={profile}");
        let args = [profile.as_str(), "--clients=1", option];
        let said = place.run(&server.url(), server.password(), &args);
        refused(&place, &said, 3, &parts);
    }
}

#[test]
fn a_folder_of_results_that_cannot_be_made() {
    let place = Place::new();
    let file = place.write("file", "");
    let out = format!("{}/results", text(&file));
    // No server listens there, so any other order of checks would report that.
    let url = format!("smb://ann@127.0.0.1:{}/share", free_port());
    let said = place.run(&url, "pw", &[&format!("--out={out}")]);
    refused(&place, &said, 3, &["failed to write results to", &out]);
}

#[test]
fn two_documents_for_one_standard_output() {
    let place = Place::new();
    let said = place.smbench(&["run", "--json", "-", "--csv", "-", "--out", "results"]);
    refused(&place, &said, 2, &["--json", "--csv"]);
}

#[test]
fn a_result_that_is_none() {
    let place = Place::new();
    let missing = place.smbench(&["show", "missing.json"]);
    missing.failed_with(2, &["failed to read missing.json: the file does not exist"]);
    place.write("other.json", "{}");
    let other = place.smbench(&["show", "other.json"]);
    other.failed_with(2, &["failed to read other.json: not an smbench result"]);
}
