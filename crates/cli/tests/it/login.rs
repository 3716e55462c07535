//! Ways to log on, and the one-line message for each error.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::thread::{self, JoinHandle};

use smbench_lab::{KdcOptions, Password, SambaOptions, ScratchKdc, ScratchSamba, Tool, require};

use crate::support::{Place, Running, Said, embedded, free_port, run_args, text};

/// Runs `smbench` with these variables and no others of Kerberos.
fn smbench(place: &Place, variables: &[(&str, &Path)], args: &[&str]) -> Said {
    let mut command = place.command(args);
    for name in ["KRB5CCNAME", "KRB5_CLIENT_KTNAME"] {
        command.env_remove(name);
    }
    command.env("KRB5_CONFIG", place.path("no-such-krb5.conf"));
    command.envs(variables.iter().copied());
    Running::spawn(command).wait()
}

/// Probes a server that is never reached.
fn probe(place: &Place, variables: &[(&str, &Path)], more: &[&str]) -> Said {
    let url = ["probe", "smb://ann@files.example/share"];
    smbench(place, variables, &[&url, more].concat())
}

/// Encodes a DER element with a short length.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match content.len() {
        len @ 0..0x80 => bytes.push(len as u8),
        len => bytes.extend([0x81, len as u8]),
    }
    bytes.extend_from_slice(content);
    bytes
}

/// Encodes a KRB-ERROR (RFC 4120 5.9.1) of a KDC whose clock shows 2001.
fn krb_error(code: u8) -> Vec<u8> {
    let integer = |value: u8| element(0x02, &[value]);
    let name = [
        element(0xa0, &integer(1)),
        element(0xa1, &element(0x30, &element(0x1b, b"x"))),
    ];
    let fields = [
        element(0xa0, &integer(5)),
        element(0xa1, &integer(30)),
        element(0xa4, &element(0x18, b"20010909014640Z")),
        element(0xa5, &integer(0)),
        element(0xa6, &integer(code)),
        element(0xa9, &element(0x1b, b"EXAMPLE.COM")),
        element(0xaa, &element(0x30, &name.concat())),
    ];
    element(0x7e, &element(0x30, &fields.concat()))
}

/// Starts a KDC that gives the same answer to every request.
fn kdc_that_says(answer: Vec<u8>) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut len = [0; 4];
        stream.read_exact(&mut len).unwrap();
        let mut request = vec![0; u32::from_be_bytes(len) as usize];
        stream.read_exact(&mut request).unwrap();
        stream
            .write_all(&(answer.len() as u32).to_be_bytes())
            .unwrap();
        stream.write_all(&answer).unwrap();
    });
    (address, serving)
}

#[test]
fn what_a_kdc_refuses_is_reported_in_a_line() {
    for (code, expected) in [
        (6, "the KDC knows no user ann@EXAMPLE.COM; check the user"),
        (18, "the KDC has closed the account of ann@EXAMPLE.COM"),
        (23, "the password of ann@EXAMPLE.COM has expired"),
        (
            24,
            "the password of ann@EXAMPLE.COM is wrong; check the password",
        ),
        (37, "the clocks of this machine and of the KDC differ by"),
        (60, "the KDC refuses with error 60"),
    ] {
        let place = Place::new();
        let (address, serving) = kdc_that_says(krb_error(code));
        let kdc = address.to_string();
        let password = place.write("password", "secret");
        let said = probe(
            &place,
            &[],
            &[
                "--auth=kerberos",
                "--realm=EXAMPLE.COM",
                "--kdc",
                &kdc,
                "--password-file",
                text(&password),
            ],
        );
        said.failed_with(3, &["cifs/files.example@EXAMPLE.COM", &kdc, expected]);
        serving.join().unwrap();
    }
}

