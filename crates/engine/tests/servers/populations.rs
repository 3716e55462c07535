//! Several populations in one run: each does what it does alone, and together they are the
//! whole.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use smbench_engine::run::{Course, PlannedRun, RunError, Unobserved, execute};
use smbench_engine::{Cancel, Observer};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, require};
use smbench_model::kind::OpKind;
use smbench_model::load::{LoadModel, PointLoad, SetupFailures, Spacing};
use smbench_model::plan::Plan;
use smbench_model::progress::{MeasuredInterval, Progress};
use smbench_model::record::{LoadPointRecord, OpTotals, Outcome, RunRecord, Series};
use smbench_model::sessions::{Mode, SessionOptions};
use smbench_model::spec::{FilesSpec, RunOptions, SizeSpec, Spec, WorkSpec};
use smbench_model::units::Size;
use smbench_model::work::Population;
use smbench_model::{Profile, Target};
use smbench_protocol::Dialect;

use crate::capture::{Capture, TSHARK};
use crate::support::{short, target};

/// Bytes of the requests of each population, by which the relay knows them.
const OFFICE_BYTES: u32 = 4096;
const BACKUP_BYTES: u32 = 8192;

/// A READ or WRITE as the relay saw it: command, bytes and offset.
type Seen = (u16, u32, u64);

const READ: u16 = 8;
const WRITE: u16 = 9;

/// The bytes that a client has sent so far.
type SentBytes = Arc<Mutex<Vec<u8>>>;

/// Passes bytes on, and keeps what each client sends.
struct Witness {
    address: SocketAddr,
    sent: Arc<Mutex<Vec<SentBytes>>>,
}

impl Witness {
    fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sent: Arc<Mutex<Vec<SentBytes>>> = Arc::default();
        let of_all = Arc::clone(&sent);
        thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let mut server = TcpStream::connect(server).unwrap();
                let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
                let kept = SentBytes::default();
                of_all.lock().unwrap().push(Arc::clone(&kept));
                thread::spawn(move || {
                    let mut chunk = vec![0; 1 << 16];
                    while let Ok(len @ 1..) = client.read(&mut chunk) {
                        kept.lock().unwrap().extend_from_slice(&chunk[..len]);
                        if server.write_all(&chunk[..len]).is_err() {
                            break;
                        }
                    }
                    let _ = server.shutdown(Shutdown::Both);
                });
            }
        });
        Self { address, sent }
    }

    /// Returns the READs and WRITEs of this many bytes, of each connection that had any.
    fn seen(&self, bytes: u32) -> Vec<Vec<Seen>> {
        let sent = self.sent.lock().unwrap();
        let connections = sent.iter().map(|sent| requests(&sent.lock().unwrap()));
        let of_size = connections.map(|mut requests| {
            requests.retain(|(_, length, _)| *length == bytes);
            requests
        });
        of_size.filter(|requests| !requests.is_empty()).collect()
    }
}

/// Returns the READs and WRITEs in a stream of frames (MS-SMB2 2.2.19, 2.2.21).
fn requests(mut stream: &[u8]) -> Vec<Seen> {
    let mut requests = Vec::new();
    while let Some((length, rest)) = stream.split_first_chunk() {
        let (frame, after) = rest.split_at(u32::from_be_bytes(*length) as usize);
        stream = after;
        let mut message = frame;
        loop {
            let field = |at: usize| u32::from_le_bytes(message[at..at + 4].try_into().unwrap());
            let command = field(12) as u16;
            if command == READ || command == WRITE {
                let offset = u64::from(field(72)) | (u64::from(field(76)) << 32);
                requests.push((command, field(68), offset));
            }
            match field(20) {
                0 => break,
                next => message = &message[next as usize..],
            }
        }
    }
    requests
}

