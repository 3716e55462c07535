//! Authentication tokens for SESSION_SETUP: the credentials and the proof of them.
//!
//! Not here: network and clock. NTLM needs neither. Kerberos gets its ticket
//! and the time as arguments. [`kerberos`] describes how to get a ticket.

mod account;
mod error;
mod negotiated;
mod ntlm;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use smbench_kerberos::ServiceTicket;

pub use self::account::{Account, LogonPlace};
pub use self::error::AuthError;
use self::negotiated::KerberosExchange;
use self::ntlm::Ntlm;
pub(crate) use self::ntlm::NtlmProof;
pub use self::ntlm::recorded_session_key;

/// The credentials of a log-on, by authentication method.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// Logs on with NTLMv2. A guest session is accepted only for the user `guest`.
    Ntlm(Account),
    /// Logs on with NTLMv2, and accepts only a guest session.
    Guest(Account),
    /// Logs on without an account.
    Anonymous,
    /// Logs on with Kerberos.
    Kerberos(Arc<ServiceTicket>),
}

named! {
    /// The kind of log-on that the server accepted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Logon {
        /// A user, authenticated with NTLM.
        Ntlm => "ntlm",
        /// A user, authenticated with Kerberos.
        Kerberos => "kerberos",
        /// A guest.
        Guest => "guest",
        /// Anonymous, without an account.
        Anonymous => "anonymous",
    }
}

impl Logon {
    /// Returns whether the session has a key for signing and encryption
    /// (MS-SMB2 3.2.5.3.1).
    #[must_use]
    pub const fn has_key(self) -> bool {
        matches!(self, Self::Ntlm | Self::Kerberos)
    }
}

/// What a client says in a log-on.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Who logs on.
    pub credentials: &'a Credentials,
    /// Where, and from where.
    pub place: LogonPlace<'a>,
    /// The wall-clock time.
    pub now: SystemTime,
}

/// The client's side of one authentication.
pub(crate) struct AuthClient(Mechanism);

enum Mechanism {
    Ntlm(Box<Ntlm>),
    Kerberos(Box<KerberosExchange>),
}

impl fmt::Debug for AuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Mechanism::Ntlm(_) => "Ntlm",
            Mechanism::Kerberos(_) => "Kerberos",
        })
    }
}

impl AuthClient {
    pub(crate) fn new(claim: Claim<'_>) -> Result<Self, AuthError> {
        let Claim {
            credentials,
            place,
            now,
        } = claim;
        let ntlm = |account| {
            Ntlm::new(account, place, now)
                .map(Box::new)
                .map(Mechanism::Ntlm)
        };
        Ok(Self(match credentials {
            Credentials::Ntlm(account) | Credentials::Guest(account) => ntlm(Some(account))?,
            Credentials::Anonymous => ntlm(None)?,
            Credentials::Kerberos(ticket) => {
                let exchange = KerberosExchange::start(Arc::clone(ticket), now)?;
                Mechanism::Kerberos(Box::new(exchange))
            }
        }))
    }

    /// Returns the token to send after receiving `token`, which is empty at first.
    pub(crate) fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        match &mut self.0 {
            Mechanism::Ntlm(ntlm) => ntlm.step(token),
            Mechanism::Kerberos(kerberos) => kerberos.step(token),
        }
    }

    /// Processes the token in the server's final answer.
    pub(crate) fn conclude(&mut self, token: &[u8]) -> Result<(), AuthError> {
        match &mut self.0 {
            // If NTLM is complete, a last token only confirms that.
            Mechanism::Ntlm(ntlm) if ntlm.is_complete() || token.is_empty() => Ok(()),
            Mechanism::Ntlm(ntlm) => ntlm.step(token).map(|_| ()),
            Mechanism::Kerberos(kerberos) => kerberos.conclude(token),
        }
    }

    /// Returns the whole exchanged key, which has at least 16 bytes (MS-SMB2
    /// 3.2.5.3).
    pub(crate) fn session_key(&self) -> Result<Vec<u8>, AuthError> {
        match &self.0 {
            Mechanism::Ntlm(ntlm) => ntlm.session_key(),
            Mechanism::Kerberos(kerberos) => Ok(kerberos.session_key().to_vec()),
        }
    }
}
