//! Why Kerberos did not lead to a session.

use std::time::Duration;

use thiserror::Error;

use super::principal::Principal;
use crate::wire::DecodeError;

/// Why there is no ticket, or why the server does not take it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum KerberosError {
    /// KDC_ERR_C_PRINCIPAL_UNKNOWN.
    #[error("the KDC knows no user {0}")]
    UnknownUser(Principal),
    /// KDC_ERR_S_PRINCIPAL_UNKNOWN.
    #[error("the KDC knows no service {0}")]
    UnknownService(Principal),
    /// The password is wrong.
    #[error("the password of {0} is wrong")]
    WrongPassword(Principal),
    /// The keytab's key is not the one the KDC has.
    #[error("the key of {0} in the keytab is not the one that the KDC has")]
    WrongKey(Principal),
    /// The account is locked, or has expired.
    #[error("the KDC has closed the account of {0}")]
    AccountClosed(Principal),
    /// The password is too old.
    #[error("the password of {0} has expired and must be changed first")]
    PasswordExpired(Principal),
    /// KRB_AP_ERR_SKEW.
    #[error("the clocks of this machine and of the KDC differ by {} s", .0.as_secs())]
    ClockSkew(Duration),
    /// KDC_ERR_WRONG_REALM.
    #[error("{user} belongs to realm {realm}")]
    WrongRealm {
        /// As asked for.
        user: Principal,
        /// As the KDC says.
        realm: String,
    },
    /// KDC_ERR_ETYPE_NOSUPP.
    #[error("the KDC has no AES key for {0}")]
    NoSharedEncryption(Principal),
    /// The KDC wants more than a password or a key.
    #[error("the KDC wants {0} to log on by another way than a password or a key")]
    OtherProof(Principal),
    /// Any other refusal of the KDC.
    #[error("the KDC refuses with error {code}{}", quoted(.text))]
    Refused {
        /// Its number (RFC 4120 7.5.9).
        code: i64,
        /// What the KDC says about it; may be empty.
        text: String,
    },
    /// A message that does not follow RFC 4120.
    #[error("the KDC's answer cannot be read: {0}")]
    Malformed(#[from] DecodeError),
    /// An answer to something else, or made by someone else.
    #[error("the KDC's answer is not one to the request: {0}")]
    Forged(&'static str),
    /// Realms that refer to each other without end.
    #[error("the KDCs refer from realm to realm without end, last to {0}")]
    EndlessReferral(String),
    /// Nothing in the keytab is for this principal.
    #[error("the keytab has no key of {0}")]
    NotInKeytab(Principal),
    /// Only keys of old encryption types.
    #[error("the keytab has no AES key of {0}")]
    NoUsableKey(Principal),
    /// The cache holds neither the service's ticket nor a ticket-granting one.
    #[error("the credential cache of {0} has no ticket that can be used")]
    NoTicket(Principal),
    /// A ticket is over.
    #[error("the ticket of {user} expired {} s ago", .ago.as_secs())]
    Expired {
        /// Whose it is.
        user: Principal,
        /// Since when it is over.
        ago: Duration,
    },
    /// The server takes no Kerberos.
    #[error("the server does not take Kerberos")]
    NotTaken,
    /// The server refuses the ticket, and says why.
    #[error("the server refuses the ticket for {service}: Kerberos error {code}{}", quoted(.text))]
    ServerRefuses {
        /// What the ticket is for.
        service: Principal,
        /// The error's number (RFC 4120 7.5.9).
        code: i64,
        /// What the server says about it; may be empty.
        text: String,
    },
    /// No proof, or a wrong one, that the server is who it should be.
    #[error("the server does not prove that it is {0}")]
    ServerUnproven(Principal),
}

fn quoted(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        // A KDC's text is for people, but it is a stranger's.
        let plain: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
        format!(" ({plain})")
    }
}
