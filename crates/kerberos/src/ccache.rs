//! Credential caches: the tickets that `kinit` got, in file formats 3 and 4 of
//! MIT Kerberos.

use std::fmt;
use std::time::{Duration, SystemTime};

use super::enctype::{Enctype, Key};
use super::file::{FileReader, MalformedFile};
use super::principal::Principal;
use super::ticket::Ticket;

/// The realm of entries that hold settings instead of tickets.
const SETTINGS_REALM: &str = "X-CACHECONF:";

/// The tickets of one user. `Debug` does not show them.
#[derive(Clone)]
pub struct CredentialCache {
    user: Principal,
    tickets: Vec<Ticket>,
}

impl fmt::Debug for CredentialCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, tickets } = self;
        write!(f, "CredentialCache({user}, {} tickets)", tickets.len())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CacheVersion {
    V3,
    V4,
}

impl CredentialCache {
    /// Reads the content of a cache file. It leaves out tickets whose keys have
    /// an unsupported encryption type.
    ///
    /// # Errors
    /// Returns an error if the file has another format than 3 or 4, or is damaged.
    pub fn parse(bytes: &[u8]) -> Result<Self, MalformedFile> {
        const FORMAT: &str = "no credential cache of format 3 or 4";
        let mut file = FileReader::new(bytes);
        let unknown = file.error(FORMAT);
        let version = match file.u16(FORMAT)? {
            0x0503 => CacheVersion::V3,
            0x0504 => CacheVersion::V4,
            _ => return Err(unknown),
        };
        if version == CacheVersion::V4 {
            file.counted16("malformed header")?;
        }
        let user = principal(&mut file)?;
        let mut tickets = Vec::new();
        while !file.is_empty() {
            tickets.extend(credential(&mut file, version)?);
        }
        Ok(Self { user, tickets })
    }

    /// Returns the user that the tickets belong to.
    #[must_use]
    pub const fn user(&self) -> &Principal {
        &self.user
    }

    /// Returns the ticket for `service` with the latest expiry time.
    pub(super) fn ticket(&self, service: &Principal) -> Option<&Ticket> {
        self.tickets
            .iter()
            .filter(|ticket| ticket.service == *service && ticket.client == self.user)
            .max_by_key(|ticket| ticket.expires)
    }
}

fn principal(file: &mut FileReader<'_>) -> Result<Principal, MalformedFile> {
    const WHAT: &str = "malformed principal";
    let kind = file.u32(WHAT)?;
    let count = file.u32(WHAT)?;
    file.principal(kind.into(), count as usize, FileReader::counted32)
}

