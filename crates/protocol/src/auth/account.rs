//! Who logs on with a password, and on which machines.

use std::fmt;

/// An account that logs on with a password. `Debug` does not show the password.
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

/// The two machines of a log-on, as NTLM names them to the server.
#[derive(Clone, Copy, Debug)]
pub struct LogonPlace<'a> {
    /// The server's name or address as the user gave it.
    pub host: &'a str,
    /// The NetBIOS name of the client's machine; empty if it has none.
    pub workstation: &'a str,
}
