//! Kerberos with a real KDC and a Samba with a keytab: whole runs, and the messages
//! if there is no ticket.

use std::time::Duration;

use smbench_engine::run::{Unobserved, execute};
use smbench_engine::{Cancel, probe};
use smbench_formats::profile;
use smbench_lab::{
    KdcOptions, Password, SambaOptions, ScratchKdc, ScratchSamba, Skip, Tool, require,
};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::login::{KerberosLogin, Login, Proof};
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::RunRecord;
use smbench_model::secret::Secret;
use smbench_model::sessions::Mode;
use smbench_model::spec::RunOptions;
use smbench_model::spec::{SessionsSpec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::{Dialect, Logon};

use crate::support::{plan, short};

/// Skips a test with a message, or fails it in CI.
fn tools() -> Result<(), Skip> {
    require(&[Tool::SMBD, Tool::PDBEDIT])?;
    require(&ScratchKdc::TOOLS)
}

/// A KDC and a Samba that trusts it. The Samba's account is also a user of the KDC,
/// with another password.
struct Lab {
    kdc: ScratchKdc,
    samba: ScratchSamba,
    password: Password,
}

impl Lab {
    fn start() -> Self {
        Self::with_kdc(KdcOptions::default())
    }

    fn with_kdc(options: KdcOptions) -> Self {
        Self::with(options, &[])
    }

    /// Starts the lab with these lines of the global section of `smb.conf`.
    fn with(options: KdcOptions, lines: &[&str]) -> Self {
        let kdc = ScratchKdc::start(options).unwrap();
        let keytab = kdc.add_service("cifs", "127.0.0.1").unwrap();
        let samba = ScratchSamba::start(SambaOptions {
            kerberos: Some(kdc.samba(keytab)),
            extra_global: lines.iter().map(ToString::to_string).collect(),
            ..SambaOptions::default()
        })
        .unwrap();
        let password = Password::random().unwrap();
        kdc.add_user(samba.user(), &password).unwrap();
        Self {
            kdc,
            samba,
            password,
        }
    }

    fn target(&self, proof: Proof) -> Target {
        let (mut target, _) = Target::parse(&self.samba.url()).unwrap();
        target.password = Secret::new(self.password.as_str());
        target.login = Login::Kerberos(KerberosLogin {
            proof,
            configuration: vec![self.kdc.configuration()],
            ..KerberosLogin::default()
        });
        target
    }

    /// Returns the number of service tickets that the KDC has issued.
    fn tickets(&self) -> usize {
        self.kdc.log().matches("TGS_REQ").count()
    }
}

fn run(target: Target, options: &RunOptions) -> Result<RunRecord, String> {
    let plan = plan("file-server", options, target);
    let record = execute(&plan, &mut Unobserved, &Cancel::default());
    record.map_err(|error| error.to_string())
}

#[test]
fn a_password_a_keytab_and_a_cache_log_on_plain_signed_and_encrypted() {
    if let Err(skip) = tools() {
        return eprintln!("{skip}");
    }
    let lab = Lab::start();
    let user = lab.samba.user();
    let cache = lab.kdc.kinit(user, &lab.password).unwrap();
    let keytab = lab.kdc.keytab(user).unwrap();
    let protections = [
        (Mode::Off, Mode::Off),
        (Mode::Required, Mode::Off),
        (Mode::Auto, Mode::Required),
    ];
    for proof in [Proof::Password, Proof::Keytab(keytab), Proof::Cache(cache)] {
        for (sign, encrypt) in protections {
            let before = lab.tickets();
            let options = RunOptions {
                work: WorkSpec {
                    clients: Some("3".parse().unwrap()),
                    verify: Some(Verify::ReadBack),
                    ..short().work
                },
                sessions: SessionsSpec {
                    sign: Some(sign),
                    encrypt: Some(encrypt),
                    ..short().sessions
                },
                ..short()
            };
            let record = run(lab.target(proof.clone()), &options).unwrap();
            let facts = &record.server;
            assert_eq!(facts.logon, Some(Logon::Kerberos));
            assert_eq!(facts.signing.is_some(), sign == Mode::Required);
            assert_eq!(facts.encryption.is_some(), encrypt == Mode::Required);
            let [point] = &record.load_points[..] else {
                panic!("one load point was asked for");
            };
            assert_eq!(point.ops.errors(), 0, "{:?}", point.ops.failures());
            assert_eq!(point.dropouts, []);
            assert!(point.ops.window_all().count() > 0);
            assert_eq!(record.leftover, None);
            // One ticket serves all sessions of a run.
            assert_eq!(lab.tickets() - before, 1, "{proof:?}");
        }
    }
}

/// Options of a load in which tickets expire before it ends: all at once, and more than once.
fn expiring(sessions: SessionsSpec) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some("4".parse().unwrap()),
            outstanding: Some(4),
            duration: Some(Duration::from_secs(9)),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        sessions,
        ..short()
    }
}

/// Nothing but watches, so that only their cancels end them.
const WATCHES: &str = "operations = [{ op = \"change_notify\", weight = 100 }]";

