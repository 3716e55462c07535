//! Signing and encryption algorithms, by their wire numbers and names.

use std::fmt;
use std::str::FromStr;

named! {
    /// A signing algorithm (MS-SMB2 2.2.3.1.7, 3.1.4.1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u16)]
    pub enum SigningAlgorithm {
        /// HMAC-SHA256: used by SMB 2.x, and by 3.1.1 if negotiated.
        HmacSha256 = 0 => "hmac-sha256",
        /// AES-128-CMAC: used by SMB 3.x.
        AesCmac = 1 => "aes-128-cmac",
        /// AES-128-GMAC: used by SMB 3.1.1 if negotiated.
        AesGmac = 2 => "aes-128-gmac",
    }
}

impl SigningAlgorithm {
    pub(crate) fn from_id(id: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|&known| known as u16 == id)
    }
}

impl FromStr for SigningAlgorithm {
    type Err = UnknownSigning;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|known| known.name() == text).ok_or(UnknownSigning)
    }
}

/// Error for a text that names no signing algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of hmac-sha256, aes-128-cmac, aes-128-gmac")]
pub struct UnknownSigning;

named! {
    /// An encryption algorithm (MS-SMB2 2.2.3.1.2). The order is that of offers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u16)]
    pub enum Cipher {
        /// AES-128-GCM.
        Aes128Gcm = 2 => "aes-128-gcm",
        /// AES-128-CCM: the only cipher of SMB 3.0 and 3.0.2.
        Aes128Ccm = 1 => "aes-128-ccm",
        /// AES-256-GCM.
        Aes256Gcm = 4 => "aes-256-gcm",
        /// AES-256-CCM.
        Aes256Ccm = 3 => "aes-256-ccm",
    }
}

impl Cipher {
    /// Returns the length of a key in bytes.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128Ccm | Self::Aes128Gcm => 16,
            Self::Aes256Ccm | Self::Aes256Gcm => 32,
        }
    }

    pub(crate) fn from_id(id: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|&known| known as u16 == id)
    }
}

/// The ciphers to offer, in order of preference.
///
/// A list has at least one cipher and no cipher twice. Its text form has commas
/// between the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CipherList([Option<Cipher>; Cipher::ALL.len()]);

impl CipherList {
    /// Makes a list of one cipher.
    #[must_use]
    pub const fn only(cipher: Cipher) -> Self {
        Self([Some(cipher), None, None, None])
    }

    /// Returns the ciphers in order of preference.
    pub fn iter(self) -> impl Iterator<Item = Cipher> {
        self.0.into_iter().flatten()
    }

    /// Returns whether `cipher` is offered.
    #[must_use]
    pub fn contains(self, cipher: Cipher) -> bool {
        self.0.contains(&Some(cipher))
    }
}

impl Default for CipherList {
    fn default() -> Self {
        Self(Cipher::ALL.map(Some))
    }
}

impl fmt::Display for CipherList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, cipher) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{cipher}")?;
        }
        Ok(())
    }
}

impl FromStr for CipherList {
    type Err = UnknownCipher;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut list = Self([None; Cipher::ALL.len()]);
        for (index, name) in text.split(',').enumerate() {
            let cipher = Cipher::ALL.into_iter().find(|cipher| cipher.name() == name);
            let cipher = cipher.filter(|&cipher| !list.contains(cipher));
            // The index is in range: only four ciphers exist, and none is taken
            // twice.
            list.0[index] = Some(cipher.ok_or(UnknownCipher)?);
        }
        Ok(list)
    }
}

/// Error for a text that is not a valid list of ciphers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected one or more of aes-128-gcm, aes-128-ccm, aes-256-gcm, aes-256-ccm, each once, with \
     commas between them"
)]
pub struct UnknownCipher;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_ciphers_read_as_they_are_written() {
        for text in [
            "aes-256-ccm",
            "aes-256-gcm,aes-128-ccm",
            "aes-128-gcm,aes-128-ccm,aes-256-gcm,aes-256-ccm",
        ] {
            let list: CipherList = text.parse().unwrap();
            assert_eq!(list.to_string(), text);
        }
        assert_eq!(
            CipherList::default().iter().collect::<Vec<_>>(),
            Cipher::ALL
        );
        for text in [
            "",
            "aes",
            "aes-128-gcm,",
            "aes-128-gcm,aes-128-gcm",
            "aes-128-gcm,aes-128-ccm,aes-256-gcm,aes-256-ccm,aes-128-gcm",
        ] {
            assert_eq!(text.parse::<CipherList>(), Err(UnknownCipher), "{text}");
        }
    }

    #[test]
    fn numbers_names_and_algorithms_agree() {
        for cipher in Cipher::ALL {
            assert_eq!(Cipher::from_id(cipher as u16), Some(cipher));
        }
        for signing in SigningAlgorithm::ALL {
            assert_eq!(SigningAlgorithm::from_id(signing as u16), Some(signing));
            assert_eq!(signing.name().parse(), Ok(signing));
        }
        assert_eq!(Cipher::from_id(0), None);
        assert_eq!(SigningAlgorithm::from_id(3), None);
    }
}
