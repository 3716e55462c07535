//! Operations of several steps about folders: listings, looks at files, copies and saves. They
//! are counted as the server sees them, and leave what they should.

mod macs;
mod neighbour;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use smbench_engine::Cancel;
use smbench_engine::run::{Observer, Progress, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, Tool, require};
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::record::{Outcome, RunRecord};
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::NtStatus;

use crate::capture::{Message, TSHARK, captured_while};
use crate::support::{plan, short, target};

/// Command codes (MS-SMB2 2.2.1.2).
const CREATE: u16 = 5;
const CLOSE: u16 = 6;
const FLUSH: u16 = 7;
const READ: u16 = 8;
const WRITE: u16 = 9;
const QUERY_DIRECTORY: u16 = 14;
const QUERY_INFO: u16 = 16;
const SET_INFO: u16 = 17;

/// 2020-01-01 UTC, the time that copies get, since 1970.
const TIME_SET: Duration = Duration::from_secs(1_577_836_800);

fn options(clients: &str) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some(clients.parse().unwrap()),
            ..short().work
        },
        sessions: SessionsSpec {
            // The capture shows commands.
            sign: Some(Mode::Off),
            encrypt: Some(Mode::Off),
            ..short().sessions
        },
        ..short()
    }
}

/// Options of a run that ends when each client has worked through its files once.
fn once(clients: &str) -> RunOptions {
    let options = options(clients);
    RunOptions {
        work: WorkSpec {
            loops: Some(1),
            duration: None,
            ramp_up: None,
            ramp_down: None,
            ..options.work
        },
        ..options
    }
}

/// Makes each client of a plan end after this many actions.
fn counted(mut plan: Plan, actions: u64) -> Plan {
    plan.only_mut().count = Some(actions);
    (plan.work.ramp_up, plan.work.ramp_down) = (Duration::ZERO, Duration::ZERO);
    plan.work.duration = Duration::from_secs(60);
    plan
}

fn plan_of(text: &str, options: &RunOptions, server: Target) -> Plan {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), text).unwrap();
    plan(file.path().to_str().unwrap(), options, server)
}

fn run(plan: &Plan, observer: &mut dyn Observer) -> RunRecord {
    let record = execute(plan, observer, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    for point in &record.load_points {
        assert_eq!(point.ops.failures(), &BTreeMap::new());
        assert_eq!(
            (point.invalid.as_ref(), &point.dropouts[..]),
            (None, &[][..])
        );
    }
    record
}

/// Notes the files in the run's directory at the end of each load point: name, bytes, time of
/// the last write.
struct Files {
    share: PathBuf,
    seen: Vec<Vec<(String, u64, SystemTime)>>,
}

impl Files {
    fn of(share: &Path) -> Self {
        Self {
            share: share.to_owned(),
            seen: Vec::new(),
        }
    }
}

impl Observer for Files {
    fn progress(&mut self, _: &Progress) {}

    fn load_point_ended(&mut self, _: &RunRecord) {
        let mut folders = std::fs::read_dir(&self.share).unwrap();
        let folder = folders.next().unwrap().unwrap().path();
        let files = std::fs::read_dir(folder).unwrap().map(|entry| {
            let entry = entry.unwrap();
            let about = entry.metadata().unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, about.len(), about.modified().unwrap())
        });
        let mut files: Vec<_> = files.filter(|(name, ..)| name.contains('-')).collect();
        files.sort();
        self.seen.push(files);
    }
}

const NAMES: u64 = 1500;

fn listing(class: &str, buffer: &str) -> String {
    format!(
        "[files]\nscope = \"shared\"\ncount = {NAMES}\nsize = \"1\"\n[[operations]]\n\
         op = \"list\"\nclass = \"{class}\"\nbuffer = \"{buffer}\"\nweight = 100\n"
    )
}

