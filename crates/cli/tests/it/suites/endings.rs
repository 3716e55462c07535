//! Suites that do not finish normally: killed, interrupted, or without one of their
//! servers.

use std::fs;

use nix::sys::signal::Signal;

use super::{clients, entries, has_samba, named, pass, read, start, suite, with};
use crate::support::{Place, embedded, free_port, text, wait_until};

#[test]
fn a_killed_suite_continues_where_it_stopped_and_cleans_up() {
    if !has_samba() {
        return;
    }
    let server = embedded();
    let place = Place::new();
    let file = place.write(
        "suite.toml",
        "clients = \"1,2\"\npasses = 2\n[[servers]]\nname = \"samba\"\nsamba = []\n",
    );
    let named = named("memory", &server);
    // Long enough to be killed meanwhile.
    let mut args = with(&[text(&file), &named, "--quiet"]);
    args.retain(|arg| !arg.starts_with("--duration"));
    args.push("--duration=1s");
    let measured = |server: &str, number: u32| {
        pass(&place, server, "file-server", number).map_or(Vec::new(), |run| clients(&run))
    };
    // Killed twice: on the existing server, and on the one started by the suite.
    let running = start(&place, server.password(), &args);
    wait_until(|| !measured("01-memory", 1).is_empty());
    running.signal(Signal::SIGKILL);
    running.wait();
    let first = pass(&place, "01-memory", "file-server", 1).unwrap();
    assert!(entries(&place.path("study")) > 0);
    let running = start(&place, server.password(), &args);
    wait_until(|| !measured("02-samba", 1).is_empty());
    running.signal(Signal::SIGKILL);
    running.wait();
    let second = pass(&place, "02-samba", "file-server", 1).unwrap();
    assert_eq!(entries(&place.path("tmp")), 1, "the killed Samba's folder");

    let said = suite(&place, server.password(), &args);
    said.succeeded();
    for (name, before) in [("01-memory", &first), ("02-samba", &second)] {
        let run = pass(&place, name, "file-server", 1).unwrap();
        assert_eq!(clients(&run), [1, 2], "each once, in order");
        assert_eq!(run["outcome"], "complete");
        assert_eq!(run["plan"]["load_points"], serde_json::json!([1, 2]));
        for (at, point) in before["load_points"].as_array().unwrap().iter().enumerate() {
            assert_eq!(&run["load_points"][at], point, "never measured again");
        }
        if before["load_points"].as_array().unwrap().len() < 2 {
            let notes = run["server"]["notes"].to_string();
            assert!(notes.contains("interrupted and went on"), "{notes}");
        }
        let other = pass(&place, name, "file-server", 2).unwrap();
        assert_eq!(clients(&other), [1, 2]);
    }
    assert_eq!(server.memory().paths(), Vec::<String>::new());
    assert_eq!(entries(&place.path("tmp")), 0);
    assert_eq!(read(&place.path("study/.running")), serde_json::json!([]));
}

#[test]
fn an_interrupt_ends_with_what_there_is() {
    let server = embedded();
    let place = Place::new();
    let file = place.write("suite.toml", "clients = \"1,2\"\npasses = 2\n");
    let named = named("memory", &server);
    let mut args = with(&[text(&file), &named, "--quiet"]);
    args.retain(|arg| !arg.starts_with("--duration"));
    args.push("--duration=1s");
    let running = start(&place, server.password(), &args);
    wait_until(|| pass(&place, "01-memory", "file-server", 1).is_some());
    let beside = suite(&place, server.password(), &args);
    beside.failed_with(3, &["another smbench is measuring this study"]);
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    assert!(said.stdout.contains("\nstudy     study\n"), "{said:?}");
    assert!(said.stderr.starts_with("smbench: stopping: "), "{said:?}");
    assert_eq!(server.memory().paths(), Vec::<String>::new());
    let again = suite(&place, server.password(), &args);
    again.succeeded();
    for number in [1, 2] {
        let run = pass(&place, "01-memory", "file-server", number).unwrap();
        assert_eq!(clients(&run), [1, 2]);
        let points = run["load_points"].as_array().unwrap();
        assert!(points.iter().all(|point| point["valid"] == true), "{run}");
    }
}

#[test]
fn a_directory_that_remains_on_a_share_is_no_success() {
    let server = embedded();
    let place = Place::new();
    let file = place.write("suite.toml", "clients = \"1\"\n");
    let named = named("memory", &server);
    let mut args = with(&[text(&file), &named, "--quiet"]);
    args.retain(|arg| !arg.starts_with("--duration"));
    args.push("--duration=1s");
    let running = start(&place, server.password(), &args);
    wait_until(|| server.memory().counts().reads > 0);
    let directory = server.memory().paths()[0].clone();
    let foreign = format!("{directory}thesis.doc");
    server.memory().put(&foreign, b"x").unwrap();
    let said = running.wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(said.stderr.contains(" remains: "), "{said:?}");
    let run = pass(&place, "01-memory", "file-server", 1).unwrap();
    assert_eq!(run["load_points"][0]["valid"], true);
}

