//! Keytabs: the long-term keys of principals, in file format 2 of MIT Kerberos.

use std::fmt;

use super::enctype::{Enctype, Key};
use super::file::{FileReader, MalformedFile};
use super::principal::Principal;

/// The usable keys of a keytab file. `Debug` does not show them.
#[derive(Clone)]
pub struct Keytab {
    entries: Vec<KeytabEntry>,
}

#[derive(Clone)]
struct KeytabEntry {
    principal: Principal,
    version: u32,
    /// `None` for an unsupported encryption type.
    key: Option<Key>,
}

impl fmt::Debug for Keytab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keytab({} keys)", self.entries.len())
    }
}

impl Keytab {
    /// Reads the content of a keytab file.
    ///
    /// # Errors
    /// Returns an error if the file has another format than 2, or is damaged.
    pub fn parse(bytes: &[u8]) -> Result<Self, MalformedFile> {
        let mut file = FileReader::new(bytes);
        let version = file.error("no keytab of format 2");
        if file.u16("no keytab of format 2")? != 0x0502 {
            return Err(version);
        }
        let mut entries = Vec::new();
        while !file.is_empty() {
            let len = file.u32("truncated keytab entry")?.cast_signed();
            let size = len.unsigned_abs() as usize;
            let entry = file.record(size, "truncated keytab entry")?;
            match len {
                0 => break,
                // A deleted entry leaves a hole, which has a negative length.
                ..0 => {}
                _ => entries.push(KeytabEntry::parse(entry)?),
            }
        }
        Ok(Self { entries })
    }

    /// Returns the principals in the file's order, each once.
    #[must_use]
    pub fn principals(&self) -> Vec<&Principal> {
        let mut principals = Vec::new();
        for entry in &self.entries {
            if !principals.contains(&&entry.principal) {
                principals.push(&entry.principal);
            }
        }
        principals
    }

    /// Returns all keys.
    pub(super) fn all_keys(&self) -> impl Iterator<Item = &Key> {
        self.entries.iter().filter_map(|entry| entry.key.as_ref())
    }

    /// Returns the newest keys of `principal`, one for each encryption type.
    pub(super) fn keys(&self, principal: &Principal) -> Vec<Key> {
        Enctype::ALL
            .into_iter()
            .filter_map(|enctype| {
                self.entries
                    .iter()
                    .filter(|entry| entry.principal == *principal)
                    .filter_map(|entry| Some((entry.version, entry.key.as_ref()?)))
                    .filter(|(_, key)| key.enctype == enctype)
                    .max_by_key(|(version, _)| *version)
                    .map(|(_, key)| key.clone())
            })
            .collect()
    }
}

