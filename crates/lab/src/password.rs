//! The password of a lab account.
//!
//! Invariant: only [`Password::as_str`] shows a password. `Debug` output hides it.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::Read as _;

use crate::LabError;

/// Number of random bytes in a generated password. 128 bits cannot be guessed.
const RANDOM_BYTES: usize = 16;

/// A password, hidden from `Debug` output.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Makes a password of 32 hexadecimal digits from the system's random source.
    ///
    /// # Errors
    /// [`LabError::Io`] if `/dev/urandom` cannot be read.
    pub fn random() -> Result<Self, LabError> {
        let mut bytes = [0; RANDOM_BYTES];
        File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut bytes))
            .map_err(LabError::io("read /dev/urandom"))?;
        let mut text = String::with_capacity(2 * RANDOM_BYTES);
        for byte in bytes {
            // Writing into a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// Returns the password as plain text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Password {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::Password;

    #[test]
    fn random_passwords_are_hexadecimal_and_differ() {
        let (one, two) = (Password::random().unwrap(), Password::random().unwrap());
        assert_eq!(one.as_str().len(), 32);
        assert!(one.as_str().chars().all(|c| c.is_ascii_hexdigit()));
        assert_ne!(one, two);
    }

    #[test]
    fn debug_output_hides_the_password() {
        assert_eq!(
            format!("{:?}", Password::from("s3cret")),
            "Password(hidden)"
        );
    }
}