#[test]
fn a_suite_that_was_killed_before_it_had_a_study_can_begin_again() {
    let server = embedded();
    let place = Place::new();
    let file = place.write("suite.toml", "clients = \"1\"\n");
    fs::create_dir(place.path("study")).unwrap();
    let cut = place.write("study/.study.json.1.tmp", "{\"schema_version\": 1, \"na");
    place.write("study/.running", "");
    let named = named("memory", &server);
    let args = with(&[text(&file), &named, "--quiet"]);
    suite(&place, server.password(), &args).succeeded();
    assert!(!cut.exists());
    assert_eq!(read(&place.path("study/study.json"))["name"], "suite");
}

#[test]
fn what_a_suite_left_elsewhere_is_not_forgotten() {
    let server = embedded();
    let place = Place::new();
    let file = place.write("suite.toml", "clients = \"1\"\n");
    fs::create_dir(place.path("study")).unwrap();
    // Killed before its first load point, and then started again with the server's
    // right address.
    let mistaken = format!("smb://ann@127.0.0.1:{}/s", free_port());
    let directory = |digit: &str| format!("smbench-{}", digit.repeat(16));
    let note = |digit: &str| serde_json::json!({"server": "memory", "directory": directory(digit)});
    let mut elsewhere = note("1");
    elsewhere["url"] = mistaken.as_str().into();
    let mut here = note("2");
    // With another user it is still the same share.
    here["url"] = server.url().replace("smbench@", "bob@").into();
    let notes = [elsewhere.clone(), here, note("3")].map(|note| serde_json::json!({"share": note}));
    place.write("study/.running", &serde_json::json!(notes).to_string());
    for digit in ["2", "3"] {
        server
            .memory()
            .put(&format!("{}/smbench.run", directory(digit)), b"")
            .unwrap();
    }
    let named = named("memory", &server);
    let said = suite(
        &place,
        server.password(),
        &with(&[text(&file), &named, "--quiet"]),
    );
    assert_eq!(said.code(), Some(0), "{said:?}");
    let message = format!(
        "smbench: what an earlier suite left remains: directory '{}'; remove it with: smbench \
         cleanup '{mistaken}'\n",
        directory("1")
    );
    assert_eq!(said.stderr, message);
    assert_eq!(server.memory().paths(), Vec::<String>::new());
    let noted = read(&place.path("study/.running"));
    assert_eq!(noted, serde_json::json!([{"share": elsewhere}]));
}

#[test]
fn a_pass_that_was_stopped_when_all_was_measured_is_complete() {
    let server = embedded();
    let place = Place::new();
    let file = place.write("suite.toml", "clients = \"1\"\n");
    let named = named("memory", &server);
    let args = with(&[text(&file), &named, "--quiet"]);
    suite(&place, server.password(), &args).succeeded();
    // As after a kill during the clean-up of the share.
    let path = place.path("study/runs/01-memory/01-file-server/pass-1.json");
    let mut stopped = read(&path);
    stopped["outcome"] = "interrupted".into();
    fs::write(&path, stopped.to_string()).unwrap();
    let said = suite(&place, server.password(), &args);
    said.succeeded();
    assert!(!said.stdout.contains("interrupted"), "{said:?}");
    let run = read(&path);
    assert_eq!(run["outcome"], "complete");
    assert_eq!(run["load_points"], stopped["load_points"]);
    let notes = run["server"]["notes"].to_string();
    assert!(notes.contains("stopped when all was measured"), "{notes}");
    let page = fs::read_to_string(place.path("study/report/report.md")).unwrap();
    assert!(!page.contains("interrupted"), "{page}");
    // The message appears once.
    suite(&place, server.password(), &args).succeeded();
    assert_eq!(read(&path), run);
}

#[test]
fn a_server_that_is_not_there_costs_only_its_own_points() {
    let server = embedded();
    let place = Place::new();
    let gone = format!("--server=gone=smb://ann@127.0.0.1:{}/s", free_port());
    let file = place.write("suite.toml", "clients = \"1\"\npasses = 2\n");
    let named = named("memory", &server);
    let args = with(&[text(&file), &gone, &named, "--quiet"]);
    let said = suite(&place, server.password(), &args);
    assert_eq!(said.code(), Some(3), "{said:?}");
    let lines: Vec<_> = said.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{said:?}");
    assert!(
        lines[0].starts_with("smbench: pass 1/2, file-server on gone: "),
        "{said:?}"
    );
    assert!(lines[0].ends_with("; the suite continues"), "{said:?}");
    assert!(
        lines[2].starts_with("smbench: gone: 2 load points not measured: "),
        "{said:?}"
    );
    assert!(pass(&place, "01-gone", "file-server", 1).is_none());
    for number in [1, 2] {
        let run = pass(&place, "02-memory", "file-server", number).unwrap();
        assert_eq!(clients(&run), [1]);
    }
    assert!(
        said.stdout.contains("gone has no valid load point yet"),
        "{said:?}"
    );
}

