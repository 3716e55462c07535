//! Ways to log on: `--auth` and the options that belong to it.
//!
//! Kerberos is used if a keytab or a credential cache is given, or if `--auth` asks
//! for it. The proof of identity is then the first of these that exists:
//!
//! - `--keytab` or `--ccache`
//! - a password from any source but a prompt
//! - `KRB5_CLIENT_KTNAME`
//! - `KRB5CCNAME`
//! - the default cache
//! - a prompt
//!
//! Guest and anonymous log-ons are only used if `--auth` asks for them.

use std::env;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use smbench_model::login::{KerberosLogin, Login, Proof};
use smbench_model::target::Target;
use smbench_runner::account::kerberos_file as file;

use crate::args::{Auth, LoginArgs};
use crate::failure::Failure;
use crate::password::Sources;

/// Default path of MIT Kerberos' configuration, which `KRB5_CONFIG` overrides.
const CONFIGURATION: &str = "/etc/krb5.conf";

/// Decides how the target's user logs on, and whether a user must be named.
pub(crate) fn choose(
    args: &LoginArgs,
    target: &mut Target,
    sources: &Sources,
) -> Result<(), Failure> {
    let has_proof = args.keytab.is_some() || args.ccache.is_some();
    let auth = match args.auth.unwrap_or(Auth::Auto) {
        Auth::Auto if has_proof => Auth::Kerberos,
        Auth::Auto => Auth::Ntlm,
        auth => auth,
    };
    if auth != Auth::Kerberos {
        refuse_kerberos_options(args)?;
    }
    target.login = match auth {
        Auth::Kerberos => Login::Kerberos(kerberos(args, sources, &Environment::read())?),
        Auth::Guest => Login::Guest,
        Auth::Anonymous if !target.user.is_empty() => {
            return Err(Failure::Usage(
                "--auth anonymous needs a URL without a user".to_owned(),
            ));
        }
        Auth::Anonymous => Login::Anonymous,
        Auth::Auto | Auth::Ntlm => Login::Ntlm,
    };
    let needs_user = match &target.login {
        Login::Ntlm => true,
        Login::Kerberos(login) => login.proof == Proof::Password,
        Login::Guest | Login::Anonymous => false,
    };
    if target.user.is_empty() && needs_user {
        return Err(Failure::Usage(
            "the target names no user: write smb://USER@HOST/SHARE, or give --auth anonymous or \
             --auth guest"
                .to_owned(),
        ));
    }
    if target.user.is_empty() && target.login == Login::Guest {
        "guest".clone_into(&mut target.user);
    }
    Ok(())
}

fn refuse_kerberos_options(args: &LoginArgs) -> Result<(), Failure> {
    let given = [
        ("--keytab", args.keytab.is_some()),
        ("--ccache", args.ccache.is_some()),
        ("--realm", args.realm.is_some()),
        ("--kdc", args.kdc.is_some()),
        ("--service-principal", args.service_principal.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::Usage(format!(
            "{option} is for Kerberos: give --auth kerberos with it, or leave it out"
        ))),
    }
}

fn kerberos(
    args: &LoginArgs,
    sources: &Sources,
    environment: &Environment,
) -> Result<KerberosLogin, Failure> {
    let proof = match (&args.keytab, &args.ccache) {
        (Some(keytab), _) => Proof::Keytab(file("--keytab", keytab)?),
        (_, Some(cache)) => Proof::Cache(file("--ccache", cache)?),
        _ if sources.are_given() => Proof::Password,
        _ => environment.proof()?,
    };
    if let Some(service) = &args.service_principal
        && !is_service(service)
    {
        return Err(Failure::Usage(format!(
            "--service-principal {service}: expected a service and its host, such as \
             cifs/files.example.com"
        )));
    }
    Ok(KerberosLogin {
        proof,
        realm: args.realm.clone(),
        kdc: args.kdc.clone(),
        service: args.service_principal.clone(),
        configuration: environment.configuration.clone(),
    })
}

/// Returns whether a text is `SERVICE/HOST`, optionally with `@REALM`.
fn is_service(text: &str) -> bool {
    let name = text.rsplit_once('@').map_or(Some(text), |(name, realm)| {
        (!realm.is_empty()).then_some(name)
    });
    let parts = name.and_then(|name| name.split_once('/'));
    parts.is_some_and(|(service, host)| !service.is_empty() && !host.is_empty())
}

/// Kerberos settings of the environment.
struct Environment {
    keytab: Option<PathBuf>,
    cache: Option<PathBuf>,
    default_cache: Option<PathBuf>,
    configuration: Vec<PathBuf>,
}

impl Environment {
    fn read() -> Self {
        let path = |name| env::var_os(name).filter(|value| !value.is_empty());
        // The owner of this entry is the user of this process.
        let uid = std::fs::metadata("/proc/self").map(|entry| entry.uid());
        let default_cache = uid.map(|uid| PathBuf::from(format!("/tmp/krb5cc_{uid}")));
        Self {
            keytab: path("KRB5_CLIENT_KTNAME").map(PathBuf::from),
            cache: path("KRB5CCNAME").map(PathBuf::from),
            default_cache: default_cache.ok().filter(|path| path.exists()),
            configuration: match path("KRB5_CONFIG") {
                Some(files) => env::split_paths(&files).collect(),
                None => vec![CONFIGURATION.into()],
            },
        }
    }

