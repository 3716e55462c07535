//! Suites that are refused.

use std::fs;

use super::{has_samba, named, read, suite, with};
use crate::support::{Place, embedded, text};

#[test]
fn a_folder_of_another_study_is_refused_with_what_differs() {
    let server = embedded();
    let place = Place::new();
    let file = place.write("suite.toml", "clients = \"1\"\n[run]\nseed = 3\n");
    let named = named("memory", &server);
    let said = suite(
        &place,
        server.password(),
        &with(&[text(&file), &named, "--quiet"]),
    );
    said.succeeded();
    let refused = |args: &[&str], difference: &str| {
        let said = suite(&place, server.password(), args);
        let parts = [
            "folder study holds a study with ",
            difference,
            "use another --out",
        ];
        said.failed_with(2, &parts);
    };
    let args = with(&[text(&file), &named, "--quiet"]);
    let otherwise = |more: &[&'static str]| [&args[..], more].concat();
    refused(&otherwise(&["--points=1,2"]), "load points 1, not 1, 2");
    refused(&otherwise(&["--passes=3"]), "passes 1, not 3");
    refused(
        &otherwise(&["--profile=read-4k"]),
        "profiles file-server, not read-4k",
    );
    refused(
        &otherwise(&["--sign=required"]),
        "plan.signing \"auto\", not \"required\"",
    );
    refused(
        &otherwise(&["--server-flush=memory=ignores"]),
        "another flush policy of server `memory`",
    );
    refused(
        &otherwise(&["--server-write=memory=waits"]),
        "another write policy of server `memory`",
    );
    let renamed = named.replace("memory", "other");
    refused(&with(&[text(&file), &renamed]), "servers `memory`");
    place.write("suite.toml", "clients = \"1\"\n[run]\nseed = 4\n");
    refused(&args, "plan.seed 3, not 4");
    // Texts that only a report shows may change, and limits of the set-up.
    place.write(
        "suite.toml",
        "title = \"New\"\nclients = \"1\"\n[run]\nseed = 3\n",
    );
    let said = suite(
        &place,
        server.password(),
        &otherwise(&["--setup-timeout=1m"]),
    );
    said.succeeded();
    assert_eq!(read(&place.path("study/study.json"))["title"], "New");
    place.write("something", "");
    let mut args = args.clone();
    args.retain(|arg| !arg.starts_with("--out"));
    args.push("--out=.");
    let said = suite(&place, server.password(), &args);
    said.failed_with(2, &["folder . holds something, but no study"]);
}

#[test]
fn a_study_does_not_go_on_on_another_machine() {
    let server = embedded();
    let place = Place::new();
    let file = place.write("suite.toml", "clients = \"1\"\npasses = 2\n");
    let named = named("memory", &server);
    let args = with(&[text(&file), &named, "--quiet"]);
    suite(&place, server.password(), &args).succeeded();
    let path = |number: u32| {
        place.path(&format!(
            "study/runs/01-memory/01-file-server/pass-{number}.json"
        ))
    };
    let mut elsewhere = read(&path(1));
    elsewhere["machine"]["kernel"] = "2.4.18".into();
    fs::write(path(1), elsewhere.to_string()).unwrap();
    // If all is measured, nothing can be mixed up. A reader is informed.
    suite(&place, server.password(), &args).succeeded();
    let page = fs::read_to_string(place.path("study/report/report.md")).unwrap();
    let message = "not the same machine generated the load of all passes";
    assert!(page.contains(message), "{page}");

    fs::remove_file(path(2)).unwrap();
    let said = suite(&place, server.password(), &args);
    let parts = [
        "folder study holds a study with load from another machine",
        "(kernel 2.4.18, not ",
        "use another --out",
    ];
    said.failed_with(2, &parts);
    assert!(!path(2).exists(), "nothing was measured");
    assert_eq!(read(&path(1)), elsewhere);
}

#[test]
fn lines_that_samba_would_pass_over_are_refused() {
    if !has_samba() {
        return;
    }
    let place = Place::new();
    for (line, why) in [
        ("strict snyc = no", "unknown parameter \"strict snyc\""),
        ("strict sync = maybe", "maybe"),
    ] {
        let servers = "[[servers]]\nname = \"shipped\"\nsamba = []\n";
        let tuned = format!("[[servers]]\nname = \"tuned\"\nsamba = [\"{line}\"]\n");
        let file = place.write("suite.toml", &format!("{servers}{tuned}"));
        let said = suite(&place, "", &[text(&file), "--out=study"]);
        let at = format!("server `tuned`: samba line {line:?}: ");
        said.failed_with(2, &[&at, why, "correct or drop the line"]);
        assert!(!place.path("study").exists());
    }
}

#[test]
fn hostile_suites_are_refused_in_one_line() {
    let place = Place::new();
    let server = "[[servers]]\nname = \"a\"\nurl = \"smb://ann@host/s\"\n";
    for (spec, part) in [
        ("colour = 1", "line 1, column 1: unknown field `colour`"),
        (
            "[[servers]]\nname = \"a\"\nurl = \"smb://ann:hunter2@host/s\"",
            "the URL holds a password",
        ),
        (
            &format!("{server}password_env = \"SMBENCH_TEST_UNSET\""),
            "no password for user ann: set SMBENCH_TEST_UNSET",
        ),
    ] {
        let file = place.write("suite.toml", spec);
        let said = suite(&place, "", &[text(&file), "--out=study"]);
        said.failed_with(2, &[part]);
        assert!(!said.stderr.contains("hunter2"), "{said:?}");
        assert!(!place.path("study").exists());
    }
}
