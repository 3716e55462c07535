//! Keys that open encrypted sessions: session keys as tshark has them, passwords, keytabs.

use std::collections::{HashMap, HashSet};
use std::fmt;

use smbench_protocol::crypto::{Aead, Decrypted, KeySource, NONCE_LEN_MAX, PreauthHash};
use smbench_protocol::kerberos::{Keytab, RecordedLogon};
use smbench_protocol::{Cipher, Dialect, recorded_session_key};

use crate::error::CaptureError;
use crate::fields::Fields;

/// Bytes of a TRANSFORM_HEADER (MS-SMB2 2.2.41).
const TRANSFORM_LEN: usize = 52;
/// The shortest session key.
const SESSION_KEY_LEN: usize = 16;

/// Keys that were given. `Debug` does not show them.
#[derive(Clone, Default)]
pub struct KeyRing {
    sessions: HashMap<u64, GivenKeys>,
    passwords: Vec<String>,
    keytabs: Vec<Keytab>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sessions, passwords) = (self.sessions.len(), self.passwords.len());
        let keytabs = self.keytabs.len();
        write!(
            f,
            "KeyRing({sessions} sessions, {passwords} passwords, {keytabs} keytabs)"
        )
    }
}

/// The keys of a session: its own, or those of both directions.
#[derive(Clone, Default)]
struct GivenKeys {
    session: Vec<u8>,
    by_server: Vec<u8>,
    by_client: Vec<u8>,
}

impl KeyRing {
    /// Whether no key was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.passwords.is_empty() && self.keytabs.is_empty()
    }

    /// Adds the session keys of a file in tshark's format (`smb2_seskey_list`): a line for
    /// each session, with its id, its session key, and the keys of the server's and of the
    /// client's messages. Either the session key or both others may be empty.
    ///
    /// # Errors
    /// [`CaptureError::Key`] with the line that is no key.
    pub fn add_session_keys(&mut self, file: &str, text: &str) -> Result<(), CaptureError> {
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let (id, keys) = session_keys(text).map_err(|what| CaptureError::Key {
                file: file.to_owned(),
                line,
                what,
            })?;
            self.sessions.insert(id, keys);
        }
        Ok(())
    }

    /// Adds a password of users who log on with NTLM.
    pub fn add_password(&mut self, password: &str) {
        self.passwords.push(password.to_owned());
    }

    /// Adds the keytab of a server: it opens sessions that Kerberos set up.
    ///
    /// # Errors
    /// [`CaptureError::Keytab`] if the file is none.
    pub fn add_keytab(&mut self, file: &str, bytes: &[u8]) -> Result<(), CaptureError> {
        let keytab = Keytab::parse(bytes).map_err(|source| CaptureError::Keytab {
            file: file.to_owned(),
            source,
        })?;
        self.keytabs.push(keytab);
        Ok(())
    }

    /// Says which given keys do not open a session with these ids; `None` if none was given
    /// for it.
    pub(crate) fn failed(
        &self,
        logon: Option<&str>,
        mut ids: impl Iterator<Item = u64>,
    ) -> Option<&'static str> {
        let given = ids.find_map(|id| self.sessions.get(&id));
        match (given, logon) {
            (Some(given), None) if given.by_client.is_empty() => {
                Some("the given session key needs the log-on")
            }
            (Some(_), _) => Some("the given session key does not open them"),
            (None, Some("ntlm")) if !self.passwords.is_empty() => {
                Some("no given password opens them")
            }
            (None, Some("kerberos")) if !self.keytabs.is_empty() => {
                Some("no given keytab opens them")
            }
            (None, _) => None,
        }
    }

    /// Returns the session ids of the given keys that are none of these, as the file has them.
    pub(crate) fn unknown_ids(&self, known: impl Iterator<Item = u64>) -> Vec<String> {
        let known: HashSet<_> = known.collect();
        let given = self.sessions.keys().filter(|id| !known.contains(id));
        let written = |id: &u64| {
            let bytes = id.to_le_bytes();
            bytes.map(|byte| format!("{byte:02x}")).concat()
        };
        let mut unknown: Vec<_> = given.map(written).collect();
        unknown.sort_unstable();
        unknown
    }

    /// Opens the ticket of a client's AP-REQ.
    pub(crate) fn ticket(&self, request: &[u8]) -> Option<RecordedLogon> {
        let mut keytabs = self.keytabs.iter();
        keytabs.find_map(|keytab| RecordedLogon::open(request, keytab))
    }

    /// Returns the session key of a log-on whose messages were seen.
    pub(crate) fn key_of_logon(&self, challenge: &[u8], authenticate: &[u8]) -> Option<Vec<u8>> {
        let keys = self.passwords.iter();
        let mut keys =
            keys.filter_map(|password| recorded_session_key(challenge, authenticate, password));
        keys.next().map(Vec::from)
    }

    /// Returns the ciphers of a session, if its keys are known. `logon_key` is the key that
    /// the log-on exchanged.
    pub(crate) fn ciphers(
        &self,
        id: u64,
        logon_key: Option<&[u8]>,
        terms: CipherTerms<'_>,
    ) -> Option<SessionCiphers> {
        let given = self.sessions.get(&id);
        if let Some(given) = given.filter(|given| !given.by_client.is_empty()) {
            return SessionCiphers::new(&given.by_client, &given.by_server, terms.cipher);
        }
        let session = given
            .map(|given| &given.session[..])
            .filter(|key| !key.is_empty());
        let full_session_key = session.or(logon_key)?;
        let source = KeySource {
            dialect: terms.dialect?,
            full_session_key,
            preauth: terms.preauth?,
        };
        let cipher = terms.cipher?;
        // A key of 32 bytes needs the whole session key.
        let [by_client, by_server] = source.encryption(cipher);
        SessionCiphers::new(&by_client, &by_server, Some(cipher))
    }
}

