//! Sources of the password, and with `--authentication-file` of the account.
//!
//! The first of these that exists is used: the URL, `--password-file`,
//! `--authentication-file`, `SMBENCH_PASSWORD`, a prompt. If the password in the
//! URL differs from that of another source, that is an error. One of the two is not
//! the intended one, and a wrong password may lock the account. Invariant: no
//! message repeats any content of these sources.

use std::env;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use smbench_formats::named;
use smbench_model::login::{Login, Proof};
use smbench_model::secret::Secret;
use smbench_model::target::{Target, UrlPassword};
use smbench_runner::account::PasswordSource;

use crate::args::SecretArgs;
use crate::failure::Failure;
use crate::output::complain;

/// Name of the variable with the password.
pub(crate) const VARIABLE: &str = "SMBENCH_PASSWORD";

/// Size above which a file cannot be a password file.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// The password sources of a command line. Sources that also name the user have
/// been read.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Name of the environment variable that may contain the password.
    variable: String,
    password_file: Option<PathBuf>,
    /// Password in the authentication file.
    authentication_file: Option<Secret>,
    url: UrlPassword,
}

impl Sources {
    /// Reads the authentication file and completes the account of `target` from it.
    /// The values of the URL have priority. Warns about a password in the URL, and
    /// fails if another source has a different password.
    pub(crate) fn open(
        args: &SecretArgs,
        target: &mut Target,
        url: UrlPassword,
    ) -> Result<Self, Failure> {
        if url == UrlPassword::Present {
            complain(format_args!(
                "warning: the password in the URL is visible in process lists and in the \
                 shell's history; use {VARIABLE}, --password-file or --authentication-file"
            ));
        }
        let file = match &args.authentication_file {
            Some(path) => Authentication::read(path)?,
            None => Authentication::default(),
        };
        if target.user.is_empty() {
            target.user = file.username.unwrap_or_default();
        }
        if target.domain.is_empty() {
            target.domain = file.domain.unwrap_or_default();
        }
        let sources = Self {
            variable: args.password_env.as_deref().unwrap_or(VARIABLE).to_owned(),
            password_file: args.password_file.clone(),
            authentication_file: file.password.map(Secret::new),
            url,
        };
        if url == UrlPassword::Present
            && let Some((source, password)) = sources.elsewhere()?
            // An empty variable counts as not set.
            && !password.expose().is_empty()
            && password != target.password
        {
            return Err(Failure::Usage(format!(
                "the password in the URL and that of {source} differ: leave one of them out"
            )));
        }
        Ok(sources)
    }

    /// Returns whether a password is available without a prompt.
    pub(crate) fn are_given(&self) -> bool {
        self.password_file.is_some()
            || self.authentication_file.is_some()
            || env::var_os(&self.variable).is_some()
            || self.url == UrlPassword::Present
    }

    /// Returns the first password outside of the URL, and the name of its source.
    fn elsewhere(&self) -> Result<Option<(&str, Secret)>, Failure> {
        if let Some(path) = &self.password_file {
            let text = read(path, FILE_BYTES_MAX)?;
            let line = text.split('\n').next().unwrap_or_default();
            return match line.trim_end_matches('\r') {
                "" => Err(unreadable(
                    path,
                    "its first line is to be the password, and is empty",
                )),
                password => Ok(Some(("the password file", Secret::new(password)))),
            };
        }
        if let Some(password) = &self.authentication_file {
            return Ok(Some(("the authentication file", password.clone())));
        }
        match env::var(&self.variable) {
            Ok(password) => Ok(Some((&self.variable, Secret::new(password)))),
            Err(env::VarError::NotPresent) => Ok(None),
            Err(env::VarError::NotUnicode(_)) => {
                Err(unreadable(Path::new(&self.variable), "it is not UTF-8"))
            }
        }
    }
}

impl PasswordSource for Sources {
    fn password(&self, target: &Target) -> Result<Secret, Failure> {
        let is_wanted = match &target.login {
            Login::Ntlm => true,
            // Most guests have no password, so there is no prompt.
            Login::Guest => self.are_given(),
            Login::Anonymous => false,
            Login::Kerberos(login) => login.proof == Proof::Password,
        };
        if !is_wanted {
            return Ok(Secret::default());
        }
        if self.url == UrlPassword::Present {
            return Ok(target.password.clone().given_in("in the URL"));
        }
        if let Some((source, password)) = self.elsewhere()? {
            return Ok(password.given_in(source.to_owned()));
        }
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            let prompt = format!("password of {} at {}: ", target.user, target.host);
            return rpassword::prompt_password(prompt)
                .map(|password| Secret::new(password).given_in("as typed"))
                .map_err(|error| {
                    Failure::Usage(format!("failed to ask for the password: {error}"))
                });
        }
        Err(Failure::Usage(format!(
            "no password for user {}: set {}, or give --password-file or --authentication-file \
             (for Kerberos, --keytab or --ccache)",
            target.user, self.variable
        )))
    }
}

/// Content of smbclient's authentication file.
#[derive(Default)]
struct Authentication {
    username: Option<String>,
    password: Option<String>,
    domain: Option<String>,
}

impl Authentication {
    fn read(path: &Path) -> Result<Self, Failure> {
        let text = read(path, FILE_BYTES_MAX)?;
        Self::parse(&text).map_err(|line| {
            let expected = "none of `username = `, `password = ` and `domain = `";
            unreadable(path, format_args!("line {line} is {expected}"))
        })
    }

    /// Parses the file; the error is the number of the wrong line. As in smbclient,
    /// trailing blanks belong to the value.
    fn parse(text: &str) -> Result<Self, usize> {
        let mut found = Self::default();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let (key, value) = line.split_once('=').ok_or(at + 1)?;
            let field = match key.trim().to_ascii_lowercase().as_str() {
                "username" => &mut found.username,
                "password" => &mut found.password,
                "domain" => &mut found.domain,
                // Belongs to Kerberos; `--realm` sets it here.
                "realm" => continue,
                _ => return Err(at + 1),
            };
            *field = Some(value.trim_start().to_owned());
        }
        Ok(found)
    }
}

fn unreadable(path: &Path, reason: impl Display) -> Failure {
    Failure::Usage(format!("failed to read {}: {reason}", path.display()))
}

/// Reads a file with secrets of at most `bytes_max` bytes.
pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes))
        .map_err(|error| Failure::Usage(named::unreadable(&path.display().to_string(), &error)))?;
    if bytes.len() as u64 > bytes_max {
        return Err(unreadable(
            path,
            format_args!("larger than {} KiB", bytes_max >> 10),
        ));
    }
    // Editors of Windows begin a file with a byte order mark.
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(.."\u{feff}".len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let newlines = error.as_bytes()[..valid].iter().filter(|b| **b == b'\n');
        unreadable(
            path,
            format_args!("line {} is not UTF-8", newlines.count() + 1),
        )
    })
}

#[cfg(test)]
mod tests;
