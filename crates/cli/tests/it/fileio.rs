//! `fileio`, compared with `sysbench`, whose options it has.

mod options;
mod prepared;
mod sysbench;

use serde_json::Value;
use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};

use crate::support::{Place, Said, text};

const SYSBENCH: Tool = Tool::new("sysbench", "sysbench");

/// Options for both tools. The file size is not a multiple of the block size.
const FILES: [&str; 3] = [
    "--file-num=3",
    "--file-total-size=1M",
    "--file-block-size=16384",
];

/// Starts a Samba; `None` if Samba or sysbench is missing.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn samba() -> Option<ScratchSamba> {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, SYSBENCH]) {
        eprintln!("{skip}");
        return None;
    }
    Some(ScratchSamba::start(SambaOptions::default()).unwrap())
}

fn fileio(place: &Place, (url, password): (&str, &str), command: &str, more: &[&str]) -> Said {
    let mut args = vec!["fileio", command, "--target", url];
    args.extend(FILES);
    args.extend(more);
    place.smbench_as(password, &args)
}

/// Returns a count of the single load point of a document.
fn counted(doc: &Value, kind: &str, key: &str) -> u64 {
    doc["load_points"][0]["ops"][kind][key]
        .as_u64()
        .unwrap_or(0)
}

#[test]
fn without_a_server_one_is_started_for_the_run() {
    let place = Place::new();
    let said = place.smbench(&[
        "fileio",
        "run",
        "--file-num=2",
        "--file-total-size=1M",
        "--file-test-mode=seqrewr",
        "--file-fsync-all",
        "--events=40",
        "--rate=2000",
        "--out=results",
    ]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(
        said.stderr
            .contains("no --target: 2 files of 512 KiB are prepared on a server started here")
    );
    assert!(
        said.stdout
            .contains("total number of events:              40\n"),
        "{said:?}"
    );
    let doc = place.document();
    assert_eq!(counted(&doc, "write", "count"), 40);
    assert_eq!(counted(&doc, "flush", "count"), 40);
    assert_eq!(counted(&doc, "final_flush", "count"), 0);
    let test = &doc["plan"]["workload"]["fileio"];
    assert_eq!(
        (&test["fsync_all"], &test["prepared"]),
        (&true.into(), &false.into())
    );
    // The result can be shown again like any other.
    let [path] = &place.results()[..] else {
        panic!()
    };
    let shown = place.smbench(&["show", text(path)]);
    shown.succeeded();
    assert!(
        shown
            .stdout
            .contains("fileio: 16 KiB, sequential, seqrewr, fsync after each write"),
        "{shown:?}"
    );
}
