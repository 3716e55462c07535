//! NTLMv2 inside SPNEGO (MS-NLMP), for a user or for nobody. LM and NTLMv1 are never used.
//!
//! Where the specification leaves a choice, messages are those of Windows 10, because
//! servers are tried against Windows.

mod message;
mod proof;
mod recorded;

use std::time::SystemTime;

use smbench_kerberos::spnego::{self, NTLM, NegState, Response};

use self::message::{Challenge, authenticate, negotiate};
use self::proof::{NtlmNames, seal_key};
use super::account::{Account, LogonPlace};
use super::error::AuthError;

pub(crate) use self::proof::NtlmProof;
pub use self::recorded::recorded_session_key;

/// Length of a session key in bytes.
const KEY_LEN: usize = 16;

/// The client's side of one exchange.
pub(super) struct Ntlm {
    names: NtlmNames,
    /// The password of the user; `None` for an anonymous log-on.
    password: Option<String>,
    /// The time, for servers that send none.
    now: SystemTime,
    /// The NEGOTIATE message that was sent; empty before.
    negotiate: Vec<u8>,
    session_key: Option<[u8; KEY_LEN]>,
}

impl Ntlm {
    /// Starts the log-on of a user, or of nobody.
    pub(super) fn new(
        account: Option<&Account>,
        place: LogonPlace<'_>,
        now: SystemTime,
    ) -> Result<Self, AuthError> {
        Ok(Self {
            names: NtlmNames::of(account, place)?,
            password: account.map(|account| account.password.clone()),
            now,
            negotiate: Vec::new(),
            session_key: None,
        })
    }

    /// Returns whether everything has been sent.
    pub(super) const fn is_complete(&self) -> bool {
        self.session_key.is_some()
    }

    /// Returns the token to send after receiving `token`, which is empty at first.
    pub(super) fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        if self.negotiate.is_empty() {
            self.negotiate = negotiate();
            let mechanisms = spnego::mechanisms(&[NTLM]);
            return Ok(spnego::init(&mechanisms, &self.negotiate));
        }
        let response = Response::decode(token)?;
        let is_other = response.mechanism.is_some_and(|it| it != NTLM);
        if response.state == Some(NegState::Rejected) || is_other {
            return Err(AuthError::Token("it does not accept NTLM".to_owned()));
        }
        let bytes = response
            .token
            .ok_or_else(|| AuthError::Token("it has no challenge".to_owned()))?;
        let (answer, mic) = self.answer(bytes)?;
        Ok(spnego::response(
            Some(&answer),
            mic.as_ref().map(|mic| &mic[..]),
        ))
    }

    /// Returns the AUTHENTICATE message that answers a CHALLENGE message (MS-NLMP
    /// 3.1.5.1.2), and the signature of the offered mechanisms (RFC 4178 5), which some
    /// servers require.
    fn answer(&mut self, bytes: &[u8]) -> Result<(Vec<u8>, Option<[u8; 16]>), AuthError> {
        let challenge = Challenge::decode(bytes)?;
        let names = &self.names;
        let proof = match &self.password {
            Some(password) => NtlmProof::answer(names, password, &challenge, self.now),
            None => NtlmProof::of_anonymous(),
        };
        let (session_key, sealed_key) = if challenge.exchanges_key() {
            seal_key(&proof.session_key)
        } else {
            (proof.session_key, Vec::new())
        };
        let mut message = authenticate(&challenge, names, &proof, &sealed_key);
        if challenge.needs_mic() {
            message::sign(&mut message, &session_key, [&self.negotiate, bytes]);
        }
        self.session_key = Some(session_key);
        let mechanisms = spnego::mechanisms(&[NTLM]);
        let has_key = self.password.is_some();
        let mic = (has_key && challenge.can_sign())
            .then(|| proof::signature(&session_key, challenge.exchanges_key(), &mechanisms));
        Ok((message, mic))
    }

    /// Returns the exchanged key, which has 16 bytes (MS-SMB2 3.2.5.3).
    pub(super) fn session_key(&self) -> Result<Vec<u8>, AuthError> {
        let key = self.session_key.map(Vec::from);
        key.ok_or_else(|| AuthError::Token("it came before the challenge".to_owned()))
    }
}

#[cfg(test)]
mod tests;