#[test]
fn a_server_that_refuses_the_log_on_is_not_asked_again() {
    let (closed, open) = (embedded(), embedded());
    let place = Place::new();
    place.write("password", open.password());
    let spec = format!(
        "clients = \"1\"\npasses = 2\n[[servers]]\nname = \"open\"\nurl = \"{}\"\npassword_file = \
         \"password\"\n",
        open.url()
    );
    let file = place.write("suite.toml", &spec);
    let named = named("closed", &closed);
    let said = suite(
        &place,
        "not the password",
        &with(&[text(&file), &named, "--quiet"]),
    );
    assert_eq!(said.code(), Some(3), "{said:?}");
    let [refused, missing] = said.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("one log-on of two, and what is missing: {said:?}");
    };
    assert!(
        refused.starts_with("smbench: pass 1/2, file-server on closed: failed to log on"),
        "{said:?}"
    );
    assert!(
        refused.contains("; not trying again, to avoid locking the account; "),
        "{said:?}"
    );
    assert!(
        missing.starts_with("smbench: closed: 2 load points not measured: failed to log on"),
        "{said:?}"
    );
    for number in [1, 2] {
        let run = pass(&place, "02-open", "file-server", number).unwrap();
        assert_eq!(clients(&run), [1]);
    }
}

#[test]
fn a_suite_whose_results_cannot_be_kept_prints_them_and_stops() {
    let (first, second) = (embedded(), embedded());
    let place = Place::new();
    place.write("password", second.password());
    let spec = format!(
        "clients = \"1\"\n[[servers]]\nname = \"second\"\nurl = \"{}\"\npassword_file = \
         \"password\"\n",
        second.url()
    );
    let file = place.write("suite.toml", &spec);
    let named = named("first", &first);
    let args = with(&[text(&file), &named, "--quiet"]);
    suite(&place, first.password(), &args).succeeded();
    // A file in place of a folder has the effect of a full disk, also for root.
    fs::remove_dir_all(place.path("study/runs")).unwrap();
    place.write("study/runs", "");
    let measured = second.memory().counts().reads;
    let said = suite(&place, first.password(), &args);
    assert_eq!(said.code(), Some(3), "{said:?}");
    let failed = "smbench: failed to write study/runs/01-first/01-file-server/pass-1.json: ";
    let lines: Vec<_> = said.stderr.lines().collect();
    assert!(
        lines.len() == 2 && lines.iter().all(|line| line.starts_with(failed)),
        "when the load point ends, and when the pass does: {said:?}"
    );
    assert!(said.stdout.starts_with("run      "), "{said:?}");
    assert!(said.stdout.contains("\npeak "), "{said:?}");
    assert_eq!(second.memory().counts().reads, measured, "nothing follows");
}

#[test]
fn a_server_that_dies_costs_only_its_own_points() {
    let (dying, other) = (embedded(), embedded());
    let place = Place::new();
    let file = place.write("suite.toml", "clients = \"1,2,3\"\n");
    let secret = place.write("password", other.password());
    // Each server has its own password; that of the second one is in the suite's
    // folder.
    let spec = format!(
        "clients = \"1,2,3\"\n[[servers]]\nname = \"other\"\nurl = \"{}\"\npassword_file = \
         \"password\"\n",
        other.url()
    );
    fs::write(&file, spec).unwrap();
    assert!(secret.exists());
    let named = named("dying", &dying);
    let mut args = with(&[text(&file), &named, "--quiet"]);
    args.retain(|arg| !arg.starts_with("--duration"));
    args.push("--duration=1s");
    let running = start(&place, dying.password(), &args);
    wait_until(|| pass(&place, "01-dying", "file-server", 1).is_some());
    let before = dying.memory().counts().reads;
    wait_until(|| dying.memory().counts().reads > before);
    let url = dying.url();
    dying.stop();
    let said = running.wait();
    assert_eq!(said.code(), Some(4), "{said:?}");
    let last = said.stderr.lines().last().unwrap();
    assert!(last.starts_with("smbench: dying: "), "{said:?}");
    assert!(last.contains(" not measured: run aborted: "), "{said:?}");
    let noted = read(&place.path("study/.running"));
    assert_eq!(noted[0]["share"]["server"], "dying", "for whoever goes on");
    assert_eq!(noted[0]["share"]["url"], url);
    let run = pass(&place, "01-dying", "file-server", 1).unwrap();
    assert_eq!(run["outcome"], "aborted");
    assert_eq!(run["load_points"][0]["valid"], true);
    let run = pass(&place, "02-other", "file-server", 1).unwrap();
    assert_eq!(clients(&run), [1, 2, 3]);
}