/// Checks that all sessions of a load were authenticated again, and that no operation was lost.
fn check_renewals(plan: &Plan) {
    let record = execute(plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.server.logon, Some(Logon::Kerberos));
    let [point] = &record.load_points[..] else {
        panic!("one load point was asked for");
    };
    let (profile, failures) = (&plan.work.profile, point.ops.failures());
    assert!(failures.is_empty(), "{profile}: {failures:?}");
    assert_eq!((&point.invalid, &point.dropouts), (&None, &vec![]));
    let renewals = point.ops.window(OpKind::Reauthentication);
    // At least one for each session, even after a slow start.
    assert!(renewals.count() >= 4, "{profile}: {}", renewals.count());
    assert_eq!(record.leftover, None);
}

#[test]
fn sessions_that_expire_under_load_are_authenticated_again() {
    if let Err(skip) = tools() {
        return eprintln!("{skip}");
    }
    let lab = Lab::with(KdcOptions::default(), &[ScratchSamba::CIFS]);
    lab.kdc
        .limit_life("cifs/127.0.0.1", Duration::from_secs(4))
        .unwrap();
    let two_sessions = SessionsSpec {
        sessions_per_connection: Some(2),
        ..short().sessions
    };
    let in_cifs = SessionsSpec {
        dialect: Some(Dialect::Cifs.into()),
        ..two_sessions.clone()
    };
    // A shared lock also refuses the WRITEs of its own client, which has several in flight.
    let (met, apart) = (
        r#"{ op = "lock", w"#,
        r#"{ op = "lock", past_end = true, w"#,
    );
    let everything = crate::cifs::EVERYTHING.replace(met, apart);
    let everything = Profile::parse("everything", &everything).unwrap();
    let by_name = |name| profile::load(name).unwrap();
    let cases = [
        (
            by_name("file-server"),
            SessionsSpec {
                sign: Some(Mode::Required),
                ..short().sessions
            },
        ),
        (
            by_name("all-commands"),
            SessionsSpec {
                encrypt: Some(Mode::Required),
                ..two_sessions.clone()
            },
        ),
        (
            by_name("file-server"),
            SessionsSpec {
                connections_per_session: Some(2),
                ..two_sessions
            },
        ),
        (by_name("file-server"), in_cifs.clone()),
        (everything, in_cifs.clone()),
        (Profile::parse("watches", WATCHES).unwrap(), in_cifs),
    ];
    std::thread::scope(|scope| {
        for (profile, sessions) in cases {
            let target = lab.target(Proof::Password);
            scope.spawn(move || {
                let options = expiring(sessions);
                let limits = Limits::default();
                check_renewals(&Plan::resolve(&profile, &options, target, limits, 2).unwrap());
            });
        }
    });
}

#[test]
fn every_encryption_type_that_is_spoken_works() {
    if let Err(skip) = tools() {
        return eprintln!("{skip}");
    }
    for encryption in [
        "aes128-cts-hmac-sha1-96",
        "aes256-cts-hmac-sha1-96",
        "aes128-cts-hmac-sha256-128",
        "aes256-cts-hmac-sha384-192",
    ] {
        let lab = Lab::with_kdc(KdcOptions {
            encryption: Some(encryption.to_owned()),
            ..KdcOptions::default()
        });
        let keytab = lab.kdc.keytab(lab.samba.user()).unwrap();
        for proof in [Proof::Password, Proof::Keytab(keytab)] {
            let options = RunOptions {
                work: WorkSpec {
                    clients: Some("1".parse().unwrap()),
                    ..short().work
                },
                sessions: SessionsSpec {
                    sign: Some(Mode::Required),
                    ..short().sessions
                },
                ..short()
            };
            let record = run(lab.target(proof), &options);
            let record = record.unwrap_or_else(|error| panic!("{encryption}: {error}"));
            assert_eq!(record.load_points[0].ops.errors(), 0);
        }
    }
}

/// The whole session key signs, whatever its length.
#[test]
fn cifs_logs_on_and_signs_with_keys_of_each_length() {
    if let Err(skip) = tools() {
        return eprintln!("{skip}");
    }
    for encryption in ["aes128-cts-hmac-sha1-96", "aes256-cts-hmac-sha1-96"] {
        let options = KdcOptions {
            encryption: Some(encryption.to_owned()),
            ..KdcOptions::default()
        };
        let lab = Lab::with(options, &[ScratchSamba::CIFS, "server signing = auto"]);
        for sign in [Mode::Off, Mode::Required] {
            let options = RunOptions {
                sessions: SessionsSpec {
                    dialect: Some("cifs".parse().unwrap()),
                    sign: Some(sign),
                    ..short().sessions
                },
                ..short()
            };
            let plan = plan("read-4k", &options, lab.target(Proof::Password));
            let record = execute(&plan, &mut Unobserved, &Cancel::default());
            let record = record.unwrap_or_else(|error| panic!("{encryption}: {error}"));
            let facts = &record.server;
            assert_eq!(facts.dialect, Some(Dialect::Cifs));
            assert_eq!(facts.logon, Some(Logon::Kerberos));
            assert_eq!(facts.signing.is_some(), sign == Mode::Required);
            assert_eq!(record.load_points[0].ops.errors(), 0);
        }
    }
}

