//! Groups whose connections are cut under load, and that set up new ones.

use std::cell::RefCell;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use smbench_formats::profile;
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::operations::{Drawn, Mix, OpStream, Operation, RequestResult};
use smbench_model::plan::Plan;
use smbench_model::record::{EventKind, OperationFailure, Phase, Recorder, SeriesDetail, Tally};
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_protocol::NtStatus;
use socket2::SockRef;

use super::plan;
use super::worker::{SPARE, Seen, assignment, endless, prepared};
use crate::drivers::driver::Driver as _;
use crate::drivers::dropped::Dropped;
use crate::drivers::native::NativeConnect;
use crate::drivers::native::encode::Encode as _;
use crate::drivers::native::request::MixEncoder;
use crate::drivers::reconnecting::ReconnectingConnector;
use crate::machine::cancel::Cancel;
use crate::machine::{clock, runtime};
use crate::worker::assignment::{WorkerParts, WorkerResult};
use crate::worker::recorder_exchange::{IntervalRecorder, RecorderExchange};
use crate::worker::setup::open_group;
use crate::worker::shared::Shared;
use crate::worker::supply::{Supplies, Supply};
use crate::worker::work::put_load_on;

/// Longest wait for the load to get further.
const PATIENCE: Duration = Duration::from_secs(60);

/// Carries connections to a server, and cuts them when it is asked to.
struct Cutter {
    address: SocketAddr,
    clients: Arc<Mutex<Vec<TcpStream>>>,
    /// Whether new connections are closed at once.
    refuses: Arc<AtomicBool>,
}

impl Cutter {
    fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let clients = Arc::new(Mutex::new(Vec::new()));
        let accepted = Arc::clone(&clients);
        let refuses = Arc::new(AtomicBool::new(false));
        let is_refused = Arc::clone(&refuses);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if is_refused.load(Ordering::Relaxed) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(server) else {
                    return;
                };
                accepted.lock().unwrap().push(client.try_clone().unwrap());
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = from.shutdown(std::net::Shutdown::Both);
                        let _ = to.shutdown(std::net::Shutdown::Both);
                    });
                }
            }
        });
        Self {
            address,
            clients,
            refuses,
        }
    }

    /// Returns the number of connections so far.
    fn count(&self) -> usize {
        self.clients.lock().unwrap().len()
    }

    /// Cuts the connections from this number on.
    fn cut(&self, from: usize, after: After) {
        self.refuses
            .store(after == After::Refuse, Ordering::Relaxed);
        for client in &self.clients.lock().unwrap()[from..] {
            let _ = SockRef::from(client).shutdown(std::net::Shutdown::Both);
        }
    }
}

/// Operations that are counted when they are drawn, with their further requests.
#[derive(Clone)]
struct Counted {
    drawn: Drawn,
    count: Arc<AtomicU64>,
}

struct CountedStream {
    stream: OpStream,
    count: Arc<AtomicU64>,
}

impl Supplies for Counted {
    type Supply = CountedStream;

    fn of_client(&self, client: u32) -> CountedStream {
        CountedStream {
            stream: self.drawn.of_client(client),
            count: Arc::clone(&self.count),
        }
    }
}

impl Supply for CountedStream {
    fn next(&mut self, phase: Phase) -> Option<Operation> {
        self.count.fetch_add(1, Ordering::Relaxed);
        Supply::next(&mut self.stream, phase)
    }

    fn after(&self, last: &Operation, went: RequestResult, status: NtStatus) -> Option<Operation> {
        Supply::after(&self.stream, last, went, status)
    }

    fn fault(&self) -> Dropped {
        self.stream.fault()
    }
}

/// What a load with cuts has left.
struct Cuts {
    tally: Tally,
    outcome: WorkerResult,
    /// Number of operations drawn.
    drawn: u64,
    /// Number of connections, the first of which keeps the directory.
    connections: usize,
}

/// What happens to new connections after a cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Accept,
    Refuse,
}

/// A server behind a cutter.
struct Server {
    url: String,
    address: SocketAddr,
    password: String,
}

impl From<&EmbeddedServer> for Server {
    fn from(server: &EmbeddedServer) -> Self {
        Self {
            url: server.url(),
            address: server.address(),
            password: server.password().to_owned(),
        }
    }
}

impl From<&ScratchSamba> for Server {
    fn from(server: &ScratchSamba) -> Self {
        Self {
            url: server.url(),
            address: server.address(),
            password: server.password().to_owned(),
        }
    }
}