fn plan_of(read_percent: f64, bytes: u32, target: &Target) -> Plan {
    let spec = Spec {
        read_percent: Some(read_percent),
        sizes: vec![SizeSpec {
            size: Size(bytes.into()),
            weight: 100.0,
        }],
        files: FilesSpec {
            size: Some(Size(1 << 20)),
            count: Some(2),
            ..FilesSpec::default()
        },
        run: RunOptions {
            work: WorkSpec {
                seed: Some(7),
                ramp_down: Some(Duration::from_millis(20)),
                duration: Some(Duration::from_millis(300)),
                ..short().work
            },
            ..short()
        },
        ..Spec::default()
    };
    Plan::of(&Profile::from_spec("company", spec), target.clone()).unwrap()
}

fn company(server: &EmbeddedServer, witness: &Witness) -> Plan {
    let (user, port) = (server.user(), witness.address.port());
    let url = format!("smb://{user}@127.0.0.1:{port}/bench");
    company_on(&target(&url, server.password()))
}

/// Returns a plan of clients that read as fast as they can, and of others that write at a rate.
fn company_on(target: &Target) -> Plan {
    let mut plan = plan_of(100.0, OFFICE_BYTES, target);
    let backup = plan_of(0.0, BACKUP_BYTES, target);
    *plan.only_mut() = Population {
        name: Some("office".to_owned()),
        clients: vec![1, 2],
        ..plan.only().clone()
    };
    plan.work.populations.push(Population {
        name: Some("backup".to_owned()),
        clients: vec![3, 1],
        outstanding: 4,
        load: LoadModel::Rate {
            rate: "300".parse().unwrap(),
            arrivals: Spacing::Exponential,
        },
        ..backup.only().clone()
    });
    plan
}

fn run(plan: &Plan) -> RunRecord {
    run_under(plan, &mut Unobserved)
}

