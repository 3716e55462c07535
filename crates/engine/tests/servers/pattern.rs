//! Access patterns on servers: the requests on the wire and their order, and the
//! delays before bursts.

use std::io::Write as _;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, Tool, require};
use smbench_model::kind::OpKind;
use smbench_model::operations::{Drawn, Mix, Operation, Streams};
use smbench_model::plan::Plan;
use smbench_model::record::{LoadPointRecord, Outcome};
use smbench_model::spec::RunOptions;
use smbench_model::spec::WorkSpec;
use smbench_model::target::Target;

use crate::capture::{Conversation, Message, TSHARK, captured};
use crate::support::{assert_undisturbed, plan, short, target};

const READ: u16 = 8;
const WRITE: u16 = 9;
const DELAY: Duration = Duration::from_millis(20);
/// Number of requests in a burst, with their replies.
const IN_BURST: u64 = 5 + 5;

/// One line: 60 % reads, half of the accesses random, bursts of five 20 ms apart,
/// offsets aligned to 3000, replies.
const BURSTS: &str = "[files]\nsize = \"1MiB\"\n[[pattern]]\nsize = \"4KiB\"\nweight = 100\n\
    reads = 60\nrandom = 50\ndelay = \"20ms\"\nburst = 5\nalign = 3000\nreply = \"1KiB\"\n";

fn of_text(text: &str, options: &RunOptions, target: Target) -> Plan {
    let mut profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    profile.write_all(text.as_bytes()).unwrap();
    plan(profile.path().to_str().unwrap(), options, target)
}

/// Returns the requests of the plan's first client, in order.
fn expected(plan: &Plan, count: usize) -> Vec<(u16, u64, u32)> {
    let mix = Mix::new(&plan.only().workload);
    let seed = plan.work.seed;
    let mut stream = Drawn { mix, seed }.of_client(0);
    let request = |operation: Operation| {
        let command = match operation.kind {
            OpKind::Read => READ,
            _ => WRITE,
        };
        (command, operation.offset, operation.length)
    };
    (0..count).map(|_| request(stream.next())).collect()
}

/// Returns command, offset and length of each READ and WRITE (MS-SMB2 2.2.19,
/// 2.2.21).
fn requests(conversation: &Conversation) -> Vec<(u16, u64, u32)> {
    let data = conversation.requests.iter();
    let data = data.filter(|message| matches!(message.command(), READ | WRITE));
    let place =
        |message: &Message| u64::from(message.u32_at(72)) | u64::from(message.u32_at(76)) << 32;
    data.map(|message| (message.command(), place(message), message.u32_at(68)))
        .collect()
}

/// Returns the maximum number of bursts during the load; late delays only reduce
/// it.
fn bursts_max(plan: &Plan) -> u64 {
    let load = plan.work.ramp_up + plan.work.duration + plan.work.ramp_down;
    (load.as_micros() / DELAY.as_micros()) as u64 + 1
}

#[test]
fn what_a_real_server_is_asked_is_the_pattern_in_its_order() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, TSHARK]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("1".parse().unwrap()),
            ..short().work
        },
        ..short()
    };
    let plan = of_text(BURSTS, &options, target(&samba.url(), samba.password()));
    let (record, conversations) = captured(&samba, &plan);
    // Only the client reads.
    let of_client = conversations
        .iter()
        .map(requests)
        .find(|requests| requests.iter().any(|&(command, ..)| command == READ));
    let seen = of_client.unwrap();
    assert_eq!(seen, expected(&plan, seen.len()));
    assert!(seen.iter().all(|(_, place, _)| place % 3000 == 0));
    let ops = &record.load_points[0].ops;
    let counted = ops.whole(OpKind::Read).count + ops.whole(OpKind::Write).count;
    assert_eq!(counted, seen.len() as u64);
    assert!(counted <= bursts_max(&plan) * IN_BURST, "{counted}");
}

fn only_point(plan: &Plan) -> LoadPointRecord {
    let record = execute(plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    let mut points = record.load_points;
    let point = points.remove(0);
    assert_undisturbed(&point);
    point
}

#[test]
fn delays_hold_each_client_back_however_many_requests_it_may_have() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("3".parse().unwrap()),
            outstanding: Some(16),
            ..short().work
        },
        ..short()
    };
    let held = of_text(BURSTS, &options, target.clone());
    let point = only_point(&held);
    let count = |point: &LoadPointRecord| {
        let ops = &point.ops;
        ops.whole(OpKind::Read).count + ops.whole(OpKind::Write).count
    };
    let held_back = count(&point);
    assert!(held_back <= 3 * bursts_max(&held) * IN_BURST, "{held_back}");
    assert!(point.ops.whole(OpKind::Read).count > 0);
    assert!(point.ops.whole(OpKind::Write).count > 0);
}

#[test]
fn what_patterns_write_is_read_back() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            outstanding: Some(4),
            ..short().work
        },
        ..short()
    };
    let text = "[files]\ncount = 2\nsize = \"64KiB\"\n[[pattern]]\nsize = \"4KiB\"\nweight = 60\n\
                reads = 50\nrandom = 30\n[[pattern]]\nsize = \"12KiB\"\nweight = 40\nreads = 50\n\
                random = 100\nburst = 3\nalign = \"1536\"\nreply = \"512\"\n[run]\nverify = true\n";
    let plan = of_text(text, &options, target(&server.url(), server.password()));
    let point = only_point(&plan);
    let read = point.ops.whole(OpKind::Read).count;
    let judged = point.ops.verification();
    assert!(
        judged.checked > 0 && judged.checked + judged.unjudged == read,
        "{judged:?}, {read}"
    );
}
