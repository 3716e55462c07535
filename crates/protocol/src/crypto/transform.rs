//! SMB2 TRANSFORM_HEADER (MS-SMB2 2.2.41): encrypts and decrypts whole messages
//! in place (3.1.4.3, 3.1.5.1).
//!
//! Invariants: no nonce is used twice under one key. The content of a received
//! message is not read before its tag was checked.

use std::fmt;

use super::aead::{Aead, Decrypted, NONCE_LEN_MAX, TAG_LEN};
use super::kdf::KeySource;
use super::mark::ChannelMark;
use crate::algorithm::Cipher;

/// Length of the header before the encrypted message, in bytes.
pub const TRANSFORM_HEADER_LEN: usize = 52;
/// The four bytes at the start of every encrypted message.
pub const TRANSFORM_PROTOCOL_ID: [u8; 4] = *b"\xFDSMB";
/// Length of the random seed of a session's nonces, in bytes.
pub const NONCE_SEED_LEN: usize = NONCE_LEN_MAX;
/// The Flags field of 3.1.1 (encrypted). The same value means AES-128-CCM in
/// 3.0 and 3.0.2.
const FLAGS: u16 = 1;
/// Start of the authenticated part of the header: everything after the protocol
/// id and the signature.
const AUTHENTICATED: usize = 4 + TAG_LEN;

/// The keys and nonces of an encrypted session, for both directions.
pub struct Transform {
    cipher: Cipher,
    session_id: u64,
    outbound: Aead,
    inbound: Aead,
    nonces: Nonces,
    /// The mark of requests, if the session has lost a channel.
    mark: Option<Box<ChannelMark>>,
}

/// A source of nonces: a counter with a random start, and constant random bytes
/// that differ between the channels of a session.
struct Nonces {
    next: u64,
    rest: [u8; NONCE_LEN_MAX - 8],
}

impl Nonces {
    /// Makes the nonces of one channel from the session's seed. All channels
    /// have the same key, so the channel's number keeps their nonces apart.
    fn new(seed: [u8; NONCE_SEED_LEN], channel: u8) -> Self {
        let (mut next, mut rest) = ([0; 8], [0; NONCE_LEN_MAX - 8]);
        next.copy_from_slice(&seed[..8]);
        rest.copy_from_slice(&seed[8..]);
        rest[0] = rest[0].wrapping_add(channel);
        Self {
            next: u64::from_le_bytes(next),
            rest,
        }
    }

    fn next(&mut self) -> [u8; NONCE_LEN_MAX] {
        let mut nonce = [0; NONCE_LEN_MAX];
        nonce[..8].copy_from_slice(&self.next.to_le_bytes());
        nonce[8..].copy_from_slice(&self.rest);
        // The counter repeats only after 2^64 messages.
        self.next = self.next.wrapping_add(1);
        nonce
    }
}

impl Transform {
    /// Makes the client's side of session `session_id`, on its first channel.
    #[must_use]
    pub fn new(
        cipher: Cipher,
        keys: &KeySource<'_>,
        session_id: u64,
        nonce_seed: [u8; NONCE_SEED_LEN],
    ) -> Self {
        let keys = keys.encryption(cipher);
        Self::of_channel(cipher, &keys, session_id, nonce_seed, 0)
    }

    /// Makes the client's side for the channel with this number.
    ///
    /// All channels of a session have the same keys and the same seed. So no
    /// two channels may have the same number.
    pub(crate) fn of_channel(
        cipher: Cipher,
        [client, server]: &[Vec<u8>; 2],
        session_id: u64,
        nonce_seed: [u8; NONCE_SEED_LEN],
        channel: u8,
    ) -> Self {
        Self {
            cipher,
            session_id,
            outbound: Aead::new(cipher, client),
            inbound: Aead::new(cipher, server),
            nonces: Nonces::new(nonce_seed, channel),
            mark: None,
        }
    }

    /// Returns the mark of requests, which they have from here on.
    pub(crate) fn mark_mut(&mut self) -> &mut ChannelMark {
        self.mark.get_or_insert_default()
    }

