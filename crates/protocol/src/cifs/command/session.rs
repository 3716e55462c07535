//! NEGOTIATE, SESSION_SETUP_ANDX and LOGOFF_ANDX (MS-CIFS 2.2.4.52 to 2.2.4.54, MS-SMB
//! 2.2.4.5, 2.2.4.6).

use super::{CIFS_HEADER_LEN, NO_ANDX, align, body, encode_words, push_bytes};
use crate::wire::DecodeError;

/// The dialect's name in the request.
const DIALECT: &[u8] = b"\x02NT LM 0.12\0";
/// Largest message that the client accepts, apart from answers to READ_ANDX.
const BUFFER_MAX: u16 = u16::MAX;
/// VcNumber. Servers end the client's other connections if it is 0.
const VC_NUMBER: u16 = 1;

/// Bits of the capabilities of both sides (MS-CIFS 2.2.4.52.2, MS-SMB 2.2.4.5.2.1).
pub mod cifs_capabilities {
    /// CAP_UNICODE.
    pub const UNICODE: u32 = 0x0000_0004;
    /// CAP_LARGE_FILES: offsets of 64 bits.
    pub const LARGE_FILES: u32 = 0x0000_0008;
    /// CAP_NT_SMBS.
    pub const NT_SMBS: u32 = 0x0000_0010;
    /// CAP_STATUS32: NTSTATUS codes.
    pub const STATUS32: u32 = 0x0000_0040;
    /// CAP_LEVEL_II_OPLOCKS.
    pub const LEVEL_II_OPLOCKS: u32 = 0x0000_0080;
    /// CAP_INFOLEVEL_PASSTHRU.
    pub const PASS_THROUGH: u32 = 0x0000_2000;
    /// CAP_LARGE_READX: reads beyond MaxBufferSize.
    pub const LARGE_READ: u32 = 0x0000_4000;
    /// CAP_LARGE_WRITEX: writes beyond MaxBufferSize.
    pub const LARGE_WRITE: u32 = 0x0000_8000;
    /// CAP_DYNAMIC_REAUTH.
    pub const DYNAMIC_REAUTH: u32 = 0x2000_0000;
    /// CAP_EXTENDED_SECURITY.
    pub const EXTENDED_SECURITY: u32 = 0x8000_0000;
    /// What this client can use.
    pub const OWN: u32 = UNICODE
        | LARGE_FILES
        | NT_SMBS
        | STATUS32
        | LEVEL_II_OPLOCKS
        | LARGE_READ
        | LARGE_WRITE
        | DYNAMIC_REAUTH
        | EXTENDED_SECURITY;
}

/// Bits of the SecurityMode of a NEGOTIATE response.
const ENCRYPT_PASSWORDS: u8 = 0x02;
const SIGNATURES_ENABLED: u8 = 0x04;
const SIGNATURES_REQUIRED: u8 = 0x08;

/// Appends the body of a NEGOTIATE request that offers NT LM 0.12 only.
pub fn encode_negotiate(out: &mut Vec<u8>) {
    out.push(0);
    push_bytes(out, |out| out.extend_from_slice(DIALECT));
}

/// The answer to a NEGOTIATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsNegotiateResponse {
    /// Index of the chosen dialect; 0xFFFF if the server has none of them.
    pub dialect: u16,
    security_mode: u8,
    /// Largest number of requests in flight.
    pub max_mpx: u16,
    /// Largest message that the server accepts, in bytes.
    pub max_buffer: u32,
    /// To be repeated in each SESSION_SETUP_ANDX.
    pub session_key: u32,
    /// [`cifs_capabilities`] bits.
    pub capabilities: u32,
    /// The challenge for responses without extended security.
    pub challenge: Option<[u8; 8]>,
}