/// Checks that every listing had all names: those of the files and the run's marker.
fn assert_lists_all(record: &RunRecord) {
    let ops = &record.load_points[0].ops;
    let lists = ops.window(OpKind::List);
    assert_eq!(lists.count(), 2);
    assert_eq!(lists.entries, lists.count() * (NAMES + 1));
    // The steps are in no sum.
    assert_eq!(ops.window_all().count(), lists.count());
    let count = |kind| ops.whole(kind).count;
    for step in [OpKind::ListOpen, OpKind::ListFirst, OpKind::ListClose] {
        assert_eq!(count(step), count(OpKind::List), "{}", step.name());
    }
    assert!(count(OpKind::ListNext) >= count(OpKind::List));
}

#[test]
fn a_listing_has_every_name_of_every_class_and_buffer() {
    let embedded = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut servers = vec![target(&embedded.url(), embedded.password())];
    let samba = ScratchSamba::or_skip(SambaOptions::default());
    let of_samba = |samba: &ScratchSamba| target(&samba.url(), samba.password());
    servers.extend(samba.iter().map(of_samba));
    for server in servers {
        for (class, buffer) in [
            ("id_both_directory", "64KiB"),
            ("names", "4KiB"),
            ("directory", "1MiB"),
        ] {
            let plan = plan_of(&listing(class, buffer), &once("2"), server.clone());
            assert_lists_all(&run(&plan, &mut Unobserved));
        }
    }
}

#[test]
fn a_pattern_without_names_is_an_empty_listing() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut servers = vec![target(&server.url(), server.password())];
    let samba = ScratchSamba::or_skip(SambaOptions::default());
    let of_samba = |samba: &ScratchSamba| target(&samba.url(), samba.password());
    servers.extend(samba.iter().map(of_samba));
    let text = "[[operations]]\nop = \"list\"\npattern = \"*.none\"\nweight = 100\n";
    for server in servers {
        let record = run(&plan_of(text, &once("1"), server), &mut Unobserved);
        let ops = &record.load_points[0].ops;
        assert_eq!(ops.window(OpKind::List).count(), 1);
        assert_eq!(ops.window(OpKind::List).entries, 0);
        assert_eq!(ops.whole(OpKind::ListNext).count, 0);
    }
}

/// One action of each client, and the requests that it sends.
const ON_THE_WIRE: [(&str, &[u16]); 6] = [
    ("stat", &[CREATE, QUERY_INFO, CLOSE]),
    ("lookup_missing", &[CREATE]),
    ("list", &[CREATE, QUERY_DIRECTORY, QUERY_DIRECTORY, CLOSE]),
    ("copy_in", &[CREATE, WRITE, SET_INFO, CLOSE]),
    ("copy_out", &[CREATE, READ, CLOSE]),
    (
        "save_office",
        &[
            // The new file; the old document, renamed; the new file, renamed; the old document.
            CREATE, WRITE, FLUSH, CLOSE, CREATE, SET_INFO, CLOSE, CREATE, SET_INFO, CLOSE, CREATE,
            CLOSE,
        ],
    ),
];

#[test]
fn each_operation_sends_the_requests_of_its_list() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, TSHARK]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    for (op, expected) in ON_THE_WIRE {
        let text = format!(
            "[files]\ncount = 3\nsize = \"4KiB\"\n[[operations]]\nop = \"{op}\"\nweight = 100\n"
        );
        let server = target(&samba.url(), samba.password());
        let plan = counted(plan_of(&text, &options("1"), server), 2);
        let (_, conversations) = captured_while(&samba, || run(&plan, &mut Unobserved));
        let twice = [expected, expected].concat();
        // A client negotiates, logs on and connects, and it logs off at the end.
        let of_load = |requests: &[Message]| {
            let commands = requests.iter().flat_map(Message::parts);
            let commands = commands.map(|part| part.command());
            commands
                .filter(|command| *command > 4 && *command != 13)
                .collect::<Vec<_>>()
        };
        let sent = conversations.iter().map(|one| of_load(&one.requests));
        let matching = sent.filter(|sent| ends_with_load(sent, &twice)).count();
        assert_eq!(matching, 1, "{op}");
    }
}

/// Returns whether a client sent these requests and none but the opens before the load.
fn ends_with_load(sent: &[u16], load: &[u16]) -> bool {
    sent.strip_suffix(load).is_some_and(|before| {
        // A document is made before the load.
        before.is_empty() || before == [CREATE, CLOSE]
    })
}