    /// Returns the session id in the header of an encrypted message.
    pub(crate) fn session_id_of(message: &[u8]) -> Option<u64> {
        let field = message.get(44..)?.first_chunk()?;
        Some(u64::from_le_bytes(*field))
    }

    /// Returns the server's side of the same session.
    #[cfg(test)]
    pub(crate) fn reversed(self) -> Self {
        Self {
            outbound: self.inbound,
            inbound: self.outbound,
            ..self
        }
    }

    /// Returns the cipher in use.
    #[must_use]
    pub const fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// Encrypts the part of `message` after the first [`TRANSFORM_HEADER_LEN`]
    /// bytes, and writes the header into those bytes.
    pub fn seal(&mut self, message: &mut [u8]) {
        let nonce = self.nonces.next();
        let (header, plain) = message.split_at_mut(TRANSFORM_HEADER_LEN);
        if let Some(mark) = &self.mark {
            mark.write_all(plain);
        }
        header.fill(0);
        header[..4].copy_from_slice(&TRANSFORM_PROTOCOL_ID);
        let used = match self.cipher {
            Cipher::Aes128Ccm | Cipher::Aes256Ccm => NONCE_LEN_MAX - 1,
            Cipher::Aes128Gcm | Cipher::Aes256Gcm => NONCE_LEN_MAX,
        };
        header[20..20 + used].copy_from_slice(&nonce[..used]);
        header[36..40].copy_from_slice(&(plain.len() as u32).to_le_bytes());
        header[42..44].copy_from_slice(&FLAGS.to_le_bytes());
        header[44..52].copy_from_slice(&self.session_id.to_le_bytes());
        let tag = self.outbound.seal(nonce, &header[AUTHENTICATED..], plain);
        header[4..AUTHENTICATED].copy_from_slice(&tag);
    }

    /// Decrypts `message` and returns its content. Returns `None` if this
    /// session's server did not encrypt it, or if it was altered.
    pub fn open<'a>(&self, message: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let (header, sealed) = message.split_at_mut_checked(TRANSFORM_HEADER_LEN)?;
        let (start, authenticated) = header.split_at(AUTHENTICATED);
        let (protocol_id, tag) = start.split_at(4);
        let field = |at: usize, len: usize| authenticated.get(at - AUTHENTICATED..)?.get(..len);
        let nonce = field(20, NONCE_LEN_MAX)?.first_chunk()?;
        let size = u32::from_le_bytes(*field(36, 4)?.first_chunk()?);
        let flags = u16::from_le_bytes(*field(42, 2)?.first_chunk()?);
        let session_id = u64::from_le_bytes(*field(44, 8)?.first_chunk()?);
        if protocol_id != TRANSFORM_PROTOCOL_ID
            || size as usize != sealed.len()
            || flags != FLAGS
            || session_id != self.session_id
        {
            return None;
        }
        match self
            .inbound
            .open(*nonce, authenticated, tag.first_chunk()?, sealed)
        {
            Decrypted::Genuine => Some(sealed),
            Decrypted::Forged => None,
        }
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transform({})", self.cipher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::PreauthHash;
    use crate::crypto::kdf::tests::hex;
    use crate::dialect::Dialect;
    use proptest::prelude::*;

