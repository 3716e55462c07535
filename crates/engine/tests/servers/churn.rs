//! Clients that log off under load and come back, and some that vanish.

use std::fs;
use std::time::Duration;

use smbench_engine::{Cancel, Observer, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::contents::Verify;
use smbench_model::progress::{MeasuredInterval, Progress};
use smbench_model::record::{ChurnRecord, LoadPointRecord, RunRecord};
use smbench_model::sessions::Churn;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};

use crate::support::{assert_undisturbed, plan, target};

/// The state of an established connection in `/proc/net/tcp`.
const ESTABLISHED: &str = "01";

/// Returns options of clients that leave at this rate.
fn options(clients: u32, window: Duration, (rate, vanish): (&str, Option<&str>)) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some(clients.to_string().parse().unwrap()),
            duration: Some(window),
            ramp_up: Some(Duration::ZERO),
            ramp_down: Some(Duration::ZERO),
            file_size: Some("64KiB".parse().unwrap()),
            verify: Some(Verify::ReadBack),
            ..WorkSpec::default()
        },
        sessions: SessionsSpec {
            churn: Some(rate.parse().unwrap()),
            vanish: vanish.map(|share| share.parse().unwrap()),
            ..SessionsSpec::default()
        },
        ..RunOptions::default()
    }
}

/// Returns the number of connections that the server's side of this port has.
fn connections(port: u16) -> usize {
    let local = format!(":{port:04X}");
    let lists = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap());
    let lines = lists.iter().flat_map(|list| list.lines().skip(1));
    let of_server = lines.filter(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_local = fields.next().is_some_and(|field| field.ends_with(&local));
        is_local && fields.nth(1) == Some(ESTABLISHED)
    });
    of_server.count()
}

/// Keeps the largest number of the server's connections at the ends of intervals.
struct Counting {
    port: u16,
    most: usize,
}

impl Observer for Counting {
    fn progress(&mut self, _: &Progress) {}

    fn interval_ended(&mut self, _: &MeasuredInterval<'_>) {
        self.most = self.most.max(connections(self.port));
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

/// Returns the only load point, which is undisturbed, and the clients that left.
fn churned(record: RunRecord) -> (LoadPointRecord, ChurnRecord) {
    assert_eq!(record.leftover, None);
    let [point] = <[_; 1]>::try_from(record.load_points).unwrap();
    assert_undisturbed(&point);
    assert!(point.ops.losses().all().next().is_none());
    let churn = point.ops.churn().unwrap().clone();
    assert!(churn.left > 0);
    assert!(churn.back <= churn.left);
    assert_eq!(churn.log_on.get().len(), churn.back);
    (point, churn)
}

#[test]
fn clients_leave_and_come_back_without_an_error() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    for (profile, sessions) in [("file-server", 1), ("metadata", 3)] {
        let target = target(&server.url(), server.password());
        let mut options = options(12, Duration::from_secs(3), ("100%/s", None));
        options.sessions.sessions_per_connection = Some(sessions);
        let plan = plan(profile, &options, target);
        let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
        let (_, churn) = churned(record);
        assert_eq!((churn.vanished, churn.silent), (0, 0));
        assert_eq!(churn.left % u64::from(sessions), 0);
    }
}

#[test]
fn the_server_holds_the_connections_of_silent_clients() {
    const CLIENTS: u32 = 40;
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    // Each client leaves at most once.
    let options = options(CLIENTS, Duration::from_secs(4), ("20%/s", Some("100%")));
    let port = target.port;
    let plan = plan("file-server", &options, target);
    let mut counting = Counting { port, most: 0 };
    let record = execute(&plan, &mut counting, &Cancel::default()).unwrap();
    let (_, churn) = churned(record);
    assert_eq!((churn.vanished, churn.silent_ended), (churn.left, 0));
    assert_eq!(churn.silent, churn.left);
    let clients = CLIENTS as usize;
    assert!(counting.most > clients, "{}", counting.most);
    // A run has a connection of its own.
    assert!(counting.most <= clients + churn.silent as usize + 1);
    assert!(connections(port) <= 1);
}

#[test]
fn samba_serves_clients_that_leave_and_vanish() {
    let server = ScratchSamba::start(SambaOptions::default()).unwrap();
    for vanish in ["50%:reset", "50%:silence"] {
        let target = target(&server.url(), server.password());
        let options = options(8, Duration::from_secs(3), ("50%/s", Some(vanish)));
        let plan = plan("file-server", &options, target);
        let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
        let (_, churn) = churned(record);
        assert!(churn.vanished <= churn.left);
        let is_silent = vanish.ends_with("silence");
        assert_eq!(churn.silent > 0, is_silent && churn.vanished > 0);
        assert!(churn.silent <= u64::from(8 * Churn::SILENT_MAX));
    }
}
