//! Translates between smb-rs's terms and ours: options, negotiated terms, errors.

use std::time::Duration;

use smb::connection::{AuthMethodsConfig, EncryptionMode, MultiChannelConfig};
use smb::{ConnectionConfig, EncryptionCipher, SigningAlgorithmId};
use smbench_model::sessions::{Mode, SessionOptions};
use smbench_protocol::{Cipher, Dialect, NtStatus, SigningAlgorithm};

/// Credits requested in addition to those of the window. smb-rs loses the credits
/// of interim responses (MS-SMB2 3.3.4.2). It requests them again only with its
/// next request, for which it must have a credit.
const CREDIT_RESERVE: u16 = 128;

/// Start of the text of smb-rs errors that contain a status. Its calls for READ,
/// WRITE and FLUSH return only that text.
const STATUS_PREFIXES: [&str; 2] = [
    "Server returned an error message with status: ",
    "Unexpected message status: ",
];

/// Translates the plan's options for smb-rs.
pub(super) fn config(options: &SessionOptions, credit_target: u16) -> ConnectionConfig {
    ConnectionConfig {
        // As with the native driver, the callers bound all waits; zero means no
        // limit.
        timeout: Some(Duration::ZERO),
        min_dialect: options.dialects.iter().map(dialect_to).min(),
        max_dialect: Some(dialect_to(options.dialects.newest())),
        encryption_mode: match options.encryption {
            Mode::Required => EncryptionMode::Required,
            // With encryption switched off, smb-rs offers an empty list of ciphers,
            // which is an invalid message (MS-SMB2 2.2.3.1.2). The negotiated
            // result is checked instead.
            Mode::Auto | Mode::Off => EncryptionMode::Allowed,
        },
        allow_unsigned_guest_access: false,
        compression_enabled: false,
        multichannel: MultiChannelConfig::Disabled,
        client_name: Some("smbench".to_owned()),
        disable_notifications: true,
        smb2_only_negotiate: true,
        auth_methods: AuthMethodsConfig {
            ntlm: true,
            kerberos: false,
        },
        credits_backlog: Some(credit_target.saturating_add(CREDIT_RESERVE)),
        ..ConnectionConfig::default()
    }
}

fn dialect_to(dialect: Dialect) -> smb::Dialect {
    match dialect {
        Dialect::Cifs => unreachable!("a plan has no CIFS with smb-rs"),
        Dialect::Smb202 => smb::Dialect::Smb0202,
        Dialect::Smb21 => smb::Dialect::Smb021,
        Dialect::Smb30 => smb::Dialect::Smb030,
        Dialect::Smb302 => smb::Dialect::Smb0302,
        Dialect::Smb311 => smb::Dialect::Smb0311,
    }
}

pub(super) fn dialect_from(dialect: smb::Dialect) -> Dialect {
    match dialect {
        smb::Dialect::Smb0202 => Dialect::Smb202,
        smb::Dialect::Smb021 => Dialect::Smb21,
        smb::Dialect::Smb030 => Dialect::Smb30,
        smb::Dialect::Smb0302 => Dialect::Smb302,
        smb::Dialect::Smb0311 => Dialect::Smb311,
    }
}

/// Returns the algorithm with which smb-rs signs, if it does.
pub(super) fn signing(
    dialect: Dialect,
    negotiated: Option<SigningAlgorithmId>,
) -> SigningAlgorithm {
    match (dialect.fixed_signing(), negotiated) {
        (Some(fixed), _) => fixed,
        (None, Some(SigningAlgorithmId::HmacSha256)) => SigningAlgorithm::HmacSha256,
        (None, Some(SigningAlgorithmId::AesGmac)) => SigningAlgorithm::AesGmac,
        // Without a signing context it is CMAC (MS-SMB2 3.2.5.2).
        (None, Some(SigningAlgorithmId::AesCmac) | None) => SigningAlgorithm::AesCmac,
    }
}

/// Returns the cipher with which smb-rs encrypts, if it does.
pub(super) fn cipher(negotiated: Option<EncryptionCipher>) -> Cipher {
    match negotiated {
        Some(EncryptionCipher::Aes128Gcm) => Cipher::Aes128Gcm,
        Some(EncryptionCipher::Aes256Ccm) => Cipher::Aes256Ccm,
        Some(EncryptionCipher::Aes256Gcm) => Cipher::Aes256Gcm,
        // Before 3.1.1 this is the only cipher (MS-SMB2 3.1.4.3).
        Some(EncryptionCipher::Aes128Ccm) | None => Cipher::Aes128Ccm,
    }
}

/// Finds the status in the text of an smb-rs error. It has the form `...
/// (0xc0000022).`, or is bare if smb-rs has no name for it.
pub(super) fn status_in(text: &str) -> Option<NtStatus> {
    let status = STATUS_PREFIXES
        .iter()
        .find_map(|prefix| text.split_once(prefix))?
        .1;
    let (_, digits) = status.rsplit_once("0x")?;
    let end = digits.find(|c: char| !c.is_ascii_hexdigit());
    let digits = &digits[..end.unwrap_or(digits.len())];
    u32::from_str_radix(digits, 16).ok().map(NtStatus)
}

#[cfg(test)]
mod tests {
    use smbench_protocol::DialectRange;

    use super::*;

    /// The texts are smb-rs's own, so this test fails if a release changes them.
    #[test]
    fn statuses_are_found_in_the_errors_of_smb_rs() {
        for status in [
            NtStatus::ACCESS_DENIED,
            NtStatus::END_OF_FILE,
            NtStatus::USER_SESSION_DELETED,
            // smb-rs has no name for this status.
            NtStatus(0xC0AB_CDEF),
            NtStatus(0x0000_0107),
        ] {
            let unexpected = smb::Error::UnexpectedMessageStatus(status.0);
            assert_eq!(status_in(&unexpected.to_string()), Some(status));
            let body = smb::ErrorResponse {
                error_data: Vec::new(),
            };
            let refused = smb::Error::ReceivedErrorMessage(status.0, body);
            let text = refused.to_string();
            assert_eq!(status_in(&text), Some(status), "{text}");
            let wrapped = std::io::Error::other(text);
            assert_eq!(status_in(&wrapped.to_string()), Some(status));
        }
        assert_eq!(status_in(&smb::Error::ConnectionStopped.to_string()), None);
        assert_eq!(status_in("at 0xc0000022"), None);
    }

    #[test]
    fn a_range_of_dialects_keeps_its_ends() {
        let options = SessionOptions {
            dialects: "2.1..3.0.2".parse::<DialectRange>().unwrap(),
            ..SessionOptions::default()
        };
        let config = config(&options, 7);
        assert_eq!(config.min_dialect, Some(smb::Dialect::Smb021));
        assert_eq!(config.max_dialect, Some(smb::Dialect::Smb0302));
        assert_eq!(config.credits_backlog, Some(7 + CREDIT_RESERVE));
        for dialect in Dialect::SMB2 {
            assert_eq!(dialect_from(dialect_to(dialect)), dialect);
        }
    }
}
