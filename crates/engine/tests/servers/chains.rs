//! Chains of requests on the wire. A client closes and unlocks everything that it
//! opens and locks, even if the run is interrupted.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Observer, Progress, execute};
use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::record::{Outcome, RunRecord};
use smbench_model::sessions::Mode;
use smbench_model::spec::RunOptions;
use smbench_model::spec::{SessionsSpec, WorkSpec};

use crate::capture::{Conversation, Message, TSHARK, captured_while};
use crate::support::{plan, short, target};

/// Command codes (MS-SMB2 2.2.1.2).
const CREATE: u16 = 5;
const CLOSE: u16 = 6;
const LOCK: u16 = 10;
const CHANGE_NOTIFY: u16 = 15;
const SUCCESS: u32 = 0;
const PENDING: u32 = 0x103;
/// Position of the flags of a LOCK's first range (MS-SMB2 2.2.26), and the bit that
/// unlocks.
const LOCK_FLAGS_AT: usize = 64 + 24 + 16;
const UNLOCK: u32 = 4;

/// Interrupts the run as soon as progress reports show the load.
struct Interrupt(Cancel);

impl Observer for Interrupt {
    fn progress(&mut self, progress: &Progress) {
        if matches!(progress, Progress::Running { .. }) {
            self.0.cancel();
        }
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

fn interrupted(plan: &Plan) -> RunRecord {
    let cancel = Cancel::default();
    let record = execute(plan, &mut Interrupt(cancel.clone()), &cancel).unwrap();
    assert_eq!(record.outcome, Outcome::Interrupted);
    assert_eq!(record.leftover, None);
    let point = &record.load_points[0];
    assert_eq!((point.ops.errors(), point.dropouts.len()), (0, 0));
    record
}

fn parts(frames: &[Message]) -> Vec<Message> {
    frames.iter().flat_map(Message::parts).collect()
}

/// Counts the successful answers to a command.
fn done(answers: &[Message], command: u16) -> usize {
    let is_done = |message: &&Message| message.command() == command && message.status() == SUCCESS;
    answers.iter().filter(is_done).count()
}

/// Counts the handles that a connection opened and did not close.
fn held(conversation: &Conversation) -> usize {
    let answers = parts(&conversation.responses);
    done(&answers, CREATE) - done(&answers, CLOSE)
}

#[test]
fn an_interrupted_run_closes_and_unlocks_all_that_it_opened_and_locked() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, TSHARK]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            outstanding: Some(4),
            duration: Some(Duration::from_secs(60)),
            ..short().work
        },
        sessions: SessionsSpec {
            sign: Some(Mode::Off),
            ..short().sessions
        },
        ..short()
    };
    let server = target(&samba.url(), samba.password());
    let plan = plan("all-commands", &options, server);
    let (record, conversations) = captured_while(&samba, || interrupted(&plan));
    // Opens that a client holds under load: its files and the directory.
    let on_hold = plan.only().workload.files.count as usize + 1;
    let mut clients = 0;
    let (mut creates, mut closes) = (0, 0);
    for conversation in &conversations {
        let held = held(conversation);
        if held == 0 {
            continue;
        }
        assert_eq!(held, on_hold);
        clients += 1;
        let requests = parts(&conversation.requests);
        let answers = parts(&conversation.responses);
        creates += done(&answers, CREATE) - on_hold;
        closes += done(&answers, CLOSE);
        let locks: Vec<_> = requests
            .iter()
            .filter(|message| message.command() == LOCK)
            .map(|message| message.u32_at(LOCK_FLAGS_AT) & UNLOCK != 0)
            .collect();
        let unlocks = locks.iter().filter(|unlocks| **unlocks).count();
        assert_eq!(unlocks * 2, locks.len());
        assert_eq!(done(&answers, LOCK), locks.len());
        // No CHANGE_NOTIFY is still waiting.
        let asked = requests
            .iter()
            .filter(|message| message.command() == CHANGE_NOTIFY);
        let answered = answers
            .iter()
            .filter(|message| message.command() == CHANGE_NOTIFY && message.status() != PENDING);
        assert_eq!(asked.count(), answered.count());
    }
    assert_eq!(clients, plan.max_clients());
    assert_eq!(creates, closes);
    // The measured operations equal those on the wire. A frame of three contains
    // one CREATE and one CLOSE, and set-up creates the kept entries.
    let whole = |kind| record.load_points[0].ops.whole(kind).count as usize;
    let frames = whole(OpKind::CreateReadClose)
        + whole(OpKind::CreateQueryClose)
        + whole(OpKind::CreateSetClose);
    let kept = 2 * (plan.only().outstanding * plan.max_clients()) as usize;
    assert_eq!(whole(OpKind::Close) + frames + kept, closes);
    assert_eq!(whole(OpKind::Create) + frames + kept, creates);
    assert!(frames > 0 && whole(OpKind::Lock) > 0 && whole(OpKind::ChangeNotify) > 0);
    assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}
