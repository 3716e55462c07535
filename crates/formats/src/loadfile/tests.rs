mod prepared;
mod refusals;

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::load::LoadModel;
use smbench_model::operations::replay::Replays;
use smbench_model::plan::{Plan, PlanError};
use smbench_model::profile::Profile;
use smbench_model::spec::{RunOptions, Spec, WorkSpec};
use smbench_model::target::Target;
use smbench_model::trace::{ANY_STATUS, PathNumber, PreparedName, Record, Verb};
use smbench_model::workload::{Replay, Timing};
use smbench_protocol::NtStatus;

use super::*;

fn read_text(text: &str) -> Result<Trace, LoadfileError> {
    parse("my.txt", text.as_bytes(), Unknown::Refuse)
}

fn error(text: &str) -> String {
    read_text(text).unwrap_err().to_string()
}

/// One line or more of each verb, in an order in which a client could do them.
const EVERY_VERB: &str = r#"
# A comment, and an empty line before it.
Deltree "\clients\client1" NT_STATUS_OK
Mkdir "\clients" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 16385 NT_STATUS_OK
Close 16385 NT_STATUS_OK
NTCreateX "\clients\client1\a b.txt" 0x40 0x1 9935 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1\a b.txt" 0x40 2 9938 NT_STATUS_OK
WriteX 9938 65534 1 1 NT_STATUS_OK
ReadX 9938 0 4096 4096 NT_STATUS_OK
Flush 9938 NT_STATUS_OK
LockX 9938 2147483538 1 NT_STATUS_OK
UnlockX 9938 2147483538 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 9938 258 NT_STATUS_OK
SET_FILE_INFORMATION 9938 1020 NT_STATUS_OK
Sleep 1500 NT_STATUS_OK
Close 9938 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\a b.txt" 1004 NT_STATUS_OK
QUERY_FS_INFORMATION 259 NT_STATUS_OK
FIND_FIRST "\clients\client1\<.JNK" 260 1366 0 NT_STATUS_NO_SUCH_FILE
Rename "\clients\client1\a b.txt" "\clients\CLIENT1\b" NT_STATUS_OK
Unlink "\clients\client1\b" 0x6 NT_STATUS_OK
Rmdir "\clients\client1\d" 0xC0000034
"#;

#[test]
fn every_verb_is_read() {
    let trace = read_text(EVERY_VERB).unwrap();
    let summary = trace.summary();
    // Those that only captures have.
    let others = [
        Verb::QuerySecurity,
        Verb::List,
        Verb::RenameOpen,
        Verb::MarkDeleted,
        Verb::SetSecurity,
        Verb::Echo,
    ];
    assert_eq!(summary.operations.len(), Verb::ALL.len() - others.len());
    assert!(
        others
            .iter()
            .all(|verb| !summary.operations.contains_key(verb))
    );
    assert_eq!(summary.lines, 23);
    let once = |verb: &Verb| !matches!(verb, Verb::Create | Verb::Close);
    for (verb, &count) in summary.operations.iter().filter(|(verb, _)| once(verb)) {
        assert_eq!(count, 1, "{verb}");
    }
    assert_eq!(summary.operations[&Verb::Create], 3);
    assert_eq!((summary.bytes_read, summary.bytes_written), (4096, 1));
    // The recording itself makes everything that it uses.
    assert_eq!(trace.prepared.made, []);
    let own = trace.prepared.own.iter();
    let own: Vec<_> = own.map(|&path| trace.path(path).display(4)).collect();
    assert_eq!(own, [r"clients\client5"]);
    // The pause belongs to the record after it, and is not a record.
    let paused = trace.pauses[0];
    assert_eq!((trace.pauses.len(), paused.1), (1, 1_500_000));
    assert_eq!(trace.record(paused.0).verb(), Verb::Close);
    assert_eq!(
        trace.describe(4, 6),
        r#"NTCreateX "clients\client7\a b.txt" 0x40 0x1 STATUS_OBJECT_NAME_NOT_FOUND"#
    );
    // The end of the file is set to its current value.
    let set = trace
        .records
        .iter()
        .find(|record| record.verb() == Verb::SetFile);
    assert!(matches!(set, Some(Record::SetFile { size: 65_535, .. })));
}