/// What a session's keys depend on.
#[derive(Clone, Copy)]
pub(crate) struct CipherTerms<'a> {
    pub(crate) dialect: Option<Dialect>,
    pub(crate) cipher: Option<Cipher>,
    /// The hash over the messages of the log-on.
    pub(crate) preauth: Option<&'a PreauthHash>,
}

/// Reads `id,key[,server key,client key]`, as hexadecimal digits.
fn session_keys(line: &str) -> Result<(u64, GivenKeys), &'static str> {
    const EXPECTED: &str = "expected session id, session key, server key and client key in \
                            hexadecimal, with commas between them";
    let mut fields = line.split(',').map(|field| field.trim().trim_matches('"'));
    let id = hex(fields.next().unwrap_or_default()).ok_or(EXPECTED)?;
    // The id is written as it lies on the wire.
    let id = u64::from_le_bytes(
        id.try_into()
            .map_err(|_| "expected a session id of 16 digits")?,
    );
    let mut key = || hex(fields.next().unwrap_or_default()).ok_or(EXPECTED);
    let keys = GivenKeys {
        session: key()?,
        by_server: key()?,
        by_client: key()?,
    };
    let is_cipher_key = |key: &[u8]| matches!(key.len(), 0 | 16 | 32);
    if !is_cipher_key(&keys.by_server) || keys.by_server.len() != keys.by_client.len() {
        return Err("expected both keys of 32 or 64 digits, or none");
    }
    match keys.session.len() {
        0 if !keys.by_client.is_empty() => Ok((id, keys)),
        SESSION_KEY_LEN.. => Ok((id, keys)),
        _ => Err("expected a session key of 32 digits or more"),
    }
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match *pair {
        [high, low] => u8::try_from(value(high)? << 4 | value(low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

/// The keys of a session, ready to decrypt. If the negotiation was not seen, the cipher
/// is the one that opens the first message.
pub(crate) struct SessionCiphers {
    by_client: Vec<Aead>,
    by_server: Vec<Aead>,
}

impl fmt::Debug for SessionCiphers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionCiphers")
    }
}

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Client,
    Server,
}

impl SessionCiphers {
    fn new(by_client: &[u8], by_server: &[u8], cipher: Option<Cipher>) -> Option<Self> {
        let possible = |key: &[u8]| -> Vec<Aead> {
            let ciphers = Cipher::ALL.into_iter();
            let ciphers = ciphers.filter(|known| cipher.is_none_or(|cipher| cipher == *known));
            let ciphers = ciphers.filter(|known| known.key_len() == key.len());
            ciphers.map(|known| Aead::new(known, key)).collect()
        };
        let ciphers = Self {
            by_client: possible(by_client),
            by_server: possible(by_server),
        };
        (!ciphers.by_client.is_empty()).then_some(ciphers)
    }

    /// Decrypts a message into `plain`. Returns whether a key was right.
    pub(crate) fn open(&self, sender: Sender, message: &[u8], plain: &mut Vec<u8>) -> bool {
        let fields = Fields(message);
        let keys = match sender {
            Sender::Client => &self.by_client,
            Sender::Server => &self.by_server,
        };
        let (Some(nonce), Some(tag)) = (fields.array::<NONCE_LEN_MAX>(20), fields.array(4)) else {
            return false;
        };
        let size = fields.u32(36).map(|size| size as usize);
        let sealed = message
            .get(TRANSFORM_LEN..)
            .filter(|sealed| Some(sealed.len()) == size);
        let (Some(sealed), Some(header)) = (sealed, message.get(20..TRANSFORM_LEN)) else {
            return false;
        };
        keys.iter().any(|key| {
            plain.clear();
            plain.extend_from_slice(sealed);
            key.open(nonce, header, &tag, plain) == Decrypted::Genuine
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_keys_are_read_as_tshark_has_them() {
        let id = "4100000000080000";
        let key = "00112233445566778899aabbccddeeff";
        let mut keys = KeyRing::default();
        let text =
            format!("# comment\n\n{id},{key}\n\"4200000000080000\",\"\",\"{key}\",\"{key}\"\n");
        keys.add_session_keys("keys", &text).unwrap();
        assert_eq!(
            format!("{keys:?}"),
            "KeyRing(2 sessions, 0 passwords, 0 keytabs)"
        );
        assert!(keys.sessions.contains_key(&0x0000_0800_0000_0041));
        for (text, what) in [
            (
                "nothing",
                "expected session id, session key, server key and client key in hexadecimal, with commas between them",
            ),
            ("41,00", "expected a session id of 16 digits"),
            (
                &format!("{id},0011"),
                "expected a session key of 32 digits or more",
            ),
            (
                &format!("{id},,{key}"),
                "expected both keys of 32 or 64 digits, or none",
            ),
            (
                &format!("{id},{key}1"),
                "expected session id, session key, server key and client key in hexadecimal, with commas between them",
            ),
        ] {
            let error = keys.add_session_keys("keys", text).unwrap_err();
            assert_eq!(error.to_string(), format!("keys:1: {what}"));
        }
    }
}
