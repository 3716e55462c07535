//! Gets the ticket for a file server from a password, a keytab or a cache: the
//! exchanges with KDCs (RFC 4120 3.1, 3.3), one message at a time.
//!
//! Not here: I/O and the clock. A [`TicketRequest`] returns the message to send
//! and the realm of the KDC, and takes the KDC's answer.

mod refusal;

use std::time::{Duration, SystemTime};

use super::ccache::CredentialCache;
use super::enctype::{Enctype, Key, fill_random};
use super::error::KerberosError;
use super::keytab::Keytab;
use super::messages::reply::{self, EtypeInfo, KdcAnswer, KdcReply, ReplyPart};
use super::messages::{
    self, AS_REP, AS_REQ, Authenticator, CANONICALIZE, KdcRequest, TGS_REP, TGS_REQ, preauth, usage,
};
use super::principal::Principal;
use super::ticket::{KerberosTime, ServiceTicket, Ticket};

/// Lifetime to request for a ticket. A KDC may grant less.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// Number of referrals between realms that are followed before they count as
/// endless.
const REFERRALS_MAX: u32 = 8;

/// The proof of the user's identity. It is not `Debug`, because it holds secrets.
enum UserProof {
    Password(String),
    Keys(Vec<Key>),
}

impl UserProof {
    /// Returns the encryption types that it has keys for.
    fn enctypes(&self) -> Vec<Enctype> {
        match self {
            Self::Password(_) => Enctype::ALL.to_vec(),
            Self::Keys(keys) => keys.iter().map(|key| key.enctype).collect(),
        }
    }

    fn key(&self, user: &Principal, info: &EtypeInfo<'_>) -> Option<Key> {
        match self {
            Self::Password(password) => {
                let salt = info
                    .salt
                    .map_or_else(|| user.default_salt(), <[u8]>::to_vec);
                Key::from_password(info.enctype, password, &salt, info.parameters)
            }
            Self::Keys(keys) => keys.iter().find(|key| key.enctype == info.enctype).cloned(),
        }
    }

    fn wrong(&self, user: &Principal) -> KerberosError {
        match self {
            Self::Password(_) => KerberosError::WrongPassword(user.clone()),
            Self::Keys(_) => KerberosError::WrongKey(user.clone()),
        }
    }
}

/// The next step of a ticket request.
#[derive(Debug)]
pub enum TicketStep {
    /// Send the message to a KDC of the realm, and pass its answer to
    /// [`TicketRequest::receive`].
    ///
    /// Over TCP, request and answer follow their length in four bytes, most
    /// significant byte first (RFC 4120 7.2.2).
    Ask {
        /// Realm of the KDC.
        realm: String,
        /// The message, without its length.
        message: Vec<u8>,
    },
    /// The ticket is granted.
    Granted(ServiceTicket),
}

/// A ticket request in progress.
pub struct TicketRequest {
    user: Principal,
    service: Principal,
    stage: TicketStage,
    nonce: u32,
}

enum TicketStage {
    /// Waits for a ticket-granting ticket. `proven` is the key that was used as
    /// a proof, if the KDC asked for one.
    User {
        proof: UserProof,
        proven: Option<Key>,
    },
    /// Waits for the service's ticket, or for a ticket-granting ticket of
    /// another realm on the way to it.
    Service { granting: Ticket, referrals: u32 },
}

impl TicketRequest {
    /// Starts a request with the user's password.
    #[must_use]
    pub fn with_password(
        user: Principal,
        password: &str,
        service: Principal,
        now: SystemTime,
    ) -> (Self, TicketStep) {
        Self::as_user(user, UserProof::Password(password.to_owned()), service, now)
    }

    /// Starts a request with the user's keys.
    ///
    /// # Errors
    /// Returns an error if the keytab has no key of the user, or none of a
    /// supported encryption type.
    pub fn with_keytab(
        user: Principal,
        keytab: &Keytab,
        service: Principal,
        now: SystemTime,
    ) -> Result<(Self, TicketStep), KerberosError> {
        let keys = keytab.keys(&user);
        if !keys.is_empty() {
            return Ok(Self::as_user(user, UserProof::Keys(keys), service, now));
        }
        Err(if keytab.principals().contains(&&user) {
            KerberosError::NoUsableKey(user)
        } else {
            KerberosError::NotInKeytab(user)
        })
    }