#[test]
fn files_without_status_or_with_times_are_read() {
    let old = "NTCreateX \"\\a\" 0 2 7\nWriteX 7 0 9 9\nClose 7\n";
    let trace = read_text(old).unwrap();
    assert_eq!(trace.len(), 3);
    assert!((0..3).all(|at| trace.status(at) == ANY_STATUS));
    assert!(!trace.has_times());
    let timed = "10.5 NTCreateX \"\\a\" 0 2 7 NT_STATUS_OK\r\n10.75 WriteX 7 0 9 9 SUCCESS\n11 Close 7 0x00000000";
    let trace = read_text(timed).unwrap();
    assert_eq!(*trace.times, [0, 250_000_000, 500_000_000]);
    assert_eq!(trace.summary().length, Some(Duration::from_millis(500)));
    // Times are not used if some lines have none.
    assert!(
        !read_text("1 Flush 1 0xC0000008\nFlush 1 0xC0000008")
            .unwrap()
            .has_times()
    );
    assert_eq!(
        error("2 Flush 1 0xC0000008\n1 Flush 1 0xC0000008"),
        "loadfile my.txt, line 2: Flush: its time is before that of an earlier line"
    );
    // Latin-1.
    let latin = b"Mkdir \"\\caf\xE9\" NT_STATUS_OK\n";
    let trace = parse("old", &latin[..], Unknown::Refuse).unwrap();
    assert_eq!(trace.path(PathNumber(0)).display(0), "café");
}

/// A file as genloadfile of dbench writes it.
#[test]
fn a_last_line_at_time_0_runs_after_the_others() {
    let text = "0.0 Deltree \"/clients/client1\" 0x0\n4.5 Mkdir \"/clients/client1\" 0x0\n\
                0.000000000 Deltree \"/clients/client1\" 0x0\n";
    let trace = read_text(text).unwrap();
    assert_eq!(*trace.times, [0, 4_500_000_000, 4_500_000_000]);
}

/// The format of 2002 has no statuses, levels and quotation marks.
#[test]
fn files_of_2002_are_read() {
    let old = "NTCreateX \\clients\\client1\\a 0x40 0x2 7\nQUERY_PATH_INFORMATION \\clients\\client1\\a\n\
               QUERY_FILE_INFORMATION 7\nFIND_FIRST \\clients\\client1\\*\nClose 7\n\
               Unlink \\clients\\client1\\a\n";
    let new = r#"NTCreateX "\clients\client1\a" 0x40 0x2 7 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\a" 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 7 263 NT_STATUS_OK
FIND_FIRST "\clients\client1\*" 260 1366 0 NT_STATUS_OK
Close 7 NT_STATUS_OK
Unlink "\clients\client1\a" 0x6 NT_STATUS_OK"#;
    let [old, new] = [old, new].map(|text| read_text(text).unwrap());
    assert_eq!(old.records, new.records);
    assert!((0..6).all(|at| old.status(at) == ANY_STATUS));
}

/// Lines of the file that came with dbench in 2002: an open that failed has handle -1.
#[test]
fn an_open_without_a_handle_makes_and_closes_nothing() {
    let old = "NTCreateX /clients/client1/mixfile 0x40 0x1 -1\n\
               QUERY_PATH_INFORMATION /clients/client1/~dmtmp\n";
    let new = r#"NTCreateX "/clients/client1/mixfile" 0x40 0x1 -1 NT_STATUS_OBJECT_NAME_NOT_FOUND
QUERY_PATH_INFORMATION "/clients/client1/~dmtmp" 1 NT_STATUS_OK"#;
    let [old, new] = [old, new].map(|text| read_text(text).unwrap());
    assert_eq!(old.records, new.records);
    assert_eq!(old.len(), 2, "no close");
}

