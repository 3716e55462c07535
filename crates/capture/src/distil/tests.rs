//! Profiles of lines that are written here.

use smbench_model::action::{Action, WeightedAction};
use smbench_model::profile::Profile;
use smbench_model::spec::Spec;

use super::*;
use crate::trace::TraceCreate;

/// The time between two requests, and that of a request.
const EVERY_NS: u64 = 1_000_000;
const TOOK_NS: u64 = 100_000;

/// Lines of a session, which are sent one after the other.
#[derive(Default)]
struct WrittenLines {
    lines: Vec<TraceLine>,
}

impl WrittenLines {
    /// Adds a request that succeeds, and returns it for its details.
    fn add(&mut self, command: &str) -> &mut TraceLine {
        self.lines.push(TraceLine {
            at_ns: self.lines.len() as u64 * EVERY_NS,
            took_ns: Some(TOOK_NS),
            session: Some(1),
            command: command.to_owned(),
            status: Some("STATUS_SUCCESS".to_owned()),
            ..TraceLine::default()
        });
        self.lines.last_mut().unwrap()
    }

    /// Adds a READ of this many bytes, and returns it.
    fn read(&mut self, file: u32, asked: u64) -> &mut TraceLine {
        let line = self.add("read");
        line.path = Some(file);
        line.handle = Some(file.into());
        line.offset = Some(0);
        line.length = Some(asked);
        line.moved = Some(asked);
        line
    }

    /// Opens a file of this many bytes.
    fn open(&mut self, file: u32, bytes: u64) {
        let line = self.add("create");
        line.path = Some(file);
        line.handle = Some(file.into());
        line.create = Some(Box::new(TraceCreate {
            disposition: 1,
            size: Some(bytes),
            ..TraceCreate::default()
        }));
    }

    fn close(&mut self, file: u32) {
        self.add("close").handle = Some(file.into());
    }

    /// Returns the only group.
    fn group(&self) -> DistilledGroup {
        let mut distiller = Distiller::default();
        self.lines.iter().for_each(|line| distiller.add(line));
        let mut groups = distiller.finish().groups;
        assert_eq!(groups.len(), 1);
        groups.remove(0)
    }
}

fn spec_of(group: &DistilledGroup) -> Spec {
    Profile::parse("made", &group.to_toml("made")).unwrap().spec
}

#[test]
fn a_read_has_the_bytes_that_it_found() {
    let mut lines = WrittenLines::default();
    for file in 1..=20 {
        lines.read(file, 32_768).moved = Some(292);
        let at_end = lines.read(file, 32_768);
        at_end.offset = Some(292);
        at_end.moved = None;
        at_end.status = Some("STATUS_END_OF_FILE".to_owned());
    }
    let group = lines.group();
    assert_eq!((group.actions(), group.requests()), (20, 40));
    let sizes = &group.recorded().sizes;
    assert_eq!(sizes[&("read".to_owned(), 292)], 20);
    assert_eq!(sizes.len(), 1);
    let sizes = spec_of(&group).sizes;
    assert_eq!(sizes.len(), 1);
    assert_eq!(sizes[0].size.0, 292);
}

#[test]
fn small_files_keep_their_size() {
    let mut lines = WrittenLines::default();
    for file in 1..=100 {
        lines.open(file, 292);
        lines.read(file, 32_768).moved = Some(292);
        lines.close(file);
    }
    let group = lines.group();
    let spec = spec_of(&group);
    assert_eq!(spec.files.count, Some(100));
    assert_eq!(spec.files.size.unwrap().0, 292);
    assert!(group.notes().is_empty(), "{:?}", group.notes());
}

#[test]
fn files_that_a_request_makes_longer_are_counted() {
    let mut lines = WrittenLines::default();
    for file in 1..=30 {
        let bytes = if file == 1 { 5000 } else { 300 };
        lines.open(file, bytes);
        lines.read(file, bytes);
        lines.close(file);
    }
    let group = lines.group();
    assert_eq!(spec_of(&group).files.size.unwrap().0, 5000);
    let said =
        "files have 5000 bytes, as the largest request: 29 of 30 recorded files were shorter";
    assert_eq!(group.notes(), [said]);
    let comment = format!("\n# {said}\n");
    assert!(group.to_toml("made").contains(&comment));
}

