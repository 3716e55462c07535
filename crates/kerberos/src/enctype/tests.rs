use proptest::prelude::*;

use super::super::hex;
use super::*;

fn key(enctype: Enctype, bytes: &str) -> Key {
    Key::new(enctype, &hex(bytes)).unwrap()
}

/// RFC 3961 appendix A.1 has one vector of 128 bits. It is also the
/// constant of string-to-key.
#[test]
fn folding_gives_the_vector_of_rfc_3961() {
    assert_eq!(
        n_fold(b"kerberos").to_vec(),
        hex("6b65726265726f737b9b5b2b93132b93")
    );
}

/// The examples of RFC 3962 appendix B.
#[test]
fn passwords_give_the_keys_of_rfc_3962() {
    for (iterations, password, salt, aes128, aes256) in [
        (
            1u32,
            "password",
            b"ATHENA.MIT.EDUraeburn".to_vec(),
            "42263c6e89f4fc28b8df68ee09799f15",
            "fe697b52bc0d3ce14432ba036a92e65bbb52280990a2fa27883998d72af30161",
        ),
        (
            2,
            "password",
            b"ATHENA.MIT.EDUraeburn".to_vec(),
            "c651bf29e2300ac27fa469d693bdda13",
            "a2e16d16b36069c135d5e9d2e25f896102685618b95914b467c67622225824ff",
        ),
        (
            1200,
            "password",
            b"ATHENA.MIT.EDUraeburn".to_vec(),
            "4c01cd46d632d01e6dbe230a01ed642a",
            "55a6ac740ad17b4846941051e1e8b0a7548d93b0ab30a8bc3ff16280382b8c2a",
        ),
        (
            50,
            "\u{1d11e}",
            b"EXAMPLE.COMpianist".to_vec(),
            "f149c1f2e154a73452d43e7fe62a56e5",
            "4b6d9839f84406df1f09cc166db4b83c571848b784a3d6bdc346589a3e393f9e",
        ),
    ] {
        let parameters = iterations.to_be_bytes();
        for (enctype, expected) in [(Enctype::Aes128Sha1, aes128), (Enctype::Aes256Sha1, aes256)] {
            let key = Key::from_password(enctype, password, &salt, &parameters).unwrap();
            assert_eq!(key.bytes, hex(expected), "{enctype:?}, {iterations}");
        }
    }
}

/// The examples of RFC 8009 appendix A.
#[test]
fn passwords_give_the_keys_of_rfc_8009() {
    let mut salt = hex("10df9dd783e5bc8acea1730e74355f61");
    salt.extend_from_slice(b"ATHENA.MIT.EDUraeburn");
    for (enctype, expected) in [
        (Enctype::Aes128Sha2, "089bca48b105ea6ea77ca5d2f39dc5e7"),
        (
            Enctype::Aes256Sha2,
            "45bd806dbf6a833a9cffc1c94589a222367a79bc21c413718906e9f578a78467",
        ),
    ] {
        for parameters in [&[][..], &32_768u32.to_be_bytes()] {
            let key = Key::from_password(enctype, "password", &salt, parameters).unwrap();
            assert_eq!(key.bytes, hex(expected));
        }
    }
}

#[test]
fn stretching_without_sense_or_end_is_refused() {
    for parameters in [
        &[0, 0, 0, 0][..],
        &[1],
        &[0; 8],
        &[0xff; 4],
        &[0, 0x10, 0, 1],
    ] {
        let key = Key::from_password(Enctype::Aes128Sha1, "p", b"s", parameters);
        assert_eq!(key, None, "{parameters:?}");
    }
}

const SHA2_128: &str = "3705d96080c17728a0e800eab6e0d23c";
const SHA2_256: &str = "6d404d37faf79f9df0d33568d320669800eb4836472ea8a026d16b7182460c52";