#[test]
fn a_kdc_that_is_not_there_or_not_known_is_reported_with_the_remedy() {
    let place = Place::new();
    let password = place.write("password", "secret");
    let kerberos = ["--auth=kerberos", "--password-file", text(&password)];
    let more = |options: &[&str]| probe(&place, &[], &[&kerberos, options].concat());
    more(&[]).failed_with(3, &["realm is not known", "--realm", "KRB5_CONFIG"]);
    let said = more(&["--realm=EXAMPLE.COM"]);
    said.failed_with(3, &["no KDC of realm EXAMPLE.COM is known", "--kdc HOST"]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap().to_string();
    drop(listener);
    let said = more(&["--realm=EXAMPLE.COM", "--kdc", &closed]);
    said.failed_with(3, &["failed to reach the KDC", &closed, "check --kdc"]);
    // The configuration file has both values.
    let configuration = place.write(
        "krb5.conf",
        &format!("[libdefaults]\ndefault_realm = LAB\n[realms]\nLAB = {{\nkdc = {closed}\n}}\n"),
    );
    let said = probe(&place, &[("KRB5_CONFIG", &configuration)], &kerberos);
    said.failed_with(3, &["failed to reach the KDC of realm LAB", &closed]);
}

#[test]
fn a_suite_names_its_password_and_its_files_as_it_says() {
    let place = Place::new();
    let closed = format!("127.0.0.1:{}", free_port());
    let missing = place.path("missing");
    let server = |name: &str, proof: &str| {
        format!(
            "[[servers]]\nname = \"{name}\"\nurl = \"smb://ann@files.example/s\"\n\
             auth = \"kerberos\"\nrealm = \"LAB\"\nkdc = \"{closed}\"\n{proof}\n"
        )
    };
    let servers = [
        server("password", "password_env = \"NAS_PASSWORD\""),
        server("absolute", &format!("ccache = \"FILE:{}\"", text(&missing))),
        server("relative", "keytab = \"FILE:missing\""),
    ];
    std::fs::create_dir(place.path("suites")).unwrap();
    place.write(
        "suites/three.toml",
        &format!("clients = \"1\"\n{}", servers.concat()),
    );
    // The password is only requested if there is none.
    let variables = [
        ("NAS_PASSWORD", Path::new("secret")),
        ("KRB5CCNAME", Path::new("no-such-cache")),
    ];
    let args = [
        "suite",
        "suites/three.toml",
        "--calibration=off",
        "--out=study",
        "--quiet",
    ];
    let said = smbench(&place, &variables, &args);
    assert_eq!(said.code(), Some(3), "{said:?}");
    for part in [
        "password: 1 load point not measured: failed to reach the KDC of realm LAB",
        &format!(
            "absolute: 1 load point not measured: failed to read the credential cache {}",
            text(&missing)
        ),
        "relative: 1 load point not measured: failed to read the keytab suites/missing",
    ] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
}

#[test]
fn files_that_are_missing_or_none_are_bad_usage() {
    let place = Place::new();
    let nonsense = place.write("nonsense", "no such thing");
    let said = probe(&place, &[], &["--ccache", text(&nonsense)]);
    said.failed_with(2, &["credential cache", "nonsense", "format 3 or 4"]);
    let said = probe(&place, &[], &["--keytab", text(&nonsense)]);
    said.failed_with(2, &["keytab", "nonsense", "format 2"]);
    let url = "smb://ann@files.example/share";
    let said = smbench(&place, &[], &run_args(url, &["--keytab", text(&nonsense)]));
    said.failed_with(2, &["keytab", "nonsense", "format 2"]);
    let said = probe(&place, &[], &["--ccache", "missing"]);
    said.failed_with(2, &["credential cache missing", "run kinit"]);
    let said = probe(&place, &[], &["--keytab", "missing"]);
    said.failed_with(2, &["keytab missing", "check the name"]);
}

/// Returns a keytab of MIT's format 2 with one key of bob.
fn keytab() -> Vec<u8> {
    let counted = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes(), bytes].concat();
    let entry = [
        vec![0, 1],
        counted(b"EXAMPLE.COM"),
        counted(b"bob"),
        vec![0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 17],
        counted(&[7; 16]),
    ]
    .concat();
    [&[5, 2][..], &(entry.len() as u32).to_be_bytes(), &entry].concat()
}

/// Returns a credential cache of format 4 with a ticket of ann that ended in 1970.
fn expired_cache() -> Vec<u8> {
    let counted = |bytes: &[u8]| [&(bytes.len() as u32).to_be_bytes(), bytes].concat();
    let principal = |components: &[&[u8]]| {
        let names: Vec<_> = components.iter().map(|name| counted(name)).collect();
        let head = [[0, 0, 0, 1], (components.len() as u32).to_be_bytes()].concat();
        [head, counted(b"EXAMPLE.COM"), names.concat()].concat()
    };
    let ann = principal(&[b"ann"]);
    [
        vec![5, 4, 0, 0],
        ann.clone(),
        ann,
        principal(&[b"krbtgt", b"EXAMPLE.COM"]),
        vec![0, 17],
        counted(&[7; 16]),
        // Times, the third being the end; then no flags, addresses and
        // authorization data.
        [[0; 4], [0; 4], [0, 0, 0, 9], [0; 4]].concat(),
        vec![0; 1 + 4 + 4 + 4],
        counted(b"ticket"),
        counted(b""),
    ]
    .concat()
}

