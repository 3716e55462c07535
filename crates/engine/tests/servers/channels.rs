//! Several sessions on one connection, several connections for one session, and
//! both. The traffic is plain, signed and encrypted, with every byte verified.

mod wire;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, Tool, require};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::record::{Outcome, RunRecord};
use smbench_model::sessions::Mode;
use smbench_model::spec::RunOptions;
use smbench_model::spec::{SessionsSpec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::{Cipher, CipherList, Dialect, SigningAlgorithm};

use crate::proxy::{Proxy, Trouble};
use crate::support::{plan, short, target};

/// Number of clients, and how they share connections.
#[derive(Clone, Copy, Debug)]
struct Shape {
    clients: u32,
    sessions_per_connection: u32,
    connections_per_session: u32,
    /// The resulting number of connections.
    connections: u64,
}

const fn shape(clients: u32, sessions: u32, per_session: u32, connections: u64) -> Shape {
    Shape {
        clients,
        sessions_per_connection: sessions,
        connections_per_session: per_session,
        connections,
    }
}

/// A load of reads and writes in flight together, with sizes below and above one
/// credit.
fn options(shape: Shape) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some(shape.clients.to_string().parse().unwrap()),
            outstanding: Some(4),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        sessions: SessionsSpec {
            sessions_per_connection: Some(shape.sessions_per_connection),
            connections_per_session: Some(shape.connections_per_session),
            ..short().sessions
        },
        ..short()
    }
}

fn run(server: &Target, shape: Shape, options: &RunOptions) -> RunRecord {
    let plan = plan("file-server", options, server.clone());
    let record = execute(&plan, &mut Unobserved, &Cancel::default());
    check(
        shape,
        record.unwrap_or_else(|error| panic!("{shape:?}: {error}")),
    )
}

fn check(shape: Shape, record: RunRecord) -> RunRecord {
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    let point = &record.load_points[0];
    assert_eq!(
        point.ops.errors(),
        0,
        "{shape:?} {:?}",
        point.ops.failures()
    );
    assert_eq!(point.dropouts, [], "{shape:?}");
    assert_eq!(point.setup.session.len(), u64::from(shape.clients));
    assert_eq!(point.setup.connections, shape.connections, "{shape:?}");
    for kind in [OpKind::Read, OpKind::Write] {
        assert!(point.ops.whole(kind).count > 0, "{shape:?} {}", kind.name());
    }
    record
}

fn samba() -> Option<(ScratchSamba, Target)> {
    let samba = ScratchSamba::or_skip(SambaOptions::default())?;
    let server = target(&samba.url(), samba.password());
    Some((samba, server))
}

/// Returns all ways to protect messages in a dialect that has channels.
fn protections() -> Vec<(Dialect, RunOptions)> {
    let signed = |algorithm| RunOptions {
        sessions: SessionsSpec {
            sign: Some(Mode::Required),
            signing_algorithm: Some(algorithm),
            encrypt: Some(Mode::Off),
            ..SessionsSpec::default()
        },
        ..RunOptions::default()
    };
    let encrypted = |cipher| RunOptions {
        sessions: SessionsSpec {
            encrypt: Some(Mode::Required),
            cipher: Some(CipherList::only(cipher)),
            ..SessionsSpec::default()
        },
        ..RunOptions::default()
    };
    let plain = || RunOptions {
        sessions: SessionsSpec {
            sign: Some(Mode::Off),
            encrypt: Some(Mode::Off),
            ..SessionsSpec::default()
        },
        ..RunOptions::default()
    };
    let (old, new) = (Dialect::Smb30, Dialect::Smb311);
    vec![
        (old, plain()),
        (old, signed(SigningAlgorithm::AesCmac)),
        (old, encrypted(Cipher::Aes128Ccm)),
        (new, plain()),
        (new, signed(SigningAlgorithm::AesCmac)),
        (new, signed(SigningAlgorithm::AesGmac)),
        (new, encrypted(Cipher::Aes128Ccm)),
        (new, encrypted(Cipher::Aes128Gcm)),
        (new, encrypted(Cipher::Aes256Gcm)),
    ]
}

fn check_everywhere(server: &Target, shapes: &[Shape]) {
    for (dialect, protection) in protections() {
        for &shape in shapes {
            let options = RunOptions {
                sessions: SessionsSpec {
                    dialect: Some(dialect.into()),
                    ..options(shape).or(protection.clone()).sessions
                },
                ..options(shape).or(protection.clone())
            };
            let record = run(server, shape, &options);
            assert_eq!(record.server.dialect, Some(dialect));
            let facts = &record.server;
            let wanted = |mode: Option<Mode>| mode == Some(Mode::Required);
            assert_eq!(facts.signing.is_some(), wanted(protection.sessions.sign));
            assert_eq!(
                facts.encryption.is_some(),
                wanted(protection.sessions.encrypt)
            );
        }
    }
}

