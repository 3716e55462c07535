//! The messages of NTLM (MS-NLMP 2.2.1), little-endian.

use smbench_kerberos::DecodeError;

use super::KEY_LEN;
use super::proof::{NtlmNames, NtlmProof, hmac_md5};
use crate::wire::Reader;

const SIGNATURE: &[u8; 8] = b"NTLMSSP\0";
/// Bits of NegotiateFlags (MS-NLMP 2.2.2.5).
const UNICODE: u32 = 0x0000_0001;
const ANONYMOUS: u32 = 0x0000_0800;
const VERSION: u32 = 0x0200_0000;
const KEY_EXCH: u32 = 0x4000_0000;
/// SIGN, EXTENDED_SESSIONSECURITY and 128 bits: what a signature needs.
const SIGNATURES: u32 = 0x2008_0010;
/// What Windows offers: UNICODE, OEM, REQUEST_TARGET, SIGN, LM_KEY, NTLM, ALWAYS_SIGN,
/// EXTENDED_SESSIONSECURITY, VERSION, 128 bits, KEY_EXCH, 56 bits.
const OFFER: u32 = 0xe208_8297;
/// What Windows chooses of a server's flags: those of the offer without OEM and LM_KEY, and
/// TARGET_INFO.
const CHOICE: u32 = 0xe288_8215;
/// VERSION (2.2.2.10): Windows 10.0, build 19041, revision 15 of NTLM.
const WINDOWS: [u8; 8] = [10, 0, 0x61, 0x4a, 0, 0, 0, 15];
/// Length of an AUTHENTICATE message before its payload, with Version and MIC.
const AUTHENTICATE_LEN: usize = 88;
const MIC_AT: usize = 72;

/// Attributes of a target (2.2.2.1).
const AV_EOL: u16 = 0;
const AV_FLAGS: u16 = 6;
const AV_TIMESTAMP: u16 = 7;
const AV_TARGET_NAME: u16 = 9;
const AV_CHANNEL_BINDINGS: u16 = 10;
/// MsvAvFlags: the AUTHENTICATE message has a MIC.
const WITH_MIC: u32 = 2;

/// Returns the NEGOTIATE message, without domain and workstation.
pub(super) fn negotiate() -> Vec<u8> {
    let mut message = SIGNATURE.to_vec();
    message.extend_from_slice(&1u32.to_le_bytes());
    message.extend_from_slice(&OFFER.to_le_bytes());
    message.extend_from_slice(&[0; 16]);
    message.extend_from_slice(&WINDOWS);
    message
}

/// The server's CHALLENGE message (2.2.1.2).
#[derive(Debug)]
pub(crate) struct Challenge<'a> {
    flags: u32,
    pub(super) challenge: [u8; 8],
    /// The target's attributes, without the one that ends them.
    attributes: &'a [u8],
    /// The server's time; `None` if it sends none.
    pub(super) timestamp: Option<[u8; 8]>,
}

impl<'a> Challenge<'a> {
    /// # Errors
    /// If a field is missing, or the server does not support Unicode.
    pub(super) fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(message);
        let start = reader;
        let signature = reader.array::<8>("NTLM signature")?;
        if signature != *SIGNATURE || reader.u32("NTLM message type")? != 2 {
            return Err(start.error("NTLM challenge"));
        }
        reader.bytes(8, "NTLM target name")?;
        let before_flags = reader;
        let flags = reader.u32("NTLM flags")?;
        if flags & UNICODE == 0 {
            return Err(before_flags.error("NTLM flags without Unicode"));
        }
        let challenge = reader.array("NTLM server challenge")?;
        reader.bytes(8, "NTLM reserved field")?;
        let before_info = reader;
        let len = usize::from(reader.u16("NTLM target information")?);
        reader.u16("NTLM target information")?;
        let offset = reader.u32("NTLM target information")? as usize;
        let info = match len {
            0 => &[],
            len => before_info.slice(offset, len, "NTLM target information")?,
        };
        let (attributes, timestamp) = attributes(info)?;
        Ok(Self {
            flags,
            challenge,
            attributes,
            timestamp,
        })
    }

    /// Returns the challenge of a server that has no extended security (MS-CIFS
    /// 2.2.4.52.2).
    pub(super) const fn bare(challenge: [u8; 8]) -> Self {
        Self {
            flags: 0,
            challenge,
            attributes: &[],
            timestamp: None,
        }
    }

    /// Returns whether the client chooses the session key.
    pub(super) const fn exchanges_key(&self) -> bool {
        self.flags & KEY_EXCH != 0
    }

    /// Returns whether both sides can sign.
    pub(super) const fn can_sign(&self) -> bool {
        self.flags & SIGNATURES == SIGNATURES
    }

    /// Returns whether the AUTHENTICATE message must have a MIC (3.1.5.1.2).
    pub(super) const fn needs_mic(&self) -> bool {
        self.timestamp.is_some()
    }

    /// Returns the target's attributes for the proof: those that the server sent, and what
    /// Windows adds to them. Servers may require the service's name.
    pub(super) fn attributes_of_proof(&self, service: &[u8]) -> Vec<u8> {
        let mut attributes = self.attributes.to_vec();
        let mut push = |id: u16, value: &[u8]| {
            attributes.extend_from_slice(&id.to_le_bytes());
            // The cast is safe: a host's name is short.
            attributes.extend_from_slice(&(value.len() as u16).to_le_bytes());
            attributes.extend_from_slice(value);
        };
        if self.needs_mic() {
            push(AV_FLAGS, &WITH_MIC.to_le_bytes());
            push(AV_CHANNEL_BINDINGS, &[0; 16]);
            push(AV_TARGET_NAME, service);
        }
        push(AV_EOL, &[]);
        attributes
    }
}

