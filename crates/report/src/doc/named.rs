//! A value that documents contain by its name.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::Error;
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Serialize};

/// A value that this release knows, or the name that another release or program
/// wrote. Both are written as they were read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    into = "String",
    from = "String",
    bound(
        serialize = "T: Serialize + Clone",
        deserialize = "T: DeserializeOwned"
    )
)]
pub enum Named<T> {
    /// A value of this release.
    Known(T),
    /// Any other name.
    Foreign(String),
}

impl<T: DeserializeOwned> From<String> for Named<T> {
    fn from(name: String) -> Self {
        let known = T::deserialize(name.as_str().into_deserializer());
        known.map_or_else(|_: Error| Self::Foreign(name), Self::Known)
    }
}

impl<T: Serialize> From<Named<T>> for String {
    fn from(value: Named<T>) -> Self {
        value.to_string()
    }
}

impl<T: Serialize> fmt::Display for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A formatter writes the name of a variant as it is in a document.
            Self::Known(value) => value.serialize(f),
            Self::Foreign(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::load::Ramp;
    use smbench_model::sessions::Caching;
    use smbench_model::workload::Timing;

    use super::*;

    #[test]
    fn names_of_other_releases_are_kept() {
        let read = |name: &str| Named::<Ramp>::from(name.to_owned());
        assert_eq!(read("linear"), Named::Known(Ramp::Linear));
        assert_eq!(read("steep"), Named::Foreign("steep".to_owned()));
        for name in ["linear", "steep"] {
            assert_eq!(read(name).to_string(), name);
            let json = format!("\"{name}\"");
            let value: Named<Ramp> = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&value).unwrap(), json);
        }
        assert!(serde_json::from_str::<Named<Ramp>>("1").is_err());
    }

    #[test]
    fn known_values_have_the_names_of_documents() {
        assert_eq!(Named::Known(Timing::Recorded).to_string(), "recorded");
        for (name, caching) in Caching::ALL {
            assert_eq!(Named::Known(caching).to_string(), name);
        }
    }
}
