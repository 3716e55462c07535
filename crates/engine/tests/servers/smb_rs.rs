//! The smb-rs driver compared with the native one: the same work on the same
//! servers must succeed with both.

mod replay;
mod trouble;

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Observer, Progress, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, Tool, require};
use smbench_model::contents::Verify;
use smbench_model::contents::block;
use smbench_model::contents::block::BLOCK_BYTES;
use smbench_model::files::WorkFile;
use smbench_model::generator::DriverKind;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::operations::{Mix, OpStream};
use smbench_model::plan::Plan;
use smbench_model::record::{LoadPointRecord, OperationFailure, Outcome, RunRecord};
use smbench_model::sessions::Mode;
use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::{Cipher, Dialect, SigningAlgorithm};

use crate::support::{plan, short, target};

fn by_smb_rs(options: RunOptions) -> RunOptions {
    RunOptions {
        generator: GeneratorSpec {
            driver: Some(DriverKind::SmbRs),
            ..options.generator
        },
        ..options
    }
}

fn run(plan: &Plan) -> RunRecord {
    execute(plan, &mut Unobserved, &Cancel::default()).unwrap()
}

/// Returns the load points of a run that must be without errors.
fn clean(record: &RunRecord) -> &[LoadPointRecord] {
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    for point in &record.load_points {
        assert_eq!(point.dropouts, []);
        assert_eq!(point.ops.errors(), 0, "{:?}", point.ops.failures());
        assert_eq!(point.setup.session.len(), u64::from(point.clients));
    }
    &record.load_points
}

/// Every kind of operation, and requests of many credits.
const MIXED: &str = "read_percent = 60\nflush_every_writes = 5\n\
    [files]\ncount = 2\nsize = \"2MiB\"\n\
    [[sizes]]\nsize = \"4KiB\"\nweight = 70\n[[sizes]]\nsize = \"300KiB\"\nweight = 20\n\
    [[sizes]]\nsize = \"1MiB\"\nweight = 10\n";

/// Runs the same profile with both drivers, one after the other.
fn run_both(server: &Target) {
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(profile.path(), MIXED).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("1,4".parse().unwrap()),
            outstanding: Some(5),
            duration: Some(Duration::from_secs(1)),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        ..short()
    };
    let digests = [DriverKind::Native, DriverKind::SmbRs].map(|driver| {
        let options = RunOptions {
            generator: GeneratorSpec {
                driver: Some(driver),
                ..options.generator.clone()
            },
            ..options.clone()
        };
        let plan = plan(profile.path().to_str().unwrap(), &options, server.clone());
        let record = run(&plan);
        let points = clean(&record);
        assert_eq!(points.len(), 2);
        for (point, kind) in points.iter().zip(OpKind::ALL) {
            assert!(point.ops.whole(kind).count > 0, "{driver} {}", kind.name());
        }
        assert_eq!(record.server.dialect, Some(Dialect::Smb311));
        plan.digest()
    });
    // The digest of the work is the same with both drivers.
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn both_drivers_do_the_same_work_on_the_embedded_server() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    run_both(&target(&server.url(), server.password()));
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

#[test]
fn both_drivers_do_the_same_work_on_samba() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    run_both(&target(&samba.url(), samba.password()));
    assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}

/// All operations for which smb-rs has a call, in equal parts.
const CALLS: [&str; 20] = [
    "op = \"read\"",
    "op = \"write\"",
    "op = \"flush\"",
    "op = \"create\"",
    "op = \"create\"\ndisposition = \"create\"",
    "op = \"create\"\ndisposition = \"open\"",
    "op = \"create\"\ndisposition = \"overwrite_if\"\ndelete_on_close = true\nattributes = [\"hidden\"]",
    "op = \"create\"\ndisposition = \"supersede\"\nwrite_through = true",
    "op = \"create\"\ndirectory = true",
    "op = \"create\"\ndirectory = true\ndisposition = \"open\"",
    "op = \"query_info\"\nclass = \"basic\"",
    "op = \"query_info\"\nclass = \"all\"",
    "op = \"query_info\"\nclass = \"stream\"",
    "op = \"query_info\"\nclass = \"fs_full_size\"",
    "op = \"query_info\"\nclass = \"security\"",
    "op = \"set_info\"\nclass = \"basic\"",
    "op = \"set_info\"\nclass = \"rename\"",
    "op = \"set_info\"\nclass = \"delete\"",
    "op = \"copy_chunk\"",
    "op = \"tree_connect\"",
];

/// Returns how often each kind must occur in the first `actions` actions of the
/// only client.
fn expected(plan: &Plan, actions: u64) -> [u64; OpKind::ALL.len()] {
    let mix = Mix::new(&plan.only().workload);
    let mut stream = OpStream::new(&mix, plan.work.seed, 0);
    let mut counts = [0; OpKind::ALL.len()];
    for _ in 0..actions {
        for kind in mix.action(&stream.next()).kinds() {
            counts[*kind as usize] += 1;
        }
    }
    counts
}

