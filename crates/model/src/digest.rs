//! The digest of a run's work. Equal digests mean that the same operations were
//! asked for in the same order, so that the results can be compared. Each part of
//! a plan adds its own fields.

use aws_lc_rs::digest::{SHA256, digest};
use serde::Serialize;

/// The fields of the first digests, in their order, which never changes. It mixes
/// the fields of two parts. Further fields follow as parts add them.
const FIRST: [&str; 21] = [
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
];

/// The values that a digest is made of, as JSON by field.
#[derive(Default)]
pub(crate) struct Digest(Vec<(&'static str, String)>);

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

    /// Adds a field that digests lack when it has its default. Digests from before
    /// the option existed therefore stay the same.
    pub(crate) fn add_given(&mut self, field: &'static str, value: Option<impl Serialize>) {
        if let Some(value) = value {
            self.add(field, &value);
        }
    }

    /// Returns one line of JSON with its fields in a fixed order.
    pub(crate) fn text(mut self) -> String {
        self.0.sort_by_key(|(field, _)| {
            let place = FIRST.iter().position(|first| first == field);
            place.unwrap_or(FIRST.len())
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
