//! Options of a scratch Samba.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use super::{MAIN_SHARE, ScratchSamba, config};
use crate::options::check_name;
use crate::{LabError, Password, ShareAccess, Signing};

/// Section names of `smb.conf` that additional shares cannot have (smb.conf(5)).
const SPECIAL_SECTIONS: [&str; 4] = [MAIN_SHARE, "global", "homes", "printers"];

/// Options of a [`ScratchSamba`](super::ScratchSamba).
#[derive(Debug, Clone)]
pub struct SambaOptions {
    /// The smbd to start, or a program that runs one; `None` for the installed one.
    pub smbd: Option<PathBuf>,
    /// Password of the account; `None` for a random one.
    pub password: Option<Password>,
    /// Whether sessions must sign.
    pub signing: Signing,
    /// The address of this machine to listen on.
    pub listen: IpAddr,
    /// Additional lines of the global section of `smb.conf`.
    pub extra_global: Vec<String>,
    /// Additional lines of the section of the main share, `bench`.
    pub extra_share: Vec<String>,
    /// Shares in addition to `bench`.
    pub shares: Vec<SambaShare>,
    /// Settings to accept Kerberos tickets in addition to passwords.
    pub kerberos: Option<SambaKerberos>,
}

impl Default for SambaOptions {
    fn default() -> Self {
        Self {
            smbd: None,
            password: None,
            signing: Signing::Optional,
            listen: Ipv4Addr::LOCALHOST.into(),
            extra_global: Vec::new(),
            extra_share: Vec::new(),
            shares: Vec::new(),
            kerberos: None,
        }
    }
}

impl ScratchSamba {
    /// Returns these options for a server that serves the folder of this one to the same account,
    /// at another loopback address. The two know nothing of each other's opens and locks.
    ///
    /// # Errors
    /// [`LabError::TemporaryFolder`] for an unusable folder.
    pub fn beside(
        &self,
        listen: Ipv4Addr,
        options: SambaOptions,
    ) -> Result<SambaOptions, LabError> {
        let mut extra_global = options.extra_global;
        // No interface lists this address, so smbd needs its mask.
        extra_global.push(format!("interfaces = {listen}/8"));
        let mut extra_share = options.extra_share;
        extra_share.push(format!("path = {}", config::plain(&self.data_dir())?));
        Ok(SambaOptions {
            password: Some(self.password.clone()),
            listen: listen.into(),
            extra_global,
            extra_share,
            ..options
        })
    }
}

/// Settings of a server that accepts Kerberos tickets; see
/// [`ScratchKdc::samba`](crate::ScratchKdc::samba).
#[derive(Debug, Clone)]
pub struct SambaKerberos {
    /// Realm of the server's users.
    pub realm: String,
    /// File with the keys of the server's services.
    pub keytab: PathBuf,
    /// The `krb5.conf` to use instead of the system's.
    pub configuration: PathBuf,
}

impl SambaKerberos {
    /// Returns the lines of the global section of `smb.conf`.
    pub(super) fn lines(&self) -> Result<[String; 3], LabError> {
        Ok([
            format!("realm = {}", self.realm),
            "kerberos method = dedicated keytab".to_owned(),
            format!("dedicated keytab file = {}", config::plain(&self.keytab)?),
        ])
    }
}

/// A share of a [`ScratchSamba`](super::ScratchSamba) with its own folder.
#[derive(Debug, Clone)]
pub struct SambaShare {
    /// Name of the share.
    pub name: String,
    /// The access of clients.
    pub access: ShareAccess,
    /// Additional lines of its section of `smb.conf`.
    pub lines: Vec<String>,
}

/// Returns all shares of an instance. Checks that no name is used twice or is
/// reserved.
pub(super) fn with_main_share(
    extra_lines: Vec<String>,
    mut others: Vec<SambaShare>,
) -> Result<Vec<SambaShare>, LabError> {
    let mut taken: Vec<String> = SPECIAL_SECTIONS.map(str::to_owned).into();
    for share in &others {
        check_name("share", &share.name)?;
        let name = share.name.to_ascii_lowercase();
        if taken.contains(&name) {
            return Err(LabError::ShareTaken { name });
        }
        taken.push(name);
    }
    let main = SambaShare {
        name: MAIN_SHARE.to_owned(),
        access: ShareAccess::ReadWrite,
        lines: extra_lines,
    };
    others.insert(0, main);
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::{SambaShare, with_main_share};
    use crate::{LabError, ShareAccess};

    fn shares(names: &[&str]) -> Vec<SambaShare> {
        names
            .iter()
            .map(|name| SambaShare {
                name: (*name).to_owned(),
                access: ShareAccess::ReadOnly,
                lines: Vec::new(),
            })
            .collect()
    }

    #[test]
    fn share_names_that_mean_something_else_are_refused() {
        let all = with_main_share(vec!["x = y".into()], shares(&["readonly"])).unwrap();
        let names: Vec<&str> = all.iter().map(|share| share.name.as_str()).collect();
        assert_eq!(names, ["bench", "readonly"]);
        assert_eq!(all[0].lines, ["x = y"]);
        for names in [&["bench"][..], &["Global"], &["a", "A"]] {
            let error = with_main_share(Vec::new(), shares(names)).unwrap_err();
            assert!(matches!(error, LabError::ShareTaken { .. }), "{error}");
        }
        let error = with_main_share(Vec::new(), shares(&["a]\npath = /"])).unwrap_err();
        assert!(matches!(error, LabError::Name { .. }), "{error}");
    }
}