#[test]
fn a_keytab_without_the_user_and_an_expired_cache_say_what_to_do() {
    let place = Place::new();
    let path = place.path("bob.keytab");
    std::fs::write(&path, keytab()).unwrap();
    let said = probe(
        &place,
        &[],
        &["--keytab", text(&path), "--realm=EXAMPLE.COM"],
    );
    said.failed_with(3, &["the keytab has no key of ann@EXAMPLE.COM", "klist -k"]);
    let path = place.path("ann.ccache");
    std::fs::write(&path, expired_cache()).unwrap();
    let said = probe(&place, &[], &["--ccache", text(&path)]);
    said.failed_with(3, &["the ticket of ann@EXAMPLE.COM expired", "run kinit"]);
    let variable = [("KRB5CCNAME", path.as_path())];
    let said = probe(&place, &variable, &["--auth=kerberos"]);
    said.failed_with(3, &["the ticket of ann@EXAMPLE.COM expired", "run kinit"]);
    let url = "smb://eve@files.example/share";
    let said = smbench(&place, &[], &["probe", url, "--ccache", text(&path)]);
    said.failed_with(3, &["is of ann@EXAMPLE.COM, not of user 'eve'"]);
}

#[test]
fn options_that_do_not_go_together_are_bad_usage() {
    let place = Place::new();
    for (options, expected) in [
        (
            &["--auth=ntlm", "--keytab=k"][..],
            "--keytab is for Kerberos",
        ),
        (&["--kdc=host"], "--kdc is for Kerberos"),
        (&["--auth=anonymous"], "a URL without a user"),
        (&["--keytab=k", "--ccache=c"], "cannot be used with"),
        (&["--auth=smartcard"], "smartcard"),
        (&["--auth=kerberos", "--kdc=host:x"], "HOST:PORT"),
        (&["--ccache=KCM:0"], "KCM: store"),
        (
            &["--ccache=c", "--service-principal=files"],
            "expected a service and its host",
        ),
    ] {
        probe(&place, &[], options).failed_with(2, &[expected]);
    }
    let keyring = [("KRB5CCNAME", Path::new("KEYRING:persistent:0"))];
    let said = probe(&place, &keyring, &["--auth=kerberos"]);
    said.failed_with(2, &["KRB5CCNAME names a KEYRING: store"]);
}

#[test]
fn a_plan_tells_how_a_run_would_log_on() {
    let place = Place::new();
    let url = "smb://files.example/share";
    for (options, expected) in [
        (&["--auth=guest"][..], "log on       as a guest"),
        (&["--auth=anonymous"], "log on       anonymously"),
        (
            &["--keytab=k"],
            "log on       by Kerberos, with the keytab k",
        ),
    ] {
        let said = smbench(&place, &[], &[&["plan", "--target", url], options].concat());
        assert_eq!(said.code(), Some(0), "{said:?}");
        assert!(said.stdout.contains(expected), "{said:?}");
    }
}

#[test]
fn a_server_without_guests_refuses_them() {
    let server = embedded();
    let place = Place::new();
    let url = server.url().replace("smbench@", "");
    for (auth, expected) in [
        ("--auth=guest", "failed to log on as a guest"),
        ("--auth=anonymous", "failed to log on anonymously"),
    ] {
        let said = smbench(&place, &[], &run_args(&url, &[auth]));
        said.failed_with(3, &[expected, "does not allow guest or anonymous logins"]);
    }
    let said = place.run(&server.url(), server.password(), &["--auth=ntlm"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(said.stdout.contains(", ntlm, "), "{said:?}");
    assert_eq!(place.document()["server"]["auth"], "ntlm");
}

#[test]
fn a_ticket_of_kinit_is_enough_for_a_run() {
    let missing = require(&[Tool::SMBD, Tool::PDBEDIT]).and_then(|()| require(&ScratchKdc::TOOLS));
    if let Err(skip) = missing {
        return eprintln!("{skip}");
    }
    let kdc = ScratchKdc::start(KdcOptions::default()).unwrap();
    let keytab = kdc.add_service("cifs", "127.0.0.1").unwrap();
    let samba = ScratchSamba::start(SambaOptions {
        kerberos: Some(kdc.samba(keytab)),
        ..SambaOptions::default()
    })
    .unwrap();
    let password = Password::random().unwrap();
    kdc.add_user(samba.user(), &password).unwrap();
    let cache = kdc.kinit(samba.user(), &password).unwrap();
    let configuration = kdc.configuration();
    let variables = [
        ("KRB5CCNAME", cache.as_path()),
        ("KRB5_CONFIG", configuration.as_path()),
    ];
    let url = samba.url().replace(&format!("{}@", samba.user()), "");
    let place = Place::new();
    let args = run_args(&url, &["--auth=kerberos", "--clients=2"]);
    let said = smbench(&place, &variables, &args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(said.stdout.contains(", kerberos, "), "{said:?}");
    assert_eq!(place.document()["server"]["auth"], "kerberos");
    let said = smbench(&place, &variables, &["cleanup", &url, "--auth=kerberos"]);
    assert_eq!(said.stdout, "nothing to remove\n", "{said:?}");
}