    fn proof(&self) -> Result<Proof, Failure> {
        Ok(match (&self.keytab, &self.cache, &self.default_cache) {
            (Some(keytab), _, _) => Proof::Keytab(file("KRB5_CLIENT_KTNAME", keytab)?),
            (_, Some(cache), _) => Proof::Cache(file("KRB5CCNAME", cache)?),
            (_, _, Some(cache)) => Proof::Cache(cache.clone()),
            _ => Proof::Password,
        })
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::target::UrlPassword;

    use super::*;
    use crate::args::SecretArgs;

    fn chosen(url: &str, args: &LoginArgs) -> Result<Target, String> {
        let (mut target, _) = Target::parse(url).unwrap();
        let secrets = SecretArgs::default();
        let sources = Sources::open(&secrets, &mut target, UrlPassword::Absent).unwrap();
        choose(args, &mut target, &sources).map_err(|failure| failure.to_string())?;
        Ok(target)
    }

    fn auth(auth: Auth) -> LoginArgs {
        LoginArgs {
            auth: Some(auth),
            ..LoginArgs::default()
        }
    }

    #[test]
    fn a_user_logs_on_by_ntlm_unless_a_keytab_or_a_cache_is_given() {
        let target = chosen("smb://ann@host/s", &LoginArgs::default()).unwrap();
        assert_eq!(target.login, Login::Ntlm);
        for (keytab, ccache, proof) in [
            (Some("FILE:/k"), None, Proof::Keytab("/k".into())),
            (None, Some("/tmp/c"), Proof::Cache("/tmp/c".into())),
        ] {
            let args = LoginArgs {
                keytab: keytab.map(PathBuf::from),
                ccache: ccache.map(PathBuf::from),
                ..LoginArgs::default()
            };
            // The keytab or cache may decide whose keys are used.
            for url in ["smb://ann@host/s", "smb://host/s"] {
                let Login::Kerberos(login) = chosen(url, &args).unwrap().login else {
                    panic!("that asks for Kerberos");
                };
                assert_eq!(login.proof, proof);
            }
        }
    }

    #[test]
    fn guests_and_anonymous_users_need_no_user() {
        let guest = chosen("smb://host/s", &auth(Auth::Guest)).unwrap();
        assert_eq!(
            (guest.user.as_str(), &guest.login),
            ("guest", &Login::Guest)
        );
        let named = chosen("smb://ann@host/s", &auth(Auth::Guest)).unwrap();
        assert_eq!((named.user.as_str(), &named.login), ("ann", &Login::Guest));
        let nobody = chosen("smb://host/s", &auth(Auth::Anonymous)).unwrap();
        assert_eq!(nobody.login, Login::Anonymous);
        for args in [LoginArgs::default(), auth(Auth::Ntlm)] {
            let refusal = chosen("smb://host/s", &args).unwrap_err();
            assert!(refusal.contains("--auth anonymous"), "{refusal}");
        }
        let refusal = chosen("smb://ann@host/s", &auth(Auth::Anonymous)).unwrap_err();
        assert!(refusal.contains("a URL without a user"), "{refusal}");
    }

    #[test]
    fn options_of_kerberos_go_with_kerberos() {
        let realm = || Some("EXAMPLE.COM".to_owned());
        for auth in [None, Some(Auth::Ntlm), Some(Auth::Guest)] {
            let args = LoginArgs {
                auth,
                realm: realm(),
                ..LoginArgs::default()
            };
            let refusal = chosen("smb://ann@host/s", &args).unwrap_err();
            assert!(refusal.starts_with("--realm is for Kerberos"), "{refusal}");
        }
        for name in ["cifs", "cifs/", "/host", "cifs/host@", ""] {
            let args = LoginArgs {
                ccache: Some("/c".into()),
                service_principal: Some(name.to_owned()),
                ..LoginArgs::default()
            };
            let refusal = chosen("smb://host/s", &args).unwrap_err();
            assert!(refusal.contains("cifs/files.example.com"), "{refusal}");
        }
    }

    #[test]
    fn the_environment_is_asked_in_order() {
        let environment = |keytab: Option<&str>, cache: Option<&str>, default: Option<&str>| {
            let path = |name: Option<&str>| name.map(PathBuf::from);
            Environment {
                keytab: path(keytab),
                cache: path(cache),
                default_cache: path(default),
                configuration: Vec::new(),
            }
            .proof()
            .map_err(|failure| failure.to_string())
        };
        let all = environment(Some("FILE:k"), Some("c"), Some("d"));
        assert_eq!(all, Ok(Proof::Keytab("k".into())));
        let cache = environment(None, Some("c"), Some("d"));
        assert_eq!(cache, Ok(Proof::Cache("c".into())));
        let default = environment(None, None, Some("d"));
        assert_eq!(default, Ok(Proof::Cache("d".into())));
        assert_eq!(environment(None, None, None), Ok(Proof::Password));
        let refusal = environment(None, Some("KEYRING:persistent:0"), None).unwrap_err();
        assert!(
            refusal.starts_with("KRB5CCNAME names a KEYRING: store"),
            "{refusal}"
        );
    }
}