fn run_under(plan: &Plan, observer: &mut dyn Observer) -> RunRecord {
    let record = execute(plan, observer, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    for point in &record.load_points {
        assert_eq!(point.dropouts, []);
        assert_eq!(point.ops.errors(), 0);
    }
    record
}

fn start() -> (EmbeddedServer, Witness) {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let witness = Witness::start(server.address());
    (server, witness)
}

fn assert_sum(point: &LoadPointRecord) {
    let [office, backup] = &point.populations[..] else {
        panic!("there are two populations");
    };
    for kind in OpKind::ALL {
        let whole = [office, backup].map(|one| one.ops.whole(kind));
        let sum = |of: fn(&OpTotals) -> u64| whole.iter().map(of).sum();
        let all = point.ops.whole(kind);
        let sums: [u64; 3] = [sum(|of| of.count), sum(|of| of.bytes), sum(|of| of.errors)];
        assert_eq!([all.count, all.bytes, all.errors], sums, "{kind:?}");
        let window = [office, backup].map(|one| one.ops.window(kind));
        let sum: u64 = window.iter().map(|of| of.count()).sum();
        assert_eq!(point.ops.window(kind).count(), sum, "{kind:?}");
    }
    let counts = |series: &Series| -> Vec<u64> {
        series.all.iter().map(|interval| interval.count).collect()
    };
    let all = counts(&point.series);
    let (ours, theirs) = (counts(&office.series), counts(&backup.series));
    assert_eq!((ours.len(), theirs.len()), (all.len(), all.len()));
    let sums = ours.iter().zip(&theirs).map(|(one, other)| one + other);
    assert!(sums.eq(all.iter().copied()));
}

#[test]
fn populations_sum_up_to_the_whole_and_to_what_the_server_receives() {
    let (server, witness) = start();
    let plan = company(&server, &witness);
    let record = run(&plan);
    assert_eq!(server.memory().paths(), Vec::<String>::new());
    let clients: Vec<_> = record
        .load_points
        .iter()
        .map(|point| point.clients)
        .collect();
    assert_eq!(clients, [4, 3]);
    let (mut reads, mut writes) = (0, 0);
    for (point, expected) in record.load_points.iter().zip([[1, 3], [2, 1]]) {
        assert_sum(point);
        let [office, backup] = &point.populations[..] else {
            panic!("there are two populations");
        };
        assert_eq!([&office.name[..], &backup.name], ["office", "backup"]);
        assert_eq!([office.clients, backup.clients], expected);
        // Threads carry clients of both.
        let threads = point.generator.workers.len() as u32;
        assert_eq!(threads, plan.generator.threads.min(point.clients));
        assert_eq!(office.ops.whole(OpKind::Write).count, 0);
        assert_eq!(backup.ops.whole(OpKind::Read).count, 0);
        // Only the population with a rate has operations that are due before they are sent.
        assert!(office.ops.window(OpKind::Read).response.is_none());
        assert!(backup.ops.window(OpKind::Write).response.is_some());
        reads += office.ops.whole(OpKind::Read).count;
        writes += backup.ops.whole(OpKind::Write).count;
    }
    for (bytes, counted) in [(OFFICE_BYTES, reads), (BACKUP_BYTES, writes)] {
        let seen: usize = witness.seen(bytes).iter().map(Vec::len).sum();
        assert_eq!(seen as u64, counted);
        assert!(counted > 0);
    }
}

/// What a client sent on a connection.
#[derive(Default)]
struct SentMessages {
    /// Messages that were encrypted.
    encrypted: usize,
    /// READs and WRITEs in the clear, signed and not.
    signed: usize,
    plain: usize,
}

impl SentMessages {
    /// Reads a stream of frames (MS-SMB2 2.2.1.2, 2.2.41).
    fn of(mut stream: &[u8]) -> Self {
        const SIGNED: u32 = 8;
        let mut sent = Self::default();
        while let Some((length, rest)) = stream.split_first_chunk() {
            let (mut message, after) = rest.split_at(u32::from_be_bytes(*length) as usize);
            stream = after;
            if message.starts_with(b"\xfdSMB") {
                sent.encrypted += 1;
                continue;
            }
            loop {
                let field = |at: usize| u32::from_le_bytes(message[at..at + 4].try_into().unwrap());
                let command = field(12) as u16;
                if command == READ || command == WRITE {
                    let is_signed = field(16) & SIGNED != 0;
                    sent.signed += usize::from(is_signed);
                    sent.plain += usize::from(!is_signed);
                }
                match field(20) {
                    0 => break,
                    next => message = &message[next as usize..],
                }
            }
        }
        sent
    }
}

/// One population signs in an old dialect, and the other one encrypts.
#[test]
fn populations_have_sessions_of_their_own() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let witness = Witness::start(samba.address());
    let port = witness.address.port();
    let url = format!("smb://{}@127.0.0.1:{port}/bench", samba.user());
    let mut plan = company_on(&target(&url, samba.password()));
    let usual = plan.sessions.options;
    let [office, backup] = &mut plan.work.populations[..] else {
        panic!("there are two populations");
    };
    office.session = Some(SessionOptions {
        dialects: Dialect::Smb21.into(),
        signing: Mode::Required,
        ..usual
    });
    backup.session = Some(SessionOptions {
        encryption: Mode::Required,
        ..usual
    });
    backup.credits = Some(16);
    let record = run(&plan);
    assert_eq!(record.server.dialect, Some(Dialect::Smb21));
    assert!(record.server.signing.is_some());
    let [_, of_backup] = &record.server.populations[..] else {
        panic!("there are two populations");
    };
    assert_eq!(of_backup.dialect, Some(Dialect::Smb311));
    assert!(of_backup.encryption.is_some());
    let sent = witness.sent.lock().unwrap();
    let sent = sent
        .iter()
        .map(|sent| SentMessages::of(&sent.lock().unwrap()));
    let (encrypted, clear): (Vec<_>, Vec<_>) = sent.partition(|sent| sent.encrypted > 0);
    assert!(clear.iter().all(|sent| sent.plain == 0));
    assert!(encrypted.iter().all(|sent| sent.signed + sent.plain == 0));
    let whole = |at: usize, kind| -> u64 {
        let points = record.load_points.iter();
        points
            .map(|point| point.populations[at].ops.whole(kind).count)
            .sum()
    };
    let signed: usize = clear.iter().map(|sent| sent.signed).sum();
    let encrypted: usize = encrypted.iter().map(|sent| sent.encrypted).sum();
    assert!(signed as u64 >= whole(0, OpKind::Read) && signed > 0);
    assert!(encrypted as u64 >= whole(1, OpKind::Write) && encrypted > 0);
}