#[test]
fn sessions_share_connections_under_every_protection() {
    let Some((_samba, server)) = samba() else {
        return;
    };
    check_everywhere(&server, &[shape(4, 4, 1, 1), shape(6, 4, 1, 2)]);
}

#[test]
fn sessions_have_several_connections_under_every_protection() {
    let Some((_samba, server)) = samba() else {
        return;
    };
    check_everywhere(&server, &[shape(2, 1, 2, 4), shape(1, 1, 4, 4)]);
}

#[test]
fn both_go_together_under_every_protection() {
    let Some((_samba, server)) = samba() else {
        return;
    };
    check_everywhere(&server, &[shape(5, 3, 2, 4)]);
}

/// Older dialects have no channels, but sessions may share a connection.
#[test]
fn sessions_share_connections_in_older_dialects() {
    let Some((_samba, server)) = samba() else {
        return;
    };
    let shape = shape(4, 4, 1, 1);
    for dialect in [Dialect::Smb202, Dialect::Smb21, Dialect::Smb302] {
        for sign in [Mode::Off, Mode::Required] {
            let options = RunOptions {
                sessions: SessionsSpec {
                    dialect: Some(dialect.into()),
                    sign: Some(sign),
                    ..options(shape).sessions
                },
                ..options(shape)
            };
            run(&server, shape, &options);
        }
    }
}

/// Chains of operations, CANCEL and compounded requests use the right session and
/// connection.
#[test]
fn every_command_runs_in_shared_sessions_over_several_connections() {
    let Some((_samba, server)) = samba() else {
        return;
    };
    let shape = shape(3, 3, 2, 2);
    for encrypt in [Mode::Off, Mode::Required] {
        let options = RunOptions {
            work: WorkSpec {
                verify: None,
                duration: Some(std::time::Duration::from_secs(1)),
                ..options(shape).work
            },
            sessions: SessionsSpec {
                encrypt: Some(encrypt),
                ..options(shape).sessions
            },
            ..options(shape)
        };
        let plan = plan("all-commands", &options, server.clone());
        let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
        let record = check(shape, record);
        for kind in [OpKind::Create, OpKind::Lock, OpKind::CreateReadClose] {
            let count = record.load_points[0].ops.whole(kind).count;
            assert!(count > 0, "{}", kind.name());
        }
    }
}

/// Both connections are used, even if each has few credits.
#[test]
fn a_cap_on_credits_holds_for_each_connection() {
    let Some((_samba, server)) = samba() else {
        return;
    };
    let shape = shape(2, 2, 2, 2);
    let options = RunOptions {
        sessions: SessionsSpec {
            credits: Some(1),
            ..options(shape).sessions
        },
        ..options(shape)
    };
    let record = run(&server, shape, &options);
    assert!(!record.load_points[0].credit_starved.is_zero());
}

#[test]
fn a_server_without_several_connections_is_refused_before_anything_is_written() {
    let embedded = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut servers = vec![target(&embedded.url(), embedded.password())];
    let samba = require(&[Tool::SMBD, Tool::PDBEDIT]).map(|()| {
        ScratchSamba::start(SambaOptions {
            extra_global: vec!["server multi channel support = no".to_owned()],
            ..SambaOptions::default()
        })
        .unwrap()
    });
    match &samba {
        Ok(samba) => servers.push(target(&samba.url(), samba.password())),
        Err(skip) => eprintln!("{skip}"),
    }
    for server in servers {
        let plan = plan("file-server", &options(shape(1, 1, 2, 2)), server);
        let error = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap_err();
        let text = error.to_string();
        let expected = "offers no session on several connections (multichannel) in SMB 3.1.1; \
                        leave out connections_per_session";
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(embedded.memory().paths(), Vec::<String>::new());
    if let Ok(samba) = samba {
        assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
    }
}

/// A broken connection drops all clients that use it.
#[test]
fn a_broken_connection_drops_all_its_clients() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    // Enough bytes for set-up, but not for the load.
    let proxy = Proxy::start(server.address(), Trouble::Cut, 1 << 20);
    let mut server_side = target(&server.url(), server.password());
    server_side.port = proxy.port();
    let options = RunOptions {
        work: WorkSpec {
            duration: Some(std::time::Duration::from_secs(60)),
            verify: None,
            ..options(shape(4, 2, 1, 2)).work
        },
        ..options(shape(4, 2, 1, 2))
    };
    let plan = plan("file-server", &options, server_side);
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    let dropouts = &record.load_points[0].dropouts;
    let clients: Vec<_> = dropouts.iter().map(|dropout| dropout.client).collect();
    assert_eq!(clients, [0, 1, 2, 3]);
    for dropout in dropouts {
        let reason = &dropout.reason;
        assert!(reason.contains("connection"), "{reason}");
    }
}
