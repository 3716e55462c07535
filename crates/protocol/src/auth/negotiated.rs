//! Kerberos inside SPNEGO.

use std::sync::Arc;
use std::time::SystemTime;

use smbench_kerberos::Initiator;
use smbench_kerberos::KerberosError;
use smbench_kerberos::ServiceTicket;
use smbench_kerberos::spnego::{self, KERBEROS, MS_KERBEROS, NegState, Response};

use super::error::AuthError;

/// The mechanisms in the order in which Windows offers them.
const OFFERED: [&[u8]; 2] = [MS_KERBEROS, KERBEROS];

/// The client's side of one exchange.
pub(super) struct KerberosExchange {
    initiator: Initiator,
    /// The first token; empty after it was sent.
    first: Vec<u8>,
}

impl KerberosExchange {
    pub(super) fn start(ticket: Arc<ServiceTicket>, now: SystemTime) -> Result<Self, AuthError> {
        let (initiator, token) = Initiator::start(ticket, now)?;
        Ok(Self {
            initiator,
            first: spnego::init(&spnego::mechanisms(&OFFERED), &token),
        })
    }

    pub(super) fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        let first = std::mem::take(&mut self.first);
        if !first.is_empty() {
            return Ok(first);
        }
        self.take(token)?;
        // The server has accepted the ticket, and wants the list of mechanisms
        // confirmed (RFC 4178 5).
        let mic = self.initiator.mic(&spnego::mechanisms(&OFFERED));
        Ok(spnego::response(None, Some(&mic)))
    }

    pub(super) fn conclude(&mut self, token: &[u8]) -> Result<(), AuthError> {
        if !token.is_empty() {
            self.take(token)?;
        }
        if self.initiator.is_proven() {
            Ok(())
        } else {
            Err(self.initiator.unproven().into())
        }
    }

    fn take(&mut self, token: &[u8]) -> Result<(), AuthError> {
        let response = Response::decode(token)?;
        if let Some(token) = response.token
            && !self.initiator.is_proven()
        {
            self.initiator.finish(token)?;
        }
        let is_other = |mechanism: &[u8]| !OFFERED.contains(&mechanism);
        if response.state == Some(NegState::Rejected) || response.mechanism.is_some_and(is_other) {
            return Err(KerberosError::NotTaken.into());
        }
        if let Some(mic) = response.mic {
            let mechanisms = spnego::mechanisms(&OFFERED);
            if !self.initiator.is_proven() || !self.initiator.verifies(&mechanisms, mic) {
                return Err(self.initiator.unproven().into());
            }
        }
        Ok(())
    }

    pub(super) fn session_key(&self) -> &[u8] {
        self.initiator.session_key()
    }
}
