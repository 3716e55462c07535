//! Several smbd over one folder, between which clients move.

use super::{has_samba, pass, suite};
use crate::support::{Place, text};

/// Clients lose their connections, and come back at the second smbd. It has their data, but none of
/// the handles that the first one keeps. Its CPU counts as the server's, too. When the first one is
/// stopped later, they do not notice.
const TWO_NODES: &str = r#"
clients = "2"
profiles = ["file-server"]
events = ["at 1s: drop 100%", "at 4s: stop 1s"]
[run]
duration = "6s"
ramp_up = "0s"
verify = true
reconnect = "60s"
[[servers]]
name = "pair"
samba = ["kernel oplocks = no", "kernel share modes = no", "posix locking = no"]
nodes = 2
[servers.run]
handles = "durable"
"#;

#[test]
fn clients_move_between_two_smbd_over_one_folder() {
    if !has_samba() {
        return;
    }
    let place = Place::new();
    let file = place.write("pair.toml", TWO_NODES);
    let args = [text(&file), "--calibration=off", "--quiet", "--out=study"];
    let said = suite(&place, "", &args);
    said.succeeded();
    let doc = pass(&place, "01-pair", "file-server", 1).unwrap();
    let notes = &doc["server"]["notes"];
    let note = "several smbd serve one folder, and know nothing of each other";
    assert!(notes.as_array().unwrap().contains(&note.into()), "{notes}");
    let point = &doc["load_points"][0];
    assert_eq!(point["valid"], true, "{}", point["invalid_reason"]);
    let event = &point["events"][0];
    assert_eq!(
        (&event["clients"], &event["clients_away"]),
        (&2.into(), &0.into())
    );
    assert_eq!(
        (&event["handles_kept"], &event["handles_lost"]),
        (&0.into(), &2.into())
    );
    assert_eq!(point["verify"]["lost"], 0);
    let stop = &point["events"][1];
    assert_eq!(
        (&stop["kind"], &stop["clients"]),
        (&"stop".into(), &0.into())
    );
    let source = point["server_cpu"]["source"].as_str().unwrap();
    assert_eq!(source.matches("smbd (process ").count(), 2, "{source}");
}
