//! SMB2 NEGOTIATE (MS-SMB2 2.2.3, 2.2.4) and its validation afterwards
//! (2.2.31.4, 2.2.32.6, 3.2.5.5).
//!
//! This module encodes the client's offer, decodes the server's answer, and
//! detects an attacker on the path who changed either of them.
//!
//! The response is decoded by hand for two reasons. smb-rs's reader does not
//! know "no algorithm in common", and it fails on contexts newer than itself.

use smb_dtyp::Guid;
use smb_msg::{
    EncryptionCapabilities, EncryptionCipher, GlobalCapabilities, HashAlgorithm, NegotiateRequest,
    NegotiateSecurityMode, NetnameNegotiateContextId, PreauthIntegrityCapabilities,
    SigningAlgorithmId, SigningCapabilities,
};

use crate::FileId;
use crate::algorithm::{Cipher, CipherList, SigningAlgorithm};
use crate::command::ioctl::fsctl::FSCTL_VALIDATE_NEGOTIATE_INFO;
use crate::command::ioctl::{self, IoctlResponse};
use crate::dialect::{Dialect, DialectRange};
use crate::header::HEADER_LEN;
use crate::setup;
use crate::wire::{DecodeError, Reader};

/// The number of connections of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channels {
    /// Only the connection that sets the session up.
    #[default]
    One,
    /// Further connections may follow. The client asks whether the server
    /// supports that, and keeps the session's keys for them.
    Several,
}

/// SMB2_NEGOTIATE_SIGNING_REQUIRED.
pub(crate) const SIGNING_REQUIRED: u16 = 2;
/// SMB2_GLOBAL_CAP_LARGE_MTU: a request may cost more than one credit.
pub(crate) const LARGE_MTU: u32 = 4;
/// SMB2_GLOBAL_CAP_LEASING.
pub(crate) const LEASING: u32 = 2;
/// SMB2_GLOBAL_CAP_MULTI_CHANNEL: a session may use several connections.
pub(crate) const MULTI_CHANNEL: u32 = 8;
/// SMB2_GLOBAL_CAP_DIRECTORY_LEASING.
pub(crate) const DIRECTORY_LEASING: u32 = 0x20;
/// SMB2_GLOBAL_CAP_ENCRYPTION.
pub(crate) const ENCRYPTION: u32 = 0x40;

/// The client's side of the negotiation.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) dialects: DialectRange,
    pub(crate) signing_required: bool,
    /// The one algorithm to offer for 3.1.1; `None` offers the fast ones.
    pub(crate) signing: Option<SigningAlgorithm>,
    /// The ciphers to offer; `None` if messages must not be encrypted.
    pub(crate) ciphers: Option<CipherList>,
    pub(crate) channels: Channels,
    pub(crate) client_guid: [u8; 16],
    pub(crate) salt: [u8; 32],
    /// The server's name as the user gave it.
    pub(crate) host: String,
}