/// Reads one credential. Returns `None` if it holds settings, or a key of an
/// unsupported encryption type.
fn credential(
    file: &mut FileReader<'_>,
    version: CacheVersion,
) -> Result<Option<Ticket>, MalformedFile> {
    const WHAT: &str = "malformed credential";
    let client = principal(file)?;
    let service = principal(file)?;
    let mut enctype = file.u16(WHAT)?;
    if version == CacheVersion::V3 {
        enctype = file.u16(WHAT)?;
    }
    let malformed_key = file.error("malformed key");
    let key = file.counted32(WHAT)?;
    let _authenticated = file.u32(WHAT)?;
    let starts = file.u32(WHAT)?;
    let expires = file.u32(WHAT)?;
    let _renew_until = file.u32(WHAT)?;
    let _is_for_another_user = file.u8(WHAT)?;
    let _flags = file.u32(WHAT)?;
    for _addresses_then_authorization in 0..2 {
        for _ in 0..file.u32(WHAT)? {
            file.u16(WHAT)?;
            file.counted32(WHAT)?;
        }
    }
    let encoded = file.counted32(WHAT)?;
    let _second_ticket = file.counted32(WHAT)?;
    if service.realm() == SETTINGS_REALM {
        return Ok(None);
    }
    let Some(enctype) = Enctype::from_number(enctype.into()) else {
        return Ok(None);
    };
    let at = |seconds: u32| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into());
    Ok(Some(Ticket {
        client,
        service,
        key: Key::new(enctype, key).ok_or(malformed_key)?,
        starts: at(starts),
        expires: at(expires),
        encoded: encoded.to_vec(),
    }))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counted(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
    }

    fn name(principal: &Principal) -> Vec<u8> {
        let name = principal.name();
        let components: Vec<_> = name.split('/').collect();
        let mut bytes = [1u32.to_be_bytes(), (components.len() as u32).to_be_bytes()].concat();
        bytes.extend(counted(principal.realm().as_bytes()));
        for component in components {
            bytes.extend(counted(component.as_bytes()));
        }
        bytes
    }

    /// Encodes a credential with an address and a piece of authorization data.
    fn credential(ticket: &Ticket, enctype: u16, version: CacheVersion) -> Vec<u8> {
        let seconds = |time: SystemTime| {
            let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
            (since.as_secs() as u32).to_be_bytes()
        };
        let enctypes = match version {
            CacheVersion::V3 => [enctype.to_be_bytes(), enctype.to_be_bytes()].concat(),
            CacheVersion::V4 => enctype.to_be_bytes().to_vec(),
        };
        let list = [&1u32.to_be_bytes()[..], &[0, 2], &counted(&[127, 0, 0, 1])].concat();
        [
            name(&ticket.client),
            name(&ticket.service),
            enctypes,
            counted(&ticket.key.bytes),
            [
                seconds(ticket.starts),
                seconds(ticket.starts),
                seconds(ticket.expires),
                [0; 4],
            ]
            .concat(),
            vec![0, 0, 0, 0, 0],
            list.clone(),
            list,
            counted(&ticket.encoded),
            counted(b""),
        ]
        .concat()
    }

    /// Encodes a cache of format 4 with these tickets and settings between them.
    pub(crate) fn cache(user: &Principal, tickets: &[Ticket]) -> Vec<u8> {
        file(user, tickets, CacheVersion::V4)
    }

    fn file(user: &Principal, tickets: &[Ticket], version: CacheVersion) -> Vec<u8> {
        let mut bytes = match version {
            CacheVersion::V3 => vec![5, 3],
            // The header has one field, the difference to the KDC's clock,
            // which is zero.
            CacheVersion::V4 => [&[5, 4, 0, 12, 0, 1, 0, 8][..], &[0; 8]].concat(),
        };
        bytes.extend(name(user));
        for ticket in tickets {
            let settings = Ticket {
                service: Principal::service("krb5_ccache_conf_data/pa_type", SETTINGS_REALM),
                ..ticket.clone()
            };
            bytes.extend(credential(&settings, 0, version));
            let enctype = ticket.key.enctype.number().into();
            bytes.extend(credential(ticket, enctype, version));
        }
        bytes
    }

    fn ticket(service: &str, expires_s: u64) -> Ticket {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        Ticket {
            client: Principal::user("ann", "EXAMPLE.COM"),
            service: Principal::service(service, "EXAMPLE.COM"),
            key: Key::random(Enctype::Aes256Sha1),
            starts: at(1_000_000),
            expires: at(expires_s),
            encoded: vec![0x61, 2, 5, 0],
        }
    }

    #[test]
    fn tickets_of_both_formats_are_read() {
        let user = Principal::user("ann", "EXAMPLE.COM");
        let tickets = [
            ticket("krbtgt/EXAMPLE.COM", 2_000_000),
            ticket("cifs/files", 1_500_000),
            ticket("cifs/files", 1_800_000),
        ];
        for version in [CacheVersion::V3, CacheVersion::V4] {
            let cache = CredentialCache::parse(&file(&user, &tickets, version)).unwrap();
            assert_eq!(cache.user(), &user);
            let found = cache.ticket(&tickets[1].service).unwrap();
            assert_eq!(found.expires, tickets[2].expires);
            assert_eq!(found.key, tickets[2].key);
            assert_eq!(found.encoded, tickets[2].encoded);
            let other = Principal::service("cifs/other", "EXAMPLE.COM");
            assert!(cache.ticket(&other).is_none());
            let shown = format!("{cache:?}");
            assert_eq!(shown, "CredentialCache(ann@EXAMPLE.COM, 3 tickets)");
        }
    }

    #[test]
    fn keys_that_are_not_spoken_are_left_out() {
        let user = Principal::user("ann", "EXAMPLE.COM");
        let mut bytes = cache(&user, &[]);
        bytes.extend(credential(&ticket("cifs/files", 5), 23, CacheVersion::V4));
        let cache = CredentialCache::parse(&bytes).unwrap();
        assert_eq!(cache.tickets.len(), 0);
    }

    #[test]
    fn what_is_no_cache_is_refused_with_its_place() {
        let user = Principal::user("ann", "EXAMPLE.COM");
        let whole = cache(&user, &[ticket("cifs/files", 5)]);
        for (bytes, offset) in [(&b""[..], 0), (b"\x05\x02\0\0", 0), (b"\x05\x04\0\x01", 4)] {
            let error = CredentialCache::parse(bytes).unwrap_err();
            assert_eq!(error.offset, offset, "{error}");
        }
        for len in 0..whole.len() {
            // A file that ends after its user, or after a credential, is complete.
            let ends_well = [36 + 7, whole.len()].contains(&len);
            let parsed = CredentialCache::parse(&whole[..len]);
            if let Ok(cache) = parsed {
                assert!(ends_well || cache.tickets.is_empty(), "{len}");
            }
        }
        // A name claims four thousand million components, but has none.
        let liar = [&[5, 3][..], &[0, 0, 0, 1], &[0xff; 4], &[0, 0, 0, 1, b'R']].concat();
        assert!(CredentialCache::parse(&liar).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(mut bytes: Vec<u8>) {
            let _ = CredentialCache::parse(&bytes);
            bytes.splice(0..0, [5, 3]);
            let _ = CredentialCache::parse(&bytes);
        }

        #[test]
        fn a_damaged_file_never_panics(at: prop::sample::Index, byte: u8) {
            let user = Principal::user("ann", "EXAMPLE.COM");
            let mut file = cache(&user, &[ticket("cifs/files", 5)]);
            let at = at.index(file.len());
            file[at] = byte;
            let _ = CredentialCache::parse(&file);
        }
    }
}