    /// Starts a request with the tickets that `kinit` got. If the cache has the
    /// service's ticket, no KDC is asked.
    ///
    /// # Errors
    /// Returns an error if the cache has no usable ticket, or the ticket has
    /// expired.
    pub fn with_cache(
        cache: &CredentialCache,
        service: Principal,
        now: SystemTime,
    ) -> Result<(Self, TicketStep), KerberosError> {
        let user = cache.user().clone();
        let realm = user.realm();
        let granting = cache.ticket(&Principal::ticket_granting(realm, realm));
        let valid = |ticket: &&Ticket| ticket.expires > now;
        let own = cache.ticket(&service).filter(valid);
        let mut request = Self {
            service,
            // These values are replaced below or never used.
            stage: TicketStage::User {
                proof: UserProof::Keys(Vec::new()),
                proven: None,
            },
            user: user.clone(),
            nonce: 0,
        };
        if let Some(ticket) = own {
            let granted = TicketStep::Granted(ServiceTicket::new(ticket.clone()));
            return Ok((request, granted));
        }
        match granting {
            None => Err(KerberosError::NoTicket(user)),
            Some(granting) if !valid(&granting) => Err(KerberosError::Expired {
                user,
                ago: now.duration_since(granting.expires).unwrap_or_default(),
            }),
            Some(granting) => {
                let step = request.ask_for_service(granting.clone(), 0, now);
                Ok((request, step))
            }
        }
    }

    fn as_user(
        user: Principal,
        proof: UserProof,
        service: Principal,
        now: SystemTime,
    ) -> (Self, TicketStep) {
        let mut request = Self {
            user,
            service,
            stage: TicketStage::User {
                proof,
                proven: None,
            },
            nonce: 0,
        };
        let step = request.ask_for_user(&[], now);
        (request, step)
    }

    /// Processes a KDC's answer to the last message.
    ///
    /// # Errors
    /// Returns an error if the KDC refuses, or if the bytes are not its answer.
    pub fn receive(&mut self, answer: &[u8], now: SystemTime) -> Result<TicketStep, KerberosError> {
        let expected = match self.stage {
            TicketStage::User { .. } => AS_REP,
            TicketStage::Service { .. } => TGS_REP,
        };
        match KdcAnswer::decode(answer, expected)? {
            KdcAnswer::Error(error) => self.refused(&error, now),
            KdcAnswer::Reply(reply) => match &self.stage {
                TicketStage::User { proof, proven } => {
                    let ticket = self.user_reply(&reply, proof, proven.as_ref())?;
                    Ok(self.ask_for_service(ticket, 0, now))
                }
                TicketStage::Service {
                    granting,
                    referrals,
                } => {
                    let part = reply.part.decrypt(&granting.key, usage::TGS_REP);
                    let part = part.ok_or(KerberosError::Forged("it does not decrypt"))?;
                    let referrals = *referrals;
                    let ticket = self.ticket(&reply, &part)?;
                    self.service_reply(ticket, referrals, now)
                }
            },
        }
    }

    fn user_reply(
        &self,
        reply: &KdcReply<'_>,
        proof: &UserProof,
        proven: Option<&Key>,
    ) -> Result<Ticket, KerberosError> {
        let part = match proven {
            Some(key) => reply.part.decrypt(key, usage::AS_REP),
            // A KDC that requires no proof may still state how to make the key.
            None => {
                let info = reply
                    .preauth
                    .iter()
                    .find(|(k, _)| *k == preauth::ETYPE_INFO2);
                let infos = match info {
                    Some((_, info)) => reply::etype_info(info)?,
                    None => defaults(reply.part.enctype),
                };
                // There should be one entry of the reply's type (RFC 4120 5.2.7.5).
                // Use only the first, because making a key is slow and an attacker
                // could forge a reply with thousands of entries.
                infos
                    .iter()
                    .find(|info| i64::from(info.enctype.number()) == reply.part.enctype)
                    .and_then(|info| proof.key(&self.user, info))
                    .and_then(|key| reply.part.decrypt(&key, usage::AS_REP))
            }
        };
        let part = part.ok_or_else(|| proof.wrong(&self.user))?;
        if reply.client != self.user {
            return Err(KerberosError::Forged("it is for another user"));
        }
        let ticket = self.ticket(reply, &part)?;
        let realm = self.user.realm();
        if ticket.service != Principal::ticket_granting(realm, realm) {
            return Err(KerberosError::Forged("it grants no tickets"));
        }
        Ok(ticket)
    }