/// As in `loadfiles/smb_1.load` and `smb_2.load` of dbench.
#[test]
fn lines_of_the_smb_backend_repeat_and_compute_their_offsets() {
    let text = "# create a file\nOPEN \"/t\" 0x0c *\nWRITE \"/t\" 0 4096 SUCCESS\nREPEAT 3\n\
                # the next one\nWRITE \"/t\" +4096 4096 SUCCESS\nREPEAT 20\n\
                READ \"/t\" *%0x10000/4096 4096 *\nCLOSE \"/t\" SUCCESS\n";
    let trace = read_text(text).unwrap();
    let (mut written, mut read) = (Vec::new(), Vec::new());
    for record in &trace.records {
        match *record {
            Record::Write { offset, .. } => written.push(offset),
            Record::Read { offset, .. } => read.push(offset),
            _ => {}
        }
    }
    assert_eq!(written, [0, 4096, 8192, 12288]);
    assert_eq!(read.len(), 20);
    assert!(read.iter().all(|at| at % 4096 == 0 && *at < 0x10000));
    assert!(read.iter().any(|at| *at != read[0]), "{read:?}");
    assert_eq!(
        (trace.status(0), trace.status(1)),
        (ANY_STATUS, NtStatus::SUCCESS)
    );
    assert_eq!(
        error("REPEAT x"),
        "loadfile my.txt, line 1: REPEAT has `x`: expected how often the next line runs, at least 1"
    );
}

