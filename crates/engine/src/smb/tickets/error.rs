//! Errors of fetching a Kerberos ticket. Each message is one line with the problem,
//! its place and the advice.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use smbench_formats::named::unreadable;
use smbench_model::setting::{Advice, KDC, REALM};
use smbench_protocol::kerberos::{KerberosError, MalformedFile, Principal};
use thiserror::Error;

/// The reason why there is no ticket for the file server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TicketError {
    /// A file cannot be read.
    #[error("{}{}", unreadable(&format!("{what} {}", path.display()), .source), file_advice(.source))]
    Unreadable {
        /// The kind of file.
        what: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file has the wrong format.
    #[error("failed to read {what} {}: {source}", path.display())]
    Malformed {
        /// The expected kind of file.
        what: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The problem with the format.
        source: MalformedFile,
    },
    /// The user's realm is not known.
    #[error(
        "failed to log on by Kerberos: the user's realm is not known; give {REALM}, or set default_realm in krb5.conf (KRB5_CONFIG)"
    )]
    NoRealm,
    /// The user is not known, because the keytab has several.
    #[error(
        "failed to log on by Kerberos: the keytab {} has keys of several principals; name the user in the target URL, as in smb://USER@HOST/SHARE",
        path.display()
    )]
    WhichUser {
        /// The path of the keytab.
        path: PathBuf,
    },
    /// The keytab has no keys.
    #[error("failed to log on by Kerberos: the keytab {} is empty; write a new one", path.display())]
    EmptyKeytab {
        /// The path of the keytab.
        path: PathBuf,
    },
    /// The credential cache belongs to another user.
    #[error(
        "failed to log on by Kerberos: the credential cache {} is of {owner}, not of user '{user}'; run kinit for that user, or leave the user out of the target URL",
        path.display()
    )]
    OtherUser {
        /// The path of the credential cache.
        path: PathBuf,
        /// The owner of the credential cache.
        owner: Principal,
        /// The user who is to log on.
        user: String,
    },
    /// The KDC of the realm is not known.
    #[error(
        "failed to log on by Kerberos: no KDC of realm {realm} is known; give {KDC} HOST, or name it in krb5.conf (KRB5_CONFIG) under [realms]"
    )]
    NoKdc {
        /// The realm.
        realm: String,
    },
    /// The KDC cannot be reached.
    #[error(
        "failed to reach the KDC of realm {realm} at {at}: {source}; check {KDC} or krb5.conf, and that the KDC is up"
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
        "failed to reach the KDC of realm {realm} at {at}: no answer within {}; check {KDC} or krb5.conf, and that no firewall drops the packets",
        humantime::format_duration(*.limit)
    )]
    Timeout {
        /// The realm.
        realm: String,
        /// Host and port.
        at: String,
        /// The time limit.
        limit: Duration,
    },
    /// The KDC refuses, or there is no credential to send to it.
    #[error("failed to get a Kerberos ticket for {service}{}: {source}{}{}", at.as_ref().map(|at| format!(" from {at}")).unwrap_or_default(), Advice(advice(.source)), where_given(.source, .password_note))]
    Refused {
        /// The service that the ticket is for.
        service: Principal,
        /// The KDC, if one was asked.
        at: Option<String>,
        /// [`Secret::source_note`] of the password.
        ///
        /// [`Secret::source_note`]: smbench_model::secret::Secret::source_note
        password_note: Box<str>,
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

/// Returns the place of the password, if the advice is to check the password.
const fn where_given<'a>(error: &KerberosError, note: &'a str) -> &'a str {
    match error {
        KerberosError::WrongPassword(_) => note,
        _ => "",
    }
}

/// Returns advice for the user, as the end of a sentence.
pub(crate) const fn advice(error: &KerberosError) -> &'static str {
    match error {
        KerberosError::UnknownUser(_) => "; check the user in the target URL, and @realm",
        KerberosError::UnknownService(_) => {
            "; write the server's full name in the target URL, or name the service with @service_principal"
        }
        KerberosError::WrongPassword(_) => "; check the password",
        KerberosError::WrongKey(_) => "; write a new keytab",
        KerberosError::ClockSkew(_) => "; set this machine's clock",
        KerberosError::WrongRealm { .. } => "; give it with @realm",
        KerberosError::NotInKeytab(_) => {
            "; check the user in the target URL and @realm against `klist -k`"
        }
        KerberosError::NoUsableKey(_) => "; write a new keytab with AES keys",
        KerberosError::NoTicket(_) | KerberosError::Expired { .. } => "; run kinit",
        KerberosError::NoSharedEncryption(_) => "; enable AES for it in the KDC",
        KerberosError::ServerUnproven(_) => {
            "; another server may be answering in its place, or its keytab is not of this service"
        }
        KerberosError::ServerRefuses { .. } => {
            "; check the server's keytab and clock, and @service_principal"
        }
        KerberosError::NotTaken => "; try @auth ntlm",
        _ => "",
    }
}
