//! Anonymous log-on with NTLM inside SPNEGO: the messages of MS-NLMP 2.2.1
//! without any proof (3.2.5.1.2).

use smbench_kerberos::spnego::{self, NTLM, Response};

use super::AuthError;
use super::ntlm::message::{SIGNATURE, negotiate};

/// UNICODE, REQUEST_TARGET, NTLM, ALWAYS_SIGN, EXTENDED_SESSIONSECURITY, 128 and
/// 56 bits (MS-NLMP 2.2.2.5).
const FLAGS: u32 = 0xa008_8205;
/// NTLMSSP_NEGOTIATE_ANONYMOUS.
const ANONYMOUS: u32 = 0x0000_0800;
const AUTHENTICATE_LEN: u32 = 64;

/// The client's side of one exchange.
#[derive(Default)]
pub(super) struct Anonymous {
    stage: AnonymousStage,
}

#[derive(Default)]
enum AnonymousStage {
    #[default]
    Negotiate,
    Authenticate,
}

impl Anonymous {
    pub(super) fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        match self.stage {
            AnonymousStage::Negotiate => {
                self.stage = AnonymousStage::Authenticate;
                Ok(spnego::init(
                    &spnego::mechanisms(&[NTLM]),
                    &negotiate(FLAGS),
                ))
            }
            AnonymousStage::Authenticate => {
                // There is no secret to answer the challenge with, so only its
                // form is checked.
                Response::decode(token)?;
                Ok(spnego::response(Some(&authenticate()), None))
            }
        }
    }
}

/// Encodes AUTHENTICATE_MESSAGE (2.2.1.3). The LM response is one zero byte.
/// All other fields are empty.
fn authenticate() -> Vec<u8> {
    let field = |len: u16, offset: u32| {
        let mut bytes = [len.to_le_bytes(), len.to_le_bytes()].concat();
        bytes.extend_from_slice(&offset.to_le_bytes());
        bytes
    };
    let mut message = SIGNATURE.to_vec();
    message.extend_from_slice(&3u32.to_le_bytes());
    message.extend(field(1, AUTHENTICATE_LEN));
    for _nt_domain_user_workstation_key in 0..5 {
        message.extend(field(0, AUTHENTICATE_LEN + 1));
    }
    message.extend_from_slice(&(FLAGS | ANONYMOUS).to_le_bytes());
    message.push(0);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_lengths_their_fields_say() {
        assert_eq!(negotiate(FLAGS).len(), 32);
        let message = authenticate();
        assert_eq!(message.len(), AUTHENTICATE_LEN as usize + 1);
        assert_eq!(message[12..20], [1, 0, 1, 0, 64, 0, 0, 0]);
        assert_eq!(message[20..28], [0, 0, 0, 0, 65, 0, 0, 0]);
    }

    #[test]
    fn nonsense_instead_of_a_challenge_is_an_error() {
        let mut anonymous = Anonymous::default();
        anonymous.step(&[]).unwrap();
        assert!(anonymous.step(b"nonsense").is_err());
    }
}
