//! Which source a password comes from, and how its files are read.

use super::*;

#[test]
fn smbclients_authentication_file_is_read() {
    let text = "# mine\nusername = ann\nPassword=a = b \r\n\n  domain =\tWORK\nrealm = x\n";
    let file = Authentication::parse(text).ok().unwrap();
    assert_eq!(file.username.as_deref(), Some("ann"));
    assert_eq!(file.password.as_deref(), Some("a = b "));
    assert_eq!(file.domain.as_deref(), Some("WORK"));
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_password_or_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("windows");
    std::fs::write(&path, "\u{feff}pw\n").unwrap();
    let args = SecretArgs {
        password_file: Some(path.clone()),
        ..SecretArgs::default()
    };
    let (mut target, url) = Target::parse("smb://ann@host/share").unwrap();
    let sources = Sources::open(&args, &mut target, url).unwrap();
    assert_eq!(sources.password(&target).unwrap().expose(), "pw");
    std::fs::write(&path, "\u{feff}username = ann\n").unwrap();
    let file = Authentication::read(&path).ok().unwrap();
    assert_eq!(file.username.as_deref(), Some("ann"));
}

#[test]
fn a_line_that_makes_no_sense_is_numbered() {
    for (text, line) in [("username = ann\nsecret", 2), ("pass = x", 1)] {
        assert_eq!(Authentication::parse(text).err(), Some(line));
    }
}

#[test]
fn the_url_goes_before_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth");
    std::fs::write(&path, "username = bob\ndomain = HOME\npassword = pw\n").unwrap();
    let args = SecretArgs {
        authentication_file: Some(path),
        ..SecretArgs::default()
    };
    for (url, account) in [
        ("smb://host/share", ("HOME", "bob")),
        ("smb://ann@host/share", ("HOME", "ann")),
        ("smb://WORK;ann@host/share", ("WORK", "ann")),
    ] {
        let (mut target, found) = Target::parse(url).unwrap();
        let sources = Sources::open(&args, &mut target, found).unwrap();
        assert_eq!((target.domain.as_str(), target.user.as_str()), account);
        assert_eq!(sources.password(&target).unwrap().expose(), "pw");
        assert!(!format!("{sources:?}").contains("pw"), "{sources:?}");
    }
}

#[test]
fn a_password_in_the_url_must_not_differ_from_that_of_another_source() {
    let folder = tempfile::tempdir().unwrap();
    let file = |text: &str| {
        let path = folder.path().join(format!("with {}", text.trim()));
        std::fs::write(&path, text).unwrap();
        Some(path)
    };
    let nowhere = || Some("SMBENCH_TEST_NOT_SET".to_owned());
    // Tests can rely on PATH: it is always set, and not a secret.
    let variable = env::var("PATH").unwrap();
    let from_variable = || SecretArgs {
        password_env: Some("PATH".to_owned()),
        ..SecretArgs::default()
    };
    let from_password_file = |text| SecretArgs {
        password_file: file(text),
        password_env: nowhere(),
        ..SecretArgs::default()
    };
    let from_authentication_file = |text| SecretArgs {
        authentication_file: file(text),
        password_env: nowhere(),
        ..SecretArgs::default()
    };
    let differs = |source| {
        Err(format!(
            "the password in the URL and that of {source} differ: leave one of them out"
        ))
    };
    for (in_url, args, expected) in [
        ("right", from_variable(), differs("PATH".to_owned())),
        (&variable, from_variable(), Ok(&variable[..])),
        ("right", from_password_file("right\n"), Ok("right")),
        (
            "right",
            from_password_file("stale\n"),
            differs("the password file".to_owned()),
        ),
        (
            "right",
            from_authentication_file("password = right"),
            Ok("right"),
        ),
        (
            "right",
            from_authentication_file("password = stale"),
            differs("the authentication file".to_owned()),
        ),
    ] {
        let (mut target, found) = Target::parse("smb://ann:x@host/share").unwrap();
        target.password = Secret::new(in_url);
        let sources = Sources::open(&args, &mut target, found);
        let password = sources.and_then(|sources| sources.password(&target));
        let password = password.map_err(|error| error.to_string());
        let found = password.as_ref().map(Secret::expose).map_err(Clone::clone);
        assert_eq!(found, expected);
        if let Err(message) = expected {
            for secret in ["right", "stale", &variable] {
                assert!(!message.contains(secret), "{message}");
            }
        }
    }
}

/// Messages about a wrong password name its source.
#[test]
fn a_password_comes_with_the_place_where_the_user_gave_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "password = pw\n").unwrap();
    let none = SecretArgs {
        password_env: Some("SMBENCH_TEST_NOT_SET".to_owned()),
        ..SecretArgs::default()
    };
    for (url, args, note) in [
        ("smb://ann:pw@host/share", none, " (in the URL)"),
        (
            "smb://ann@host/share",
            SecretArgs {
                password_file: Some(path.clone()),
                ..SecretArgs::default()
            },
            " (the password file)",
        ),
        (
            "smb://ann@host/share",
            SecretArgs {
                authentication_file: Some(path),
                ..SecretArgs::default()
            },
            " (the authentication file)",
        ),
        (
            "smb://ann@host/share",
            SecretArgs {
                password_env: Some("PATH".to_owned()),
                ..SecretArgs::default()
            },
            " (PATH)",
        ),
    ] {
        let (mut target, found) = Target::parse(url).unwrap();
        let sources = Sources::open(&args, &mut target, found).unwrap();
        assert_eq!(sources.password(&target).unwrap().source_note(), note);
    }
}

#[test]
fn only_the_first_line_of_a_password_file_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("password");
    for (text, password) in [
        ("pw \r\nmore", Some("pw ")),
        ("pw", Some("pw")),
        ("", None),
        ("\r\npw\n", None),
    ] {
        std::fs::write(&path, text).unwrap();
        let args = SecretArgs {
            password_file: Some(path.clone()),
            ..SecretArgs::default()
        };
        let (mut target, found) = Target::parse("smb://ann@host/share").unwrap();
        let sources = Sources::open(&args, &mut target, found).unwrap();
        let read = sources.password(&target);
        let read = read.as_ref().map(Secret::expose).ok();
        assert_eq!(read, password, "an empty password costs a failed log-on");
    }
}

#[test]
fn an_unreadable_file_is_named_by_path_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("password");
    std::fs::write(&path, b"ok\nse\xffcret").unwrap();
    let error = read(&path, FILE_BYTES_MAX).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("failed to read {}: line 2 is not UTF-8", path.display())
    );
}
