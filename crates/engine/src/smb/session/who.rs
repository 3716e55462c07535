//! The user that logs on, for messages.

use std::fmt;
use std::sync::Arc;

use smbench_protocol::Credentials;
use smbench_protocol::kerberos::ServiceTicket;

/// The user that logs on and the kind of log-on; displayed as an adverbial phrase.
#[derive(Clone, Debug)]
pub enum LogonIdentity {
    /// A user with a password.
    User(String),
    /// A guest.
    Guest,
    /// An anonymous user.
    Anonymous,
    /// A user with a Kerberos ticket.
    Kerberos(Arc<ServiceTicket>),
}

impl From<&Credentials> for LogonIdentity {
    fn from(credentials: &Credentials) -> Self {
        match credentials {
            Credentials::Ntlm(account) => Self::User(account.user.clone()),
            Credentials::Guest(_) => Self::Guest,
            Credentials::Anonymous => Self::Anonymous,
            Credentials::Kerberos(ticket) => Self::Kerberos(Arc::clone(ticket)),
        }
    }
}

impl fmt::Display for LogonIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => write!(f, "as user '{user}'"),
            Self::Guest => f.write_str("as a guest"),
            Self::Anonymous => f.write_str("anonymously"),
            Self::Kerberos(ticket) => {
                let (client, service) = (ticket.client(), ticket.service());
                write!(f, "as {client} with the ticket for {service}")
            }
        }
    }
}