#[test]
fn copies_have_their_size_and_time_and_each_load_point_begins_without_them() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let text = "[files]\ncount = 150\nsize = \"5KiB\"\n[[operations]]\nop = \"copy_in\"\n\
                weight = 100\n";
    let server = target(&samba.url(), samba.password());
    let plan = plan_of(text, &once("1,3"), server);
    let mut files = Files::of(&samba.data_dir());
    let record = run(&plan, &mut files);
    for (point, seen) in record.load_points.iter().zip(&files.seen) {
        let copies = u64::from(point.clients) * 150;
        assert_eq!(point.ops.whole(OpKind::CopyIn).count, copies);
        assert_eq!(point.ops.whole(OpKind::CopyIn).bytes, copies * 5120);
        assert_eq!(seen.len() as u64, copies);
        let written = SystemTime::UNIX_EPOCH + TIME_SET;
        for (name, bytes, time) in seen {
            assert_eq!((*bytes, *time), (5120, written), "{name}");
        }
    }
    assert_eq!(record.load_points.len(), 2);
}

#[test]
fn a_save_leaves_the_new_document_and_nothing_else() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let text = "[files]\nsize = \"100KiB\"\n[[operations]]\nop = \"save_office\"\nweight = 100\n";
    let server = target(&samba.url(), samba.password());
    let mut files = Files::of(&samba.data_dir());
    let record = run(
        &counted(plan_of(text, &options("2"), server), 5),
        &mut files,
    );
    let ops = &record.load_points[0].ops;
    assert_eq!(ops.whole(OpKind::SaveOffice).count, 10);
    assert_eq!(ops.whole(OpKind::SaveDelete), ops.whole(OpKind::SaveRename));
    // One document of each client.
    let sizes: Vec<_> = files.seen[0].iter().map(|(_, bytes, _)| *bytes).collect();
    assert_eq!(sizes, [100 << 10; 2]);
}

/// Files larger than a request are carried in several.
#[test]
fn large_files_are_copied_whole_in_requests_of_the_server() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![
            "smb2 max read = 65536".to_owned(),
            "smb2 max write = 65536".to_owned(),
        ],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let text = "[files]\ncount = 2\nsize = \"1000000\"\n\
                [[operations]]\nop = \"copy_in\"\nweight = 50\n\
                [[operations]]\nop = \"copy_out\"\nweight = 50\n";
    let server = target(&samba.url(), samba.password());
    let record = run(&plan_of(text, &once("2"), server), &mut Unobserved);
    let ops = &record.load_points[0].ops;
    for (kind, step) in [
        (OpKind::CopyIn, OpKind::CopyInWrite),
        (OpKind::CopyOut, OpKind::CopyOutRead),
    ] {
        let (whole, step) = (ops.window(kind), ops.window(step));
        assert_eq!(whole.bytes, whole.count() * 1_000_000);
        assert_eq!(step.further_requests, step.count() * 15);
    }
    let copies = ops.whole(OpKind::CopyIn).count + ops.whole(OpKind::CopyOut).count;
    assert_eq!(copies, 4);
}

/// A step that fails is an error of its operation, counted once.
#[test]
fn a_refused_copy_is_one_error_and_closes_what_it_opened() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_share: vec!["veto files = /c00000-f1*/".to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let text =
        "[files]\ncount = 5\nsize = \"4KiB\"\n[[operations]]\nop = \"copy_in\"\nweight = 100\n";
    let server = target(&samba.url(), samba.password());
    let plan = plan_of(text, &once("2"), server);
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    let point = &record.load_points[0];
    assert_eq!(point.ops.whole(OpKind::CopyIn).count, 5);
    assert_eq!(point.ops.whole(OpKind::CopyIn).errors, 5);
    assert_eq!((point.ops.errors(), point.ops.answered()), (5, 10));
    assert_eq!(point.ops.whole(OpKind::CopyInClose).count, 5);
    let why = point.invalid.as_deref().unwrap();
    let status = NtStatus::OBJECT_NAME_NOT_FOUND.to_string();
    assert!(why.starts_with("5 of 10 operations failed"), "{why}");
    assert!(why.contains(&status) && why.ends_with("(copy_in)"), "{why}");
}
