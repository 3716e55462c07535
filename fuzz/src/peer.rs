//! The server's side for targets that need one. Its answers fit the requests,
//! so that the input reaches more than the header's checks.

use smbench_protocol::NtStatus;
use smbench_protocol::crypto::{
    Aead, NONCE_LEN_MAX, PreauthHash, TRANSFORM_HEADER_LEN, TRANSFORM_PROTOCOL_ID,
};
use smbench_protocol::header::{Flags, Header};
use smbench_protocol::{Cipher, Dialect, fuzzing};

/// Splits off the first `len` bytes, or all bytes if there are fewer.
pub fn cut<'a>(data: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (first, rest) = data.split_at(len.min(data.len()));
    *data = rest;
    first
}

/// Splits off one byte, or returns zero at the end.
pub fn byte(data: &mut &[u8]) -> u8 {
    cut(data, 1).first().copied().unwrap_or(0)
}

/// Splits off a length of two bytes and that number of bytes. Returns `None` at
/// the end.
pub fn record<'a>(data: &mut &'a [u8]) -> Option<&'a [u8]> {
    let &[low, high] = cut(data, 2) else {
        return None;
    };
    Some(cut(data, u16::from_le_bytes([low, high]).into()))
}

/// Returns the messages in `sent`, without their prefixes.
pub fn sent(mut sent: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let len = u32::from_be_bytes(*cut(&mut sent, 4).first_chunk()?);
        Some(cut(&mut sent, len as usize))
    })
}

/// Makes an answer to the last request in `out`, and clears `out`.
pub fn answer(out: &mut Vec<u8>, status: NtStatus, flags: Flags, body: &[u8]) -> Option<Vec<u8>> {
    let request = Header::decode(sent(out).last()?).ok()?;
    out.clear();
    let header = Header {
        status,
        flags: Flags::RESPONSE.union(flags),
        session_id: fuzzing::SESSION_ID,
        ..request
    };
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(body);
    Some(message)
}

/// Makes the body of a plausible NEGOTIATE response without contexts.
pub fn negotiate_body(dialect: Dialect) -> Vec<u8> {
    let mut body = vec![65, 0, 1, 0];
    body.extend((dialect as u16).to_le_bytes());
    body.extend([0; 2 + 16]);
    body.extend(4u32.to_le_bytes());
    for _ in 0..3 {
        body.extend((1u32 << 20).to_le_bytes());
    }
    body.extend([0; 16]);
    body.extend([128, 0, 0, 0, 0, 0, 0, 0]);
    body
}

/// Makes the body of a SESSION_SETUP response.
pub fn session_setup_body(flags: u16, token: &[u8]) -> Vec<u8> {
    let mut body = vec![9, 0];
    body.extend(flags.to_le_bytes());
    body.extend([72, 0]);
    body.extend((token.len() as u16).to_le_bytes());
    body.extend_from_slice(token);
    body
}

/// Returns `message` after its length.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let mut frame = (message.len() as u32).to_be_bytes().to_vec();
    frame.extend_from_slice(message);
    frame
}

/// Encrypts `message` like the server of [`fuzzing::connection`].
pub fn sealed(cipher: Cipher, nonce: [u8; NONCE_LEN_MAX], message: &[u8]) -> Vec<u8> {
    let preauth = PreauthHash::default();
    let [_, server] = fuzzing::keys(&preauth).encryption(cipher);
    let mut header = [0; TRANSFORM_HEADER_LEN];
    header[..4].copy_from_slice(&TRANSFORM_PROTOCOL_ID);
    header[20..32].copy_from_slice(&nonce);
    header[36..40].copy_from_slice(&(message.len() as u32).to_le_bytes());
    header[42] = 1;
    header[44..52].copy_from_slice(&fuzzing::SESSION_ID.to_le_bytes());
    let mut plain = message.to_vec();
    let tag = Aead::new(cipher, &server).seal(nonce, &header[20..], &mut plain);
    header[4..20].copy_from_slice(&tag);
    let mut sealed = header.to_vec();
    sealed.append(&mut plain);
    sealed
}
