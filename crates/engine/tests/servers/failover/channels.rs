//! Clients with several connections that lose one of them.

use std::time::Duration;

use smbench_engine::{Cancel, Observer, execute};
use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::progress::{MeasuredInterval, Progress};
use smbench_model::record::{EventKind, LoadPointRecord, RunRecord};
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};

use super::gate::Gate;
use super::{losses, options, valid_point};
use crate::support::{plan, target};

/// Bytes that a connection under load carries in much less than an interval. One that waits or is
/// set up carries fewer.
const BUSY_BYTES: u64 = 32 << 10;

/// Cuts a connection at the end of the first interval, and counts those that carry the load in
/// each interval.
struct CutOnce {
    gate: Gate,
    /// Which connection is cut; 0 is the last one.
    number: usize,
    /// Number of connections before the cut.
    connections: usize,
    /// Bytes that each connection has carried until the end of the last interval.
    carried: Vec<u64>,
    busy: Vec<usize>,
}

impl Observer for CutOnce {
    fn progress(&mut self, _: &Progress) {}

    fn interval_ended(&mut self, _: &MeasuredInterval<'_>) {
        let carried = self.gate.carried();
        let before = self.carried.iter().copied().chain(std::iter::repeat(0));
        let busy = carried.iter().zip(before);
        let busy = busy.filter(|(now, before)| **now - before > BUSY_BYTES);
        self.busy.push(busy.count());
        self.carried = carried;
        if self.busy.len() == 1 {
            self.connections = self.gate.count();
            self.gate.cut_from_the_end(self.number);
        }
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

/// One client with several connections and more operations in flight.
fn several_connections(connections: u32, sign: Mode, encrypt: Mode) -> RunOptions {
    let sessions = SessionsSpec {
        connections_per_session: Some(connections),
        sign: Some(sign),
        encrypt: Some(encrypt),
        ..SessionsSpec::default()
    };
    let options = options(1, Duration::from_secs(4), sessions);
    RunOptions {
        work: WorkSpec {
            outstanding: Some(8 * connections),
            ..options.work
        },
        ..options
    }
}

/// Runs a profile, and cuts one of its connections in the window: 0 is the last one.
fn cut_once(
    samba: &ScratchSamba,
    profile: &str,
    options: &RunOptions,
    number: usize,
) -> (LoadPointRecord, CutOnce) {
    let gate = Gate::start(samba.address());
    let mut target = target(&samba.url(), samba.password());
    target.port = gate.port();
    let plan = plan(profile, options, target);
    let mut observer = CutOnce {
        gate,
        number,
        connections: 0,
        carried: Vec::new(),
        busy: Vec::new(),
    };
    let record = execute(&plan, &mut observer, &Cancel::default());
    (valid_point(record.unwrap()), observer)
}

/// Expects that one connection was lost alone, and that another one has taken its place.
fn expect_back(point: &LoadPointRecord, seen: &CutOnce, connections: usize, what: &str) {
    let losses = losses(point, None);
    assert_eq!(losses.channels, 1, "{what}");
    assert_eq!(losses.failed, 0, "{what}");
    assert_eq!(losses.still_away(), 0, "{what}");
    let repeated = losses.repeated;
    assert!(repeated <= 8 * connections as i64, "{what}: {repeated}");
    let kinds = point.ops.events().kept().iter();
    let kinds: Vec<_> = kinds.map(|event| event.kind).collect();
    let expected = [EventKind::ChannelLost, EventKind::ChannelBack];
    assert_eq!(kinds, expected, "{what}");
    assert_eq!(
        seen.busy.last(),
        Some(&connections),
        "{what}: {:?}",
        seen.busy
    );
    // The connection for the clean-up may be a new one.
    let further = seen.gate.count() - seen.connections;
    assert!((1..=2).contains(&further), "{what}: {further}");
}

/// The client goes on with the other connection: it sends its requests again there, and none of
/// them fails. Then it sets the lost one up again, also if that had set up the session.
#[test]
fn a_client_that_loses_one_of_two_connections_gets_it_back() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    for (sign, encrypt) in [
        (Mode::Off, Mode::Off),
        (Mode::Required, Mode::Off),
        (Mode::Off, Mode::Required),
    ] {
        for number in [0, 1] {
            let what = format!("sign {sign:?}, encrypt {encrypt:?}, connection {number}");
            let options = several_connections(2, sign, encrypt);
            let (point, seen) = cut_once(&samba, "file-server", &options, number);
            expect_back(&point, &seen, 2, &what);
        }
    }
}

/// Requests on the other connections may be overtaken by the first one that has the next channel
/// sequence, and are then refused.
#[test]
fn a_client_that_loses_one_of_four_connections_gets_it_back() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let options = several_connections(4, Mode::Off, Mode::Off);
    let (point, seen) = cut_once(&samba, "file-server", &options, 2);
    let losses = losses(&point, None);
    assert_eq!((losses.channels, losses.failed), (1, 0));
    assert_eq!(seen.busy.last(), Some(&4), "{:?}", seen.busy);
}

/// A CREATE in flight could take effect twice, so that the sessions are set up anew.
#[test]
fn opens_that_are_lost_with_one_of_two_connections_leave_nothing_behind() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let mut options = several_connections(2, Mode::Off, Mode::Off);
    options.work.verify = None;
    let (point, _) = cut_once(&samba, "metadata", &options, 1);
    assert_eq!(losses(&point, None).still_away(), 0);
}
