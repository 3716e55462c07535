//! The line on what the server does before it answers a WRITE.

use smbench_report::{FactSource, WriteDoc, WritePolicyDoc, render};

use crate::samples::{curve, document};

#[test]
fn what_a_write_waits_for_is_reported_where_a_run_writes() {
    let words = |write: Option<(WritePolicyDoc, FactSource)>, writes: bool, is_old: bool| {
        let mut doc = document(&curve());
        doc.server.write = write.map(|(policy, source)| WriteDoc { policy, source });
        for point in &mut doc.load_points {
            point.whole.retain(|kind, _| writes || kind != "write");
        }
        if is_old {
            doc.server.flush = None;
        }
        let text = render(&doc);
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix("writes   "));
        line.map(str::to_owned)
    };
    let waits = (WritePolicyDoc::Waits, FactSource::Given);
    let buffers = (WritePolicyDoc::Buffers, FactSource::Known);
    for (write, expected) in [
        (
            Some(waits),
            "wait: on stable storage before they are answered (given, not measured)",
        ),
        (
            Some(buffers),
            "buffered: answered before they are on stable storage",
        ),
        (None, "policy unknown (see server_write)"),
    ] {
        assert_eq!(words(write, true, false).as_deref(), Some(expected));
        assert_eq!(words(write, false, false), None);
    }
    // Older releases did not record what servers do.
    assert_eq!(words(None, true, true), None);
}