/// The examples of RFC 8009 appendix A.
#[test]
fn derived_keys_are_those_of_rfc_8009() {
    for (enctype, base, checksum, encryption, integrity) in [
        (
            Enctype::Aes128Sha2,
            SHA2_128,
            "b31a018a48f54776f403e9a396325dc3",
            "9b197dd1e8c5609d6e67c3e37c62c72e",
            "9fda0e56ab2d85e1569a688696c26a6c",
        ),
        (
            Enctype::Aes256Sha2,
            SHA2_256,
            "ef5718be86cc84963d8bbb5031e9f5c4ba41f28faf69e73d",
            "56ab22bee63d82d7bc5227f6773f8ea7a5eb1c825160c38312980c442e5c7e49",
            "69b16514e3cd8e56b82010d5c73012b622c4d00ffc23ed1f",
        ),
    ] {
        let key = key(enctype, base);
        for (purpose, expected) in [
            (KeyUse::Checksum, checksum),
            (KeyUse::Encryption, encryption),
            (KeyUse::Integrity, integrity),
        ] {
            assert_eq!(key.derive_for(2, purpose), hex(expected));
        }
    }
}

/// The examples of RFC 8009 appendix A.
#[test]
fn encryption_gives_the_vectors_of_rfc_8009() {
    let key = key(Enctype::Aes128Sha2, SHA2_128);
    for (plain, confounder, expected) in [
        (
            "",
            "7e5895eaf2672435bad817f545a37148",
            "ef85fb890bb8472f4dab20394dca781dad877eda39d50c870c0d5a0a8e48c718",
        ),
        (
            "000102030405",
            "7bca285e2fd4130fb55b1a5c83bc5b24",
            "84d7f30754ed987bab0bf3506beb09cfb55402cef7e6877ce99e247e52d16ed4421dfdf8976c",
        ),
        (
            "000102030405060708090a0b0c0d0e0f",
            "56ab21713ff62c0a1457200f6fa9948f",
            "3517d640f50ddc8ad3628722b3569d2ae07493fa8263254080ea65c1008e8fc2\
             95fb4852e7d83e1e7c48c37eebe6b0d3",
        ),
    ] {
        let confounder = hex(confounder).try_into().unwrap();
        let encrypted = key.encrypt_with(2, &hex(plain), confounder);
        assert_eq!(encrypted, hex(expected));
        assert_eq!(key.decrypt(2, &encrypted), Some(hex(plain)));
    }
}

/// The examples of RFC 8009 appendix A, and for SHA-1 those of MIT's own tests.
#[test]
fn checksums_are_the_published_ones() {
    let counting: Vec<u8> = (0..0x15).collect();
    for (enctype, bytes, usage, data, expected) in [
        (
            Enctype::Aes128Sha2,
            SHA2_128,
            2,
            &counting[..],
            "d78367186643d67b411cba9139fc1dee",
        ),
        (
            Enctype::Aes256Sha2,
            SHA2_256,
            2,
            &counting,
            "45ee791567eefca37f4ac1e0222de80d43c3bfa06699672a",
        ),
        (
            Enctype::Aes128Sha1,
            "9062430c8cda3388922e6d6a509f5b7a",
            3,
            b"eight nine ten eleven twelve thirteen",
            "01a4b088d45628f6946614e3",
        ),
    ] {
        let key = key(enctype, bytes);
        let checksum = key.checksum(usage, &[data]);
        assert_eq!(checksum, hex(expected), "{enctype:?}");
        assert!(key.verifies(usage, &[data], &checksum));
        assert!(!key.verifies(usage + 1, &[data], &checksum));
        assert!(!key.verifies(usage, &[data], &checksum[1..]));
    }
}

#[test]
fn a_key_does_not_show() {
    let key = Key::new(Enctype::Aes128Sha1, &[0x41; 16]).unwrap();
    assert_eq!(format!("{key:?}"), "Key(aes128-cts-hmac-sha1-96)");
    assert_eq!(Key::new(Enctype::Aes128Sha1, &[0x41; 32]), None);
}

proptest! {
    #[test]
    fn what_is_encrypted_decrypts_and_damage_does_not(
        plain in proptest::collection::vec(any::<u8>(), 0..100),
        which in 0usize..4,
        at: prop::sample::Index,
    ) {
        let key = Key::random(Enctype::ALL[which]);
        let mut encrypted = key.encrypt(7, &plain);
        let decrypted = key.decrypt(7, &encrypted);
        prop_assert_eq!(decrypted.as_deref(), Some(&plain[..]));
        prop_assert_eq!(key.decrypt(8, &encrypted), None);
        let at = at.index(encrypted.len());
        encrypted[at] ^= 0x10;
        prop_assert_eq!(key.decrypt(7, &encrypted), None);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        for enctype in Enctype::ALL {
            prop_assert_eq!(Key::random(enctype).decrypt(3, &bytes), None);
        }
    }
}
