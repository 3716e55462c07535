//! Finds the keys of encrypted sessions, from their log-ons.

use smbench_protocol::crypto::PreauthHash;
use smbench_protocol::{Cipher, Dialect};

use super::Receiver;
use super::smb2::Smb2State;
use crate::fields::Fields;
use crate::keys::CipherTerms;
use crate::ledger::OpenLogon;
use crate::logon::token;
use crate::sessions::SessionNumber;

impl Smb2State {
    /// Returns the cipher of the connection.
    fn cipher(&self) -> Option<Cipher> {
        let id = self.cipher_id()?;
        Cipher::ALL.into_iter().find(|cipher| *cipher as u16 == id)
    }

    fn terms<'a>(&self, preauth: Option<&'a PreauthHash>) -> CipherTerms<'a> {
        CipherTerms {
            dialect: self.dialect.and_then(Dialect::from_revision),
            cipher: self.cipher(),
            preauth,
        }
    }
}

impl Receiver<'_> {
    /// Adds a message of the negotiation to the hash of the connection (MS-SMB2
    /// 3.2.5.2).
    pub(super) fn hash_negotiation(&mut self, message: &[u8]) {
        if !self.ledger.keys.is_empty() {
            self.state.smb2.preauth.update(message);
        }
    }

    /// Follows a SESSION_SETUP request (3.2.4.2.3).
    pub(super) fn hash_logon_request(&self, logon: &mut OpenLogon, message: &[u8]) {
        if self.ledger.keys.is_empty() {
            return;
        }
        let of_connection = || self.state.smb2.preauth.clone();
        logon
            .preauth
            .get_or_insert_with(of_connection)
            .update(message);
        let blob = Fields(message).part(76, 78).unwrap_or_default();
        let token = token(blob);
        if let (Some(challenge), Some(ntlm)) = (&logon.challenge, token.ntlm) {
            logon.key = self.ledger.keys.key_of_logon(challenge, ntlm);
        }
        if let Some(ticket) = token
            .kerberos
            .and_then(|message| self.ledger.keys.ticket(message))
        {
            logon.user = Some(ticket.client.to_string());
            logon.kerberos = Some(ticket);
        }
    }

    /// Follows a SESSION_SETUP answer that asks for more.
    pub(super) fn hash_logon_answer(&self, logon: &mut OpenLogon, message: &[u8]) {
        if self.ledger.keys.is_empty() {
            return;
        }
        if let Some(preauth) = &mut logon.preauth {
            preauth.update(message);
        }
        let blob = Fields(message).part(68, 70).unwrap_or_default();
        logon.challenge = token(blob).ntlm.map(Box::from);
    }

    /// Follows the SESSION_SETUP answer that ends the log-on.
    pub(super) fn end_logon(logon: &mut OpenLogon, message: &[u8]) {
        if let Some(kerberos) = &logon.kerberos {
            let blob = Fields(message).part(68, 70).unwrap_or_default();
            logon.key = kerberos.session_key(token(blob).kerberos);
        }
    }

    /// Finds the keys of a session whose log-on was seen. A further connection of a
    /// session has the keys of the first.
    pub(super) fn find_keys(&mut self, session: Option<SessionNumber>, id: u64, logon: &OpenLogon) {
        if self.ledger.keys.is_empty() {
            return;
        }
        // SMB 3.0 has no hash, but its keys need one to be made.
        let unused = PreauthHash::default();
        let preauth = logon.preauth.as_ref().unwrap_or(&unused);
        let terms = self.state.smb2.terms(Some(preauth));
        let ciphers = self.ledger.keys.ciphers(id, logon.key.as_deref(), terms);
        if let Some(record) = self.ledger.sessions.get(session)
            && record.ciphers.is_none()
        {
            record.ciphers = ciphers;
        }
    }

    /// Finds the keys of a session whose log-on was not seen, once.
    pub(super) fn look_up(&mut self, session: SessionNumber, id: u64) {
        let Some(record) = self.ledger.sessions.get(Some(session)) else {
            return;
        };
        if record.is_looked_up || record.ciphers.is_some() {
            return;
        }
        record.is_looked_up = true;
        let terms = self.state.smb2.terms(None);
        record.ciphers = self.ledger.keys.ciphers(id, None, terms);
    }
}
