//! The target of a run: `smb://[DOMAIN;]USER@HOST[:PORT]/SHARE[/PATH]`.
//!
//! A [`Target`] from [`Target::parse`] holds only share and folder names that SMB
//! allows. No error and no output of this module repeats the password, or a part of
//! the URL that could be one. URLs are parsed by hand, because the `url` crate silently
//! resolves `..`. Not here: passwords from other sources than the URL,
//! which the caller looks up.

use std::fmt;

use crate::login::Login;
use crate::secret::Secret;
pub use crate::url::{DEFAULT_PORT, TargetError};
use crate::url::{
    check_characters, decode, encode, parse_server, parse_share, slashed, split_zone, strip_scheme,
};

/// A parsed target URL and its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Windows domain or workgroup; empty for a local account.
    pub domain: String,
    /// Account name; empty when the URL names none.
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
    /// How the user authenticates; NTLM for a parsed URL.
    pub login: Login,
    /// Accounts of the clients: client c logs on as number c modulo their number. If there are
    /// none, all clients log on as the user of the target.
    pub accounts: Vec<ClientAccount>,
}

/// An account of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAccount {
    /// Windows domain or workgroup; empty for a local account.
    pub domain: String,
    /// Account name.
    pub user: String,
    /// The password. Never printed.
    pub password: Secret,
}

/// Whether a URL contained a password. If so, the caller should warn: shells and
/// process lists show the URL to other users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlPassword {
    /// The URL contained no password.
    Absent,
    /// The URL contained a password; [`Target::password`] holds it.
    Present,
}

impl Target {
    /// Parses a target URL, or a UNC path `//HOST/SHARE` with the same parts. Every
    /// part may be percent-encoded. An IPv6 address is
    /// written in brackets. A password (`USER:PASSWORD@`) is accepted, and reported
    /// so that the caller can warn.
    ///
    /// # Errors
    /// When the text is not such a URL, or has a name that SMB does not allow. The
    /// characters `" * / : < > ? \ |` and control characters are illegal in names
    /// of shares and folders (MS-FSCC 2.1.5).
    pub fn parse(text: &str) -> Result<(Self, UrlPassword), TargetError> {
        let text = slashed(text.trim());
        let rest = strip_scheme(&text)?;
        if let Some(bare) = rest.chars().find(|c| matches!(c, '?' | '#')) {
            return Err(TargetError::QueryOrFragment(bare));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (account, server) = match authority.rsplit_once('@') {
            Some((account, server)) => (account, server),
            None => ("", authority),
        };
        let (host, port) = parse_server(server)?;
        let (name, password) = match account.split_once(':') {
            Some((name, password)) => (name, Some(decode("password", password)?)),
            None => (account, None),
        };
        let (domain, user) = name.split_once(';').unwrap_or(("", name));
        let (domain, user) = (decode("domain", domain)?, decode("user", user)?);
        check_characters("domain", &domain, |_| false)?;
        check_characters("user", &user, |_| false)?;
        if user.is_empty() && password.is_some() {
            return Err(TargetError::NoUser("password"));
        }
        if user.is_empty() && !domain.is_empty() {
            return Err(TargetError::NoUser("domain"));
        }
        let (share, path) = parse_share(path)?;
        let found = match password {
            Some(_) => UrlPassword::Present,
            None => UrlPassword::Absent,
        };
        let target = Self {
            domain,
            user,
            host,
            port,
            share,
            path,
            password: Secret::new(password.unwrap_or_default()),
            login: Login::default(),
            accounts: Vec::new(),
        };
        Ok((target, found))
    }

    /// Returns the target of a URL without a password, with the given password.
    ///
    /// # Errors
    /// As [`Target::parse`].
    pub fn with_password(url: &str, password: &str) -> Result<Self, TargetError> {
        let (target, _) = Self::parse(url)?;
        let password = Secret::new(password);
        Ok(Self { password, ..target })
    }

    /// Returns the account of a client; `None` if it is the user of the target.
    #[must_use]
    pub fn account_of(&self, client: u32) -> Option<&ClientAccount> {
        let count = self.accounts.len().max(1);
        self.accounts.get(client as usize % count)
    }

    /// Returns all passwords, the longest first, for what must not show them.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let accounts = self.accounts.iter().map(|account| &account.password);
        let all = accounts.chain([&self.password]);
        let mut all: Vec<_> = all.map(|secret| secret.expose().to_owned()).collect();
        all.sort_by(|one, other| (other.len(), other).cmp(&(one.len(), one)));
        all.dedup();
        all
    }

