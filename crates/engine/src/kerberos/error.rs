//! Why there is no Kerberos ticket: one clear line each, naming what, where
//! and what to do.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use smbench_protocol::kerberos::{KerberosError, MalformedFile, Principal};
use thiserror::Error;

/// No ticket for the file server.
#[derive(Debug, Error)]
pub enum TicketError {
    /// A file cannot be read.
    #[error("failed to read {what} {}: {source}{}", path.display(), file_advice(.source))]
    Unreadable {
        /// What the file is.
        what: &'static str,
        /// Its name.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("failed to read {what} {}: {source}", path.display())]
    Malformed {
        /// What the file should be.
        what: &'static str,
        /// Its name.
        path: PathBuf,
        /// What is wrong with it.
        source: MalformedFile,
    },
    /// Nobody says in which realm the user is.
    #[error(
        "failed to log on by Kerberos: the user's realm is not known; give --realm, or set default_realm in krb5.conf (KRB5_CONFIG)"
    )]
    NoRealm,
    /// Nobody says who the user is.
    #[error(
        "failed to log on by Kerberos: the keytab {} has keys of several principals; name the user in the target URL, as in smb://USER@HOST/SHARE",
        path.display()
    )]
    WhichUser {
        /// The keytab.
        path: PathBuf,
    },
    /// A keytab without any keys.
    #[error("failed to log on by Kerberos: the keytab {} is empty; write a new one", path.display())]
    EmptyKeytab {
        /// The keytab.
        path: PathBuf,
    },
    /// The cache is someone else's.
    #[error(
        "failed to log on by Kerberos: the credential cache {} is of {owner}, not of user '{user}'; run kinit for that user, or leave the user out of the target URL",
        path.display()
    )]
    OtherUser {
        /// The cache.
        path: PathBuf,
        /// Whose it is.
        owner: Principal,
        /// Who is to log on.
        user: String,
    },
    /// Nobody says where the realm's KDC is.
    #[error(
        "failed to log on by Kerberos: no KDC of realm {realm} is known; give --kdc HOST, or name it in krb5.conf (KRB5_CONFIG) under [realms]"
    )]
    NoKdc {
        /// The realm.
        realm: String,
    },
    /// The KDC cannot be reached.
    #[error(
        "failed to reach the KDC of realm {realm} at {at}: {source}; check --kdc or krb5.conf, and that the KDC is up"
    )]
    Unreachable {
        /// The realm.
        realm: String,
        /// Host and port.
        at: String,
        /// The reason.
        source: io::Error,
    },
    /// The KDC does not answer.
    #[error(
        "failed to reach the KDC of realm {realm} at {at}: no answer within {}; check --kdc or krb5.conf, and that no firewall drops the packets",
        humantime::format_duration(*.limit)
    )]
    Timeout {
        /// The realm.
        realm: String,
        /// Host and port.
        at: String,
        /// How long it waited.
        limit: Duration,
    },
    /// The KDC refuses, or there is nothing to ask it with.
    #[error("failed to get a Kerberos ticket for {service}{}: {source}{}", at.as_ref().map(|at| format!(" from {at}")).unwrap_or_default(), advice(.source))]
    Refused {
        /// What the ticket is for.
        service: Principal,
        /// The KDC, if one was asked.
        at: Option<String>,
        /// The reason.
        source: Box<KerberosError>,
    },
}

fn file_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; check the name, or run kinit for a credential cache",
        io::ErrorKind::PermissionDenied => "; run as a user who may read it",
        _ => "",
    }
}

/// What a user can do about it, as the tail of a sentence.
pub(crate) const fn advice(error: &KerberosError) -> &'static str {
    match error {
        KerberosError::UnknownUser(_) => "; check the user in the target URL, and --realm",
        KerberosError::UnknownService(_) => {
            "; write the server's full name in the target URL, or name the service with --service-principal"
        }
        KerberosError::WrongPassword(_) => "; check the password (SMBENCH_PASSWORD)",
        KerberosError::WrongKey(_) => "; write a new keytab",
        KerberosError::ClockSkew(_) => "; set this machine's clock",
        KerberosError::WrongRealm { .. } => "; give it with --realm",
        KerberosError::NotInKeytab(_) => {
            "; check the user in the target URL and --realm against `klist -k`"
        }
        KerberosError::NoUsableKey(_) => "; write a new keytab with AES keys",
        KerberosError::NoTicket(_) | KerberosError::Expired { .. } => "; run kinit",
        KerberosError::NoSharedEncryption(_) => "; enable AES for it in the KDC",
        KerberosError::ServerUnproven(_) => {
            "; another server may be answering in its place, or its keytab is not of this service"
        }
        KerberosError::ServerRefuses { .. } => {
            "; check the server's keytab and clock, and --service-principal"
        }
        KerberosError::NotTaken => "; try --auth ntlm",
        _ => "",
    }
}
