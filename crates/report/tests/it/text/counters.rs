//! The server's own counters in tables.

use serde_json::json;
use smbench_report::table::Table;
use smbench_report::{Curve, text};

use crate::samples::{curve, document};

/// Without a profile of smbd, only what is open is known.
#[test]
fn a_server_without_counts_of_requests_has_no_table_of_them() {
    let mut doc = document(&curve());
    let counters = json!({"source": "what smbd has open", "sessions": 5, "open_files": 1});
    for point in &mut doc.load_points {
        point.server_counters = Some(serde_json::from_value(counters.clone()).unwrap());
    }
    let tables = text::server_counters(&Curve::of(&doc.load_points));
    let texts: Vec<_> = tables.iter().map(Table::to_text).collect();
    let [text] = &texts[..] else {
        panic!("{texts:?}");
    };
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "the server counted no requests; Samba counts them with `smbd profiling level = on` in smb.conf",
            "open at the end of the load: 5 sessions, 1 open file",
        ]
    );
}
