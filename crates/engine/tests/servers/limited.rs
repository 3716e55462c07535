//! Guest and anonymous sessions, which have no key: only if they are requested.

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{SambaOptions, SambaShare, ScratchSamba, ShareAccess, Signing, Tool, require};
use smbench_model::login::Login;
use smbench_model::record::RunRecord;
use smbench_model::sessions::Mode;
use smbench_model::spec::RunOptions;
use smbench_model::spec::{SessionsSpec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::Logon;

use crate::support::{plan, short, target};

/// A Samba with a share for all users. `map` says whether unknown users become
/// guests.
fn samba(map: &str, signing: Signing) -> ScratchSamba {
    let samba = ScratchSamba::start(SambaOptions {
        extra_global: vec![format!("map to guest = {map}")],
        signing,
        shares: vec![SambaShare {
            name: "open".to_owned(),
            access: ShareAccess::ReadWrite,
            // An anonymous user does not own the files that it creates there.
            lines: [
                "guest ok = yes",
                "valid users =",
                "force directory mode = 0777",
                "force create mode = 0666",
            ]
            .map(str::to_owned)
            .to_vec(),
        }],
        ..SambaOptions::default()
    });
    let samba = samba.unwrap();
    samba.open_to_all("open").unwrap();
    samba
}

fn limited(samba: &ScratchSamba, user: &str, login: Login) -> Target {
    let url = samba.url_of("open").replace(samba.user(), user);
    Target {
        login,
        ..target(&url, "")
    }
}

fn run(target: Target, options: &RunOptions) -> Result<RunRecord, String> {
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            ..options.work.clone()
        },
        ..options.clone()
    };
    let plan = plan("file-server", &options, target);
    let record = execute(&plan, &mut Unobserved, &Cancel::default());
    record.map_err(|error| error.to_string())
}

fn check(target: Target, logon: Logon) {
    let record = run(target, &short()).unwrap();
    assert_eq!(record.server.logon, Some(logon));
    assert_eq!(
        (record.server.signing, record.server.encryption),
        (None, None)
    );
    assert_eq!(record.load_points[0].ops.errors(), 0);
    assert_eq!(record.load_points[0].dropouts, []);
    assert_eq!(record.leftover, None);
}

#[test]
fn guests_and_anonymous_users_work_unsigned_where_they_are_asked_for() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    // A server that requires signatures of users does not require them of sessions
    // without a key.
    for signing in [Signing::Optional, Signing::Required] {
        let samba = samba("Bad User", signing);
        check(limited(&samba, "nobody-here", Login::Guest), Logon::Guest);
        check(limited(&samba, "guest", Login::Ntlm), Logon::Guest);
        check(limited(&samba, "", Login::Anonymous), Logon::Anonymous);
    }
}

#[test]
fn what_was_not_asked_for_is_refused() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let generous = samba("Bad User", Signing::Optional);
    let refused = |target, options| run(target, &options).unwrap_err();
    let not_asked = refused(limited(&generous, "nobody-here", Login::Ntlm), short());
    assert!(
        not_asked.contains("ask for a guest session with auth guest"),
        "{not_asked}"
    );
    let known = Target {
        login: Login::Guest,
        ..target(&generous.url_of("open"), generous.password())
    };
    let more = refused(known, short());
    assert!(more.contains("leave out auth guest"), "{more}");
    for login in [Login::Guest, Login::Anonymous] {
        let user = match login {
            Login::Guest => "guest",
            _ => "",
        };
        let signed = RunOptions {
            sessions: SessionsSpec {
                sign: Some(Mode::Required),
                ..short().sessions
            },
            ..short()
        };
        let text = refused(limited(&generous, user, login.clone()), signed);
        assert!(text.contains("leave out sign required"), "{text}");
        let encrypted = RunOptions {
            sessions: SessionsSpec {
                encrypt: Some(Mode::Required),
                ..short().sessions
            },
            ..short()
        };
        let text = refused(limited(&generous, user, login), encrypted);
        assert!(text.contains("leave out encrypt required"), "{text}");
    }
    let strict = samba("Never", Signing::Optional);
    let text = refused(limited(&strict, "guest", Login::Guest), short());
    assert!(
        text.contains("does not allow guest or anonymous logins"),
        "{text}"
    );
    let closed = Target {
        login: Login::Anonymous,
        ..target(
            &strict.url().replace(&format!("{}@", strict.user()), ""),
            "",
        )
    };
    let text = refused(closed, short());
    assert!(text.contains("connect to share 'bench'"), "{text}");
}
