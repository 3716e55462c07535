//! Writes `smb.conf` for a scratch Samba.
//!
//! Invariant: every file path in it is below the instance's root. So the
//! system's configuration and databases are never used.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::{LabError, ShareAccess, Signing};

/// The fixed part of the configuration, with a reason for each line.
const TEMPLATE: &str = include_str!("smb.conf");

/// Start of the part of the template that is repeated for every share.
const SHARE_HEADER: &str = "[@SHARE@]";

/// Folders below the root that `smbd` needs.
pub(super) const FOLDERS: [&str; 9] = [
    "private", "state", "cache", "lock", "pid", "ncalrpc", "winbindd", "bind-dns", "log",
];

/// The section of one share in `smb.conf`.
pub(super) struct ShareSection<'a> {
    pub(super) name: &'a str,
    pub(super) path: PathBuf,
    pub(super) access: ShareAccess,
    /// Additional lines of the section.
    pub(super) lines: &'a [String],
}

/// The values that an instance's `smb.conf` depends on.
pub(super) struct SmbConf<'a> {
    pub(super) root: &'a Path,
    pub(super) listen: IpAddr,
    pub(super) port: u16,
    /// The account that may use the shares.
    pub(super) account: &'a str,
    /// The account that represents guests.
    pub(super) guest: &'a str,
    pub(super) signing: Signing,
    /// Additional lines of the global section.
    pub(super) global_lines: &'a [String],
    pub(super) shares: &'a [ShareSection<'a>],
}

impl SmbConf<'_> {
    /// Writes `smb.conf` into the root and returns its path.
    pub(super) fn write(&self) -> Result<PathBuf, LabError> {
        let text = self.render()?;
        let path = self.root.join("smb.conf");
        fs::write(&path, text).map_err(LabError::io("write smb.conf"))?;
        Ok(path)
    }

    /// Returns the text of `smb.conf`.
    ///
    /// Fails with [`LabError::TemporaryFolder`] if a path has characters with a
    /// special meaning in that file.
    fn render(&self) -> Result<String, LabError> {
        // The template is part of the program, and a test checks that it has
        // the header.
        let (global, share) = TEMPLATE.split_once(SHARE_HEADER).unwrap_or_default();
        let signing = match self.signing {
            Signing::Optional => "default",
            Signing::Required => "mandatory",
        };
        let mut text = global
            .replace("@ROOT@", plain(self.root)?)
            .replace("@LISTEN@", &self.listen.to_string())
            .replace("@PORT@", &self.port.to_string())
            .replace("@GUEST@", self.guest)
            .replace("@SIGNING@", signing)
            .replace("@EXTRA_GLOBAL@", &self.global_lines.join("\n"));
        for section in self.shares {
            text.push_str(&self.render_share(share, section)?);
        }
        Ok(text)
    }

    fn render_share(&self, template: &str, share: &ShareSection<'_>) -> Result<String, LabError> {
        let read_only = match share.access {
            ShareAccess::ReadWrite => "no",
            ShareAccess::ReadOnly => "yes",
        };
        let body = template
            .replace("@SHARE_PATH@", plain(&share.path)?)
            .replace("@READ_ONLY@", read_only)
            .replace("@ACCOUNT@", self.account)
            .replace("@EXTRA_SHARE@", &share.lines.join("\n"));
        Ok(format!("[{}]{body}", share.name))
    }
}

/// Returns whether the template sets a parameter.
pub(super) fn is_of_template(parameter: &str) -> bool {
    let lines = TEMPLATE.lines();
    let mut names = lines.filter_map(|line| Some(line.split_once('=')?.0.trim()));
    names.any(|name| name == parameter)
}

/// Returns the text of a path that needs no escaping in `smb.conf`. There `%`
/// starts a substitution, and a line end, a quote or a trailing backslash ends
/// the value.
pub(super) fn plain(path: &Path) -> Result<&str, LabError> {
    path.to_str()
        .filter(|text| !text.contains(['%', '"', '\\', '\n', '\r']))
        .ok_or_else(|| LabError::TemporaryFolder {
            path: path.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::path::Path;

    use super::{FOLDERS, ShareSection, SmbConf};
    use crate::{LabError, ShareAccess, Signing};

    fn render(root: &str, signing: Signing) -> Result<String, LabError> {
        let shares = [
            ShareSection {
                name: "bench",
                path: Path::new(root).join("data/bench"),
                access: ShareAccess::ReadWrite,
                lines: &["strict sync = no".to_owned()],
            },
            ShareSection {
                name: "readonly",
                path: Path::new(root).join("data/readonly"),
                access: ShareAccess::ReadOnly,
                lines: &[],
            },
        ];
        SmbConf {
            root: Path::new(root),
            listen: Ipv4Addr::new(192, 0, 2, 1).into(),
            port: 4445,
            account: "alice",
            guest: "nobody",
            signing,
            global_lines: &["max open files = 99".to_owned()],
            shares: &shares,
        }
        .render()
    }

    /// Returns only the settings, without comments and blank lines.
    fn settings(text: &str) -> Vec<&str> {
        text.lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect()
    }

    #[test]
    fn the_template_is_filled_in_completely() {
        let text = render("/r", Signing::Required).unwrap();
        let settings = settings(&text);
        assert!(!settings.concat().contains('@'), "{text}");
        for expected in [
            "interfaces = 192.0.2.1",
            "smb ports = 4445",
            "guest account = nobody",
            "server signing = mandatory",
            "max open files = 99",
        ] {
            assert!(settings.contains(&expected), "{expected} in {text}");
        }
        let bench = settings.iter().position(|&line| line == "[bench]").unwrap();
        assert_eq!(
            settings[bench..],
            [
                "[bench]",
                "path = /r/data/bench",
                "read only = no",
                "valid users = alice",
                "strict sync = no",
                "[readonly]",
                "path = /r/data/readonly",
                "read only = yes",
                "valid users = alice",
            ]
        );
    }

    #[test]
    fn signing_is_left_to_the_client_unless_required() {
        let text = render("/r", Signing::Optional).unwrap();
        assert!(settings(&text).contains(&"server signing = default"));
    }

    #[test]
    fn every_folder_and_file_lies_below_the_root() {
        let text = render("/r", Signing::Optional).unwrap();
        let paths: Vec<&str> = settings(&text)
            .into_iter()
            .filter_map(|line| {
                line.split_once(" = ")?
                    .1
                    .split_once('/')
                    .map(|(_, path)| path)
            })
            .filter(|path| *path != "dev/null")
            .collect();
        assert!(paths.iter().all(|path| path.starts_with("r/")), "{paths:?}");
        for folder in FOLDERS {
            let below = format!("r/{folder}");
            assert!(
                paths.iter().any(|path| path.starts_with(&below)),
                "{folder}"
            );
        }
    }

    #[test]
    fn a_root_with_a_meaning_in_smb_conf_is_refused() {
        for root in ["/r/50%", "/r/a\nb", "/r/\"q\""] {
            let error = render(root, Signing::Optional).unwrap_err();
            assert!(matches!(error, LabError::TemporaryFolder { .. }), "{error}");
        }
    }
}
