//! Why an authentication failed on the client's side.

use smbench_kerberos::{DecodeError, KerberosError};
use thiserror::Error;

/// Error for an authentication that failed on the client's side.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The user or domain contains `\` or `@` where that is not allowed.
    #[error("the user name mixes the forms DOMAIN;USER and USER@REALM")]
    UserName,
    /// The security package rejected the server's token.
    #[error("the server's authentication token was not accepted: {0}")]
    Token(String),
    /// The server's token is malformed.
    #[error("the server's authentication token is a {0}")]
    Malformed(#[from] DecodeError),
    /// Kerberos failed.
    #[error(transparent)]
    Kerberos(Box<KerberosError>),
}

impl From<KerberosError> for AuthError {
    fn from(error: KerberosError) -> Self {
        Self::Kerberos(Box::new(error))
    }
}
