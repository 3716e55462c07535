//! Where a run goes: `smb://[DOMAIN;]USER@HOST[:PORT]/SHARE[/PATH]`.

use std::fmt;

/// A parsed target URL and the password that was found for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Windows domain or workgroup; empty for a local account.
    pub domain: String,
    /// Account name; empty for an anonymous session.
    pub user: String,
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port, 445 unless given.
    pub port: u16,
    /// Share name.
    pub share: String,
    /// Directory below the share root, `\`-separated, no leading or trailing
    /// separator; empty for the root.
    pub path: String,
    /// The password. Never printed.
    pub password: Secret,
}

/// A secret whose `Debug` and `Display` show nothing.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    #[must_use]
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The secret itself, for the authenticator only.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