    fn ticket(&self, reply: &KdcReply<'_>, part: &[u8]) -> Result<Ticket, KerberosError> {
        let part = ReplyPart::decode(part)?;
        if part.nonce != i64::from(self.nonce) {
            return Err(KerberosError::Forged("its nonce is another"));
        }
        let key = part
            .key
            .ok_or_else(|| KerberosError::NoSharedEncryption(part.service.clone()))?;
        Ok(Ticket {
            client: reply.client.clone(),
            service: part.service,
            key,
            starts: part.starts,
            expires: part.expires,
            encoded: reply.ticket.to_vec(),
        })
    }

    /// Processes the service's own ticket, or a ticket for another realm's KDC.
    fn service_reply(
        &mut self,
        ticket: Ticket,
        referrals: u32,
        now: SystemTime,
    ) -> Result<TicketStep, KerberosError> {
        let Some(next) = ticket.service.grants_for() else {
            return Ok(TicketStep::Granted(ServiceTicket::new(ticket)));
        };
        if referrals == REFERRALS_MAX {
            return Err(KerberosError::EndlessReferral(next.to_owned()));
        }
        if ticket.service.realm() == self.service.realm() {
            // The service's KDC was asked, and answered that the service is in
            // another realm.
            self.service = Principal::service(&self.service.name(), next);
        }
        Ok(self.ask_for_service(ticket, referrals + 1, now))
    }

    fn ask_for_user(&mut self, preauth: &[(i64, Vec<u8>)], now: SystemTime) -> TicketStep {
        let enctypes = match &self.stage {
            TicketStage::User { proof, .. } => proof.enctypes(),
            TicketStage::Service { .. } => Vec::new(),
        };
        self.nonce = nonce();
        let realm = self.user.realm();
        let request = KdcRequest {
            options: 0,
            client: Some(&self.user),
            service: &Principal::ticket_granting(realm, realm),
            until: now + LIFETIME,
            nonce: self.nonce,
            enctypes: &enctypes,
        };
        TicketStep::Ask {
            realm: realm.to_owned(),
            message: messages::kdc_request(AS_REQ, preauth, &request.body()),
        }
    }

    fn ask_for_service(&mut self, granting: Ticket, referrals: u32, now: SystemTime) -> TicketStep {
        self.nonce = nonce();
        let realm = granting.service.grants_for().unwrap_or_default().to_owned();
        let service = if self.service.realm() == realm {
            self.service.clone()
        } else {
            Principal::ticket_granting(&realm, self.service.realm())
        };
        let body = KdcRequest {
            options: CANONICALIZE,
            client: None,
            service: &service,
            until: now + LIFETIME,
            nonce: self.nonce,
            enctypes: &Enctype::ALL,
        }
        .body();
        let key = &granting.key;
        let checksum = key.checksum(usage::TGS_REQ_CHECKSUM, &[&body]);
        let authenticator = Authenticator {
            stamp: KerberosTime::from(now),
            checksum: (key.enctype.checksum_number().into(), &checksum),
            subkey: None,
        };
        let proof =
            messages::ap_request(&granting, 0, usage::TGS_REQ_AUTHENTICATOR, &authenticator);
        let message = messages::kdc_request(TGS_REQ, &[(preauth::TGS_REQ, proof)], &body);
        self.stage = TicketStage::Service {
            granting,
            referrals,
        };
        TicketStep::Ask { realm, message }
    }
}

/// Returns the default key parameters, for a KDC that names none.
fn defaults(enctype: i64) -> Vec<EtypeInfo<'static>> {
    Enctype::from_number(enctype)
        .map(|enctype| EtypeInfo {
            enctype,
            salt: None,
            parameters: &[],
        })
        .into_iter()
        .collect()
}

/// Makes a random number that is positive as signed and as unsigned.
fn nonce() -> u32 {
    let mut bytes = [0; 4];
    fill_random(&mut bytes);
    u32::from_be_bytes(bytes) >> 1
}

#[cfg(test)]
mod tests;
