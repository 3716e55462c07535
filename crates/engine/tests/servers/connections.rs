//! The connections of a run, as the server sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Course, PlannedRun, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::load::{PointLoad, SetupFailures};
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::RunRecord;
use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec, WorkSpec};
use smbench_protocol::NtStatus;
use smbench_protocol::header::Command;

use crate::hostile::relay::{Answer, Of, Reaction, Relay};
use crate::proxy::Proxy;
use crate::support::{assert_undisturbed, plan, short, target};

/// A short run of many clients from these addresses.
fn from(sources: &str, url: &str, password: &str) -> Plan {
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("30".parse().unwrap()),
            file_size: Some("64KiB".parse().unwrap()),
            ..short().work
        },
        sessions: SessionsSpec {
            source_ip: Some(sources.parse().unwrap()),
            ..short().sessions
        },
        ..short()
    };
    plan("file-server", &options, target(url, password))
}

#[test]
fn clients_come_from_the_addresses_listed_in_turn() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let proxy = Proxy::witness(server.address());
    let url = server.url().replace(
        &server.address().to_string(),
        &format!("127.0.0.1:{}", proxy.port()),
    );
    let plan = from("127.0.0.2-127.0.0.5", &url, server.password());
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    let point = &record.load_points[0];
    assert_undisturbed(point);
    let mut seen: BTreeMap<IpAddr, u32> = BTreeMap::new();
    let peers = proxy.peers();
    for peer in &peers {
        *seen.entry(*peer).or_default() += 1;
    }
    // The workspace's session and the eight sessions that fill files use the first
    // address.
    let expected = [
        ("127.0.0.2", 9 + 8),
        ("127.0.0.3", 8),
        ("127.0.0.4", 7),
        ("127.0.0.5", 7),
    ];
    let expected = expected.map(|(address, count)| (address.parse().unwrap(), count));
    assert_eq!(seen, BTreeMap::from(expected));
    assert!(peers[..9].iter().all(|peer| *peer == expected[0].0));
}

#[test]
fn addresses_that_cannot_be_used_are_refused_before_anything_is_made() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    for (sources, reason) in [
        (
            // TEST-NET-1 belongs to no machine.
            "127.0.0.2,192.0.2.1",
            "failed to connect from 192.0.2.1: Cannot assign requested address (os error 99); give \
             addresses of this machine (source_ip)",
        ),
        (
            "127.0.0.2,::1",
            "from ::1: the server has no IPv6 address; give addresses of its kind (source_ip)",
        ),
    ] {
        let plan = from(sources, &server.url(), server.password());
        let error = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(server.memory().paths(), Vec::<String>::new());
    }
}

/// One credit allows one request in flight, for any window. The other slots wait,
/// and the waiting time is in the result.
#[test]
fn one_credit_serves_a_window_of_eight_and_the_wait_is_reported() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut servers = vec![target(&server.url(), server.password())];
    let samba = ScratchSamba::or_skip(SambaOptions::default());
    servers.extend(
        samba
            .iter()
            .map(|samba| target(&samba.url(), samba.password())),
    );
    for server in servers {
        let options = RunOptions {
            work: WorkSpec {
                clients: Some("2".parse().unwrap()),
                outstanding: Some(8),
                verify: Some(Verify::ReadBack),
                ..short().work
            },
            sessions: SessionsSpec {
                credits: Some(1),
                ..short().sessions
            },
            ..short()
        };
        let plan = plan("file-server", &options, server);
        let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
        let point = &record.load_points[0];
        assert_undisturbed(point);
        assert!(point.ops.whole(OpKind::Read).count > 0);
        // A client that always has a request to send waits nearly all the time.
        assert!(!point.credit_starved.is_zero());
        assert!(point.credit_starved <= 2 * point.window);
    }
}