/// Runs a load whose connections are cut this often. Each time, new operations must complete
/// afterwards. Stops early if the load ends.
fn cut(server: &Server, name: &str, options: &RunOptions, cuts: usize) -> Cuts {
    cut_within(PATIENCE, After::Accept, (server, name, options), cuts)
}

/// Does the same for groups with this limit.
fn cut_within(
    limit: Duration,
    after: After,
    (server, name, options): (&Server, &str, &RunOptions),
    cuts: usize,
) -> Cuts {
    let cutter = Cutter::start(server.address);
    let (from, to) = (server.address.port(), cutter.address.port());
    let url = server.url.replace(&format!(":{from}"), &format!(":{to}"));
    let profile = profile::load(name).unwrap();
    let plan: Arc<Plan> = Arc::new(plan(&url, &server.password, &profile, options));
    let mix = Mix::new(&plan.only().workload);
    let count = Arc::new(AtomicU64::new(0));
    let supplies = Counted {
        drawn: Drawn {
            mix: Arc::clone(&mix),
            seed: plan.work.seed,
        },
        count: Arc::clone(&count),
    };
    let empty = Recorder::expecting(plan.only().workload.kinds(), &plan.only().load);
    let exchange = RecorderExchange::new(1, empty.clone(), (None, SeriesDetail::Summaries));
    let exchange = Arc::new(exchange);
    exchange.give_back((0..SPARE).map(|_| empty.clone()));
    let cancel = Cancel::default();
    let runtime = runtime::local().unwrap();
    let (workspace, site) = runtime.block_on(prepared(&plan, &mix, &cancel));
    let worker = assignment(&site, &exchange, &cancel);
    let connector = NativeConnect(site, MixEncoder::new);
    let parts = WorkerParts {
        connector: ReconnectingConnector { connector, limit },
        supplies,
    };
    let recording = IntervalRecorder::new(Arc::clone(&exchange), 0, clock::now());
    let shared = Rc::new(RefCell::new(Shared::new(recording).unwrap()));
    let before = cutter.count();
    let groups = runtime.block_on(async {
        let mut groups = Vec::new();
        for clients in &worker.groups {
            let mut group = open_group(&worker, &parts, clients).await.unwrap().driver;
            let begun = group.driver.begin_load(&shared.borrow().sockets);
            begun.unwrap();
            groups.push(group);
        }
        groups
    });
    let schedule = endless(clock::now());
    let (_schedules, schedules) = tokio::sync::watch::channel(Some(schedule));
    let seen = Seen::default();
    let mut outcome = WorkerResult::default();
    thread::scope(|scope| {
        scope.spawn(|| seen.coordinate(&exchange));
        let load = put_load_on(
            &worker,
            &shared,
            (schedule, &schedules),
            groups,
            &mut outcome,
        );
        runtime.block_on(async {
            let mut load = pin!(load);
            let is_over =
                interrupt(load.as_mut(), &count, cuts, || cutter.cut(before, after)).await;
            cancel.cancel();
            if !is_over {
                for group in load.await.unwrap() {
                    group.driver.close().await;
                }
            }
            workspace.remove().await.unwrap();
        });
        seen.over.store(true, Ordering::Relaxed);
    });
    let (_, tally, _) = exchange.finish();
    Cuts {
        tally,
        outcome,
        drawn: count.load(Ordering::Relaxed),
        connections: cutter.count() - before,
    }
}

/// Calls `cut` this often, each time after some more operations. Returns whether the load has
/// ended, else after some more operations.
async fn interrupt<T>(
    mut load: Pin<&mut impl Future<Output = T>>,
    count: &AtomicU64,
    cuts: usize,
    cut: impl Fn(),
) -> bool {
    for at in 0..=cuts {
        let begun = count.load(Ordering::Relaxed);
        let further = async {
            while count.load(Ordering::Relaxed) < begun + 400 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            _ = &mut load => return true,
            further = tokio::time::timeout(PATIENCE, further) => further.unwrap(),
        }
        if at < cuts {
            cut();
        }
    }
    false
}

fn options(work: WorkSpec, sessions: SessionsSpec) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            file_size: Some("256KiB".parse().unwrap()),
            ..work
        },
        sessions,
        ..RunOptions::default()
    }
}

