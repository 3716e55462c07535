//! Interoperation: every dialect with all of its signing algorithms and ciphers.
//! Each combination is a short run of a mix of operations with verified data.
//! Without capture (`--nocapture`) the tests print the matrix as a table.

mod table;

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{
    EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, Signing, Tool, require,
};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::record::{LoadPointRecord, Outcome, RunRecord, ServerFacts};
use smbench_model::sessions::Mode;
use smbench_model::spec::RunOptions;
use smbench_model::spec::{SessionsSpec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::{Cipher, CipherList, Dialect, SigningAlgorithm};

use crate::support::{plan, short, target};
use table::{Measured, Row, Table};

/// Protection of the sessions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protection {
    Off,
    Signed(SigningAlgorithm),
    /// Cipher, and the algorithm that signs the few messages that are not
    /// encrypted.
    Encrypted(Cipher, SigningAlgorithm),
}

/// Returns the signing algorithms of a dialect.
fn signing(dialect: Dialect) -> Vec<SigningAlgorithm> {
    match dialect.fixed_signing() {
        Some(only) => vec![only],
        None => SigningAlgorithm::ALL.to_vec(),
    }
}

/// Returns the ciphers of a dialect.
fn ciphers(dialect: Dialect) -> Vec<Cipher> {
    match dialect {
        Dialect::Cifs | Dialect::Smb202 | Dialect::Smb21 => vec![],
        Dialect::Smb30 | Dialect::Smb302 => vec![Cipher::Aes128Ccm],
        Dialect::Smb311 => Cipher::ALL.to_vec(),
    }
}

/// Returns all combinations.
fn all() -> Vec<(Dialect, Protection)> {
    let mut all = Vec::new();
    for dialect in Dialect::SMB2 {
        all.push((dialect, Protection::Off));
        for algorithm in signing(dialect) {
            all.push((dialect, Protection::Signed(algorithm)));
            let encrypted = |cipher| (dialect, Protection::Encrypted(cipher, algorithm));
            all.extend(ciphers(dialect).into_iter().map(encrypted));
        }
    }
    all
}

fn options(dialect: Dialect, protection: Protection) -> RunOptions {
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            outstanding: Some(3),
            duration: Some(Duration::from_millis(150)),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        sessions: SessionsSpec {
            dialect: Some(dialect.into()),
            ..short().sessions
        },
        ..short()
    };
    match protection {
        Protection::Off => RunOptions {
            sessions: SessionsSpec {
                sign: Some(Mode::Off),
                encrypt: Some(Mode::Off),
                ..options.sessions
            },
            ..options
        },
        Protection::Signed(algorithm) => RunOptions {
            sessions: SessionsSpec {
                sign: Some(Mode::Required),
                signing_algorithm: Some(algorithm),
                encrypt: Some(Mode::Off),
                ..options.sessions
            },
            ..options
        },
        Protection::Encrypted(cipher, algorithm) => RunOptions {
            sessions: SessionsSpec {
                signing_algorithm: Some(algorithm),
                encrypt: Some(Mode::Required),
                cipher: Some(CipherList::only(cipher)),
                ..options.sessions
            },
            ..options
        },
    }
}

/// Returns the one load point of a run that must be without errors.
fn clean(record: &RunRecord) -> &LoadPointRecord {
    let [point] = &record.load_points[..] else {
        panic!("one load point was asked for");
    };
    assert_eq!(point.ops.errors(), 0, "{:?}", point.ops.failures());
    assert_eq!(point.dropouts, []);
    point
}

/// Runs one combination, which must be without errors and protected as requested.
fn check(server: &Target, dialect: Dialect, protection: Protection) -> Measured {
    let plan = plan("file-server", &options(dialect, protection), server.clone());
    let record = execute(&plan, &mut Unobserved, &Cancel::default())
        .unwrap_or_else(|error| panic!("{dialect} {protection:?}: {error}"));
    let (signing, encryption) = match protection {
        Protection::Off => (None, None),
        Protection::Signed(algorithm) => (Some(algorithm.name()), None),
        Protection::Encrypted(cipher, _) => (None, Some(cipher)),
    };
    let facts = &record.server;
    assert_eq!(
        (facts.dialect, facts.signing, facts.encryption),
        (Some(dialect), signing, encryption)
    );
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    let point = clean(&record);
    // On a busy machine so short a window may pass without an operation. The first
    // operations are always sent and awaited, and both kinds are among them.
    for kind in [OpKind::Read, OpKind::Write] {
        assert!(point.ops.whole(kind).count > 0, "{}", kind.name());
    }
    Measured::of(point)
}

#[test]
fn samba_speaks_every_dialect_with_every_protection() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let server = target(&samba.url(), samba.password());
    let all = all();
    assert_eq!(all.len(), 4 + 2 * 3 + 1 + 3 * 5);
    let rows = all.into_iter().map(|(dialect, protection)| Row {
        dialect,
        protection,
        measured: Some(check(&server, dialect, protection)),
    });
    let table = Table {
        server: "Samba",
        rows: rows.collect(),
    };
    println!("\n{table}");
}

