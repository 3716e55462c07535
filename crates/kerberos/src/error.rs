//! Errors of Kerberos: there is no ticket, or the server does not accept it.

use std::time::Duration;

use thiserror::Error;

use super::principal::Principal;
use crate::decode::DecodeError;

/// The reason why there is no ticket, or why the server does not accept it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum KerberosError {
    /// The KDC does not know the user (KDC_ERR_C_PRINCIPAL_UNKNOWN).
    #[error("the KDC knows no user {0}")]
    UnknownUser(Principal),
    /// The KDC does not know the service (KDC_ERR_S_PRINCIPAL_UNKNOWN).
    #[error("the KDC knows no service {0}")]
    UnknownService(Principal),
    /// The password is wrong.
    #[error("the password of {0} is wrong")]
    WrongPassword(Principal),
    /// The keytab's key differs from the KDC's key.
    #[error("the key of {0} in the keytab is not the one that the KDC has")]
    WrongKey(Principal),
    /// The account is locked or has expired.
    #[error("the KDC has closed the account of {0}")]
    AccountClosed(Principal),
    /// The password has expired.
    #[error("the password of {0} has expired and must be changed first")]
    PasswordExpired(Principal),
    /// The clocks differ too much (KRB_AP_ERR_SKEW).
    #[error("the clocks of this machine and of the KDC differ by {} s", .0.as_secs())]
    ClockSkew(Duration),
    /// The user belongs to another realm (KDC_ERR_WRONG_REALM).
    #[error("{user} belongs to realm {realm}")]
    WrongRealm {
        /// The user as requested.
        user: Principal,
        /// The realm that the KDC names.
        realm: String,
    },
    /// The KDC has no key of a supported type (KDC_ERR_ETYPE_NOSUPP).
    #[error("the KDC has no AES key for {0}")]
    NoSharedEncryption(Principal),
    /// The KDC requires another proof than a password or a key.
    #[error("the KDC wants {0} to log on by another way than a password or a key")]
    OtherProof(Principal),
    /// The KDC refused for any other reason.
    #[error("the KDC refuses with error {code}{}", quoted(.text))]
    Refused {
        /// The error's number (RFC 4120 7.5.9).
        code: i64,
        /// The KDC's text about the error; may be empty.
        text: String,
    },
    /// The KDC's message does not follow RFC 4120.
    #[error("the KDC's answer cannot be read: {0}")]
    Malformed(#[from] DecodeError),
    /// The answer belongs to another request, or the KDC did not make it.
    #[error("the KDC's answer is not one to the request: {0}")]
    Forged(&'static str),
    /// Realms refer to each other without end.
    #[error("the KDCs refer from realm to realm without end, last to {0}")]
    EndlessReferral(String),
    /// The keytab has no entry for this principal.
    #[error("the keytab has no key of {0}")]
    NotInKeytab(Principal),
    /// The keytab has only keys of unsupported, old encryption types.
    #[error("the keytab has no AES key of {0}")]
    NoUsableKey(Principal),
    /// The cache holds neither the service's ticket nor a ticket-granting ticket.
    #[error("the credential cache of {0} has no ticket that can be used")]
    NoTicket(Principal),
    /// The ticket has expired.
    #[error("the ticket of {user} expired {} s ago", .ago.as_secs())]
    Expired {
        /// The ticket's owner.
        user: Principal,
        /// The time since the expiry.
        ago: Duration,
    },
    /// The server does not accept Kerberos.
    #[error("the server does not take Kerberos")]
    NotTaken,
    /// The server refused the ticket and sent the reason.
    #[error("the server refuses the ticket for {service}: Kerberos error {code}{}", quoted(.text))]
    ServerRefuses {
        /// The service that the ticket is for.
        service: Principal,
        /// The error's number (RFC 4120 7.5.9).
        code: i64,
        /// The server's text about the error; may be empty.
        text: String,
    },
    /// The server's proof of its identity is missing or wrong.
    #[error("the server does not prove that it is {0}")]
    ServerUnproven(Principal),
}

fn quoted(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        // The text is for people, but an untrusted peer wrote it. So control
        // characters are removed and its length is limited.
        let plain: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
        format!(" ({plain})")
    }
}