/// Each operation is answered once, or is counted as lost once, and nothing else fails.
fn check_cuts(server: &Server, sessions: &SessionsSpec, connections: usize, groups: usize) {
    const CUTS: usize = 3;
    for (outstanding, verify) in [(1, Verify::Off), (16, Verify::ReadBack)] {
        let work = WorkSpec {
            outstanding: Some(outstanding),
            verify: Some(verify),
            ..WorkSpec::default()
        };
        let options = options(work, sessions.clone());
        let after = cut(server, "file-server", &options, CUTS);
        let Cuts { tally, outcome, .. } = &after;
        assert_eq!(outcome.dropouts, []);
        assert_eq!(after.connections, connections * (CUTS + 1));
        let failures = tally.failures();
        let mut causes = failures.keys().map(|(_, cause)| *cause);
        assert!(
            causes.all(|cause| cause == OperationFailure::Lost),
            "{failures:?}"
        );
        let lost: u64 = failures.values().sum();
        assert_eq!(lost, tally.errors());
        // Of each cut at least one client had an operation in flight.
        assert!(lost >= CUTS as u64, "{lost}");
        assert!(lost <= CUTS as u64 * 2 * u64::from(outstanding), "{lost}");
        let unsent = u64::from(outcome.figures.unsent);
        assert_eq!(after.drawn, tally.carried_out() + unsent);
        check_events(tally, groups, CUTS);
    }
}

#[test]
fn a_cut_group_continues_in_new_sessions() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    check_cuts(&(&server).into(), &SessionsSpec::default(), 2, 2);
    let shared = SessionsSpec {
        sessions_per_connection: Some(2),
        ..SessionsSpec::default()
    };
    check_cuts(&(&server).into(), &shared, 1, 1);
}

#[test]
fn so_does_one_with_signed_encrypted_and_bound_connections() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let encrypted = SessionsSpec {
        encrypt: Some(Mode::Required),
        ..SessionsSpec::default()
    };
    check_cuts(&(&samba).into(), &encrypted, 2, 2);
    let bound = SessionsSpec {
        sign: Some(Mode::Required),
        connections_per_session: Some(2),
        ..SessionsSpec::default()
    };
    check_cuts(&(&samba).into(), &bound, 4, 2);
}

/// Each group lost its connection and got another one, in turn.
fn check_events(tally: &Tally, groups: usize, cuts: usize) {
    let events = tally.events();
    assert_eq!(events.left_out(), 0);
    assert!(events.kept().is_sorted());
    for kind in [EventKind::LinkLost, EventKind::LinkBack] {
        let of_kind = events.kept().iter().filter(|event| event.kind == kind);
        let clients: u32 = of_kind.clone().map(|event| event.clients).sum();
        assert_eq!(of_kind.count(), groups * cuts, "{kind:?}");
        assert_eq!(clients as usize, 2 * cuts, "{kind:?}");
    }
    assert!(events.kept()[0].at > Nanos(0));
}

/// Actions under way have lost their opens: no request names an open of an old session.
#[test]
fn actions_under_way_end_with_their_session() {
    let work = WorkSpec {
        outstanding: Some(8),
        ..WorkSpec::default()
    };
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = options(work, SessionsSpec::default());
    let after = cut(&(&server).into(), "metadata", &options, 5);
    let Cuts { tally, outcome, .. } = &after;
    assert_eq!(outcome.dropouts, []);
    let failures = tally.failures();
    let mut causes = failures.keys().map(|(_, cause)| *cause);
    // An action that ended early may leave the file that it made. The next one of its slot
    // then makes it again.
    let collision = OperationFailure::Status(NtStatus::OBJECT_NAME_COLLISION);
    assert!(
        causes.all(|cause| cause == OperationFailure::Lost || cause == collision),
        "{failures:?}"
    );
    assert!(tally.errors() > 0);
    check_events(tally, 2, 5);
}

/// A server that takes no connection any more ends the group when its time is up.
#[test]
fn a_group_without_a_server_drops_out() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = options(WorkSpec::default(), SessionsSpec::default());
    let limit = Duration::from_millis(200);
    let server = (&server).into();
    let after = cut_within(limit, After::Refuse, (&server, "file-server", &options), 1);
    let Cuts { tally, outcome, .. } = &after;
    assert_eq!(outcome.dropouts.len(), 2);
    let expected =
        "the server closed the connection, and no new session could be set up within 200ms: ";
    for dropout in &outcome.dropouts {
        assert!(dropout.reason.starts_with(expected), "{}", dropout.reason);
    }
    let kinds = tally.events().kept().iter().map(|event| event.kind);
    assert!(kinds.eq([EventKind::LinkLost; 2]));
}