impl Offer {
    /// Appends the body of the request to `out`.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let [a, b, c, d] = self.capabilities().to_le_bytes();
        let request = NegotiateRequest {
            security_mode: NegotiateSecurityMode::from_bytes(self.security_mode().to_le_bytes()),
            capabilities: GlobalCapabilities::from_bytes([a, b, c, d]),
            client_guid: Guid::from(self.client_guid),
            dialects: self.dialects.iter().map(wire_dialect).collect(),
            negotiate_context_list: self
                .dialects
                .contains(Dialect::Smb311)
                .then(|| self.contexts()),
        };
        setup::encode(&request, out);
    }

    fn contexts(&self) -> Vec<smb_msg::NegotiateContext> {
        // In the order of Windows.
        let mut contexts = vec![
            PreauthIntegrityCapabilities {
                hash_algorithms: vec![HashAlgorithm::Sha512],
                salt: self.salt.to_vec(),
            }
            .into(),
        ];
        if let Some(ciphers) = self.ciphers {
            contexts.push(
                EncryptionCapabilities {
                    ciphers: ciphers.iter().map(wire_cipher).collect(),
                }
                .into(),
            );
        }
        contexts.extend([
            SigningCapabilities {
                signing_algorithms: self.signing_offered().iter().map(wire_signing).collect(),
            }
            .into(),
            NetnameNegotiateContextId {
                netname: self.host.as_str().into(),
            }
            .into(),
        ]);
        contexts
    }

    fn signing_offered(&self) -> &[SigningAlgorithm] {
        const FAST: [SigningAlgorithm; 2] = [SigningAlgorithm::AesGmac, SigningAlgorithm::AesCmac];
        self.signing.as_ref().map_or(&FAST, std::slice::from_ref)
    }

    fn security_mode(&self) -> u16 {
        const SIGNING_ENABLED: u16 = 1;
        if self.signing_required {
            SIGNING_ENABLED | SIGNING_REQUIRED
        } else {
            SIGNING_ENABLED
        }
    }

    /// Returns the Capabilities, which only clients of 3.x have (MS-SMB2 2.2.3).
    fn capabilities(&self) -> u32 {
        if self.dialects.newest() < Dialect::Smb30 {
            return 0;
        }
        let encryption = self.ciphers.map_or(0, |_| ENCRYPTION);
        let channels = match self.channels {
            Channels::One => 0,
            Channels::Several => MULTI_CHANNEL,
        };
        LEASING | LARGE_MTU | DIRECTORY_LEASING | encryption | channels
    }

    /// Returns the signing algorithm for the dialect of `answer`, if it was
    /// offered.
    pub(crate) fn signing(
        &self,
        answer: &NegotiateResponse,
        dialect: Dialect,
    ) -> Option<SigningAlgorithm> {
        let offered = |algorithm: &SigningAlgorithm| match dialect.fixed_signing() {
            Some(_) => self.signing.is_none_or(|only| only == *algorithm),
            None => self.signing_offered().contains(algorithm),
        };
        // A 3.1.1 server that sends no signing context signs with CMAC (MS-SMB2
        // 3.2.5.2).
        let chosen = match (dialect.fixed_signing(), answer.signing) {
            (Some(fixed), _) => Some(fixed),
            (None, None) => Some(SigningAlgorithm::AesCmac),
            (None, Some(id)) => SigningAlgorithm::from_id(id),
        };
        chosen.filter(offered)
    }

    /// Returns the cipher for the dialect of `answer`, if both sides have one.
    pub(crate) fn cipher(&self, answer: &NegotiateResponse, dialect: Dialect) -> Option<Cipher> {
        let cipher = match dialect {
            Dialect::Cifs | Dialect::Smb202 | Dialect::Smb21 => None,
            Dialect::Smb30 | Dialect::Smb302 => {
                (answer.capabilities & ENCRYPTION != 0).then_some(Cipher::Aes128Ccm)
            }
            Dialect::Smb311 => answer.cipher.and_then(Cipher::from_id),
        };
        cipher.filter(|&cipher| self.ciphers.is_some_and(|offered| offered.contains(cipher)))
    }

    /// Returns whether the answer must be validated (MS-SMB2 3.2.5.5).
    ///
    /// 3.1.1 protects the negotiation itself. An offer without 3.x dialects needs
    /// no validation either, because an attacker has no better dialect to remove.
    pub(crate) fn needs_validation(&self, dialect: Dialect) -> bool {
        dialect != Dialect::Smb311 && self.dialects.newest() >= Dialect::Smb30
    }

    /// Appends the body of the IOCTL that asks the server to repeat what it
    /// received and what it answered.
    pub(crate) fn encode_validation(&self, out: &mut Vec<u8>) {
        let dialects: Vec<_> = self.dialects.iter().collect();
        let input_len = 24 + 2 * dialects.len() as u32;
        ioctl::encode_fixed(
            FSCTL_VALIDATE_NEGOTIATE_INFO,
            FileId::RELATED,
            input_len,
            VALIDATION_LEN,
            out,
        );
        out.extend_from_slice(&self.capabilities().to_le_bytes());
        out.extend_from_slice(&self.client_guid);
        out.extend_from_slice(&self.security_mode().to_le_bytes());
        out.extend_from_slice(&(dialects.len() as u16).to_le_bytes());
        for dialect in dialects {
            out.extend_from_slice(&(dialect as u16).to_le_bytes());
        }
    }
}

/// Length of VALIDATE_NEGOTIATE_INFO in a response, in bytes.
const VALIDATION_LEN: u32 = 24;

fn wire_dialect(dialect: Dialect) -> smb_msg::Dialect {
    match dialect {
        Dialect::Cifs => unreachable!("CIFS has a negotiation of its own"),
        Dialect::Smb202 => smb_msg::Dialect::Smb0202,
        Dialect::Smb21 => smb_msg::Dialect::Smb021,
        Dialect::Smb30 => smb_msg::Dialect::Smb030,
        Dialect::Smb302 => smb_msg::Dialect::Smb0302,
        Dialect::Smb311 => smb_msg::Dialect::Smb0311,
    }
}

fn wire_signing(algorithm: &SigningAlgorithm) -> SigningAlgorithmId {
    match algorithm {
        SigningAlgorithm::HmacSha256 => SigningAlgorithmId::HmacSha256,
        SigningAlgorithm::AesCmac => SigningAlgorithmId::AesCmac,
        SigningAlgorithm::AesGmac => SigningAlgorithmId::AesGmac,
    }
}

fn wire_cipher(cipher: Cipher) -> EncryptionCipher {
    match cipher {
        Cipher::Aes128Ccm => EncryptionCipher::Aes128Ccm,
        Cipher::Aes128Gcm => EncryptionCipher::Aes128Gcm,
        Cipher::Aes256Ccm => EncryptionCipher::Aes256Ccm,
        Cipher::Aes256Gcm => EncryptionCipher::Aes256Gcm,
    }
}

