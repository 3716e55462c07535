//! Studies of one server with several settings of its clients.

use std::fs;

use super::{pass, read, suite, with};
use crate::support::{Place, embedded, text};

#[test]
fn a_row_of_a_tuning_study_can_be_a_change_on_the_clients_side() {
    let server = embedded();
    let place = Place::new();
    let url = server.url();
    let spec = |oplock: &str| {
        format!(
            r#"
clients = "1"
[run]
credits = 64
[[servers]]
name = "as it is"
url = "{url}"
[[servers]]
name = "oplocks on"
url = "{url}"
[servers.run]
oplock = "{oplock}"
credits = 32
[[comparisons]]
title = "one change"
kind = "tuning"
"#
        )
    };
    let file = place.write("tuning.toml", &spec("batch"));
    let args = with(&[text(&file), "--quiet"]);
    let said = suite(&place, server.password(), &args);
    said.succeeded();
    assert!(said.stdout.contains("\none change\n"), "{said:?}");
    let plan = |server| pass(&place, server, "file-server", 1).unwrap()["plan"].clone();
    let [baseline, changed] = ["01-as-it-is", "02-oplocks-on"].map(plan);
    assert!(baseline["oplock"].is_null() && baseline["credits"] == 64);
    assert_eq!(changed["oplock"], "batch");
    assert_eq!(changed["credits"], 32);
    assert_eq!(baseline["workload"], changed["workload"]);
    // The setting is listed with the server, and is the only difference.
    let servers = &read(&place.path("study/study.json"))["servers"];
    assert!(servers[0]["client"].is_null(), "{servers}");
    let listed = ["oplock = batch", "credits = 32"];
    assert_eq!(servers[1]["client"], serde_json::json!(listed));
    assert!(
        said.stdout.contains("oplock = batch; credits = 32"),
        "{said:?}"
    );
    let page = fs::read_to_string(place.path("study/report/report.md")).unwrap();
    for part in [
        "Asked for by its clients alone:",
        "oplock = batch\ncredits = 32\n",
        "at most 32 credits",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }

    // If another setting is asked for, it is a different study.
    suite(&place, server.password(), &args).succeeded();
    place.write("tuning.toml", &spec("level2"));
    let said = suite(&place, server.password(), &args);
    said.failed_with(2, &["holds a study with servers", "oplock = level2"]);

    // An option for all servers would override that of one server.
    let own = spec("batch").replace("credits = 32", "sign = \"off\"");
    let file = place.write("undone.toml", &own);
    let said = suite(
        &place,
        server.password(),
        &with(&[text(&file), "--sign=required"]),
    );
    said.failed_with(
        2,
        &["server `oplocks on` has sign of its own", "--sign is given"],
    );
}
