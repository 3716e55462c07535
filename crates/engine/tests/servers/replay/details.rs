//! What captures have and loadfiles do not: rights and share access of CREATEs, and
//! several operations in flight.

use std::collections::BTreeMap;
use std::sync::Arc;

use smbench_capture::KeyRing;
use smbench_lab::{SambaOptions, ScratchSamba, require};
use smbench_model::generator::DriverKind;
use smbench_model::kind::OpKind;
use smbench_model::profile::Profile;
use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec, Spec, WorkSpec};
use smbench_model::trace::{Builder, CreateDetail, Record, RecordOrder, Step};
use smbench_protocol::command::create::options::{FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE};
use smbench_protocol::command::create::{OplockLevel, access, attributes};
use smbench_protocol::command::create_context::CreateContext;
use smbench_protocol::command::lease::{LeaseKey, LeaseState};
use smbench_protocol::{Dialect, NtStatus};

use super::captures::{import, replayed};
use super::{counts, is_clean, options, plan, run};
use crate::capture::{Capture, TSHARK};

/// A client that opens a file to read it alone.
fn profile() -> Profile {
    let create = |disposition, handle| Step::Create {
        path: r"clients\client1\a",
        options: FILE_NON_DIRECTORY_FILE,
        disposition,
        handle,
    };
    let mut trace = Builder::default();
    let mut push = |step: &Step<'_>, status| trace.push(step, status, None).unwrap();
    push(&Step::Mkdir(r"clients\client1"), NtStatus::SUCCESS);
    push(&create(2, 1), NtStatus::SUCCESS);
    push(&Step::Close(1), NtStatus::SUCCESS);
    push(&create(1, 1), NtStatus::SUCCESS);
    trace.detail(CreateDetail {
        desired_access: access::FILE_READ_DATA,
        attributes: attributes::FILE_ATTRIBUTE_NORMAL,
        share_access: 0,
        contexts: Box::default(),
        oplock: None,
    });
    let mut push = |step: &Step<'_>, status| trace.push(step, status, None).unwrap();
    push(&create(1, 2), NtStatus::SHARING_VIOLATION);
    let write = Step::Write {
        handle: 1,
        offset: 0,
        length: 10,
        written: 0,
    };
    push(&write, NtStatus::ACCESS_DENIED);
    push(&Step::Close(1), NtStatus::SUCCESS);
    push(&Step::Deltree(r"clients\client1"), NtStatus::SUCCESS);
    let recording = trace.finish("captured".to_owned(), 8, [7; 32]).into();
    Profile {
        recording: Some(Arc::new(recording)),
        ..Profile::from_spec("captured", Spec::default())
    }
}

#[test]
fn a_create_has_its_recorded_rights_and_share_access() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    for dialect in [Dialect::Smb311, Dialect::Cifs] {
        let options = RunOptions {
            sessions: SessionsSpec {
                dialect: Some(dialect.into()),
                ..options("2", 3).sessions
            },
            ..options("2", 3)
        };
        let record = run(&plan(&profile(), &options, &samba));
        let point = &record.load_points[0];
        assert_eq!(point.ops.differences(), &BTreeMap::new(), "{dialect:?}");
        assert_eq!(counts(point)[&OpKind::Create], 18);
        assert!(is_clean(&samba));
    }
}

/// Oplocks, leases and contexts of CREATEs. A lease comes first, as a replay sends it.
fn caching() -> [CreateDetail; 3] {
    let of = |oplock, contexts: &[CreateContext]| CreateDetail {
        desired_access: access::FILE_READ_DATA | access::FILE_WRITE_DATA,
        attributes: attributes::FILE_ATTRIBUTE_ARCHIVE,
        share_access: 7,
        contexts: contexts.into(),
        oplock: Some(oplock),
    };
    let lease = |state| CreateContext::Lease {
        key: LeaseKey::default(),
        state,
    };
    [
        of(
            OplockLevel::Lease,
            &[
                lease(LeaseState::RH),
                CreateContext::MaximalAccess { since: None },
                CreateContext::AllocationSize(4096),
                CreateContext::DurableV2 {
                    timeout_ms: 12_000,
                    flags: 0,
                    create_guid: [0; 16],
                },
            ],
        ),
        of(OplockLevel::Lease, &[lease(LeaseState::R)]),
        of(
            OplockLevel::Batch,
            &[CreateContext::QueryOnDiskId, CreateContext::Durable],
        ),
    ]
}

