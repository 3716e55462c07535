//! Authentication tokens for SESSION_SETUP: who logs on, and how it is proven.
//!
//! No network and no clock here: NTLM needs neither, and Kerberos gets its
//! ticket and the time handed in. [`kerberos`] says how to get a ticket.

mod anonymous;
mod der;
pub mod kerberos;
mod negotiated;
mod ntlm;
mod spnego;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use thiserror::Error;

use self::anonymous::Anonymous;
use self::kerberos::{KerberosError, ServiceTicket};
use self::negotiated::KerberosExchange;
use self::ntlm::Ntlm;
use crate::wire::DecodeError;

/// Who logs on with a password. `Debug` does not show it.
#[derive(Clone)]
pub struct Account {
    /// Domain or workgroup; empty for a local account.
    pub domain: String,
    /// Account name.
    pub user: String,
    /// Password.
    pub password: String,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\\{}", self.domain, self.user)
    }
}

/// Who logs on, and by what proof.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// By NTLMv2. A session as a guest is accepted for the user `guest` alone.
    Ntlm(Account),
    /// As a guest, and as nothing more.
    Guest(Account),
    /// As nobody.
    Anonymous,
    /// By Kerberos.
    Kerberos(Arc<ServiceTicket>),
}

/// As what a session was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logon {
    /// As a user, by NTLM.
    Ntlm,
    /// As a user, by Kerberos.
    Kerberos,
    /// As a guest.
    Guest,
    /// As nobody.
    Anonymous,
}

impl Logon {
    /// `ntlm`, `kerberos`, `guest` or `anonymous`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ntlm => "ntlm",
            Self::Kerberos => "kerberos",
            Self::Guest => "guest",
            Self::Anonymous => "anonymous",
        }
    }

    /// Whether the session has a key, to sign and to encrypt with (MS-SMB2
    /// 3.2.5.3.1).
    #[must_use]
    pub const fn has_key(self) -> bool {
        matches!(self, Self::Ntlm | Self::Kerberos)
    }
}

/// The authentication exchange failed on this side.
#[derive(Debug, Error)]
pub enum AuthError {
    /// The user or domain contains `\` or `@` where it must not.
    #[error("the user name mixes the forms DOMAIN;USER and USER@REALM")]
    UserName,
    /// The security package rejected what the server sent.
    #[error("the server's authentication token was not accepted: {0}")]
    Token(String),
    /// The server's token makes no sense.
    #[error("the server's authentication token is a {0}")]
    Malformed(#[from] DecodeError),
    /// Kerberos did not work out.
    #[error(transparent)]
    Kerberos(Box<KerberosError>),
}

impl From<KerberosError> for AuthError {
    fn from(error: KerberosError) -> Self {
        Self::Kerberos(Box::new(error))
    }
}

/// The client's half of one authentication.
pub(crate) struct Authenticator(Mechanism);

enum Mechanism {
    Ntlm(Box<Ntlm>),
    Anonymous(Anonymous),
    Kerberos(Box<KerberosExchange>),
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Mechanism::Ntlm(_) => "Ntlm",
            Mechanism::Anonymous(_) => "Anonymous",
            Mechanism::Kerberos(_) => "Kerberos",
        })
    }
}

impl Authenticator {
    pub(crate) fn new(credentials: &Credentials, now: SystemTime) -> Result<Self, AuthError> {
        Ok(Self(match credentials {
            Credentials::Ntlm(account) | Credentials::Guest(account) => {
                Mechanism::Ntlm(Box::new(Ntlm::new(account)?))
            }
            Credentials::Anonymous => Mechanism::Anonymous(Anonymous::default()),
            Credentials::Kerberos(ticket) => {
                let exchange = KerberosExchange::start(Arc::clone(ticket), now)?;
                Mechanism::Kerberos(Box::new(exchange))
            }
        }))
    }

    /// The token to send after receiving `token` (empty at first).
    pub(crate) fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        match &mut self.0 {
            Mechanism::Ntlm(ntlm) => ntlm.step(token),
            Mechanism::Anonymous(anonymous) => anonymous.step(token),
            Mechanism::Kerberos(kerberos) => kerberos.step(token),
        }
    }

    /// Takes the token that came with the server's final answer.
    pub(crate) fn conclude(&mut self, token: &[u8]) -> Result<(), AuthError> {
        match &mut self.0 {
            // Its last token, where there is one, only confirms.
            Mechanism::Ntlm(ntlm) if ntlm.is_complete() || token.is_empty() => Ok(()),
            Mechanism::Ntlm(ntlm) => ntlm.step(token).map(|_| ()),
            Mechanism::Anonymous(_) => Ok(()),
            Mechanism::Kerberos(kerberos) => kerberos.conclude(token),
        }
    }

    /// The whole exchanged key, of at least 16 bytes (MS-SMB2 3.2.5.3).
    pub(crate) fn session_key(&self) -> Result<Vec<u8>, AuthError> {
        match &self.0 {
            Mechanism::Ntlm(ntlm) => ntlm.session_key(),
            Mechanism::Anonymous(_) => Err(AuthError::Token("nobody has a key".to_owned())),
            Mechanism::Kerberos(kerberos) => Ok(kerberos.session_key().to_vec()),
        }
    }
}
