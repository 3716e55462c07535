//! Sources of passwords, and checks that passwords never leak.

use crate::support::{Place, Said, embedded, run_args, text};

const WARNING: &str = "smbench: warning: the password in the URL";

/// Checks that no output and no file of the run contains the password.
#[track_caller]
fn keeps_secret(place: &Place, said: &Said, password: &str) {
    for output in [&said.stdout, &said.stderr] {
        assert!(!output.contains(password), "{output}");
    }
    for path in place.results() {
        let document = std::fs::read_to_string(path).unwrap();
        assert!(!document.contains(password), "{document}");
    }
}

#[test]
fn a_password_in_the_url_is_taken_with_a_warning() {
    let server = embedded();
    let place = Place::new();
    let account = format!("smbench:{}@", server.password());
    let url = server.url().replace("smbench@", &account);
    let said = place.smbench(&run_args(&url, &["--clients=1"]));
    assert_eq!(said.code(), Some(0), "{said:?}");
    let [line] = said.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("not one line: {said:?}");
    };
    assert!(line.starts_with(WARNING), "{line}");
    for alternative in [
        "SMBENCH_PASSWORD",
        "--password-file",
        "--authentication-file",
    ] {
        assert!(line.contains(alternative), "{line}");
    }
    assert!(said.stdout.contains(&server.url()), "{said:?}");
    assert_eq!(place.document()["server"]["url"], server.url());
    keeps_secret(&place, &said, server.password());
}

#[test]
fn a_wrong_password_in_the_url_is_not_repeated() {
    let server = embedded();
    let place = Place::new();
    let url = server.url().replace("smbench@", "smbench:no-such-secret@");
    let said = place.smbench(&run_args(&url, &[]));
    assert_eq!(said.code(), Some(3), "{said:?}");
    let lines: Vec<_> = said.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{said:?}");
    assert!(lines[0].starts_with(WARNING), "{said:?}");
    assert!(lines[1].contains("failed to log on"), "{said:?}");
    assert!(
        lines[1].ends_with(" and the password (in the URL)"),
        "{said:?}"
    );
    keeps_secret(&place, &said, "no-such-secret");
}

#[test]
fn each_source_works_and_goes_before_the_next() {
    let server = embedded();
    let place = Place::new();
    let password = server.password();
    let password_file = place.write("password", &format!("{password}\nnot this\n"));
    let authentication = format!("username = smbench\npassword = {password}\n");
    let authentication_file = place.write("authentication", &authentication);
    let bare = server.url().replace("smbench@", "");
    let in_url = server
        .url()
        .replace("smbench@", &format!("smbench:{password}@"));
    for (url, variable, option) in [
        (
            server.url(),
            "wrong",
            Some(("--password-file", &password_file)),
        ),
        (
            bare,
            "wrong",
            Some(("--authentication-file", &authentication_file)),
        ),
        (server.url(), password, None),
        (in_url.clone(), password, None),
    ] {
        let mut args = vec!["probe", &url];
        if let Some((name, path)) = option {
            args.extend([name, text(path)]);
        }
        let said = place.smbench_as(variable, &args);
        assert_eq!(said.code(), Some(0), "{said:?}");
        assert!(said.stdout.contains(&server.url()), "{said:?}");
        keeps_secret(&place, &said, password);
    }
    // The server receives neither of them.
    let said = place.smbench_as("stale", &["probe", &in_url]);
    assert_eq!(said.code(), Some(2), "{said:?}");
    let refusal = "the password in the URL and that of SMBENCH_PASSWORD differ";
    assert!(said.stderr.contains(refusal), "{said:?}");
    for secret in [password, "stale"] {
        keeps_secret(&place, &said, secret);
    }
}

#[test]
fn without_any_password_the_sources_are_named() {
    let place = Place::new();
    let said = place.smbench(&["run", "--target", "smb://ann@host/share"]);
    said.failed_with(
        2,
        &[
            "no password for user ann",
            "SMBENCH_PASSWORD",
            "--password-file",
        ],
    );
}

#[test]
fn files_that_cannot_be_used_are_named_and_not_quoted() {
    let place = Place::new();
    place.write("broken", "username = ann\nhush-hush\n");
    let url = "smb://ann@host/share";
    let said = place.smbench(&["probe", url, "--authentication-file", "broken"]);
    said.failed_with(2, &["failed to read broken: line 2"]);
    assert!(!said.stderr.contains("hush-hush"), "{said:?}");
    let said = place.smbench(&["probe", url, "--password-file", "missing"]);
    said.failed_with(2, &["failed to read missing: the file does not exist"]);
}
