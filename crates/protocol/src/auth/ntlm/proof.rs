//! The proof of the password in NTLMv2 (MS-NLMP 3.3.2).

use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, Mac as _};
use md4::Md4;
use md5::{Digest as _, Md5};
use rc4::{KeyInit as _, Rc4, StreamCipher as _, consts::U16};

use super::message::Challenge;
use super::{Account, AuthError, KEY_LEN, LogonPlace};
use crate::random::random;
use crate::upper::upper;

/// Time from 1601 to 1970 in units of 100 ns.
const EPOCH: u64 = 116_444_736_000_000_000;

/// The names in a log-on, in UTF-16.
pub(super) struct NtlmNames {
    pub(super) user: Vec<u8>,
    pub(super) domain: Vec<u8>,
    /// Name of the client's machine.
    pub(super) workstation: Vec<u8>,
    upper_user: Vec<u8>,
    /// Name of the service, which is of the class `cifs`.
    service: Vec<u8>,
}

impl NtlmNames {
    /// Returns the names in the log-on of a user, or of nobody.
    ///
    /// # Errors
    /// If the account has a domain, and its user names one as well.
    pub(super) fn of(account: Option<&Account>, place: LogonPlace<'_>) -> Result<Self, AuthError> {
        let (domain, user) = match account {
            Some(account) => (account.domain.as_str(), account.user.as_str()),
            None => ("", ""),
        };
        let has_realm = user.contains(['\\', '@']);
        let is_mixed = (has_realm && !domain.is_empty()) || domain.contains(['\\', '@']);
        if is_mixed {
            return Err(AuthError::UserName);
        }
        let (domain, user) = user.split_once('\\').unwrap_or((domain, user));
        Ok(Self {
            user: utf16(user),
            domain: utf16(domain),
            workstation: utf16(place.workstation),
            upper_user: utf16(&upper(user)),
            service: utf16(&format!("cifs/{}", place.host)),
        })
    }
}

/// The responses to a challenge, and the key that follows from them.
pub(crate) struct NtlmProof {
    /// Names of the user and the domain, in UTF-16.
    pub(crate) user: Vec<u8>,
    pub(crate) domain: Vec<u8>,
    pub(crate) lm_response: Vec<u8>,
    pub(crate) nt_response: Vec<u8>,
    /// SessionBaseKey.
    pub(crate) session_key: [u8; KEY_LEN],
}

impl NtlmProof {
    /// Answers the challenge of a server without extended security (MS-CIFS 3.2.4.2.4).
    pub(crate) fn of(
        account: &Account,
        place: LogonPlace<'_>,
        challenge: [u8; 8],
        now: SystemTime,
    ) -> Result<Self, AuthError> {
        let names = NtlmNames::of(Some(account), place)?;
        let challenge = Challenge::bare(challenge);
        Ok(Self::answer(&names, &account.password, &challenge, now))
    }

    /// Returns what an anonymous log-on has in place of a proof (MS-NLMP 3.2.5.1.2).
    pub(crate) fn of_anonymous() -> Self {
        Self {
            user: Vec::new(),
            domain: Vec::new(),
            lm_response: vec![0],
            nt_response: Vec::new(),
            session_key: [0; KEY_LEN],
        }
    }

    /// Proves the password of a user.
    pub(super) fn answer(
        names: &NtlmNames,
        password: &str,
        challenge: &Challenge<'_>,
        now: SystemTime,
    ) -> Self {
        let time = challenge.timestamp.unwrap_or_else(|| file_time(now));
        Self::with(names, password, challenge, time, random())
    }

    pub(super) fn with(
        names: &NtlmNames,
        password: &str,
        challenge: &Challenge<'_>,
        time: [u8; 8],
        own_challenge: [u8; 8],
    ) -> Self {
        let key = ntowf_v2(names, password);
        let mut temp = vec![1, 1, 0, 0, 0, 0, 0, 0];
        temp.extend_from_slice(&time);
        temp.extend_from_slice(&own_challenge);
        temp.extend_from_slice(&[0; 4]);
        temp.extend(challenge.attributes_of_proof(&names.service));
        temp.extend_from_slice(&[0; 4]);
        let proof = hmac_md5(&key, &[&challenge.challenge, &temp]);
        let lm_response = if challenge.needs_mic() {
            vec![0; 24]
        } else {
            let lm = hmac_md5(&key, &[&challenge.challenge, &own_challenge]);
            [&lm[..], &own_challenge].concat()
        };
        Self {
            user: names.user.clone(),
            domain: names.domain.clone(),
            lm_response,
            nt_response: [&proof[..], &temp].concat(),
            session_key: hmac_md5(&key, &[&proof]),
        }
    }
}