#[test]
fn requests_have_their_recorded_contexts_and_flags() {
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let mut trace = Builder::default();
    for detail in caching() {
        let create = Step::Create {
            path: r"clients\client1.dat",
            options: FILE_NON_DIRECTORY_FILE,
            disposition: 3,
            handle: 1,
        };
        trace.push(&create, NtStatus::SUCCESS, None).unwrap();
        trace.detail(detail);
        let (handle, offset, length) = (1, 0, 10);
        let write = Step::Write {
            handle,
            offset,
            length,
            written: length,
        };
        let read = Step::Read {
            handle,
            offset,
            length,
            returned: length,
        };
        for (step, flags) in [(write, 3), (read, 1), (Step::Close(handle), 1)] {
            trace.push(&step, NtStatus::SUCCESS, None).unwrap();
            trace.flags(flags);
        }
    }
    let recording = trace.finish("captured".to_owned(), 12, [9; 32]).into();
    let profile = Profile {
        recording: Some(Arc::new(recording)),
        ..Profile::from_spec("captured", Spec::default())
    };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("replay.pcap");
    let capture = Capture::start(samba.port(), &file);
    let record = run(&plan(&profile, &options("1", 1), &samba));
    capture.stop();
    let differences = record.load_points[0].ops.differences();
    assert_eq!(differences, &BTreeMap::new());
    // The packets of the replay show all that it was to send.
    let folder = place.path().join("imported");
    import(&file, &folder, KeyRing::default());
    let captured = replayed(&folder).recording.unwrap();
    let tracks = (0..captured.clients_per_copy()).map(|client| captured.track(client));
    let details = tracks.flat_map(|track| {
        let records = track.records.iter();
        records.filter_map(|record| track.detail(record))
    });
    let asked = details.filter(|detail| detail.oplock != Some(OplockLevel::None));
    assert_eq!(asked.cloned().collect::<Vec<_>>(), caching());
    let records =
        (0..captured.clients_per_copy()).flat_map(|client| &captured.track(client).records);
    let flags = records.filter_map(|record| match *record {
        Record::Read { flags, .. } | Record::Write { flags, .. } | Record::Close { flags, .. } => {
            Some(flags).filter(|&flags| flags > 0)
        }
        _ => None,
    });
    assert_eq!(flags.collect::<Vec<_>>(), [3, 1, 1].repeat(3));
    let skipped = &captured.summary().skipped;
    let unsent = skipped.keys().filter(|what| what.contains("context"));
    assert_eq!(unsent.count(), 0, "{skipped:?}");
    assert!(is_clean(&samba));
}

/// A client that reads and writes two files at the same time. smb-rs has no calls for
/// operations by name.
fn side_by_side(driver: DriverKind) -> Profile {
    let has_names = driver == DriverKind::Native;
    let mut trace = Builder::default();
    trace.order(RecordOrder::ByHandle);
    let mut push = |step: &Step<'_>| trace.push(step, NtStatus::SUCCESS, None).unwrap();
    if has_names {
        push(&Step::Mkdir(r"clients\client1"));
    } else {
        push(&Step::Create {
            path: r"clients\client1",
            options: FILE_DIRECTORY_FILE,
            disposition: 3,
            handle: 1,
        });
        push(&Step::Close(1));
    }
    for (path, handle) in [(r"clients\client1\a", 1), (r"clients\client1\b", 2)] {
        push(&Step::Create {
            path,
            options: FILE_NON_DIRECTORY_FILE,
            disposition: 5,
            handle,
        });
    }
    let ranges = || (0..8).map(|at| (1 + at % 2, (at as u64 / 2) * 4096));
    for (handle, offset) in ranges() {
        push(&Step::Write {
            handle,
            offset,
            length: 4096,
            written: 4096,
        });
    }
    for (handle, offset) in ranges() {
        push(&Step::Read {
            handle,
            offset,
            length: 4096,
            returned: 4096,
        });
    }
    push(&Step::Close(1));
    push(&Step::Close(2));
    if has_names {
        push(&Step::Unlink(r"clients\client1\a"));
        push(&Step::Deltree(r"clients\client1"));
    }
    let recording = trace.finish("captured".to_owned(), 23, [8; 32]).into();
    Profile {
        recording: Some(Arc::new(recording)),
        ..Profile::from_spec("captured", Spec::default())
    }
}

#[test]
fn operations_in_flight_together_wait_for_those_that_they_depend_on() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    for (driver, dialect) in [
        (DriverKind::Native, Dialect::Smb311),
        (DriverKind::Native, Dialect::Cifs),
        #[cfg(feature = "smb-rs")]
        (DriverKind::SmbRs, Dialect::Smb311),
    ] {
        let options = RunOptions {
            generator: GeneratorSpec {
                driver: Some(driver),
                ..options("3", 5).generator
            },
            work: WorkSpec {
                outstanding: Some(6),
                ..options("3", 5).work
            },
            sessions: SessionsSpec {
                dialect: Some(dialect.into()),
                ..options("3", 5).sessions
            },
        };
        let record = run(&plan(&side_by_side(driver), &options, &samba));
        let point = &record.load_points[0];
        assert_eq!(point.invalid, None);
        assert_eq!(point.ops.differences(), &BTreeMap::new(), "{dialect:?}");
        let counts = counts(point);
        assert_eq!((counts[&OpKind::Write], counts[&OpKind::Read]), (120, 120));
        assert!(is_clean(&samba));
    }
}