#[test]
fn the_embedded_server_speaks_every_dialect_with_every_protection_it_has() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let server = target(&server.url(), server.password());
    // In 3.1.1 the server signs only with CMAC.
    let has = |dialect: Dialect, algorithm| {
        algorithm == dialect.fixed_signing().unwrap_or(SigningAlgorithm::AesCmac)
    };
    let rows = all().into_iter().map(|(dialect, protection)| {
        let measured = match protection {
            Protection::Signed(algorithm) | Protection::Encrypted(_, algorithm)
                if !has(dialect, algorithm) =>
            {
                let plan = plan("file-server", &options(dialect, protection), server.clone());
                let error = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap_err();
                assert!(error.to_string().contains("signing_algorithm"), "{error}");
                None
            }
            _ => Some(check(&server, dialect, protection)),
        };
        Row {
            dialect,
            protection,
            measured,
        }
    });
    let table = Table {
        server: "embedded",
        rows: rows.collect(),
    };
    println!("\n{table}");
}

/// Returns the server's facts after a short run with these options, or the error.
fn outcome(server: &Target, options: &RunOptions) -> Result<ServerFacts, String> {
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("1".parse().unwrap()),
            duration: Some(Duration::from_millis(100)),
            verify: Some(Verify::ReadBack),
            ..options.work.clone()
        },
        ..options.clone()
    };
    let plan = plan("file-server", &options, server.clone());
    let record = execute(&plan, &mut Unobserved, &Cancel::default());
    let record = record.map_err(|error| error.to_string())?;
    clean(&record);
    Ok(record.server)
}

#[test]
fn encryption_that_the_server_or_the_share_demands_is_given() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let demand = vec!["smb encrypt = required".to_owned()];
    let by_server = SambaOptions {
        extra_global: demand.clone(),
        ..SambaOptions::default()
    };
    let by_share = SambaOptions {
        extra_share: demand,
        ..SambaOptions::default()
    };
    for options in [by_server, by_share] {
        let samba = ScratchSamba::start(options).unwrap();
        let server = target(&samba.url(), samba.password());
        for dialect in [Dialect::Smb30, Dialect::Smb302, Dialect::Smb311] {
            let facts = outcome(
                &server,
                &RunOptions {
                    sessions: SessionsSpec {
                        dialect: Some(dialect.into()),
                        ..short().sessions
                    },
                    ..short()
                },
            )
            .unwrap();
            assert!(facts.encryption.is_some());
            assert_eq!((facts.dialect, facts.signing), (Some(dialect), None));
        }
        let refused = outcome(
            &server,
            &RunOptions {
                sessions: SessionsSpec {
                    encrypt: Some(Mode::Off),
                    ..short().sessions
                },
                ..short()
            },
        );
        let text = refused.unwrap_err();
        assert!(text.contains("encrypt"), "{text}");
    }
}

#[test]
fn ranges_and_defaults_settle_on_the_newest_and_fastest() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions {
        signing: Signing::Required,
        ..SambaOptions::default()
    })
    .unwrap();
    let server = target(&samba.url(), samba.password());
    // A validated negotiation distinguishes an older server from tampering.
    let old = ScratchSamba::start(SambaOptions {
        extra_global: vec!["server max protocol = SMB2_10".to_owned()],
        ..SambaOptions::default()
    })
    .unwrap();
    let old = target(&old.url(), old.password());
    let cases = [
        (
            &server,
            "2.0.2..3.1.1",
            Ok((Dialect::Smb311, Some(SigningAlgorithm::AesGmac))),
        ),
        (
            &server,
            "2.1..3.0.2",
            Ok((Dialect::Smb302, Some(SigningAlgorithm::AesCmac))),
        ),
        (
            &server,
            "2.0.2..2.1",
            Ok((Dialect::Smb21, Some(SigningAlgorithm::HmacSha256))),
        ),
        (&old, "2.0.2..3.1.1", Ok((Dialect::Smb21, None))),
        (&old, "3.0..3.1.1", Err("none of the dialects offered")),
    ];
    for (server, range, expected) in cases {
        let options = RunOptions {
            sessions: SessionsSpec {
                dialect: Some(range.parse().unwrap()),
                ..short().sessions
            },
            ..short()
        };
        let facts = outcome(server, &options);
        match expected {
            Ok((dialect, signing)) => {
                let facts = facts.unwrap();
                let expected = (Some(dialect), signing.map(SigningAlgorithm::name));
                assert_eq!((facts.dialect, facts.signing), expected, "{range}");
            }
            Err(reason) => {
                let text = facts.unwrap_err();
                assert!(text.contains(reason), "{text}");
            }
        }
    }
}

#[test]
fn what_cannot_be_had_is_said_so() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let server = target(&server.url(), server.password());
    let required = || RunOptions {
        sessions: SessionsSpec {
            encrypt: Some(Mode::Required),
            ..short().sessions
        },
        ..short()
    };
    for (options, reason) in [
        (
            RunOptions {
                sessions: SessionsSpec {
                    dialect: Some(Dialect::Smb21.into()),
                    ..required().sessions
                },
                ..required()
            },
            "the session needs encryption, but SMB 2.1 was negotiated without a cipher; \
             see dialect and cipher",
        ),
        (
            RunOptions {
                sessions: SessionsSpec {
                    dialect: Some(Dialect::Smb30.into()),
                    cipher: Some(CipherList::only(Cipher::Aes128Gcm)),
                    ..required().sessions
                },
                ..required()
            },
            "SMB 3.0 was negotiated without a cipher",
        ),
        (
            RunOptions {
                sessions: SessionsSpec {
                    dialect: Some(Dialect::Smb302.into()),
                    signing_algorithm: Some(SigningAlgorithm::AesGmac),
                    ..short().sessions
                },
                ..short()
            },
            "the server does not sign SMB 3.0.2 with an algorithm that was offered; \
             see signing_algorithm",
        ),
    ] {
        let text = outcome(&server, &options).unwrap_err();
        assert!(text.contains(reason), "{text}");
    }
}
