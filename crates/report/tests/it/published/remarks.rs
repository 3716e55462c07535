//! Remarks under the tables of a study.

use std::path::Path;

use crate::samples::unwrapped;
use smbench_report::compare::{Input, compare};
use smbench_report::doc::{DifferenceDoc, FlushDoc, StorageDoc};
use smbench_report::published::tables;
use smbench_report::study::Study;
use smbench_report::{RunDoc, render};

use super::study;

/// A flush to memory costs nothing, no matter how the server handles it.
#[test]
fn tables_say_where_honoured_flushes_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = study(folder.path());
    let words = "its share is in memory (tmpfs): a flush costs nothing there, whatever the server \
                makes of it";
    for result in &mut study.results {
        result.run.server.storage = Some(StorageDoc {
            filesystem: "tmpfs".to_owned(),
            source: "tmpfs".to_owned(),
            in_memory: true,
        });
        let flush = [FlushDoc::Ignores, FlushDoc::Honours][result.server];
        result.run.server.flush = Some(flush);
        let warned =
            unwrapped(&render(&result.run)).contains(&format!("flushes  honoured, but {words}\n"));
        assert_eq!(warned, flush == FlushDoc::Honours);
    }
    let remark = format!("honours: {words}");
    for table in tables(&study)
        .iter()
        .filter(|table| !table.title.starts_with("dip"))
    {
        let remarks: Vec<_> = table
            .notes
            .iter()
            .filter(|note| note.contains("memory"))
            .collect();
        assert_eq!(remarks, [&remark], "{}", table.title);
    }
}

/// Passes on another disk, or of another release, do not describe one server.
#[test]
fn tables_say_where_passes_are_not_of_the_same_server() {
    let folder = tempfile::tempdir().unwrap();
    let doc = study(folder.path()).doc;
    let disk = |filesystem: &str, source: &str, in_memory| StorageDoc {
        filesystem: filesystem.to_owned(),
        source: source.to_owned(),
        in_memory,
    };
    let set = |server: usize, pass: u32, software: &str, storage: StorageDoc| {
        let path = folder.path().join(doc.run_path(server, 0, pass));
        let mut run = RunDoc::load(&path).unwrap();
        run.server.flush = Some(FlushDoc::Honours);
        run.server.software = Some(software.to_owned());
        run.server.storage = Some(storage);
        run.save(&path).unwrap();
    };
    for server in [0, 1] {
        set(server, 1, "Samba 4.17.12", disk("ext4", "/dev/sda1", false));
    }
    set(0, 2, "Samba 4.17.12", disk("ext4", "/dev/sda1", false));
    set(1, 2, "Samba 4.20.1", disk("tmpfs", "tmpfs", true));
    let study = Study::load(folder.path()).unwrap();
    let mixed = "not the same in all passes: software Samba 4.17.12 and Samba 4.20.1; storage ext4 \
                 of /dev/sda1 and tmpfs, in memory";
    let idle = "its share was in memory in some passes (tmpfs): a flush costs nothing there, \
                whatever the server makes of it";
    for table in tables(&study)
        .iter()
        .filter(|table| !table.title.starts_with("dip"))
    {
        let notes = table.notes.iter();
        let words: Vec<_> = notes
            .filter(|note| note.contains("not the same") || note.contains("memory"))
            .collect();
        let expected = [mixed, idle].map(|words| format!("honours: {words}"));
        assert_eq!(words, expected.each_ref(), "{}", table.title);
    }
    let [same, other] = [0, 1].map(|server: usize| &study.results[server].run);
    assert!(same.server.otherwise.is_empty());
    let text = unwrapped(&render(other));
    assert!(text.contains(&format!("warning  {mixed}\n")), "{text}");
    assert!(
        text.contains(&format!("flushes  honoured, but {idle}\n")),
        "{text}"
    );
    let inputs = [same, other].map(|run| Input::of_run(Path::new("x.json"), run.clone()));
    let settings = &compare(&inputs).unwrap().pairs[0].settings;
    let keys: Vec<_> = settings.iter().map(|found| &found.key[..]).collect();
    assert_eq!(keys, ["server.otherwise"]);
    assert_eq!(settings[0].other, mixed);
    // A value that one of them lacks is not a difference.
    let mut untold = other.clone();
    untold.server.otherwise[0].software = None;
    untold.server.otherwise[0].storage = None;
    assert_eq!(
        (untold.server.mixed_passes(), untold.server.idle_flushes()),
        (None, None)
    );
}

/// A server that refuses a part of a replay is faster because of that.
#[test]
fn tables_say_what_of_a_replay_was_not_done() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = study(folder.path());
    for point in &mut study.results[1].run.load_points {
        let (op, count) = match point.clients {
            8 => ("flush", 2500),
            _ => ("mkdir", 3),
        };
        point.differences = vec![DifferenceDoc {
            op: op.to_owned(),
            recorded: "STATUS_SUCCESS".to_owned(),
            seen: "STATUS_NOT_SUPPORTED".to_owned(),
            count,
        }];
    }
    let tables = tables(&study);
    for title in ["peak, and response time there", "flush ignored"] {
        let table = tables.iter().find(|table| table.title == title).unwrap();
        let words: Vec<_> = table
            .notes
            .iter()
            .filter(|note| note.contains("as recorded"))
            .collect();
        assert_eq!(
            words,
            [
                "honours: 5000 of 30222 operations (16.54 %) did not go as recorded: 5000 flush (at 8 \
              clients)"
            ],
            "{title}"
        );
    }
}