/// The server's answer. It holds the numbers as sent; [`Offer`] judges whether
/// they are acceptable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NegotiateResponse {
    pub(crate) security_mode: u16,
    pub(crate) revision: u16,
    pub(crate) server_guid: [u8; 16],
    pub(crate) capabilities: u32,
    pub(crate) max_transact: u32,
    pub(crate) max_read: u32,
    pub(crate) max_write: u32,
    /// The algorithm of the signing context, if there is one.
    pub(crate) signing: Option<u16>,
    /// The cipher of the encryption context, if there is one. Zero means that
    /// no cipher is common to both sides.
    pub(crate) cipher: Option<u16>,
}

impl NegotiateResponse {
    /// Reads the response in `message`.
    pub(crate) fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(65, "NEGOTIATE response structure size")?;
        let security_mode = reader.u16("NEGOTIATE security mode")?;
        let revision = reader.u16("NEGOTIATE dialect")?;
        let context_count = reader.u16("NEGOTIATE context count")?;
        let mut answer = Self {
            security_mode,
            revision,
            server_guid: reader.array("NEGOTIATE server GUID")?,
            capabilities: reader.u32("NEGOTIATE capabilities")?,
            max_transact: reader.u32("NEGOTIATE largest transaction")?,
            max_read: reader.u32("NEGOTIATE largest read")?,
            max_write: reader.u32("NEGOTIATE largest write")?,
            signing: None,
            cipher: None,
        };
        reader.u64("NEGOTIATE system time")?;
        reader.u64("NEGOTIATE start time")?;
        reader.u32("NEGOTIATE security buffer")?;
        let contexts_at = reader.u32("NEGOTIATE context offset")?;
        if revision == Dialect::Smb311 as u16 {
            answer.read_contexts(message, contexts_at as usize, context_count)?;
        }
        Ok(answer)
    }

    /// Reads the contexts that are known (MS-SMB2 3.2.5.2).
    ///
    /// Each type may occur at most once, the pre-authentication context exactly
    /// once, and each context must choose one algorithm.
    fn read_contexts(
        &mut self,
        message: &[u8],
        mut at: usize,
        count: u16,
    ) -> Result<(), DecodeError> {
        const PREAUTH_INTEGRITY_CAPABILITIES: u16 = 1;
        const ENCRYPTION_CAPABILITIES: u16 = 2;
        const SIGNING_CAPABILITIES: u16 = 8;
        const SHA_512: u16 = 1;
        let list = Reader::at(message, at);
        let mut hash = None;
        for _ in 0..count {
            let mut reader = Reader::at(message, at);
            let start = reader;
            let kind = reader.u16("negotiate context type")?;
            let before_len = reader;
            let len = usize::from(reader.u16("negotiate context length")?);
            reader.u32("negotiate context reserved")?;
            let data = at + 8;
            before_len.slice(data, len, "negotiate context length")?;
            let mut reader = Reader::at(&message[..data + len], data);
            let known = match kind {
                PREAUTH_INTEGRITY_CAPABILITIES => Some((&mut hash, SaltLength::Yes)),
                ENCRYPTION_CAPABILITIES => Some((&mut self.cipher, SaltLength::No)),
                SIGNING_CAPABILITIES => Some((&mut self.signing, SaltLength::No)),
                _ => None,
            };
            if let Some((chosen, salt)) = known
                && chosen.replace(only_choice(&mut reader, salt)?).is_some()
            {
                return Err(start.error("negotiate context that comes twice"));
            }
            at = (data + len).next_multiple_of(8);
        }
        match hash {
            Some(SHA_512) => Ok(()),
            Some(_) => Err(list.error("pre-authentication hash algorithm")),
            None => Err(list.error("negotiate context list without pre-authentication")),
        }
    }

    /// Compares this answer with the validation response in `message`.
    pub(crate) fn is_confirmed_by(&self, message: &[u8]) -> Result<Confirmed, DecodeError> {
        let said = IoctlResponse::decode(message)?.output;
        let mut expected = self.capabilities.to_le_bytes().to_vec();
        expected.extend_from_slice(&self.server_guid);
        expected.extend_from_slice(&self.security_mode.to_le_bytes());
        expected.extend_from_slice(&self.revision.to_le_bytes());
        Ok(if said == expected {
            Confirmed::Yes
        } else {
            Confirmed::No
        })
    }
}

/// Whether a context has a salt length after the count of its algorithms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SaltLength {
    Yes,
    No,
}

/// Reads the one algorithm that a context of the server chooses.
fn only_choice(reader: &mut Reader<'_>, salt: SaltLength) -> Result<u16, DecodeError> {
    let before_count = *reader;
    if reader.u16("negotiate context algorithm count")? != 1 {
        return Err(before_count.error("negotiate context algorithm count"));
    }
    if salt == SaltLength::Yes {
        reader.u16("negotiate context salt length")?;
    }
    reader.u16("negotiate context algorithm")
}

/// Whether the server confirms its NEGOTIATE response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmed {
    Yes,
    No,
}

#[cfg(test)]
mod tests;
