//! Check-ups: each experiment gives a server one fault, which the check-up must find with its
//! figure. A healthy server has no finding.
//!
//! On a busy machine, smbench may truly be the limit of a load point. So a check-up may say that
//! beside what is expected.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use smbench_lab::{EmbeddedServer, SambaOptions, ScratchSamba, Tool, require};

use crate::support::{Place, embedded, is_machine_busy, json};

/// Most check-ups of a server, for one that a busy machine does not disturb.
const CHECKUPS_MAX: u32 = 4;
/// Entries of a large folder.
const ENTRIES: u32 = 20_000;

/// Returns the document of a check-up with short load points. It has no time limit, because a
/// busy machine may take minutes.
#[track_caller]
fn checkup(url: &str, password: &str, window: &str) -> Value {
    let place = Place::new();
    let mut command = place.command(&["checkup", url, "-qd", window, "--json=-"]);
    let said = command.env("SMBENCH_PASSWORD", password).output().unwrap();
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    json(str::from_utf8(&said.stdout).unwrap())
}

/// Returns the findings about the server: names and figures.
fn found(doc: &Value) -> Vec<(String, f64)> {
    let findings = doc["checkup"]["findings"].as_array().unwrap().iter();
    let findings = findings.map(|of| {
        let name = of["name"].as_str().unwrap().to_owned();
        (name, of["value"].as_f64().unwrap())
    });
    findings
        .filter(|(name, _)| name != "client_limited")
        .collect()
}

fn cell(doc: &Value, name: &str) -> f64 {
    let mut cells = doc["checkup"]["cells"].as_array().unwrap().iter();
    let cell = cells.find(|cell| cell["name"] == name).unwrap();
    cell["value"].as_f64().unwrap_or_else(|| panic!("{cell}"))
}

/// Makes the files of a large folder below a share of the server.
fn fill(samba: &ScratchSamba, folder: &str) -> String {
    let path = samba.data_dir().join(folder);
    fs::create_dir(&path).unwrap();
    for number in 0..ENTRIES {
        File::create(path.join(format!("holiday picture {number}.jpeg"))).unwrap();
    }
    format!("{}/{folder}", samba.url())
}

#[test]
fn lookups_grow_with_a_folder_unless_the_share_heeds_case() {
    for (line, grows) in [
        ("case sensitive = no", true),
        ("case sensitive = yes", false),
    ] {
        let samba = ScratchSamba::or_skip(SambaOptions {
            extra_share: vec![line.to_owned()],
            ..SambaOptions::default()
        });
        let Some(samba) = samba else { return };
        let url = fill(&samba, "pictures");
        let doc = checkup(&url, samba.password(), "100ms");
        let is_found = found(&doc).iter().any(|(name, _)| name == "missing_names");
        assert_eq!(is_found, grows, "{line}: {doc:#}");
    }
}

/// strace delays the system call, as a slow disk does.
#[test]
fn slow_flushes_are_found_with_their_time() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::new("strace", "strace")]) {
        return eprintln!("{skip}");
    }
    let place = Place::new();
    let script = format!(
        "#!/bin/sh\nexec strace -fqq --seccomp-bpf -e trace=fsync,fdatasync \
         -e inject=fsync,fdatasync:delay_exit=50000 -o /dev/null {} \"$@\"\n",
        Tool::SMBD.find().unwrap().display()
    );
    let smbd = place.write("slow-smbd", &script);
    fs::set_permissions(&smbd, fs::Permissions::from_mode(0o755)).unwrap();
    let samba = ScratchSamba::start(SambaOptions {
        smbd: Some(smbd),
        extra_share: vec!["strict sync = yes".to_owned()],
        ..SambaOptions::default()
    })
    .unwrap();
    let doc = checkup(&samba.url(), samba.password(), "600ms");
    let findings = found(&doc);
    let value = |name: &str| {
        let finding = findings.iter().find(|(of, _)| of == name);
        finding.unwrap_or_else(|| panic!("{name}: {doc:#}")).1
    };
    // The disk's time, and that of the server and of the network.
    let flush_ms = value("slow_flush");
    assert!(flush_ms >= 50.0, "{flush_ms} ms");
    assert!(findings.len() == 1 || is_machine_busy(), "{findings:?}");
}

/// Forwards connections to a server, each direction with a delay.
fn far(server: SocketAddr, delay: Duration) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            for stream in [&client, &server] {
                stream.set_nodelay(true).unwrap();
            }
            let (one, other) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            carry(one, server, delay);
            carry(other, client, delay);
        }
    });
    port
}

fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (send, receive) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut chunk = vec![0; 256 << 10];
        while let Ok(len @ 1..) = from.read(&mut chunk) {
            let due = Instant::now() + delay;
            if send.send((due, chunk[..len].to_vec())).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (due, bytes) in receive {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}

fn far_url(server: &EmbeddedServer, port: u16) -> String {
    let near = format!(":{}/", server.address().port());
    let url = server.url().replace(&near, &format!(":{port}/"));
    assert!(url.contains(&format!(":{port}/")), "{url}");
    url
}

#[test]
fn a_delay_of_the_network_is_found_with_its_length() {
    let server = embedded();
    let port = far(server.address(), Duration::from_millis(10));
    let url = far_url(&server, port);
    let is_found = |doc: &Value| found(doc).iter().any(|(name, _)| name == "latency_bound");
    let mut doc = checkup(&url, server.password(), "150ms");
    for _ in 1..CHECKUPS_MAX {
        // Without CPU for the relay, requests in flight together take longer than one alone.
        if is_found(&doc) || !is_machine_busy() {
            break;
        }
        doc = checkup(&url, server.password(), "150ms");
    }
    let findings = found(&doc);
    let trip = findings.iter().find(|(name, _)| name == "latency_bound");
    let trip_ms = trip.unwrap_or_else(|| panic!("{doc:#}")).1;
    assert!(trip_ms >= 20.0, "{trip_ms} ms");
    assert!(findings.len() == 1 || is_machine_busy(), "{findings:?}");
    let ahead = cell(&doc, "sequential_read_8_in_flight");
    assert!(ahead > cell(&doc, "sequential_read_1_in_flight") * 1.5);
}

#[test]
fn a_healthy_server_has_no_finding() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let mut findings = Vec::new();
    for _ in 0..CHECKUPS_MAX {
        findings = found(&checkup(&samba.url(), samba.password(), "300ms"));
        // Other programs may have taken the server's CPU.
        if findings.is_empty() || !is_machine_busy() {
            break;
        }
    }
    assert_eq!(findings, []);
}