/// Each driver carries out the same sequence of actions, request by request, as far
/// as its speed allows, and no other requests.
#[test]
fn both_drivers_do_the_same_operations_on_samba() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let server = target(&samba.url(), samba.password());
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let operations = CALLS.map(|call| format!("[[operations]]\n{call}\nweight = 5\n"));
    let text = "[files]\ncount = 2\nsize = \"256KiB\"\n[[sizes]]\nsize = \"4KiB\"\nweight = 100\n";
    std::fs::write(profile.path(), text.to_owned() + &operations.concat()).unwrap();
    for outstanding in [1, 4] {
        let digests = [DriverKind::Native, DriverKind::SmbRs].map(|driver| {
            let options = RunOptions {
                work: WorkSpec {
                    clients: Some("1".parse().unwrap()),
                    outstanding: Some(outstanding),
                    duration: Some(Duration::from_secs(3)),
                    verify: Some(Verify::ReadBack),
                    ..short().work
                },
                generator: GeneratorSpec {
                    driver: Some(driver),
                    ..short().generator
                },
                ..short()
            };
            let plan = plan(profile.path().to_str().unwrap(), &options, server.clone());
            let record = run(&plan);
            let [point] = clean(&record) else {
                panic!("one load point was asked for");
            };
            let counts = OpKind::ALL.map(|kind| point.ops.whole(kind).count);
            let following = [
                OpKind::Close,
                OpKind::Rename,
                OpKind::Delete,
                OpKind::CopyChunk,
                OpKind::TreeDisconnect,
            ];
            let actions = OpKind::ALL
                .into_iter()
                .filter(|kind| !following.contains(kind))
                .map(|kind| point.ops.whole(kind).count)
                .sum();
            assert!(actions > 100, "{driver}: {actions}");
            assert_eq!(counts, expected(&plan, actions), "{driver} {outstanding}");
            assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
            plan.digest()
        });
        assert_eq!(digests[0], digests[1]);
    }
}

/// Both drivers count refusals of a server by kind and status.
#[test]
fn both_drivers_count_what_a_server_refuses() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let operations = ["op = \"read\"", "op = \"copy_chunk\""]
        .map(|call| format!("[[operations]]\n{call}\nweight = 50\n"));
    let text = "[files]\nsize = \"64KiB\"\n[[sizes]]\nsize = \"4KiB\"\nweight = 100\n";
    std::fs::write(profile.path(), text.to_owned() + &operations.concat()).unwrap();
    let causes = [DriverKind::Native, DriverKind::SmbRs].map(|driver| {
        let options = RunOptions {
            work: WorkSpec {
                clients: Some("1".parse().unwrap()),
                ..short().work
            },
            generator: GeneratorSpec {
                driver: Some(driver),
                ..short().generator
            },
            ..short()
        };
        let server = target(&server.url(), server.password());
        let record = run(&plan(profile.path().to_str().unwrap(), &options, server));
        let point = &record.load_points[0];
        assert_eq!(point.dropouts, []);
        let counts = [OpKind::Create, OpKind::Close].map(|kind| point.ops.whole(kind).count);
        assert_eq!(counts[0], counts[1]);
        let causes = point.ops.failures().keys().copied();
        causes.collect::<Vec<_>>()
    });
    assert!(matches!(
        causes[0][..],
        [(OpKind::CopyChunk, OperationFailure::Status(_))]
    ));
    assert_eq!(causes[0], causes[1]);
}

#[test]
fn what_smb_rs_has_no_call_for_is_refused_by_name() {
    let profile = smbench_formats::profile::load("metadata").unwrap();
    let server = target("smb://ann@127.0.0.1/share", "secret");
    let refused = Plan::resolve(&profile, &by_smb_rs(short()), server, Limits::default(), 2);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "driver: the driver smb-rs has no call for operation create_query_close, \
         operation query_directory of profile metadata: use driver native"
    );
}

/// Reads the files of a run from the server's own disk, without any SMB client.
struct Disk<'a> {
    samba: &'a ScratchSamba,
    prepared: u32,
    written: u32,
}

impl Observer for Disk<'_> {
    fn progress(&mut self, _: &Progress) {}

    fn load_point_ended(&mut self, record: &RunRecord) {
        let plan = &record.plan;
        let [directory] = &std::fs::read_dir(self.samba.data_dir())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()[..]
        else {
            panic!("a run has one directory");
        };
        for WorkFile { client, file } in plan.files() {
            let bytes = std::fs::read(directory.join(plan.file_name(client, file))).unwrap();
            assert_eq!(bytes.len() as u64, plan.only().workload.files.size);
            for (at, block) in bytes.as_chunks::<BLOCK_BYTES>().0.iter().enumerate() {
                let stamp = block::check(block, (at * BLOCK_BYTES) as u64, record.salt);
                let stamp = stamp.unwrap();
                assert_eq!((stamp.client, stamp.file), (client, file));
                match stamp.run {
                    0 => self.prepared += 1,
                    1 => self.written += 1,
                    run => panic!("there was no load point {run}"),
                }
            }
        }
    }
}

