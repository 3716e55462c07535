//! Streams: frames that must be there by their instants.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, ServicePace};
use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::{FrameTally, LoadPointRecord};
use smbench_model::spec::{RunOptions, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::header::Command;

use crate::hostile::relay::{Of, Reaction, Relay, Script};
use crate::support::{assert_undisturbed, short, target};

const SECOND: Duration = Duration::from_secs(1);
const STALL: Duration = Duration::from_secs(1);

fn run(profile: &str, work: WorkSpec, target: Target) -> LoadPointRecord {
    let options = RunOptions {
        work: WorkSpec {
            duration: Some(SECOND),
            ramp_up: Some(SECOND / 2),
            ramp_down: Some(SECOND / 4),
            ..work
        },
        ..short()
    };
    let profile = Profile::parse("here", profile).unwrap();
    let plan = Plan::resolve(&profile, &options, target, Limits::default(), 2).unwrap();
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    let mut points = record.load_points;
    assert_eq!(points.len(), 1);
    let point = points.remove(0);
    assert_undisturbed(&point);
    // Each frame that was due is counted once.
    assert_eq!(point.punctuality.frames.frames, point.punctuality.due);
    point
}

fn clients(number: u32) -> WorkSpec {
    WorkSpec {
        clients: Some(number.to_string().parse().unwrap()),
        ..WorkSpec::default()
    }
}

/// The server takes 100 reads per second, which are 3.3 streams of 30 frames.
#[test]
fn a_limited_server_carries_as_many_streams_as_its_limit_is_multiples_of_one() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        pace: ServicePace::OneByOne(Duration::from_millis(10)),
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let frames = |streams| -> FrameTally {
        let target = target(&server.url(), server.password());
        let profile = "stream = { frame = \"64KiB\", fps = 30 }";
        run(profile, clients(streams), target).punctuality.frames
    };
    let all = frames(3);
    assert_eq!((all.frames, all.missing), (90, 0), "{all:?}");
    // Twice as many frames as the server can send before the window ends.
    let all = frames(8);
    assert_eq!(all.frames, 240, "{all:?}");
    assert!(all.late > 60 && all.streams_late > 0, "{all:?}");
    assert!(all.late_max > Nanos(0) && all.ahead_min == Some(Nanos(0)));
}

/// A frame that waits for a second is late, and so are those that are due meanwhile.
#[test]
fn a_stall_longer_than_the_buffer_makes_frames_late() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let script: Script = |answer| match answer.nth {
        15 => Reaction::send(&answer.message).after(STALL),
        _ => Reaction::send(&answer.message),
    };
    let relay = Relay::start(server.address(), Of::Command(Command::Read), script);
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let profile = "stream = { frame = \"64KiB\", fps = 20, read_ahead = 2 }";
    let point = run(profile, clients(1), target);
    let frames = point.punctuality.frames;
    let stall = STALL.as_nanos() as u64;
    // The buffer holds a tenth of a second.
    let late = stall - 100_000_000;
    assert_eq!((frames.frames, frames.streams_late), (20, 1), "{frames:?}");
    assert!(frames.late >= 8, "{frames:?}");
    assert!(frames.late_max.0 >= late, "{frames:?}");
    assert!(frames.gap_max.0 >= late, "{frames:?}");
    assert_eq!(frames.ahead_min, Some(Nanos(0)));
}

/// Frames that wait for others when the load ends are not late before their instants. The server
/// is too slow for the stream, whose buffer lasts longer than the load.
#[test]
fn frames_that_wait_when_the_load_ends_are_not_late_before_their_instants() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        pace: ServicePace::OneByOne(Duration::from_millis(50)),
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let profile = "stream = { frame = \"4KiB\", fps = 40, read_ahead = 1000 }";
    let target = target(&server.url(), server.password());
    let frames = run(profile, clients(1), target).punctuality.frames;
    // 35 of 70 frames begin, of which the first 20 are due in the ramp.
    assert!(frames.frames < 40, "{frames:?}");
    assert_eq!((frames.late, frames.missing), (0, 0), "{frames:?}");
    assert_eq!(frames.streams_late, 0, "{frames:?}");
}

/// Frames are larger than a request of the server, are written and read back, and are files.
#[test]
fn samba_reads_and_writes_frames_in_several_requests() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: ["smb2 max read = 65536", "smb2 max write = 65536"]
            .map(str::to_owned)
            .to_vec(),
        ..SambaOptions::default()
    }) else {
        return;
    };
    let target = || target(&samba.url(), samba.password());
    let both = WorkSpec {
        verify: Some(Verify::ReadBack),
        ..clients(2)
    };
    let profile =
        "read_percent = 50\nstream = { frame = \"192KiB\", fps = 20, start = \"together\" }";
    let point = run(profile, both, target());
    assert_eq!(point.ops.errors(), 0);
    assert_eq!(point.punctuality.frames.frames, 40);
    for kind in [OpKind::Read, OpKind::Write] {
        let op = point.ops.window(kind);
        assert!(op.count() > 0);
        assert_eq!(op.further_requests, 2 * op.count());
        assert_eq!(op.bytes, 192 * 1024 * op.count());
    }
    let files = |reads| {
        format!(
            "read_percent = {reads}\n\
             stream = {{ frame = \"192KiB\", fps = 20, layout = \"file per frame\" }}"
        )
    };
    for (profile, whole) in [(files(100), OpKind::CopyOut), (files(0), OpKind::CopyIn)] {
        let point = run(&profile, clients(1), target());
        assert_eq!(point.ops.errors(), 0);
        assert_eq!(point.punctuality.frames.frames, 20);
        assert_eq!(point.punctuality.frames.missing, 0);
        assert!(point.ops.whole(whole).count >= 20);
    }
}