#[test]
fn a_probe_tells_how_it_logged_on() {
    if let Err(skip) = tools() {
        return eprintln!("{skip}");
    }
    let lab = Lab::start();
    let target = lab.target(Proof::Password);
    let (options, limits) = (Default::default(), Default::default());
    let probed = probe::probe(&target, options, limits, &Cancel::default());
    let found = probed.unwrap().smb2().unwrap();
    assert_eq!(found.session.terms.logon, Logon::Kerberos);
    // One ticket is enough for every dialect, algorithm and cipher.
    let mut dialects = found.dialects.iter();
    assert!(dialects.all(|(dialect, outcome)| outcome.is_ok() == (*dialect != Dialect::Cifs)));
    assert!(found.signing.iter().all(|(_, outcome)| outcome.is_ok()));
    assert!(found.ciphers.iter().all(|(_, outcome)| outcome.is_ok()));
    assert_eq!(lab.tickets(), 1);
}

#[test]
fn each_missing_ticket_has_its_line() {
    if let Err(skip) = tools() {
        return eprintln!("{skip}");
    }
    let lab = Lab::start();
    let (user, realm) = (lab.samba.user(), lab.kdc.realm());
    let at = lab.kdc.address();
    let service = format!("cifs/127.0.0.1@{realm}");
    let refused = |change: &dyn Fn(&mut Target, &mut KerberosLogin)| {
        let mut target = lab.target(Proof::Password);
        let Login::Kerberos(mut login) = std::mem::take(&mut target.login) else {
            unreachable!("that is what it is");
        };
        change(&mut target, &mut login);
        target.login = Login::Kerberos(login);
        run(target, &short()).unwrap_err()
    };
    let failed = format!("failed to get a Kerberos ticket for {service}");
    assert_eq!(
        refused(&|target, _| target.password = Secret::new("wrong").given_in("a file")),
        format!(
            "{failed} from the KDC at {at}: the password of {user}@{realm} is wrong; \
             check the password (a file)"
        )
    );
    assert_eq!(
        refused(&|target, _| "nobody-here".clone_into(&mut target.user)),
        format!(
            "{failed} from the KDC at {at}: the KDC knows no user nobody-here@{realm}; \
             check the user in the target URL, and realm"
        )
    );
    assert_eq!(
        refused(&|_, login| login.service = Some("cifs/elsewhere".to_owned())),
        format!(
            "failed to get a Kerberos ticket for cifs/elsewhere@{realm} from the KDC at {at}: \
             the KDC knows no service cifs/elsewhere@{realm}; write the server's full name in \
             the target URL, or name the service with service_principal"
        )
    );
    let keytab = lab.kdc.keytab(user).unwrap();
    assert_eq!(
        refused(&|target, login| {
            "ann".clone_into(&mut target.user);
            login.proof = Proof::Keytab(keytab.clone());
        }),
        format!(
            "{failed}: the keytab has no key of ann@{realm}; check the user in the target URL \
             and realm against `klist -k`"
        )
    );
    let cache = lab.kdc.kinit(user, &lab.password).unwrap();
    let other = refused(&|target, login| {
        "ann".clone_into(&mut target.user);
        login.proof = Proof::Cache(cache.clone());
    });
    assert!(
        other.contains(&format!("is of {user}@{realm}, not of user 'ann'")),
        "{other}"
    );
    let nowhere = refused(&|_, login| login.realm = Some("NOWHERE".to_owned()));
    assert!(
        nowhere.contains("no KDC of realm NOWHERE is known; give kdc HOST"),
        "{nowhere}"
    );
    let unknown = refused(&|_, login| login.configuration.clear());
    assert!(
        unknown.contains("the user's realm is not known; give realm"),
        "{unknown}"
    );
    // The server has no key of the ticket's service.
    lab.kdc.add_service("cifs", "elsewhere").unwrap();
    let stranger = refused(&|_, login| login.service = Some("cifs/elsewhere".to_owned()));
    assert!(
        stranger.contains("check that the server's keytab has this service"),
        "{stranger}"
    );
}

#[test]
fn the_wrong_key_in_a_keytab_and_a_locked_account_are_reported() {
    if let Err(skip) = tools() {
        return eprintln!("{skip}");
    }
    let lab = Lab::start();
    let user = lab.samba.user();
    let keytab = lab.kdc.keytab(user).unwrap();
    lab.kdc
        .change_password(user, &Password::random().unwrap())
        .unwrap();
    let stale = run(lab.target(Proof::Keytab(keytab)), &short()).unwrap_err();
    assert!(
        stale.contains("is not the one that the KDC has; write a new keytab"),
        "{stale}"
    );
    lab.kdc.lock(user).unwrap();
    let locked = run(lab.target(Proof::Password), &short()).unwrap_err();
    assert!(
        locked.contains("the KDC has closed the account"),
        "{locked}"
    );
}