#[test]
fn what_smb_rs_writes_is_on_the_disk_of_samba() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let options = by_smb_rs(RunOptions {
        work: WorkSpec {
            clients: Some("3".parse().unwrap()),
            outstanding: Some(4),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        ..short()
    });
    let server = target(&samba.url(), samba.password());
    let plan = plan("file-server", &options, server);
    let mut disk = Disk {
        samba: &samba,
        prepared: 0,
        written: 0,
    };
    let record = execute(&plan, &mut disk, &Cancel::default()).unwrap();
    let [point] = clean(&record) else {
        panic!("one load point was asked for");
    };
    assert!(point.ops.whole(OpKind::Write).count > 0);
    assert!(disk.written > 0);
    let blocks = plan.bytes_on_share() / BLOCK_BYTES as u64;
    assert_eq!(u64::from(disk.prepared + disk.written), blocks);
}

/// Returns the record of a short run with smb-rs, or the error.
fn outcome(server: &Target, options: RunOptions) -> Result<RunRecord, String> {
    let options = by_smb_rs(RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            verify: Some(Verify::ReadBack),
            ..options.work
        },
        ..options
    });
    let plan = plan("file-server", &options, server.clone());
    let record = execute(&plan, &mut Unobserved, &Cancel::default());
    let record = record.map_err(|error| error.to_string())?;
    let [point] = clean(&record) else {
        panic!("one load point was asked for");
    };
    for kind in [OpKind::Read, OpKind::Write] {
        assert!(point.ops.whole(kind).count > 0, "{}", kind.name());
    }
    Ok(record)
}

/// Checks that every dialect runs signed and encrypted, and is reported correctly.
fn check_dialects(server: &Target, in_311: SigningAlgorithm, cipher_311: Cipher) {
    for dialect in Dialect::SMB2 {
        // smb-rs sends one request at a time in SMB 2.0.2.
        let outstanding = Some(if dialect == Dialect::Smb202 { 1 } else { 3 });
        let options = |sign, encrypt| RunOptions {
            work: WorkSpec {
                outstanding,
                ..short().work
            },
            sessions: SessionsSpec {
                dialect: Some(dialect.into()),
                sign: Some(sign),
                encrypt: Some(encrypt),
                ..short().sessions
            },
            ..short()
        };
        let signed = Some(dialect.fixed_signing().unwrap_or(in_311).name());
        for (sign, encrypt) in [(Mode::Auto, Mode::Auto), (Mode::Required, Mode::Off)] {
            let facts = outcome(server, options(sign, encrypt)).unwrap().server;
            assert_eq!(
                (facts.dialect, facts.signing, facts.encryption),
                (Some(dialect), signed, None)
            );
        }
        let encrypted = outcome(server, options(Mode::Auto, Mode::Required));
        if dialect < Dialect::Smb30 {
            let text = encrypted.unwrap_err();
            assert!(text.contains("without a cipher"), "{text}");
            continue;
        }
        let cipher = match dialect {
            Dialect::Smb311 => cipher_311,
            _ => Cipher::Aes128Ccm,
        };
        let facts = encrypted.unwrap().server;
        assert_eq!(
            (facts.dialect, facts.signing, facts.encryption),
            (Some(dialect), None, Some(cipher))
        );
    }
}

#[test]
fn smb_rs_speaks_every_dialect_to_samba() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let server = target(&samba.url(), samba.password());
    check_dialects(&server, SigningAlgorithm::AesGmac, Cipher::Aes128Gcm);
}

#[test]
fn smb_rs_speaks_every_dialect_to_the_embedded_server() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let server = target(&server.url(), server.password());
    // The server takes the first cipher that is offered.
    check_dialects(&server, SigningAlgorithm::AesCmac, Cipher::Aes128Ccm);
}

#[test]
fn encryption_that_the_share_demands_is_given_and_reported() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions {
        extra_share: vec!["smb encrypt = required".to_owned()],
        ..SambaOptions::default()
    })
    .unwrap();
    let server = target(&samba.url(), samba.password());
    let facts = outcome(&server, short()).unwrap().server;
    assert_eq!(facts.signing, None);
    assert_eq!(facts.encryption, Some(Cipher::Aes128Gcm));
    let refused = RunOptions {
        sessions: SessionsSpec {
            encrypt: Some(Mode::Off),
            ..short().sessions
        },
        ..short()
    };
    let text = outcome(&server, refused).unwrap_err();
    assert!(text.contains("encrypt"), "{text}");
}