#[test]
fn a_population_does_alone_what_it_does_in_company() {
    /// Operations that are compared, of each client.
    const COMPARED: usize = 10;
    let starts = |witness: &Witness, bytes| -> Vec<Vec<Seen>> {
        let mut starts = witness.seen(bytes);
        starts.retain(|requests| requests.len() >= COMPARED);
        for requests in &mut starts {
            requests.truncate(COMPARED);
        }
        starts.sort();
        starts
    };
    let (server, witness) = start();
    run(&company(&server, &witness));
    for (at, bytes) in [OFFICE_BYTES, BACKUP_BYTES].into_iter().enumerate() {
        let (server, alone) = start();
        let plan = company(&server, &alone).alone().nth(at).unwrap();
        let record = run(&plan);
        assert!(
            record
                .load_points
                .iter()
                .all(|point| point.populations.is_empty())
        );
        let theirs: HashSet<_> = starts(&alone, bytes).into_iter().collect();
        let common: HashSet<_> = starts(&witness, bytes).into_iter().collect();
        // On a busy machine, some clients may do too little to be compared.
        assert!(common.intersection(&theirs).count() > 0, "{bytes}");
        if theirs.len() == plan.max_clients() as usize {
            assert!(common.is_subset(&theirs), "{common:?} {theirs:?}");
        }
    }
}

/// A course that chooses a load point of its own.
struct Chosen;

impl Course for Chosen {
    fn next(&mut self, _: &RunRecord) -> Option<PointLoad> {
        Some(PointLoad {
            clients: 4,
            rate: None,
            repeat: 1,
            place: None,
            setup: SetupFailures::EndRun,
        })
    }

    fn clients_for_certain(&self) -> u32 {
        4
    }

    fn at_most(&self) -> u32 {
        1
    }
}

