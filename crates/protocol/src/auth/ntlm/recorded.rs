//! The session key of a log-on that was recorded, for who knows the password (MS-NLMP
//! 3.3.2, 3.4.5.1).

use md4::{Digest as _, Md4};
use rc4::{KeyInit as _, Rc4, StreamCipher as _, consts::U16};

use super::KEY_LEN;
use super::proof::{hmac_md5, utf16};
use crate::upper::upper;
use crate::wire::Reader;

/// Bits of NegotiateFlags.
const UNICODE: u32 = 0x0000_0001;
const KEY_EXCH: u32 = 0x4000_0000;
/// Length of the proof at the start of a response of NTLMv2.
const PROOF_LEN: usize = 16;

/// Returns the session key that follows from a server's CHALLENGE message and the user's
/// AUTHENTICATE message, if this is the user's password.
///
/// The messages begin with `NTLMSSP`. The result is `None` as well if they are cut, or if
/// they are not of NTLMv2.
#[must_use]
pub fn recorded_session_key(
    challenge: &[u8],
    authenticate: &[u8],
    password: &str,
) -> Option<[u8; KEY_LEN]> {
    const WHAT: &str = "field of a recorded log-on";
    let server_challenge: [u8; 8] = Reader::at(challenge, 24).array(WHAT).ok()?;
    let field = |at: usize| {
        let mut reader = Reader::at(authenticate, at);
        let len = usize::from(reader.u16(WHAT).ok()?);
        reader.u16(WHAT).ok()?;
        let offset = reader.u32(WHAT).ok()? as usize;
        reader.slice(offset, len, WHAT).ok()
    };
    let [response, domain, user, sealed] = [field(20)?, field(28)?, field(36)?, field(52)?];
    let flags = Reader::at(authenticate, 60).u32(WHAT).ok()?;
    let (proof, blob) = response.split_at_checked(PROOF_LEN)?;
    if flags & UNICODE == 0 {
        return None;
    }
    let units: Vec<_> = user
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect();
    let upper_user = utf16(&upper(&String::from_utf16(&units).ok()?));
    let hash: [u8; KEY_LEN] = Md4::digest(utf16(password)).into();
    let key = hmac_md5(&hash, &[&upper_user, domain]);
    if hmac_md5(&key, &[&server_challenge, blob]) != proof {
        return None;
    }
    let base = hmac_md5(&key, &[proof]);
    if flags & KEY_EXCH == 0 {
        return Some(base);
    }
    let mut chosen: [u8; KEY_LEN] = *sealed.first_chunk()?;
    Rc4::<U16>::new(&base.into()).apply_keystream(&mut chosen);
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::super::tests::challenge;
    use super::*;
    use crate::auth::ntlm::{Account, LogonPlace, Ntlm};

    #[test]
    fn the_key_of_a_log_on_follows_from_its_messages_and_the_password() {
        let account = Account {
            domain: "LAB".to_owned(),
            user: "änn".to_owned(),
            password: "secret".to_owned(),
        };
        let place = LogonPlace {
            host: "server",
            workstation: "",
        };
        for flags in [0xe288_8215, 0xa288_8215] {
            let challenge = challenge(flags, &[]);
            let mut ntlm = Ntlm::new(Some(&account), place, UNIX_EPOCH).unwrap();
            let (answer, _) = ntlm.answer(&challenge).unwrap();
            let key = recorded_session_key(&challenge, &answer, "secret");
            assert_eq!(key.unwrap()[..], ntlm.session_key().unwrap());
            assert_eq!(recorded_session_key(&challenge, &answer, "wrong"), None);
            for end in 0..answer.len() {
                let cut = recorded_session_key(&challenge, &answer[..end], "secret");
                assert_eq!(cut, None, "{end}");
            }
        }
    }
}
