//! Allocation tests: after a warm-up, a worker allocates no memory. They cover the
//! loop, the alarm, the gauge, the hand-in of recorders, and the native driver on a
//! real server.
//!
//! Only the worker's thread is counted; the server and the coordinator have threads
//! of their own.

mod lost_link;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use smbench_formats::loadfile::Unknown;
use smbench_formats::{loadfile, profile};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::contents::Verify;
use smbench_model::fileio::{FileOrigin, Fileio, Flushing, RequestSpread, TestMode};
use smbench_model::lists::rates::RateList;
use smbench_model::load::Rate;
use smbench_model::operations::fileio::Sequences;
use smbench_model::operations::replay::Replays;
use smbench_model::operations::{Drawn, Mix};
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::secret::Secret;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, Spec, WorkSpec};
use smbench_model::target::Target;
use smbench_model::units::Size;
use smbench_protocol::Dialect;

use worker::{COUNTED_OPERATIONS, allocations_with};

fn plan(url: &str, password: &str, profile: &Profile, options: &RunOptions) -> Plan {
    let (mut target, _) = Target::parse(url).unwrap();
    target.password = Secret::new(password);
    let mut profile = profile.clone();
    profile.spec.run = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            ..options.work.clone()
        },
        ..options.clone()
    };
    Plan::of(&profile, target).unwrap()
}

/// Returns the number of allocations of the worker's thread after the warm-up, and
/// the number of operations counted.
fn allocations(profile: &Profile, options: &RunOptions) -> (u64, u64) {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    allocations_on(&server.url(), server.password(), profile, options)
}

fn allocations_on(
    url: &str,
    password: &str,
    profile: &Profile,
    options: &RunOptions,
) -> (u64, u64) {
    let plan = Arc::new(plan(url, password, profile, options));
    let mix = Mix::new(&plan.only().workload);
    let seed = plan.work.drawing_seed();
    match (plan.only().workload.replay(), plan.only().workload.fileio()) {
        (Some(replay), _) => {
            let supplies = Replays::new(replay.clone(), seed);
            allocations_with(&plan, &mix, supplies)
        }
        (None, Some(test)) => {
            let supplies = Sequences::new(test, seed, plan.generator.part, &mix);
            allocations_with(&plan, &mix, supplies)
        }
        (None, None) => {
            let mix = Arc::clone(&mix);
            allocations_with(&plan, &mix.clone(), Drawn { mix, seed })
        }
    }
}

/// Short delays, so that there are many of them; both directions, some of it
/// random.
const BURSTS: &str = "[[pattern]]\nsize = \"4KiB\"\nweight = 50\nreads = 60\nrandom = 50\n\
    delay = \"1ms\"\nburst = 20\n[[pattern]]\nsize = \"512\"\nweight = 50\nreads = 100\n\
    random = 0\nreply = \"1KiB\"\n";

/// Operations of several steps, without new files, which would fill the server.
const FOLDERS: &str = "[files]\ncount = 20\nsize = \"4KiB\"\n\
    [[operations]]\nop = \"list\"\nweight = 10\n\
    [[operations]]\nop = \"stat\"\nweight = 30\n\
    [[operations]]\nop = \"lookup_missing\"\nweight = 20\n\
    [[operations]]\nop = \"copy_out\"\nweight = 20\n\
    [[operations]]\nop = \"save_office\"\nweight = 20\n";

/// A walk whose listings take several requests each.
const WALK: &str = "[tree]\ndirectories = 30\nfiles = 300\nsizes = \"100B\"\n\
    names = { length = \"12\", utf8 = 20 }\n\
    [[operations]]\nop = \"walk\"\nbuffer = \"1KiB\"\nweight = 100\n";

/// Whole listings of a tree, and copies of it, which are made again and again.
const COPIES: &str = "[tree]\ndirectories = 30\nfiles = 300\nsizes = \"0:10,100B:40,5000B:50\"\n\
    [[operations]]\nop = \"list\"\nbuffer = \"1KiB\"\nweight = 40\n\
    [[operations]]\nop = \"stat\"\nweight = 20\n\
    [[operations]]\nop = \"copy_in\"\nweight = 40\n";

/// Small new files in one directory.
const UNPACKED: &str = "[files]\ncount = 20\nsize = \"1KiB\"\n\
    [[operations]]\nop = \"copy_in\"\nweight = 100\n";

/// Some clients read, the others write.
const DIVIDED: &str = "read_percent = 50\nsplit = \"clients\"\n[[sizes]]\nsize = \"4KiB\"\n\
    weight = 60\n[[sizes]]\nsize = \"16KiB\"\nweight = 40\n";

/// Opens, closes, and operations with composed names. Operations that need a list,
/// such as the deletion of a tree, are left out.
const RECORDED: &str = r#"
NTCreateX "\clients\client1\one.doc" 0x40 0x3 1 NT_STATUS_OK
WriteX 1 0 4096 4096 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
Flush 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 258 NT_STATUS_OK
Close 1 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\one.doc" 1004 NT_STATUS_OK
FIND_FIRST "\clients\client1\*" 260 1366 1 NT_STATUS_OK
Rename "\clients\client1\one.doc" "\clients\client1\two.doc" NT_STATUS_OK
Unlink "\clients\client1\two.doc" 0x6 NT_STATUS_OK
"#;