/// Returns the attributes without the one that ends them, and the timestamp.
fn attributes(info: &[u8]) -> Result<(&[u8], Option<[u8; 8]>), DecodeError> {
    const WHAT: &str = "NTLM target attribute";
    let mut reader = Reader::new(info);
    let (mut len, mut timestamp) = (0, None);
    while len < info.len() {
        let id = reader.u16(WHAT)?;
        let size = usize::from(reader.u16(WHAT)?);
        match id {
            AV_EOL => break,
            AV_TIMESTAMP if size == 8 => timestamp = Some(reader.array(WHAT)?),
            _ => {
                reader.bytes(size, WHAT)?;
            }
        }
        len += 4 + size;
    }
    Ok((&info[..len], timestamp))
}

/// Returns the AUTHENTICATE message (2.2.1.3). Its MIC is zero. The payload has the order of
/// Windows, because some servers read it without looking at the offsets.
pub(super) fn authenticate(
    challenge: &Challenge<'_>,
    names: &NtlmNames,
    proof: &NtlmProof,
    sealed_key: &[u8],
) -> Vec<u8> {
    let payload: [&[u8]; 6] = [
        &names.domain,
        &names.user,
        &names.workstation,
        &proof.lm_response,
        &proof.nt_response,
        sealed_key,
    ];
    // The header has LM and NT response first.
    const OF_HEADER: [usize; 6] = [3, 4, 0, 1, 2, 5];
    let mut message = SIGNATURE.to_vec();
    message.extend_from_slice(&3u32.to_le_bytes());
    for at in OF_HEADER {
        let before: usize = payload[..at].iter().map(|field| field.len()).sum();
        // The casts are safe: names and tokens come in fields of 16 bits.
        let len = (payload[at].len() as u16).to_le_bytes();
        message.extend_from_slice(&len);
        message.extend_from_slice(&len);
        message.extend_from_slice(&((AUTHENTICATE_LEN + before) as u32).to_le_bytes());
    }
    let anonymous = if proof.nt_response.is_empty() {
        ANONYMOUS
    } else {
        0
    };
    // VERSION says that Version and MIC precede the payload.
    let flags = (CHOICE & challenge.flags) | VERSION | anonymous;
    message.extend_from_slice(&flags.to_le_bytes());
    message.extend_from_slice(&WINDOWS);
    message.resize(AUTHENTICATE_LEN, 0);
    for field in payload {
        message.extend_from_slice(field);
    }
    message
}

/// Returns the payload of the field at `at` of an AUTHENTICATE message.
#[cfg(test)]
pub(super) fn authenticate_field(message: &[u8], at: usize) -> &[u8] {
    let mut reader = Reader::at(message, at);
    let len = usize::from(reader.u16("length").unwrap());
    reader.u16("length").unwrap();
    let offset = reader.u32("offset").unwrap() as usize;
    &message[offset..offset + len]
}

/// Writes the MIC into an AUTHENTICATE message (3.1.5.1.2). `before` has the other two
/// messages.
pub(super) fn sign(message: &mut [u8], key: &[u8; KEY_LEN], before: [&[u8]; 2]) {
    let mic = hmac_md5(key, &[before[0], before[1], message]);
    message[MIC_AT..MIC_AT + mic.len()].copy_from_slice(&mic);
}