impl KeytabEntry {
    fn parse(mut entry: FileReader<'_>) -> Result<Self, MalformedFile> {
        const WHAT: &str = "malformed keytab entry";
        let count = entry.u16(WHAT)?;
        // The name type follows the name, so it is not known yet.
        let principal = entry.principal(1, count.into(), FileReader::counted16)?;
        entry.take(8, WHAT)?;
        let short_version = entry.u8(WHAT)?;
        let enctype = entry.u16(WHAT)?;
        let malformed_key = entry.error("malformed key");
        let key = entry.counted16(WHAT)?;
        // A 32-bit version follows if eight bits may not be enough.
        let version = match entry.len() {
            0..4 => 0,
            _ => entry.u32(WHAT)?,
        };
        let key = match Enctype::from_number(enctype.into()) {
            Some(enctype) => Some(Key::new(enctype, key).ok_or(malformed_key)?),
            None => None,
        };
        Ok(Self {
            principal,
            version: match version {
                0 => short_version.into(),
                _ => version,
            },
            key,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::hex;
    use super::*;

    /// Encodes an entry as ktutil does: one component, the version in 8 and in
    /// 32 bits.
    fn entry(name: &str, version: u8, enctype: u16, key: &[u8]) -> Vec<u8> {
        let counted = |text: &[u8]| {
            let mut bytes = (text.len() as u16).to_be_bytes().to_vec();
            bytes.extend_from_slice(text);
            bytes
        };
        let body = [
            &1u16.to_be_bytes()[..],
            &counted(b"EXAMPLE.COM"),
            &counted(name.as_bytes()),
            &1u32.to_be_bytes(),
            &0u32.to_be_bytes(),
            &[version],
            &enctype.to_be_bytes(),
            &counted(key),
            &u32::from(version).to_be_bytes(),
        ]
        .concat();
        [&(body.len() as u32).to_be_bytes()[..], &body].concat()
    }

    fn keytab(entries: &[Vec<u8>]) -> Vec<u8> {
        [&[5, 2][..], &entries.concat()].concat()
    }

    #[test]
    fn the_newest_key_of_each_type_is_taken() {
        let hole = [&(-3i32).to_be_bytes()[..], &[1, 2, 3]].concat();
        let file = keytab(&[
            entry("ann", 2, 17, &[2; 16]),
            hole,
            entry("ann", 10, 17, &[10; 16]),
            entry("ann", 10, 18, &[18; 32]),
            entry("ann", 11, 23, &[23; 16]),
            entry("bob", 12, 17, &[12; 16]),
        ]);
        let keytab = Keytab::parse(&file).unwrap();
        let ann = Principal::user("ann", "EXAMPLE.COM");
        let keys = keytab.keys(&ann);
        let found: Vec<_> = keys.iter().map(|key| &key.bytes[..]).collect();
        assert_eq!(found, [&[18; 32][..], &[10; 16]]);
        let bob = Principal::user("bob", "EXAMPLE.COM");
        assert_eq!(keytab.principals(), [&ann, &bob]);
        assert!(keytab.keys(&Principal::user("ann", "OTHER")).is_empty());
        assert_eq!(format!("{keytab:?}"), "Keytab(5 keys)");
    }

    /// MIT's ktutil 1.20 wrote this file, with the password `pw` and the command
    /// `addent -password -p ann@EXAMPLE.COM -k 1 -e aes128-cts-hmac-sha1-96`.
    #[test]
    fn a_file_of_ktutil_is_read() {
        let file = hex(KTUTIL);
        let keytab = Keytab::parse(&file).unwrap();
        let ann = Principal::user("ann", "EXAMPLE.COM");
        let expected = Key::from_password(Enctype::Aes128Sha1, "pw", b"EXAMPLE.COMann", &[]);
        assert_eq!(keytab.keys(&ann), [expected.unwrap()]);
    }

    const KTUTIL: &str = "0502000000350001000b4558414d504c452e434f4d0003616e6e000000016b00593901001100102f8b0edd217a3aed9dbc8c56aeab97a000000001";

    #[test]
    fn what_is_no_keytab_is_refused_with_its_place() {
        let whole = keytab(&[entry("ann", 2, 17, &[2; 16])]);
        for (bytes, offset) in [
            (&b""[..], 0),
            (b"\x05\x04\x00\x0c", 0),
            (b"\x05\x02\x00\x00\x00", 2),
            (b"\x05\x02\x7f\xff\xff\xff\x00", 6),
            (&whole[..whole.len() - 1], 6),
        ] {
            assert_eq!(Keytab::parse(bytes).unwrap_err().offset, offset);
        }
        let short_key = keytab(&[entry("ann", 2, 17, &[2; 15])]);
        let error = Keytab::parse(&short_key).unwrap_err().to_string();
        assert!(error.starts_with("malformed key at byte"), "{error}");
        // The smallest 32-bit number has no positive counterpart.
        assert!(Keytab::parse(b"\x05\x02\x80\x00\x00\x00").is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(mut bytes: Vec<u8>) {
            let _ = Keytab::parse(&bytes);
            bytes.splice(0..0, [5, 2]);
            let _ = Keytab::parse(&bytes);
        }

        #[test]
        fn a_damaged_file_never_panics(at: prop::sample::Index, byte: u8) {
            let mut file = keytab(&[entry("ann", 2, 17, &[2; 16]), entry("bob", 2, 18, &[2; 32])]);
            let at = at.index(file.len());
            file[at] = byte;
            let _ = Keytab::parse(&file);
            let _ = Keytab::parse(&file[..at]);
        }
    }
}
