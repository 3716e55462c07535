//! The digest of a run's work. Equal digests mean that the same operations were
//! asked for in the same order, so that the results can be compared. A part of a plan
//! declares with each of its fields what that adds ([`digested`]).

use aws_lc_rs::digest::{SHA256, digest};
use serde::Serialize;

/// The fields of the first digests, in their order, which never changes. It mixes
/// the fields of two parts. Further fields follow in the order of their names.
const FIRST: [&str; 26] = [
    "version",
    "workload",
    "load_points",
    "repeat",
    "outstanding",
    "ramp_up_ns",
    "duration_ns",
    "ramp_down_ns",
    "seed",
    "dialects",
    "signing",
    "signing_algorithm",
    "encryption",
    "ciphers",
    "verify",
    "credits",
    "oplock",
    "sessions_per_connection",
    "connections_per_session",
    "load",
    "ramp",
    "rates",
    "count",
    "population",
    "populations",
    "until_steady_ns",
];

/// The values that a digest is made of, as JSON by field.
#[derive(Default)]
pub(crate) struct Digest(Vec<(&'static str, String)>);

/// Declares a part of a plan: its fields, and after each `=>` what that adds to the digest.
/// `none` adds nothing. `always` adds a key and a value, which may use the field's name.
/// `given` adds them unless the value is `None`, so that digests from before the option
/// existed stay the same. `with` calls a function that adds what is in the field.
macro_rules! digested {
    (
        $(#[$of_type:meta])*
        pub struct $name:ident {
            $(
                $(#[$of_field:meta])*
                pub $field:ident: $value:ty => $how:ident $(($($added:tt)+))?,
            )+
        }
    ) => {
        $(#[$of_type])*
        pub struct $name {
            $($(#[$of_field])* pub $field: $value,)+
        }

        impl $name {
            /// Adds the fields that determine the work to a digest.
            pub(crate) fn add_to(&self, digest: &mut $crate::digest::Digest) {
                let Self { $($field),+ } = self;
                $($crate::digest::added!(digest, $field, $how $(($($added)+))?);)+
            }
        }
    };
}
pub(crate) use digested;

/// Adds a field of a part of a plan to a digest.
macro_rules! added {
    ($digest:ident, $field:ident, none) => {
        let _ = $field;
    };
    ($digest:ident, $field:ident, with($add:path)) => {
        $add($field, $digest)
    };
    ($digest:ident, $field:ident, always($key:literal, $added:expr)) => {
        $digest.add($key, &$added)
    };
    ($digest:ident, $field:ident, given($key:literal, $added:expr)) => {
        if let Some(added) = $added {
            $digest.add($key, &added);
        }
    };
}
pub(crate) use added;

/// Returns the first 64 bits of the SHA-256 of all parts together.
pub(crate) fn start_of_hash(parts: &[&[u8]]) -> u64 {
    let hash = digest(&SHA256, &parts.concat());
    let start = hash.as_ref().first_chunk();
    u64::from_le_bytes(*start.unwrap_or_else(|| unreachable!("SHA-256 has 32 bytes")))
}

/// Returns two hexadecimal digits for each byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Digest {
    /// Starts a digest. `version` is that of the meaning of the fields. It is raised
    /// when the same fields begin to mean other operations.
    pub(crate) fn new(version: u32) -> Self {
        let mut digest = Self(Vec::with_capacity(FIRST.len()));
        digest.add("version", &version);
        digest
    }

    /// Adds a field.
    pub(crate) fn add(&mut self, field: &'static str, value: &impl Serialize) {
        let json = serde_json::to_string(value);
        let json =
            json.unwrap_or_else(|error| unreachable!("plain fields always serialise: {error}"));
        self.0.push((field, json));
    }

    /// Returns one line of JSON with its fields in a fixed order.
    pub(crate) fn text(mut self) -> String {
        self.0.sort_by_key(|(field, _)| {
            let place = FIRST.iter().position(|first| first == field);
            (place.unwrap_or(FIRST.len()), *field)
        });
        let fields = self.0.iter();
        let fields = fields.map(|(field, json)| format!("\"{field}\":{json}"));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }

    /// Returns the SHA-256 of the text, as 64 hexadecimal digits.
    pub(crate) fn hash(self) -> String {
        let hash = digest(&SHA256, self.text().as_bytes());
        hex(hash.as_ref())
    }
}
