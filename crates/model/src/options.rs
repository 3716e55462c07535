//! How the options of a run are declared and read. Each option is declared once, in
//! the part of the plan that it belongs to.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{self, Deserializer, Error as _, Visitor};

use crate::units::parse_duration;

/// Declares the options of a part: the keys of a `[run]` table, and then those that
/// only a command line can give.
macro_rules! options {
    (
        $(#[$of_part:meta])*
        $part:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($how:tt)*)])? $(#[written($written:ty)])?
                $key:ident: $value:ty,
            )+
        }
        never in a file {
            $($(#[doc = $of_flag:literal])* $flag:ident: $given:ty,)*
        }
    ) => {
        $(#[$of_part])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $part {
            $($(#[doc = $doc])* pub $key: Option<$value>,)+
            $($(#[doc = $of_flag])* pub $flag: Option<$given>,)*
        }

        impl $part {
            /// The keys in a `[run]` table.
            pub const KEYS: &[&str] = &[$(stringify!($key)),+];

            /// Merges two sets of options. Values of `fallback` fill those that are
            /// missing here.
            #[must_use]
            pub fn or(self, fallback: Self) -> Self {
                Self {
                    $($key: self.$key.or(fallback.$key),)+
                    $($flag: self.$flag.or(fallback.$flag),)*
                }
            }

            /// Returns the keys of the options that are given.
            pub fn given(&self) -> impl Iterator<Item = &'static str> + use<> {
                let all = [
                    $(self.$key.is_some().then_some(stringify!($key)),)+
                    $(self.$flag.is_some().then_some(stringify!($flag)),)*
                ];
                all.into_iter().flatten()
            }

            /// Adds the schemas of the keys in a `[run]` table.
            pub(crate) fn describe(
                generator: &mut schemars::SchemaGenerator,
                properties: &mut serde_json::Map<String, serde_json::Value>,
            ) {
                $({
                    let mut schema =
                        generator.subschema_for::<$crate::options::written!($value $(, $written)?)>();
                    let about = concat!($($doc, "\n"),*);
                    schema.insert("description".to_owned(), about.trim().into());
                    properties.insert(stringify!($key).to_owned(), schema.into());
                })+
            }

            /// Reads the next value of a table if its key is one of the part's.
            pub(crate) fn read<'de, A: serde::de::MapAccess<'de>>(
                &mut self,
                key: &str,
                table: &mut A,
            ) -> Result<(), A::Error> {
                $(if key == stringify!($key) {
                    #[derive(serde::Deserialize)]
                    #[serde(transparent)]
                    struct OptionValue {
                        $(#[serde($($how)*)])?
                        value: Option<$value>,
                    }
                    self.$key = table.next_value::<OptionValue>()?.value;
                })+
                Ok(())
            }
        }
    };
}
pub(crate) use options;

/// The type of a value in a file, where it is not the type of the option.
macro_rules! written {
    ($value:ty) => {
        $value
    };
    ($value:ty, $written:ty) => {
        $written
    };
}
pub(crate) use written;

/// Reads a duration from its text.
pub(crate) fn duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    struct DurationVisitor;

    impl Visitor<'_> for DurationVisitor {
        type Value = Duration;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a duration in quotes with its unit, such as \"30s\"")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
            parse_duration(text).map_err(E::custom)
        }
    }

    deserializer.deserialize_str(DurationVisitor).map(Some)
}

/// Reads a value from its text.
pub(crate) fn from_text<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(D::Error::custom)
}
