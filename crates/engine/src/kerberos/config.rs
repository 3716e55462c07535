//! The Kerberos configuration (krb5.conf): only the realms of names and the KDCs of
//! realms.

use std::io;
use std::path::{Path, PathBuf};

use smbench_model::login::KdcAddress;

use super::TicketError;
use super::files::read;

/// The largest depth of files that include each other. A deeper chain is taken to
/// be endless.
const DEPTH_MAX: usize = 8;

/// The content of the configuration. If a setting occurs twice, the first one
/// counts. Only KDCs add up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Configuration {
    default_realm: Option<String>,
    kdcs: Vec<(String, KdcAddress)>,
    /// Hosts in lower case, with their realms. A domain begins with a dot.
    domains: Vec<(String, String)>,
}

/// Another file or folder that a file includes.
#[derive(Debug, PartialEq, Eq)]
enum Include {
    File(PathBuf),
    Folder(PathBuf),
}

impl Configuration {
    /// Reads all of `files`. A file that does not exist is skipped.
    pub(super) fn load(files: &[PathBuf]) -> Result<Self, TicketError> {
        let mut configuration = Self::default();
        for file in files {
            configuration.read(file, DEPTH_MAX)?;
        }
        Ok(configuration)
    }

    fn read(&mut self, path: &Path, depth: usize) -> Result<(), TicketError> {
        let unreadable = |source| TicketError::Unreadable {
            what: "the Kerberos configuration",
            path: path.to_owned(),
            source,
        };
        let text = match read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unreadable(error)),
        };
        for include in self.parse(&String::from_utf8_lossy(&text)) {
            let Some(depth) = depth.checked_sub(1) else {
                return Err(unreadable(io::Error::other("files include each other")));
            };
            match include {
                Include::File(file) => self.read(&file, depth)?,
                Include::Folder(folder) => {
                    for file in files_of(&folder).map_err(unreadable)? {
                        self.read(&file, depth)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads the settings of a file. Returns the files that it includes.
    fn parse(&mut self, text: &str) -> Vec<Include> {
        let mut includes = Vec::new();
        let mut section = "";
        // The realm whose braces are open, and the number of other open braces.
        let mut realm: Option<&str> = None;
        let mut depth = 0usize;
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(path) = line.strip_prefix("includedir ") {
                includes.push(Include::Folder(path.trim().into()));
            } else if let Some(path) = line.strip_prefix("include ") {
                includes.push(Include::File(path.trim().into()));
            } else if let Some(name) = line.strip_prefix('[') {
                section = name.split(']').next().unwrap_or_default();
                (realm, depth) = (None, 0);
            } else if line.starts_with('}') {
                match depth {
                    0 => realm = None,
                    _ => depth -= 1,
                }
            } else if let Some((key, value)) = line.split_once('=') {
                let key = key.trim().trim_end_matches('*');
                let value = value.trim();
                if value.starts_with('{') {
                    match (section, realm) {
                        ("realms", None) => realm = Some(key),
                        _ => depth += 1,
                    }
                } else if depth == 0 {
                    self.set(section, realm, key, value.trim_matches('"'));
                }
            }
        }
        includes
    }

    fn set(&mut self, section: &str, realm: Option<&str>, key: &str, value: &str) {
        match (section, realm, key) {
            ("libdefaults", None, "default_realm") => {
                self.default_realm.get_or_insert_with(|| value.to_owned());
            }
            ("realms", Some(realm), "kdc") => {
                let value = value.strip_prefix("tcp/").unwrap_or(value);
                // Other values, such as a proxy's URL, cannot be used here.
                if let Ok(address) = value.parse() {
                    self.kdcs.push((realm.to_owned(), address));
                }
            }
            ("domain_realm", None, _) => {
                self.domains.push((key.to_lowercase(), value.to_owned()));
            }
            _ => {}
        }
    }

    pub(super) fn default_realm(&self) -> Option<&str> {
        self.default_realm.as_deref()
    }

    /// Returns the KDCs of `realm`, in the order in which to try them.
    pub(super) fn kdcs(&self, realm: &str) -> impl Iterator<Item = &KdcAddress> {
        self.kdcs
            .iter()
            .filter(move |(of, _)| of == realm)
            .map(|(_, address)| address)
    }

    /// Returns the realm of `host`. An entry of the host itself has priority over
    /// one of its domain, and that over one of the parent domain.
    pub(super) fn realm_of(&self, host: &str) -> Option<&str> {
        let host = host.to_lowercase();
        let host = host.trim_end_matches('.');
        let parents = host.match_indices('.').map(|(at, _)| &host[at..]);
        std::iter::once(host).chain(parents).find_map(|name| {
            let mut entries = self.domains.iter();
            entries
                .find(|(of, _)| of == name)
                .map(|(_, realm)| realm.as_str())
        })
    }
}

/// Returns the files of a folder that MIT Kerberos reads, in the same order. Their
/// names consist of letters, digits, `-` and `_`, or end in `.conf`.
fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
            continue;
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.ends_with(".conf") || name.chars().all(plain) {
            files.push(folder.join(name));
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn address(text: &str) -> KdcAddress {
        text.parse().unwrap()
    }

    const TEXT: &str = r#"
        # comment
        ; another
        includedir /etc/krb5.conf.d/
        [libdefaults]
            default_realm = EXAMPLE.COM
            default_realm = LATER.COM
            udp_preference_limit = 0
        [realms]
            EXAMPLE.COM = {
                kdc = kdc1.example.com
                kdc = tcp/kdc2.example.com:8888
                kdc = https://proxy.example.com/KdcProxy
                admin_server = kdc1.example.com
                auth_to_local_names = {
                    kdc = nobody
                }
                kdc = "[::1]:99"
            }
            OTHER.COM = {
                kdc = kdc.other.com
            }
        [domain_realm]
            .Example.com = EXAMPLE.COM
            odd.example.com = OTHER.COM
            example.com = EXAMPLE.COM
        [capaths]
            kdc = no
    "#;

    #[test]
    fn a_configuration_is_read() {
        let mut found = Configuration::default();
        let includes = found.parse(TEXT);
        assert_eq!(includes, [Include::Folder("/etc/krb5.conf.d/".into())]);
        assert_eq!(found.default_realm(), Some("EXAMPLE.COM"));
        let kdcs: Vec<_> = found.kdcs("EXAMPLE.COM").cloned().collect();
        let expected = ["kdc1.example.com", "kdc2.example.com:8888", "[::1]:99"].map(address);
        assert_eq!(kdcs, expected);
        assert_eq!(found.kdcs("NOWHERE").count(), 0);
        for (host, realm) in [
            ("a.b.EXAMPLE.com.", Some("EXAMPLE.COM")),
            ("odd.example.com", Some("OTHER.COM")),
            ("x.odd.example.com", Some("EXAMPLE.COM")),
            ("example.com", Some("EXAMPLE.COM")),
            ("example.org", None),
            ("127.0.0.1", None),
        ] {
            assert_eq!(found.realm_of(host), realm, "{host}");
        }
    }

    #[test]
    fn files_and_folders_are_included_and_missing_ones_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let own = path("krb5.conf");
        let parts = path("parts.d");
        std::fs::create_dir(&parts).unwrap();
        let text = format!(
            "include {}\ninclude {}\nincludedir {}\n",
            path("missing").display(),
            path("more").display(),
            parts.display()
        );
        std::fs::write(&own, text).unwrap();
        let realm = |name: &str| format!("[libdefaults]\ndefault_realm = {name}\n");
        std::fs::write(path("more"), realm("MORE")).unwrap();
        std::fs::write(parts.join("b.conf"), realm("B")).unwrap();
        std::fs::write(parts.join("a~"), realm("BACKUP")).unwrap();
        let found = Configuration::load(&[path("none"), own.clone()]).unwrap();
        assert_eq!(found.default_realm(), Some("MORE"));
        let found = Configuration::load(std::slice::from_ref(&parts)).unwrap_err();
        assert!(found.to_string().contains("parts.d"), "{found}");
        std::fs::remove_file(path("more")).unwrap();
        let found = Configuration::load(&[own]).unwrap();
        assert_eq!(found.default_realm(), Some("B"));
    }

    #[test]
    fn files_that_include_each_other_end_in_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("krb5.conf");
        std::fs::write(&path, format!("include {}", path.display())).unwrap();
        let error = Configuration::load(&[path]).unwrap_err().to_string();
        assert!(error.contains("include each other"), "{error}");
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text: String) {
            Configuration::default().parse(&text);
        }
    }
}