/// Returns NTOWFv2: the key of a user's proofs.
fn ntowf_v2(names: &NtlmNames, password: &str) -> [u8; KEY_LEN] {
    let hash: [u8; KEY_LEN] = Md4::digest(utf16(password)).into();
    hmac_md5(&hash, &[&names.upper_user, &names.domain])
}

/// Chooses a session key. Returns it, and the same encrypted with `key`.
pub(super) fn seal_key(key: &[u8; KEY_LEN]) -> ([u8; KEY_LEN], Vec<u8>) {
    let chosen = random();
    let mut sealed = chosen.to_vec();
    Rc4::<U16>::new(key.into()).apply_keystream(&mut sealed);
    (chosen, sealed)
}

/// Returns the client's first signature of a message (3.4.4.2), with keys of 128 bits.
pub(super) fn signature(key: &[u8; KEY_LEN], is_sealed: bool, message: &[u8]) -> [u8; 16] {
    let derive = |purpose: &str| -> [u8; KEY_LEN] {
        let magic = format!("session key to client-to-server {purpose} key magic constant\0");
        let mut hash = Md5::new();
        hash.update(key);
        hash.update(magic);
        hash.finalize().into()
    };
    let sequence = [0; 4];
    let mut checksum = hmac_md5(&derive("signing"), &[&sequence, message]);
    let checksum = &mut checksum[..8];
    if is_sealed {
        Rc4::<U16>::new(&derive("sealing").into()).apply_keystream(checksum);
    }
    let mut signature = [0; 16];
    signature[0] = 1;
    signature[4..12].copy_from_slice(checksum);
    signature
}

pub(super) fn hmac_md5(key: &[u8; KEY_LEN], parts: &[&[u8]]) -> [u8; KEY_LEN] {
    let mut mac = <Hmac<Md5> as hmac::Mac>::new_from_slice(key)
        .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// Returns a time as FILETIME (MS-DTYP 2.3.3).
fn file_time(time: SystemTime) -> [u8; 8] {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    // The cast is safe until the year 60,000.
    (EPOCH + (since.as_nanos() / 100) as u64).to_le_bytes()
}

pub(super) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: LogonPlace<'_> = LogonPlace {
        host: "server",
        workstation: "",
    };

    fn hex(text: &str) -> Vec<u8> {
        let digits = text.as_bytes().chunks(2);
        digits
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    /// The values of MS-NLMP 4.2.1 and 4.2.4. The challenge there has the attributes of
    /// 4.2.4, and no timestamp.
    #[test]
    fn proofs_are_those_of_the_specification() {
        let account = Account {
            domain: "Domain".to_owned(),
            user: "User".to_owned(),
            password: "Password".to_owned(),
        };
        let names = NtlmNames::of(Some(&account), PLACE).unwrap();
        assert_eq!(
            ntowf_v2(&names, "Password"),
            hex("0c868a403bfd7a93a3001ef22ef02e3f")[..]
        );
        let target = [
            &[2, 0, 12, 0][..],
            &utf16("Domain"),
            &[1, 0, 12, 0],
            &utf16("Server"),
            &[0; 4],
        ]
        .concat();
        let mut message = b"NTLMSSP\0\x02\0\0\0".to_vec();
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(&0xe28a_8233u32.to_le_bytes());
        message.extend_from_slice(&hex("0123456789abcdef"));
        message.extend_from_slice(&[0; 8]);
        let len = (target.len() as u16).to_le_bytes();
        message.extend_from_slice(&[len, len].concat());
        message.extend_from_slice(&48u32.to_le_bytes());
        message.extend_from_slice(&target);
        let challenge = Challenge::decode(&message).unwrap();
        let proof = NtlmProof::with(&names, "Password", &challenge, [0; 8], [0xaa; 8]);
        assert_eq!(
            proof.nt_response[..16],
            hex("68cd0ab851e51c96aabc927bebef6a1c")
        );
        assert_eq!(
            proof.lm_response,
            hex("86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa")
        );
        assert_eq!(
            proof.session_key,
            hex("8de40ccadbc14a82f15cb0ad0de95ca3")[..]
        );
    }

    #[test]
    fn a_user_names_one_domain_at_most() {
        let names = |user: &str, domain: &str| {
            let account = Account {
                domain: domain.to_owned(),
                user: user.to_owned(),
                password: String::new(),
            };
            NtlmNames::of(Some(&account), PLACE).map(|names| (names.user, names.domain))
        };
        assert_eq!(names(r"LAB\ann", "").unwrap(), (utf16("ann"), utf16("LAB")));
        assert_eq!(
            names("ann@lab.example", "").unwrap(),
            (utf16("ann@lab.example"), Vec::new())
        );
        for (user, domain) in [(r"LAB\ann", "LAB"), ("ann@lab", "LAB"), ("ann", r"LAB\x")] {
            assert!(names(user, domain).is_err(), "{user} {domain}");
        }
    }
}