impl CifsNegotiateResponse {
    /// Reads the response in `message`. The token of a server with extended security is
    /// ignored, because the log-on does not depend on it.
    ///
    /// # Errors
    /// If a field is missing.
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "NEGOTIATE response";
        let body = body(message, 1, WHAT)?;
        let mut words = body.words;
        let dialect = words.u16(WHAT)?;
        if body.word_count != 17 {
            // An older dialect, or none.
            return Ok(Self {
                dialect: u16::MAX,
                security_mode: 0,
                max_mpx: 0,
                max_buffer: 0,
                session_key: 0,
                capabilities: 0,
                challenge: None,
            });
        }
        let security_mode = words.u8(WHAT)?;
        let max_mpx = words.u16(WHAT)?;
        words.u16(WHAT)?;
        let max_buffer = words.u32(WHAT)?;
        words.u32(WHAT)?;
        let session_key = words.u32(WHAT)?;
        let capabilities = words.u32(WHAT)?;
        words.bytes(8 + 2, WHAT)?;
        let challenge_len = words.u8(WHAT)?;
        let mut bytes = body.bytes;
        let has_challenge =
            capabilities & cifs_capabilities::EXTENDED_SECURITY == 0 && challenge_len == 8;
        let challenge = if has_challenge {
            Some(bytes.array("challenge")?)
        } else {
            None
        };
        Ok(Self {
            dialect,
            security_mode,
            max_mpx,
            max_buffer,
            session_key,
            capabilities,
            challenge,
        })
    }

    /// Returns whether passwords are proven by a challenge, not sent.
    #[must_use]
    pub const fn encrypts_passwords(&self) -> bool {
        self.security_mode & ENCRYPT_PASSWORDS != 0
    }

    /// Returns whether the server can sign.
    #[must_use]
    pub const fn can_sign(&self) -> bool {
        self.security_mode & (SIGNATURES_ENABLED | SIGNATURES_REQUIRED) != 0
    }

    /// Returns whether the server requires signatures.
    #[must_use]
    pub const fn requires_signing(&self) -> bool {
        self.security_mode & SIGNATURES_REQUIRED != 0
    }
}

/// The proof of a user in a SESSION_SETUP_ANDX.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogonProof<'a> {
    /// A token of SPNEGO.
    Token(&'a [u8]),
    /// Responses to the challenge of NEGOTIATE, for a user of a domain, both in UTF-16.
    Responses {
        lm: &'a [u8],
        nt: &'a [u8],
        user: &'a [u8],
        domain: &'a [u8],
    },
}

/// Appends the body of a SESSION_SETUP_ANDX request.
pub(crate) fn encode_session_setup(
    proof: LogonProof<'_>,
    max_mpx: u16,
    session_key: u32,
    out: &mut Vec<u8>,
) {
    let start = out.len() - CIFS_HEADER_LEN;
    let mut head = [0u8; 14];
    head[0] = NO_ANDX;
    head[4..6].copy_from_slice(&BUFFER_MAX.to_le_bytes());
    head[6..8].copy_from_slice(&max_mpx.max(1).to_le_bytes());
    head[8..10].copy_from_slice(&VC_NUMBER.to_le_bytes());
    head[10..14].copy_from_slice(&session_key.to_le_bytes());
    let capabilities = match proof {
        LogonProof::Token(_) => cifs_capabilities::OWN,
        LogonProof::Responses { .. } => {
            cifs_capabilities::OWN & !cifs_capabilities::EXTENDED_SECURITY
        }
    };
    // Native operating system and LAN manager.
    let natives = |out: &mut Vec<u8>| {
        for _ in 0..2 {
            push_text(b"s\0m\0b\0e\0n\0c\0h\0", out);
        }
    };
    match proof {
        LogonProof::Token(token) => {
            out.push(12);
            out.extend_from_slice(&head);
            out.extend_from_slice(&(token.len() as u16).to_le_bytes());
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&capabilities.to_le_bytes());
            push_bytes(out, |out| {
                out.extend_from_slice(token);
                align(2, start, out);
                natives(out);
            });
        }
        LogonProof::Responses {
            lm,
            nt,
            user,
            domain,
        } => {
            out.push(13);
            out.extend_from_slice(&head);
            out.extend_from_slice(&(lm.len() as u16).to_le_bytes());
            out.extend_from_slice(&(nt.len() as u16).to_le_bytes());
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&capabilities.to_le_bytes());
            push_bytes(out, |out| {
                out.extend_from_slice(lm);
                out.extend_from_slice(nt);
                align(2, start, out);
                push_text(user, out);
                push_text(domain, out);
                natives(out);
            });
        }
    }
}

fn push_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text);
    out.extend_from_slice(&[0; 2]);
}

/// The answer to a SESSION_SETUP_ANDX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsSetupResponse<'a> {
    /// Whether the server made a guest session (SMB_SETUP_GUEST).
    pub is_guest: bool,
    /// The server's token; empty without extended security.
    pub token: &'a [u8],
}

impl<'a> CifsSetupResponse<'a> {
    /// Reads the response in `message`.
    ///
    /// # Errors
    /// If a field is missing.
    pub fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "SESSION_SETUP_ANDX response";
        let body = body(message, 3, WHAT)?;
        let mut words = body.words;
        words.bytes(4, WHAT)?;
        let is_guest = words.u16(WHAT)? & 1 != 0;
        let mut bytes = body.bytes;
        let token = match body.word_count {
            4.. => bytes.bytes(usize::from(words.u16(WHAT)?), "security blob")?,
            _ => &[],
        };
        Ok(Self { is_guest, token })
    }
}

/// Appends the body of a LOGOFF_ANDX request.
pub fn encode_logoff(out: &mut Vec<u8>) {
    encode_words(&[NO_ANDX, 0, 0, 0], out);
}
