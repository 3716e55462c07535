//! How a user authenticates. Pure values; nothing is read or connected to here.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::url::{is_of_host, split_port};

/// The way a session is authenticated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// NTLMv2, with the target's user and password.
    #[default]
    Ntlm,
    /// As a guest, with the target's user and password if it has them.
    Guest,
    /// Anonymously, without an account.
    Anonymous,
    /// Kerberos.
    Kerberos(KerberosLogin),
}

/// Where a Kerberos ticket comes from. Values that are left out are looked up in
/// the Kerberos configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KerberosLogin {
    /// The proof of the user's identity.
    pub proof: Proof,
    /// The user's realm.
    pub realm: Option<String>,
    /// The KDC of that realm.
    pub kdc: Option<KdcAddress>,
    /// The name of the file server, `cifs/HOST` or `cifs/HOST@REALM`. `None`
    /// derives it from the target's host.
    pub service: Option<String>,
    /// Configuration files. A missing file is skipped. For each setting the first
    /// file that contains it counts.
    pub configuration: Vec<PathBuf>,
}

/// The proof of the user's identity for a KDC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// The target's password.
    #[default]
    Password,
    /// The keys in a keytab file.
    Keytab(PathBuf),
    /// The tickets in a credential cache file.
    Cache(PathBuf),
}

/// Host and port of a KDC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KdcAddress {
    /// Name or address, without brackets.
    pub host: String,
    /// TCP port; 88 by default.
    pub port: u16,
}

/// The TCP port of Kerberos (RFC 4120 7.2.2).
const KDC_PORT: u16 = 88;

/// The text is not the address of a KDC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected HOST or HOST:PORT; an IPv6 address goes in brackets")]
pub struct NoKdcAddress;

impl FromStr for KdcAddress {
    type Err = NoKdcAddress;

    fn from_str(text: &str) -> Result<Self, NoKdcAddress> {
        let (host, port) = split_port(text).ok_or(NoKdcAddress)?;
        if host.is_empty() || !host.chars().all(is_of_host) {
            return Err(NoKdcAddress);
        }
        let port = match port {
            None => KDC_PORT,
            Some(port) => port
                .parse()
                .ok()
                .filter(|&port| port != 0)
                .ok_or(NoKdcAddress)?,
        };
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for KdcAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_kdcs_are_read_and_shown() {
        for (text, shown) in [
            ("kdc.example", "kdc.example:88"),
            ("127.0.0.1:1088", "127.0.0.1:1088"),
            ("[::1]", "[::1]:88"),
            ("[::1]:750", "[::1]:750"),
        ] {
            assert_eq!(text.parse::<KdcAddress>().unwrap().to_string(), shown);
        }
        for text in [
            "",
            ":88",
            "kdc:",
            "kdc:0",
            "kdc:99999",
            "::1",
            "[::1",
            "[x]",
            "a b",
            "k/1",
        ] {
            assert_eq!(text.parse::<KdcAddress>(), Err(NoKdcAddress), "{text}");
        }
    }
}