    fn keys(preauth: &PreauthHash) -> KeySource<'_> {
        KeySource {
            dialect: Dialect::Smb311,
            full_session_key: &[3; 16],
            preauth,
        }
    }

    /// Returns the client's side and the server's side. The server has the same
    /// keys the other way round.
    fn pair(cipher: Cipher) -> (Transform, Transform) {
        let preauth = PreauthHash::default();
        let new = |seed| Transform::new(cipher, &keys(&preauth), 5, [seed; NONCE_SEED_LEN]);
        (new(1), new(2).reversed())
    }

    fn sealed(transform: &mut Transform, plain: &[u8]) -> Vec<u8> {
        let mut message = vec![0xAA; TRANSFORM_HEADER_LEN];
        message.extend_from_slice(plain);
        transform.seal(&mut message);
        message
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens_and_any_flipped_bit_is_detected(
            plain in proptest::collection::vec(any::<u8>(), 0..5000),
            at in any::<proptest::sample::Index>(),
            bit in 0u8..8,
        ) {
            for cipher in Cipher::ALL {
                let (mut client, server) = pair(cipher);
                let message = sealed(&mut client, &plain);
                let mut received = message.clone();
                let opened = server.open(&mut received).map(|opened| opened.to_vec());
                prop_assert_eq!(opened.as_ref(), Some(&plain));
                // The sender cannot decrypt it: each direction has its own key.
                prop_assert!(client.open(&mut message.clone()).is_none());
                let mut forged = message;
                let at = at.index(forged.len());
                forged[at] ^= 1 << bit;
                prop_assert!(server.open(&mut forged).is_none());
            }
        }

        #[test]
        fn arbitrary_bytes_never_open(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for cipher in Cipher::ALL {
                let (client, _) = pair(cipher);
                prop_assert!(client.open(&mut bytes.clone()).is_none());
                let mut bytes = bytes.clone();
                let start = bytes.len().min(4);
                bytes[..start].copy_from_slice(&TRANSFORM_PROTOCOL_ID[..start]);
                prop_assert!(client.open(&mut bytes).is_none());
            }
        }
    }

    #[test]
    fn nonces_count_on_past_the_end_of_the_counter() {
        let mut seed = [0xFF; NONCE_SEED_LEN];
        seed[8..].copy_from_slice(&[1, 2, 3, 4]);
        let mut nonces = Nonces::new(seed, 0);
        assert_eq!(nonces.next(), seed);
        assert_eq!(nonces.next(), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(nonces.next(), [1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn no_two_messages_share_a_nonce() {
        for cipher in Cipher::ALL {
            let (mut client, _) = pair(cipher);
            let nonces: std::collections::HashSet<_> = (0..1000)
                .map(|_| sealed(&mut client, b"same")[20..36].to_vec())
                .collect();
            assert_eq!(nonces.len(), 1000);
        }
    }

    /// The WRITE exchanges of Microsoft's published examples ("Encryption in
    /// SMB 3.0: a protocol perspective", "SMB 3.1.1 encryption in Windows 10"):
    /// session key, pre-authentication hash, request, response.
    #[test]
    fn the_published_messages_come_out() {
        let mut preauth = PreauthHash::default();
        preauth.set(hex(
            "B23F3CBFD69487D9832B79B1594A367CDD950909B774C3A4C412B4FCEA9EDDDB\
             A7DB256BA2EA30E977F11F9B113247578E0E915C6D2A513B8F2FCA5707DC8770",
        ));
        let examples = [
            Example {
                dialect: Dialect::Smb30,
                cipher: Cipher::Aes128Ccm,
                session_key: hex("B4546771B515F766A86735532DD6C4F0"),
                session_id: 0x0008_E400_1400_0011,
                request: hex(
                    "FE534D4240000100000000000900400008000000000000000400000000000000\
                     FFFE0000010000001100001400E4080000000000000000000000000000000000\
                     3100700017000000000000000000000015010000390000020100000039020000\
                     00000000000000007000000000000000536D623320656E6372797074696F6E20\
                     74657374696E67",
                ),
                sealed_request: hex(
                    "FD534D4281A286535415445DAE393921E44FA42E66E69A111892584FB5ED524A\
                     744DA3EE87000000000001001100001400E4080025C8FEE16605A437832D1CD5\
                     2DA9F4645333482A175FE5384563F45FCDAFAEF38BC62BA4D5C62897996625A4\
                     4C29BE5658DE2E6117585779E7B59FFD971278D08580D7FA899E410E910EABF5\
                     AA1DB43050B33B49182637759AC15D84BFCDF5B6B238993C0F4CF4D6012023F6\
                     C627297075D84B7803912D0A9639634453595EF3E33FFE4E7AC2AB",
                ),
                sealed_response: hex(
                    "FD534D42A6015530A18F6D9AFFE22AFAE8E66484860000000000000011000014\
                     00E4080050000000000001001100001400E40800DBF46435C5F14169293CE079\
                     E344479BF670227E49873F458672C3098DAC467DD5809F369D67409166515787\
                     1483E01F7BECD02064EAC3E235F913668BBC2F097980D4B378F1993EFF6E60D1\
                     77309E5B",
                ),
                response: hex(
                    "FE534D4240000100000000000900210009000000000000000400000000000000\
                     FFFE0000010000001100001400E4080000000000000000000000000000000000\
                     11000000170000000000000000000000",
                ),
            },
            Example {
                dialect: Dialect::Smb311,
                cipher: Cipher::Aes128Gcm,
                session_key: hex("419FDDF34C1E001909D362AE7FB6AF79"),
                session_id: 0x0000_1000_0000_0025,
                request: hex(
                    "FE534D4240000100000000000900010008000000000000000500000000000000\
                     FFFE000001000000250000000010000000000000000000000000000000000000\
                     3100700017000000000000000000000006000000040000000100000004000000\
                     00000000000000007000000000000000536D623320656E6372797074696F6E20\
                     74657374696E67",
                ),
                sealed_request: hex(
                    "FD534D42BD73D97D2BC9001BCAFAC0FDFF5FEEBCC7D6822D269CAF48904C664C\
                     00000000870000000000010025000000001000006ECDD2A7AFC7B47763057A04\
                     1B8FD4DAFFE990B70C9E09D36C084E02D14EF247F8BDE38ACF6256F8B1D3B56F\
                     77FBDEB312FEA5E92CBCC1ED8FB2EBBFAA75E49A4A394BB44576545567C24D4C\
                     014D47C9FBDFDAFD2C4F9B72F8D256452620A299F48E29E53D6B61D1C13A19E9\
                     1AF013F00D17E3ABC2FC3D36C8C1B6B93973253852DBD442E46EE8",
                ),
                sealed_response: hex(
                    "FD534D42ACBE1CB7ED343ADF1725EF144D90D4B0E06831DD2E8EB7B400000000\
                     0000000050000000000001002500000000100000\
                     26BBBF949983A6C1C796559D0F2C510CB651D1F7B6AC8DED32A2A0B8F2D793A8\
                     15C6F6B848D69767A215841A42D400AE6DDB5F0B44173A014973321FDD7950DA\
                     6179159B82E03C9E18A050FF0EA1C967",
                ),
                response: hex(
                    "FE534D4240000100000000000900010001000000000000000500000000000000\
                     FFFE000001000000250000000010000000000000000000000000000000000000\
                     11000000170000000000000000000000",
                ),
            },
        ];
        for example in examples {
            example.check(&preauth);
        }
    }

    struct Example {
        dialect: Dialect,
        cipher: Cipher,
        session_key: [u8; 16],
        session_id: u64,
        request: [u8; 135],
        sealed_request: [u8; 187],
        sealed_response: [u8; 132],
        response: [u8; 80],
    }

    impl Example {
        fn check(&self, preauth: &PreauthHash) {
            let keys = KeySource {
                dialect: self.dialect,
                full_session_key: &self.session_key,
                preauth,
            };
            let transform =
                Transform::new(self.cipher, &keys, self.session_id, [0; NONCE_SEED_LEN]);
            let mut received = self.sealed_response.to_vec();
            assert_eq!(
                transform.open(&mut received).as_deref(),
                Some(&self.response[..])
            );
            // The published nonces are random, and those of CCM continue in the
            // reserved bytes. So this test uses the header of the example.
            let (header, sealed) = self.sealed_request.split_at(TRANSFORM_HEADER_LEN);
            let mut message = self.request.to_vec();
            let nonce = *header[20..].first_chunk().unwrap();
            let tag = transform
                .outbound
                .seal(nonce, &header[AUTHENTICATED..], &mut message);
            assert_eq!(message, sealed);
            assert_eq!(tag, header[4..AUTHENTICATED]);
        }
    }
}