#[test]
fn a_search_is_refused_for_several_populations() {
    let (server, witness) = start();
    let plan = company(&server, &witness);
    let mut chosen = Chosen;
    let run = PlannedRun::of(&plan).in_course(&mut chosen);
    let refused = execute(run, &mut Unobserved, &Cancel::default());
    let Err(RunError::Plan(problem)) = refused else {
        panic!("a search was possible");
    };
    assert_eq!(
        problem.to_string(),
        "there are several populations: only the load points of the plan are possible, and no search"
    );
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

/// Counts the operations of each interval: those of each population, and of all.
#[derive(Default)]
struct IntervalCounts(Vec<(Vec<u64>, u64)>);

impl Observer for IntervalCounts {
    fn progress(&mut self, _: &Progress) {}

    fn interval_ended(&mut self, interval: &MeasuredInterval<'_>) {
        let names: Vec<_> = interval.populations.iter().map(|of| of.name).collect();
        assert_eq!(names, ["office", "backup"]);
        let each = interval.populations.iter().map(|of| of.ops.all().count());
        self.0.push((each.collect(), interval.ops.all().count()));
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

#[test]
fn a_population_begins_after_the_others() {
    let (server, witness) = start();
    let mut plan = company(&server, &witness);
    for population in &mut plan.work.populations {
        population.clients.truncate(1);
    }
    // Intervals are a second long.
    plan.work.duration = Duration::from_secs(3);
    plan.work.populations[1].start = plan.work.ramp_up + Duration::from_millis(1500);
    let mut seen = IntervalCounts::default();
    let record = run_under(&plan, &mut seen);
    let [point] = &record.load_points[..] else {
        panic!("there is one load point");
    };
    // An observer learns of each second what the series have in the end.
    let counts = |series: &Series| -> Vec<u64> {
        series.all.iter().map(|interval| interval.count).collect()
    };
    let of_all: Vec<_> = seen.0.iter().map(|(_, all)| *all).collect();
    assert_eq!(of_all, counts(&point.series));
    for (at, population) in point.populations.iter().enumerate() {
        let of_one: Vec<_> = seen.0.iter().map(|(each, _)| each[at]).collect();
        assert_eq!(of_one, counts(&population.series));
    }
    assert_sum(point);
    let counts = point.populations.iter().map(|one| {
        let intervals = one.series.all.iter();
        intervals.map(|interval| interval.count > 0).collect()
    });
    let counts: Vec<Vec<bool>> = counts.collect();
    assert_eq!(counts, [[true, true, true], [false, true, true]]);
}

/// Log-ons wait in tokio, which has little time on a thread with sockets under load.
#[test]
fn log_ons_have_threads_of_their_own() {
    let (server, witness) = start();
    let mut plan = company(&server, &witness);
    plan.generator.threads = 1;
    let logons = smbench_formats::profile::load("logons").unwrap();
    let logons = Plan::of(&logons, plan.sessions.target.clone()).unwrap();
    plan.work.populations[1] = Population {
        name: Some("mornings".to_owned()),
        clients: vec![1, 1],
        ..logons.only().clone()
    };
    for point in run(&plan).load_points {
        assert_eq!(point.generator.workers.len(), 2);
        for population in &point.populations {
            assert!(
                population.ops.window_all().count() > 0,
                "{}",
                population.name
            );
        }
    }
}

/// Each population has an address of its own, by which the capture tells them apart.
#[test]
fn captured_requests_are_those_of_the_population_with_their_address() {
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let mut plan = company_on(&target(&samba.url(), samba.password()));
    for (population, address) in plan
        .work
        .populations
        .iter_mut()
        .zip(["127.0.0.2", "127.0.0.3"])
    {
        population.sources = Some(address.parse().unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.pcapng");
    let port = plan.sessions.target.port;
    let capture = Capture::start(port, &file);
    let record = run(&plan);
    let dropped = capture.stop();
    let listed = Command::new("tshark")
        .args(["-r", file.to_str().unwrap()])
        .args(["-d", &format!("tcp.port=={port},nbss")])
        .args([
            "-Y",
            "smb2.flags.response==0 && (smb2.cmd==8 || smb2.cmd==9)",
        ])
        .args(["-T", "fields", "-e", "ip.src", "-e", "smb2.cmd"])
        .args(["-e", "smb2.read_length", "-e", "smb2.write_length"])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let seen = |address: &str, command: u16, bytes: u32| -> u64 {
        let mut seen = 0;
        for line in listed.lines() {
            let fields: Vec<_> = line.split('\t').collect();
            // A packet may have several requests.
            let of = |at: usize| fields[at].split(',').filter(|field| !field.is_empty());
            let lengths = of(2).chain(of(3));
            if fields[0] == address && of(1).any(|found| found == command.to_string()) {
                seen += lengths
                    .filter(|length| *length == bytes.to_string())
                    .count() as u64;
            }
        }
        seen
    };
    let counted = |at: usize, kind| -> u64 {
        let points = record.load_points.iter();
        points
            .map(|point| point.populations[at].ops.whole(kind).count)
            .sum()
    };
    let (reads, writes) = (counted(0, OpKind::Read), counted(1, OpKind::Write));
    assert!(reads > 0 && writes > 0);
    assert_eq!(seen("127.0.0.2", READ, OFFICE_BYTES), reads, "{dropped}");
    assert_eq!(seen("127.0.0.3", WRITE, BACKUP_BYTES), writes, "{dropped}");
    // The others are not there.
    assert_eq!(seen("127.0.0.3", READ, OFFICE_BYTES), 0);
    assert_eq!(seen("127.0.0.2", WRITE, BACKUP_BYTES), 0);
    assert_eq!(seen("127.0.0.1", READ, OFFICE_BYTES), 0);
}
