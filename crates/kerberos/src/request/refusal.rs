//! Errors of KDCs: what they mean, and the proof that one of them asks for.

use std::time::{Duration, SystemTime};

use super::{TicketRequest, TicketStage, TicketStep, UserProof};
use crate::enctype::Key;
use crate::error::KerberosError;
use crate::messages::reply::{self, KrbError};
use crate::messages::{self, preauth, usage};
use crate::ticket::KerberosTime;

/// Error codes that are handled specially (RFC 4120 7.5.9).
pub(super) mod code {
    pub(crate) const CLIENT_EXPIRED: i64 = 1;
    pub(crate) const CLIENT_UNKNOWN: i64 = 6;
    pub(crate) const SERVICE_UNKNOWN: i64 = 7;
    pub(crate) const ENCTYPE_UNSUPPORTED: i64 = 14;
    pub(crate) const CLIENT_REVOKED: i64 = 18;
    pub(crate) const PASSWORD_EXPIRED: i64 = 23;
    pub(crate) const PREAUTH_FAILED: i64 = 24;
    pub(crate) const PREAUTH_REQUIRED: i64 = 25;
    pub(crate) const BAD_INTEGRITY: i64 = 31;
    pub(crate) const TICKET_EXPIRED: i64 = 32;
    pub(crate) const SKEW: i64 = 37;
    pub(crate) const WRONG_REALM: i64 = 68;
}

impl TicketRequest {
    /// Processes an error: proves the identity if the KDC asks for that.
    pub(super) fn refused(
        &mut self,
        error: &KrbError<'_>,
        now: SystemTime,
    ) -> Result<TicketStep, KerberosError> {
        if let (
            code::PREAUTH_REQUIRED,
            TicketStage::User {
                proof,
                proven: None,
            },
        ) = (error.code, &self.stage)
        {
            let key = self.key_for(proof, error)?;
            let stamp = messages::timestamp(KerberosTime::from(now));
            let stamp = messages::encrypted(&key, usage::AS_REQ_TIMESTAMP, &stamp);
            if let TicketStage::User { proven, .. } = &mut self.stage {
                *proven = Some(key);
            }
            return Ok(self.ask_for_user(&[(preauth::ENC_TIMESTAMP, stamp)], now));
        }
        Err(self.refusal(error, now))
    }

    /// Returns the key for the proof that the KDC accepts.
    fn key_for(&self, proof: &UserProof, error: &KrbError<'_>) -> Result<Key, KerberosError> {
        let methods = error.methods()?;
        let value = |kind| methods.iter().find(|(found, _)| *found == kind);
        let (Some(_), Some((_, info))) =
            (value(preauth::ENC_TIMESTAMP), value(preauth::ETYPE_INFO2))
        else {
            return Err(KerberosError::OtherProof(self.user.clone()));
        };
        reply::etype_info(info)?
            .iter()
            .find_map(|info| proof.key(&self.user, info))
            .ok_or_else(|| KerberosError::NoSharedEncryption(self.user.clone()))
    }

    fn refusal(&self, error: &KrbError<'_>, now: SystemTime) -> KerberosError {
        let user = || self.user.clone();
        match (&self.stage, error.code) {
            (_, code::SKEW) => KerberosError::ClockSkew(distance(now, error.time)),
            (_, code::CLIENT_UNKNOWN) => KerberosError::UnknownUser(user()),
            (_, code::CLIENT_EXPIRED | code::CLIENT_REVOKED) => {
                KerberosError::AccountClosed(user())
            }
            (_, code::PASSWORD_EXPIRED) => KerberosError::PasswordExpired(user()),
            (TicketStage::User { proof, .. }, code::PREAUTH_FAILED | code::BAD_INTEGRITY) => {
                proof.wrong(&self.user)
            }
            (_, code::PREAUTH_REQUIRED) => KerberosError::OtherProof(user()),
            (TicketStage::User { .. }, code::WRONG_REALM) => KerberosError::WrongRealm {
                user: user(),
                realm: error.client_realm.unwrap_or("another").to_owned(),
            },
            (TicketStage::User { .. }, code::ENCTYPE_UNSUPPORTED) => {
                KerberosError::NoSharedEncryption(user())
            }
            (_, code::ENCTYPE_UNSUPPORTED) => {
                KerberosError::NoSharedEncryption(self.service.clone())
            }
            (TicketStage::Service { .. }, code::SERVICE_UNKNOWN) => {
                KerberosError::UnknownService(self.service.clone())
            }
            (TicketStage::Service { granting, .. }, code::TICKET_EXPIRED) => {
                KerberosError::Expired {
                    user: user(),
                    ago: now.duration_since(granting.expires).unwrap_or_default(),
                }
            }
            (_, code) => KerberosError::Refused {
                code,
                text: error.text.to_owned(),
            },
        }
    }
}

fn distance(one: SystemTime, other: SystemTime) -> Duration {
    one.duration_since(other)
        .unwrap_or_else(|error| error.duration())
}