fn recorded() -> Profile {
    let trace = loadfile::parse("my.txt", RECORDED.as_bytes(), Unknown::Refuse).unwrap();
    Profile {
        recording: Some(Arc::new(trace.into())),
        ..Profile::from_spec("my", Spec::default())
    }
}

/// Reads, writes and flushes of files that were prepared before.
fn prepared() -> Profile {
    Profile {
        fileio: Some(Fileio {
            mode: TestMode::RndRw,
            files: 4,
            total: Size(1 << 20),
            block: Size(4096),
            merged: 0,
            flushing: Flushing::Sets {
                every: Some(100),
                at_end: false,
            },
            rw_ratio: 1.5,
            spread: RequestSpread::Uniform,
            events: None,
            time: Some(Duration::from_secs(3600)),
            home: FileOrigin::Prepared,
        }),
        ..Profile::from_spec("fileio", Spec::default())
    }
}

/// Checks that this profile with these options allocates nothing.
fn check(profile: &Profile, options: &RunOptions) {
    let (taken, counted) = allocations(profile, options);
    assert!(counted >= COUNTED_OPERATIONS);
    let WorkSpec {
        outstanding,
        rate,
        verify,
        ..
    } = &options.work;
    assert_eq!(
        taken,
        0,
        "{}, {outstanding:?} outstanding, {rate:?}, {verify:?}: memory taken during {counted} \
         operations",
        profile.name()
    );
}

#[test]
fn nothing_between_submitting_and_completing_takes_memory() {
    let rate: Rate = "2000".parse().unwrap();
    let named = |name| profile::load(name).unwrap();
    let bursts = || Profile::parse("bursts", BURSTS).unwrap();
    let folders = || Profile::parse("folders", FOLDERS).unwrap();
    for (profile, outstanding, rate) in [
        (named("read-4k"), 1, None),
        (named("read-4k"), 16, None),
        (named("read-4k"), 1, Some(rate)),
        (named("file-server"), 1, None),
        (named("file-server"), 16, None),
        (named("file-server"), 16, Some(rate)),
        (named("metadata"), 1, None),
        (named("metadata"), 16, None),
        (named("metadata"), 16, Some(rate)),
        (bursts(), 1, None),
        (bursts(), 16, None),
        (folders(), 1, None),
        (folders(), 16, None),
    ] {
        let options = RunOptions {
            work: WorkSpec {
                outstanding: Some(outstanding),
                rate: rate.map(RateList::from),
                file_size: Some("256KiB".parse().unwrap()),
                ..WorkSpec::default()
            },
            ..RunOptions::default()
        };
        check(&profile, &options);
    }
}

#[test]
fn nor_does_what_is_checked_shared_divided_or_recorded() {
    let duration = Some(Duration::from_secs(3600));
    let divided = Profile::parse("divided", DIVIDED).unwrap();
    let verified = profile::load("file-server").unwrap();
    for (profile, outstanding, verify, duration) in [
        (verified, 16, Verify::ReadBack, None),
        (divided, 16, Verify::Off, None),
        (prepared(), 1, Verify::Off, duration),
        (prepared(), 1, Verify::ReadBack, duration),
        (recorded(), 1, Verify::Off, duration),
    ] {
        let options = RunOptions {
            work: WorkSpec {
                outstanding: Some(outstanding),
                verify: Some(verify),
                duration,
                ..WorkSpec::default()
            },
            ..RunOptions::default()
        };
        check(&profile, &options);
    }
}

/// Neither for a request, nor for an entry of a directory.
#[test]
fn nor_do_walks_listings_and_copies_of_trees() {
    for (name, text) in [("walk", WALK), ("copies", COPIES), ("unpacked", UNPACKED)] {
        let profile = Profile::parse(name, text).unwrap();
        for outstanding in [1, 16] {
            let options = RunOptions {
                work: WorkSpec {
                    outstanding: Some(outstanding),
                    ..WorkSpec::default()
                },
                ..RunOptions::default()
            };
            check(&profile, &options);
        }
    }
}

#[test]
fn nor_do_signing_encryption_and_sessions_that_share_a_connection() {
    let required = Some(Mode::Required);
    for options in [
        RunOptions {
            sessions: SessionsSpec {
                sign: required,
                ..SessionsSpec::default()
            },
            ..RunOptions::default()
        },
        RunOptions {
            sessions: SessionsSpec {
                encrypt: required,
                ..SessionsSpec::default()
            },
            ..RunOptions::default()
        },
        RunOptions {
            sessions: SessionsSpec {
                sessions_per_connection: Some(2),
                ..SessionsSpec::default()
            },
            ..RunOptions::default()
        },
    ] {
        let options = RunOptions {
            work: WorkSpec {
                outstanding: Some(4),
                ..options.work
            },
            ..options
        };
        check(&profile::load("file-server").unwrap(), &options);
    }
}

#[test]
fn a_warm_worker_allocates_nothing_in_cifs() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let options = RunOptions {
        sessions: SessionsSpec {
            dialect: Some(Dialect::Cifs.into()),
            ..SessionsSpec::default()
        },
        ..RunOptions::default()
    };
    let named = |name| profile::load(name).unwrap();
    for profile in [
        named("file-server"),
        named("netbench-like"),
        Profile::parse("walk", WALK).unwrap(),
    ] {
        let name = profile.name();
        let (allocations, operations) =
            allocations_on(&samba.url(), samba.password(), &profile, &options);
        assert!(operations >= COUNTED_OPERATIONS, "{name}: {operations}");
        assert_eq!(allocations, 0, "{name}");
    }
}