#[test]
fn files_beyond_those_of_a_profile_are_counted_for_each_client() {
    const SESSIONS: u32 = 2;
    let mut lines = WrittenLines::default();
    for file in 1..=SESSIONS * 1001 {
        lines.read(file, 4096).session = Some(1 + file % SESSIONS);
    }
    let said = "each client has 1000 files, the most that a profile is made with: 1001 were \
                recorded for each";
    assert_eq!(lines.group().notes(), [said]);
    // Another session has a file that one of these has, too.
    for _ in 0..20 {
        lines.read(1, 4096).session = Some(3);
    }
    let said =
        "the clients have 1000 files, the most that a profile is made with: 2002 were recorded";
    assert_eq!(lines.group().notes(), [said]);
}

#[test]
fn a_lock_makes_no_file_and_no_request_larger() {
    let mut lines = WrittenLines::default();
    lines.open(1, 8192);
    for (offset, length) in [(0, 1), (1 << 62, 1), (0, u64::MAX)] {
        for _ in 0..10 {
            lines.read(1, 4096);
            let lock = lines.add("lock");
            (lock.handle, lock.flags) = (Some(1), Some(0x12));
            (lock.offset, lock.length) = (Some(offset), Some(length));
        }
    }
    let spec = spec_of(&lines.group());
    assert_eq!(spec.files.size.unwrap().0, 8192);
    assert_eq!(spec.sizes.len(), 1);
    assert_eq!(spec.sizes[0].size.0, 4096);
    let locks = |past_end: bool| {
        let is_lock = |one: &&WeightedAction| {
            let exclusive = true;
            one.action
                == Action::Lock {
                    exclusive,
                    past_end,
                }
        };
        spec.operations.iter().find(is_lock).unwrap().weight
    };
    assert!((locks(false) - 100.0 / 6.0).abs() < 0.01);
    assert!((locks(true) - 100.0 / 3.0).abs() < 0.01);
}

#[test]
fn sizes_belong_to_no_lock_past_the_end() {
    let mut lines = WrittenLines::default();
    lines.open(1, 8192);
    for _ in 0..20 {
        lines.read(1, 8192).status = Some("STATUS_END_OF_FILE".to_owned());
        let lock = lines.add("lock");
        (lock.handle, lock.offset, lock.length) = (Some(1), Some(1 << 62), Some(1));
    }
    assert!(spec_of(&lines.group()).sizes.is_empty());
}

#[test]
fn a_compound_is_one_request_in_flight() {
    let mut lines = WrittenLines::default();
    for file in 1..=20 {
        let sent_ns = u64::from(file) * 10 * EVERY_NS;
        lines.open(file, 292);
        lines.read(file, 292);
        lines.close(file);
        for part in lines.lines.iter_mut().rev().take(3) {
            (part.at_ns, part.group) = (sent_ns, Some(file.into()));
        }
    }
    let group = lines.group();
    assert_eq!(group.actions(), 20);
    assert_eq!(spec_of(&group).run.work.outstanding, Some(1));
    // 19 pauses of 20 actions.
    let think_ns = (10 * EVERY_NS - TOOK_NS) as f64 * 19.0 / 20.0;
    assert!((group.recorded().think_ns - think_ns).abs() < 1.0);
}

#[test]
fn requests_in_flight_together_pause_together() {
    let mut lines = WrittenLines::default();
    for file in 1..=80 {
        lines.read(file, 4096).at_ns = u64::from((file - 1) / 4) * 100 * EVERY_NS;
    }
    let group = lines.group();
    let work = spec_of(&group).run.work;
    assert_eq!(work.outstanding, Some(4));
    // A burst of four, then a pause of all four slots. The last burst has none.
    let pause_ns = (100 * EVERY_NS - TOOK_NS) as f64 * 19.0 / 20.0;
    let think_ns = work.think_time.unwrap().as_nanos() as f64;
    assert!((think_ns - pause_ns).abs() < 1e3, "{think_ns}");
    assert!((group.recorded().think_ns - pause_ns / 4.0).abs() < 1.0);
}

#[test]
fn a_small_session_is_told_by_its_actions() {
    let mut distiller = Distiller::default();
    for (session, reads) in [(1, 7), (2, 13)] {
        let mut lines = WrittenLines::default();
        for _ in 0..reads {
            lines.read(1, 4096).session = Some(session);
        }
        lines.lines.iter().for_each(|line| distiller.add(line));
    }
    let made = distiller.finish();
    assert!(made.groups.is_empty());
    assert_eq!((made.small_sessions, made.small_actions), (2, 13));
    assert_eq!((made.left_out, made.unkept), (20, 0));
}
