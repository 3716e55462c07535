//! Servers that exist, and the accounts that log on to them. Passwords come in as values.
//!
//! Not here: where passwords are kept. The program that uses this crate knows, and
//! implements [`PasswordSource`] and [`Accounts`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use smbench_engine::hosts::SendPassword;
use smbench_model::login::KdcAddress;
use smbench_model::secret::Secret;
use smbench_model::target::Target;

use crate::failure::Failure;

/// Returns the password of an account when a run is about to begin.
pub trait PasswordSource: fmt::Debug {
    /// Returns the password of the target's user, if the log-on needs one.
    fn password(&self, target: &Target) -> Result<Secret, Failure>;
}

/// An existing server, and the account to use.
#[derive(Clone, Debug)]
pub struct GivenServer {
    /// The target without its password, unless the password is known already.
    pub target: Target,
    source: Option<Rc<dyn PasswordSource>>,
}

impl GivenServer {
    /// Returns a server whose target has its password.
    #[must_use]
    pub const fn new(target: Target) -> Self {
        Self {
            target,
            source: None,
        }
    }

    /// Returns a server whose password is asked for when it is needed.
    #[must_use]
    pub fn asking(target: Target, source: Box<dyn PasswordSource>) -> Self {
        Self {
            target,
            source: Some(Rc::from(source)),
        }
    }

    /// Returns the target for a host that follows another one, which may send the password.
    pub fn for_follower(&self, send_password: SendPassword) -> Result<Target, Failure> {
        match send_password {
            SendPassword::Yes => Ok(self.target.clone()),
            SendPassword::No => self.with_password(),
        }
    }

    /// Returns the target with its password.
    pub fn with_password(&self) -> Result<Target, Failure> {
        Ok(match &self.source {
            None => self.target.clone(),
            Some(source) => Target {
                password: source.password(&self.target)?,
                ..self.target.clone()
            },
        })
    }
}

/// How a suite says where the password of a server is, and how to log on.
#[derive(Clone, Debug, Default)]
pub struct SuiteCredentials {
    /// Name of the environment variable with the password.
    pub password_env: Option<String>,
    /// File with the password in its first line.
    pub password_file: Option<PathBuf>,
    /// File with the account, as for smbclient.
    pub authentication_file: Option<PathBuf>,
    /// Name of the way to log on.
    pub auth: Option<String>,
    /// Keytab with the user's keys, for Kerberos.
    pub keytab: Option<PathBuf>,
    /// Credential cache with the user's tickets.
    pub ccache: Option<PathBuf>,
    /// Kerberos realm of the user.
    pub realm: Option<String>,
    /// KDC of the user's realm.
    pub kdc: Option<KdcAddress>,
    /// Name of the server in Kerberos.
    pub service_principal: Option<String>,
}

/// Finds the accounts of the servers that a suite names.
pub trait Accounts {
    /// Returns the server at this URL with its account. Makes no connection.
    fn open(&self, url: &str, credentials: &SuiteCredentials) -> Result<GivenServer, Failure>;
}

/// Returns the file behind a name of MIT Kerberos, such as `FILE:/tmp/cache`. `what` names
/// the option in messages.
pub fn kerberos_file(what: &str, name: &Path) -> Result<PathBuf, Failure> {
    let Some((kind, path)) = name.to_str().and_then(|name| name.split_once(':')) else {
        return Ok(name.to_owned());
    };
    match kind {
        "FILE" | "WRFILE" => Ok(path.into()),
        // As in MIT Kerberos, only a word is a type.
        _ if kind.is_empty() || !kind.chars().all(|c| c.is_ascii_uppercase()) => {
            Ok(name.to_owned())
        }
        _ => Err(Failure::Usage(format!(
            "{what} names a {kind}: store, and only files can be read: give FILE:PATH"
        ))),
    }
}
