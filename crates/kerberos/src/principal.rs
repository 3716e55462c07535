//! Principals: the names of users and services.

use std::fmt;

use crate::decode::DecodeError;
use crate::der::{self, Der};

/// Name type of a user: KRB5-NT-PRINCIPAL (RFC 4120 6.2).
const NAME_USER: i64 = 1;
/// Name type of a service and its instance: KRB5-NT-SRV-INST.
const NAME_SERVICE: i64 = 2;

/// A user or a service in a realm, such as `ann@EXAMPLE.COM` or
/// `cifs/files.example.com@EXAMPLE.COM`.
///
/// Two principals are equal if realm and name are equal. The name type does not
/// count, because no implementation relies on it.
#[derive(Clone, Debug)]
pub struct Principal {
    realm: String,
    kind: i64,
    components: Vec<String>,
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.realm == other.realm && self.components == other.components
    }
}

impl Eq for Principal {}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.components.join("/"), self.realm)
    }
}

impl Principal {
    /// Makes the principal of a user. The name may have an instance (`ann/admin`).
    #[must_use]
    pub fn user(name: &str, realm: &str) -> Self {
        Self::named(NAME_USER, name, realm)
    }

    /// Makes the principal of a service, such as `cifs/HOST`.
    #[must_use]
    pub fn service(name: &str, realm: &str) -> Self {
        Self::named(NAME_SERVICE, name, realm)
    }

    fn named(kind: i64, name: &str, realm: &str) -> Self {
        Self::new(
            kind,
            realm.to_owned(),
            name.split('/').map(str::to_owned).collect(),
        )
    }

    pub(super) const fn new(kind: i64, realm: String, components: Vec<String>) -> Self {
        Self {
            realm,
            kind,
            components,
        }
    }

    /// Returns the service in `realm` that grants tickets for services of `of`.
    pub(super) fn ticket_granting(realm: &str, of: &str) -> Self {
        let components = vec!["krbtgt".to_owned(), of.to_owned()];
        Self::new(NAME_SERVICE, realm.to_owned(), components)
    }

    /// Returns the realm that this service grants tickets for, if it grants any.
    pub(super) fn grants_for(&self) -> Option<&str> {
        match &self.components[..] {
            [service, realm] if service == "krbtgt" => Some(realm),
            _ => None,
        }
    }

    /// Returns the realm that the principal belongs to.
    #[must_use]
    pub fn realm(&self) -> &str {
        &self.realm
    }

    /// Returns the name without the realm.
    #[must_use]
    pub fn name(&self) -> String {
        self.components.join("/")
    }

    /// Returns the salt of passwords if the KDC names none (RFC 4120 4).
    pub(super) fn default_salt(&self) -> Vec<u8> {
        (self.realm.clone() + &self.components.concat()).into_bytes()
    }

    /// Encodes `PrincipalName` (RFC 4120 5.2.2).
    pub(super) fn encode_name(&self) -> Vec<u8> {
        let components = self.components.iter();
        let components = components.map(|component| der::general_string(component));
        let components: Vec<_> = components.collect();
        der::sequence(&[
            der::context(0, &der::integer(self.kind)),
            der::context(1, &der::sequence(&components)),
        ])
    }

    pub(super) fn encode_realm(&self) -> Vec<u8> {
        der::general_string(&self.realm)
    }

    /// Decodes a `PrincipalName`. The caller reads its realm, which is a
    /// separate field.
    pub(super) fn decode(realm: &str, name: &mut Der<'_>) -> Result<Self, DecodeError> {
        const WHAT: &str = "Kerberos principal";
        let mut fields = name.sequence(WHAT)?;
        let kind = fields.field(0, WHAT)?.integer(WHAT)?;
        let mut names = fields.field(1, WHAT)?.sequence(WHAT)?;
        let mut components = Vec::new();
        while !names.is_empty() {
            components.push(names.string(WHAT)?.to_owned());
        }
        Ok(Self::new(kind, realm.to_owned(), components))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principals_are_read_back() {
        let service = Principal::service("cifs/files.example", "EXAMPLE");
        let encoded = service.encode_name();
        let decoded = Principal::decode("EXAMPLE", &mut Der::new(&encoded)).unwrap();
        assert_eq!(decoded, service);
        assert_eq!(decoded.to_string(), "cifs/files.example@EXAMPLE");
        assert_ne!(decoded, Principal::service("cifs/files.example", "OTHER"));
    }

    #[test]
    fn the_default_salt_is_realm_and_name_without_separators() {
        let user = Principal::user("raeburn/admin", "ATHENA.MIT.EDU");
        assert_eq!(user.default_salt(), b"ATHENA.MIT.EDUraeburnadmin");
    }

    #[test]
    fn services_that_grant_tickets_are_recognised() {
        assert_eq!(Principal::ticket_granting("A", "B").grants_for(), Some("B"));
        assert_eq!(Principal::service("cifs/B", "A").grants_for(), None);
    }
}