    /// Returns a placeholder target. A plan has it when it runs on something other
    /// than an SMB share (`PlannedRun::on_target` of the engine).
    #[must_use]
    pub fn none() -> Self {
        Self {
            domain: String::new(),
            user: String::new(),
            host: "none.invalid".to_owned(),
            port: DEFAULT_PORT,
            share: "none".to_owned(),
            path: String::new(),
            password: Secret::default(),
            accounts: Vec::new(),
            login: Login::default(),
        }
    }

    /// Returns the name or address of the server without a zone, which says something
    /// to this machine alone.
    #[must_use]
    pub fn server_name(&self) -> &str {
        split_zone(&self.host).0
    }

    /// Returns the canonical URL without the password. It is safe to print and
    /// store, and [`Target::parse`] reads it back.
    #[must_use]
    pub fn redacted(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("smb://")?;
        if !self.domain.is_empty() {
            write!(f, "{};", encode(&self.domain))?;
        }
        if !self.user.is_empty() {
            write!(f, "{}@", encode(&self.user))?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host.replace('%', "%25"))?;
        } else {
            f.write_str(&self.host)?;
        }
        if self.port != DEFAULT_PORT {
            write!(f, ":{}", self.port)?;
        }
        write!(f, "/{}", encode(&self.share))?;
        for folder in self.path.split('\\').filter(|folder| !folder.is_empty()) {
            write!(f, "/{}", encode(folder))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn target(text: &str) -> Target {
        Target::parse(text).unwrap().0
    }

    #[test]
    fn every_part_is_read() {
        let (target, found) =
            Target::parse("smb://WORK;ann:s%40crt@files.example:4450/data/bench/a%20b/").unwrap();
        assert_eq!(found, UrlPassword::Present);
        assert_eq!(
            target,
            Target {
                domain: "WORK".into(),
                user: "ann".into(),
                host: "files.example".into(),
                port: 4450,
                share: "data".into(),
                path: "bench\\a b".into(),
                password: Secret::new("s@crt"),
                accounts: Vec::new(),
                login: Login::Ntlm,
            }
        );
        assert_eq!(
            target.redacted(),
            "smb://WORK;ann@files.example:4450/data/bench/a%20b"
        );
    }

    #[test]
    fn a_unc_path_is_the_url_without_its_scheme() {
        let url = Target::parse("smb://W;ann:pw@files:99/bench/a/b").unwrap();
        for unc in [
            "//W;ann:pw@files:99/bench/a/b",
            r"\\W;ann:pw@files:99\bench\a\b",
            r" \\W;ann:pw@files:99\bench/a\b\ ",
        ] {
            assert_eq!(Target::parse(unc).unwrap(), url);
        }
    }

    #[test]
    fn optional_parts_may_be_left_out() {
        let (target, found) = Target::parse("SMB://host/share").unwrap();
        assert_eq!(found, UrlPassword::Absent);
        assert_eq!((target.user.as_str(), target.port), ("", DEFAULT_PORT));
        assert_eq!((target.path.as_str(), target.password.expose()), ("", ""));
        assert_eq!(target.redacted(), "smb://host/share");
    }

    #[test]
    fn addresses_of_both_families_work() {
        let v6 = target("smb://ann@[fe80::0:1]:1445/s");
        assert_eq!((v6.host.as_str(), v6.port), ("fe80::1", 1445));
        assert_eq!(v6.redacted(), "smb://ann@[fe80::1]:1445/s");
        assert_eq!(target("smb://[::1]/s").port, DEFAULT_PORT);
        for text in ["smb://[fe80::0:1%25eth0]/s", "//[fe80::1%eth0]/s"] {
            let zoned = target(text);
            assert_eq!(zoned.host, "fe80::1%eth0");
            assert_eq!(zoned.server_name(), "fe80::1");
            assert_eq!(zoned.redacted(), "smb://[fe80::1%25eth0]/s");
        }
        assert_eq!(
            target("smb://127.0.0.1:445/s").redacted(),
            "smb://127.0.0.1/s"
        );
    }

    #[test]
    fn an_at_sign_or_colon_in_the_password_needs_no_escape() {
        assert_eq!(target("smb://ann:a:b@c@host/s").password.expose(), "a:b@c");
    }

    #[test]
    fn an_administrative_share_keeps_its_dollar() {
        assert_eq!(target("smb://h/C$/x").redacted(), "smb://h/C$/x");
    }

    #[test]
    fn each_mistake_has_its_line() {
        use TargetError as E;
        let illegal = |part, character| E::IllegalCharacter { part, character };
        for (text, error) in [
            ("", E::NoScheme),
            ("host/share", E::NoScheme),
            ("http://host/share", E::OtherScheme("http".into())),
            ("smb:///share", E::NoHost),
            ("smb://ann@/share", E::NoHost),
            ("smb://ann@:445/share", E::NoHost),
            ("smb://ho st/share", E::BadHost),
            ("smb://::1/share", E::BadHost),
            ("smb://[::1/share", E::BadHost),
            ("smb://[::1]445/share", E::BadHost),
            ("smb://[nonsense]/share", E::BadHost),
            ("smb://[fe80::1%]/share", E::BadHost),
            ("smb://ho%25st/share", E::BadHost),
            ("smb://host:0/share", E::BadPort),
            ("smb://host:65536/share", E::BadPort),
            ("smb://host:/share", E::BadPort),
            ("smb://host:+445/share", E::BadPort),
            ("smb://:pw@host/share", E::NoUser("password")),
            ("smb://DOM;@host/share", E::NoUser("domain")),
            ("smb://host", E::NoShare),
            ("smb://host/", E::NoShare),
            ("smb://host//", E::NoShare),
            ("smb://host/a*b", illegal("share", '*')),
            ("smb://host/a%2Fb", illegal("share", '/')),
            ("smb://host/s/a\\b", illegal("path", '\\')),
            ("smb://host/s/a%00", illegal("path", '\0')),
            ("smb://a%0Ab@host/s", illegal("user", '\n')),
            ("smb://host/s?x=1", E::QueryOrFragment('?')),
            ("smb://host/s#x", E::QueryOrFragment('#')),
            ("smb://host/..", E::DotSegment("..".into())),
            ("smb://host/s/a/../b", E::DotSegment("..".into())),
            ("smb://host/s/%2e%2E/b", E::DotSegment("..".into())),
            ("smb://host/s/./b", E::DotSegment(".".into())),
            ("smb://host/s/a%2", E::BadEscape("path")),
            ("smb://ann:100%@host/s", E::BadEscape("password")),
            ("smb://host/s%FF", E::NotUtf8("share")),
        ] {
            let found = Target::parse(text).unwrap_err();
            assert_eq!(found, error, "{text}");
            assert!(!found.to_string().contains('\n'), "{found}");
        }
    }

    #[test]
    fn a_secret_shows_nothing() {
        let (target, _) = Target::parse("smb://ann:hunter2@host/share").unwrap();
        for shown in [
            format!("{target:?} {target:#?}"),
            target.to_string(),
            target.redacted(),
            format!("{:?} {}", target.password, target.password),
        ] {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        assert!(format!("{target:?}").contains("***"));
    }

    proptest! {
        #[test]
        fn no_error_repeats_a_password(password in "hunter2[!-~]{0,6}") {
            if let Err(error) = Target::parse(&format!("smb://ann:{password}@host/share")) {
                let shown = format!("{error} {error:?}");
                prop_assert!(!shown.contains("hunter2"), "{}", shown);
            }
        }

        #[test]
        fn the_redacted_url_reads_back(
            domain in "[^\\p{C}]{0,6}",
            user in "[^\\p{C}]{1,8}",
            port in 1..=u16::MAX,
            share in "[^\\p{C}\"*/:<>?\\\\|]{3,8}",
            folders in proptest::collection::vec("[^\\p{C}\"*/:<>?\\\\|]{3,8}", 0..3),
        ) {
            let target = Target {
                domain,
                user,
                host: "host.example".into(),
                port,
                share,
                path: folders.join("\\"),
                password: Secret::new("hunter2"),
                accounts: Vec::new(),
                login: Login::Ntlm,
            };
            let (read, found) = Target::parse(&target.redacted()).unwrap();
            prop_assert_eq!(found, UrlPassword::Absent);
            prop_assert_eq!(&read.password, &Secret::default());
            prop_assert_eq!(Target { password: target.password.clone(), ..read }, target);
        }

        #[test]
        fn hostile_text_never_panics(text in "smb://[ -~é]{0,40}") {
            if let Ok((target, _)) = Target::parse(&text) {
                prop_assert!(!target.host.is_empty() && !target.share.is_empty());
            }
        }
    }
}