#[test]
fn lines_of_dbenchs_smb_backend_are_read() {
    let backend = r#"MKDIR "/d" SUCCESS
OPEN "/d/a" 0x0a SUCCESS
WRITE "/d/a" 0 4096 SUCCESS
READ "\d\a" 0 4096 *
CLOSE "/d/a" SUCCESS
OPEN "/d/b" 1 ERROR
READDIR "/d" SUCCESS
UNLINK "/d/a" SUCCESS
RMDIR "/d" SUCCESS"#;
    let usual = r#"Mkdir "\clients\client1\d" NT_STATUS_OK
NTCreateX "\clients\client1\d\a" 0x40 3 1 NT_STATUS_OK
WriteX 1 0 4096 4096 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\d\b" 0x40 1 2 NT_STATUS_OBJECT_NAME_NOT_FOUND
FIND_FIRST "\clients\client1\d\*" 260 1366 0 NT_STATUS_OK
Unlink "\clients\client1\d\a" 0x6 NT_STATUS_OK
Rmdir "\clients\client1\d" NT_STATUS_OK"#;
    let [backend, usual] = [backend, usual].map(|text| read_text(text).unwrap());
    assert_eq!(backend.records, usual.records);
    let statuses = |trace: &Trace| (0..9).map(|at| trace.status(at)).collect::<Vec<_>>();
    let mut expected = statuses(&usual);
    expected[3] = ANY_STATUS;
    assert_eq!(statuses(&backend), expected);
    assert_eq!(
        error("READ \"/a\" 0 9 SUCCESS"),
        "loadfile my.txt, line 1: `/a` is not open: no line before has opened it; skip_unknown \
         leaves such lines out"
    );
    assert_eq!(
        error("MKDIR \"/a\" NT_STATUS_OK"),
        "loadfile my.txt, line 1: MKDIR has the arguments `/a NT_STATUS_OK`: expected \"/name\", \
         then SUCCESS, ERROR or *"
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_verb() {
    let text = "\u{feff}Mkdir \"/a\" NT_STATUS_OK\nRmdir \"/a\" NT_STATUS_OK";
    assert_eq!(read_text(text).unwrap().len(), 2);
    assert!(
        error("Mkdir \"/a\" NT_STATUS_OK\n\u{feff}Rmdir \"/a\"").contains("line 2: unknown verb")
    );
}

#[test]
fn handles_take_as_much_room_as_are_open_at_a_time() {
    let mut text = String::new();
    for handle in 0..1000 {
        text += &format!(
            "NTCreateX \"\\a{}\" 0 3 {handle} NT_STATUS_OK\n",
            handle % 7
        );
        if handle > 1 {
            text += &format!("Close {} NT_STATUS_OK\n", handle - 2);
        }
    }
    let trace = read_text(&text).unwrap();
    assert_eq!(trace.handles, 3);
    // The replay closes the last two, which the recording left open.
    assert_eq!(trace.summary().closed, 2);
    assert_eq!(trace.summary().operations[&Verb::Close], 998);
    assert_eq!(trace.len(), 2000);
    // A file that is opened again without a close is closed first.
    let twice = "NTCreateX \"\\a\" 0 3 1 NT_STATUS_OK\n".repeat(2);
    let verbs: Vec<_> = read_text(&twice)
        .unwrap()
        .records
        .iter()
        .map(Record::verb)
        .collect();
    assert_eq!(
        verbs,
        [Verb::Create, Verb::Close, Verb::Create, Verb::Close]
    );
    // A file that could not be opened has no handle.
    let failed = read_text("NTCreateX \"\\a\" 0 1 1 0xC0000034\nClose 1 0xC0000008").unwrap();
    assert!(
        failed
            .records
            .iter()
            .all(|record| record.handle().is_none())
    );
}

fn replays(trace: Trace, loops: Option<u32>) -> Replays {
    let replay = Replay {
        recording: Arc::new(trace.into()),
        timing: Timing::Fast,
        speed: 1.0,
        loops,
    };
    Replays::new(replay, 1)
}

#[test]
fn a_client_goes_through_the_file_in_its_order_as_often_as_asked() {
    let trace = read_text(EVERY_VERB).unwrap();
    let records = trace.len();
    let kinds: Vec<_> = trace
        .records
        .iter()
        .filter_map(|record| record.verb().kind())
        .collect();
    assert_eq!(kinds.len(), records);
    let replays = replays(trace, Some(3));
    for client in [0, 7] {
        let seen: Vec<_> = replays
            .of_client(client)
            .map(|operation| operation.kind)
            .collect();
        assert_eq!(seen, kinds.repeat(3));
    }
    let endless = Replays::new(
        Replay::new(Arc::new(read_text(EVERY_VERB).unwrap().into())),
        1,
    );
    assert_eq!(
        endless.of_client(0).take(records * 10).count(),
        records * 10
    );
}

/// Debian's dbench installs this file. We may not copy it.
const CLIENT_TXT: &str = "/usr/share/dbench/client.txt";

/// The expected counts are those of `sort | uniq -c` over the file.
#[test]
fn debians_client_txt_is_replayed_to_the_last_line() {
    if let Err(skip) = smbench_lab::require(&[smbench_lab::Tool::new("dbench", "dbench")]) {
        return eprintln!("{skip}");
    }
    let trace = read(CLIENT_TXT, Unknown::Refuse).unwrap();
    let summary = trace.summary();
    assert_eq!(summary.lines, 458_344);
    assert_eq!(
        (summary.bytes_read, summary.bytes_written),
        (1_472_088_767, 1_015_974_170)
    );
    assert_eq!((summary.closed, summary.skipped.len()), (0, 0));
    let expected = [
        (Verb::Create, 79_230),
        (Verb::Close, 58_200),
        (Verb::Read, 124_199),
        (Verb::Write, 39_502),
        (Verb::Flush, 5_553),
        (Verb::Lock, 258),
        (Verb::Unlock, 258),
        (Verb::Unlink, 16_000),
        (Verb::Rename, 3_355),
        (Verb::Mkdir, 1),
        (Verb::Deltree, 2),
        (Verb::QueryPath, 71_814),
        (Verb::QueryFile, 12_585),
        (Verb::QueryFs, 13_168),
        (Verb::SetFile, 6_454),
        (Verb::Find, 27_765),
    ];
    assert_eq!(summary.operations, expected.into());
    assert_eq!(trace.prepared.made, []);
    let bytes = size_of_val(&*trace.records) as u64;
    assert_eq!(bytes, 24 * 458_344);
    // A client that replays the file once has the same operations.
    let mut counts = std::collections::BTreeMap::new();
    let mut moved = [0_u64; 2];
    for operation in replays(trace, Some(1)).of_client(9) {
        *counts.entry(operation.kind).or_insert(0_u64) += 1;
        match operation.kind {
            OpKind::Read => moved[0] += u64::from(operation.length),
            OpKind::Write => moved[1] += u64::from(operation.length),
            _ => {}
        }
    }
    let expected = expected.map(|(verb, count)| (verb.kind().unwrap(), count));
    assert_eq!(counts, expected.into());
    assert_eq!(moved, [1_472_088_767, 1_015_974_170]);
}

proptest! {
    /// Any text gives a trace, or an error of one line that names the place.
    #[test]
    fn no_text_upsets_the_parser(
        lines in proptest::collection::vec(
            prop_oneof![
                ".{0,60}",
                "(NTCreateX|ReadX|Close|Rename|Deltree|Sleep|FIND_FIRST|1.5 Unlink) [-0-9a-z\"\\\\. ]{0,40}",
                "(NTCreateX \"[a-c]\" 1|Close|ReadX|Unlink \"[a-c\\\\]{1,3}\") [0-9] [0-9] [0-9] [0-9]?",
            ],
            0..20,
        ),
        skip in any::<bool>(),
    ) {
        let unknown = if skip { Unknown::Skip } else { Unknown::Refuse };
        match parse("x", lines.join("\n").as_bytes(), unknown) {
            Ok(trace) => {
                prop_assert!(!trace.is_empty());
                for (at, record) in (0..).zip(&trace.records) {
                    prop_assert!(!trace.describe(at, 3).is_empty());
                    let handle = record.handle();
                    prop_assert!(handle.is_none_or(|handle| handle.number() < trace.handles));
                }
            }
            Err(error) => prop_assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
}

fn resolve(profile: &Profile, options: &RunOptions) -> Result<Plan, PlanError> {
    let (target, _) = Target::parse("smb://ann:hunter2@host/share").unwrap();
    Plan::resolve(profile, options, target, Limits::default(), 2)
}

/// Pauses of a loadfile are the pace of its clients, so a second pace is refused.
#[test]
fn pauses_of_a_loadfile_go_with_no_other_pace() {
    let lines = "Mkdir \"\\x\" NT_STATUS_OK\nSleep 1500 NT_STATUS_OK\n";
    let with = |lines: &str| {
        let trace = parse("x", lines.as_bytes(), Unknown::Refuse).unwrap();
        Profile {
            recording: Some(Arc::new(trace.into())),
            ..Profile::from_spec("x", Spec::default())
        }
    };
    let think = |millis| RunOptions {
        work: WorkSpec {
            think_time: Some(Duration::from_millis(millis)),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let rate = RunOptions {
        work: WorkSpec {
            rate: Some("10".parse().unwrap()),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let message = "would take the place of the pauses that the loadfile has (Sleep): drop it, or take \
                them out of the file";
    for (options, message) in [
        (&think(1), format!("think_time: think_time {message}")),
        (&rate, format!("rate: rate {message}")),
    ] {
        let error = resolve(&with(lines), options).unwrap_err();
        assert_eq!(error.to_string(), message);
        // Without pauses the other pace replaces nothing.
        let plan = resolve(&with(lines.lines().next().unwrap()), options).unwrap();
        assert!(plan.only().load.is_paced());
    }
    let plan = resolve(&with(lines), &think(0)).unwrap();
    assert_eq!(plan.only().load, LoadModel::Closed { think: None });
}