/// The largest requests that servers accept, with the credits for just one of them.
/// Each connection has one in flight at a time.
#[test]
fn requests_of_8_mib_run_on_the_credits_of_one() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(
        profile.path(),
        "read_percent = 50\n[files]\nsize = \"16MiB\"\n[[sizes]]\nsize = \"8MiB\"\nweight = 100\n",
    )
    .unwrap();
    for credits in [None, Some(128)] {
        let options = RunOptions {
            work: WorkSpec {
                clients: Some("1".parse().unwrap()),
                outstanding: Some(2),
                verify: Some(Verify::ReadBack),
                // Without optimisation a busy machine makes 8 MiB in half a second.
                duration: Some(Duration::from_secs(2)),
                ..short().work
            },
            sessions: SessionsSpec {
                credits,
                ..short().sessions
            },
            ..short()
        };
        let target = target(&samba.url(), samba.password());
        let plan = plan(profile.path().to_str().unwrap(), &options, target);
        let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
        let point = &record.load_points[0];
        assert_eq!((point.ops.errors(), &point.dropouts), (0, &vec![]));
        let moved = [OpKind::Read, OpKind::Write].map(|kind| point.ops.whole(kind));
        assert!(moved.iter().any(|totals| totals.count > 0));
        for totals in moved {
            assert_eq!(totals.bytes, totals.count * (8 << 20));
        }
    }
}

/// One load point, at which refused sessions are counted.
struct Counted(Option<u32>);

impl Course for Counted {
    fn next(&mut self, _: &RunRecord) -> Option<PointLoad> {
        self.0.take().map(|clients| PointLoad {
            clients,
            rate: None,
            repeat: 1,
            place: None,
            setup: SetupFailures::CountUntil(1.0),
        })
    }

    fn clients_for_certain(&self) -> u32 {
        1
    }

    fn at_most(&self) -> u32 {
        1
    }

    fn is_search(&self) -> bool {
        true
    }
}

/// Sends answers to SESSION_SETUP of a server that has room for 15 sessions, one of which is
/// that of the run. Sessions of several connections may be set up at the same time.
fn room_for_fifteen(answer: Answer) -> Reaction {
    static ACCEPTED: Mutex<BTreeSet<[u8; 8]>> = Mutex::new(BTreeSet::new());
    let mut message = answer.message;
    let session = message[40..48].try_into().unwrap();
    let mut accepted = ACCEPTED.lock().unwrap();
    if accepted.len() < 15 {
        accepted.insert(session);
    }
    if !accepted.contains(&session) {
        message.truncate(64);
        message[8..12].copy_from_slice(&NtStatus::INSUFFICIENT_RESOURCES.0.to_le_bytes());
        // An ERROR response without data (MS-SMB2 2.2.2).
        message.extend_from_slice(&[9, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    Reaction::send(&message)
}

/// A server that has room for some sessions of a connection only.
#[test]
fn sessions_that_stand_on_a_connection_count_if_the_next_is_refused() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let of = Of::Command(Command::SessionSetup);
    let relay = Relay::start(server.address(), of, room_for_fifteen);
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("24".parse().unwrap()),
            ..short().work
        },
        sessions: SessionsSpec {
            sessions_per_connection: Some(8),
            ..short().sessions
        },
        generator: GeneratorSpec {
            threads: Some(1),
            setup_rate: Some(50),
            ..short().generator
        },
    };
    let echo = "operations = [{ op = \"echo\", weight = 100 }]";
    let profile = Profile::parse("echo", echo).unwrap();
    let plan = Plan::resolve(&profile, &options, target, Limits::default(), 2).unwrap();
    let mut course = Counted(Some(24));
    let run = PlannedRun::of(&plan).in_course(&mut course);
    let record = execute(run, &mut Unobserved, &Cancel::default()).unwrap();
    let point = &record.load_points[0];
    let attempts = point.setup.attempts.as_ref().unwrap();
    // The server accepts 14 clients and refuses ten.
    assert_eq!(point.setup.session.len(), 14, "{attempts:?}");
    assert_eq!((attempts.ended, attempts.failed()), (24, 10));
    assert_eq!(point.clients_served, 14);
    assert_eq!(point.dropouts, []);
}
