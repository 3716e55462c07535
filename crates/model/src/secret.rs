//! A text that is never printed.

use std::borrow::Cow;
use std::fmt;

/// A secret. Its `Debug` and `Display` output shows nothing of it.
#[derive(Clone, Default)]
pub struct Secret {
    text: String,
    source: Cow<'static, str>,
}

impl Secret {
    /// Wraps a secret.
    #[must_use]
    pub fn new(secret: impl Into<String>) -> Self {
        Self {
            text: secret.into(),
            source: Cow::default(),
        }
    }

    /// Notes where the user gave the secret, such as `--password-file`. Messages
    /// about a wrong secret name this place.
    #[must_use]
    pub fn given_in(self, source: impl Into<Cow<'static, str>>) -> Self {
        Self {
            source: source.into(),
            ..self
        }
    }

    /// Returns the secret itself. Only the authenticator may use it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// Returns the place in parentheses, after a blank; nothing if it is not known.
    #[must_use]
    pub fn source_note(&self) -> String {
        match &*self.source {
            "" => String::new(),
            source => format!(" ({source})"),
        }
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
