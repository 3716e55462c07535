//! The options of a run as written, in the parts of a plan: the `[run]` table of a
//! profile, or the options of a command line.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use crate::generator::GeneratorSpec;
use crate::sessions::SessionsSpec;
use crate::work::WorkSpec;

/// How to run a workload: the `[run]` table of a profile, or the options of a
/// command line. Options of the command line have priority. An option that is in
/// neither has a default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOptions {
    /// The options of the work.
    pub work: WorkSpec,
    /// The options of the load generator.
    pub generator: GeneratorSpec,
    /// The options of sessions.
    pub sessions: SessionsSpec,
}

impl RunOptions {
    /// Merges two sets of options. Values of `fallback` fill those that are missing
    /// here.
    #[must_use]
    pub fn or(self, fallback: Self) -> Self {
        let work = fallback.work.without_load_of(&self.work);
        Self {
            work: self.work.or(work),
            generator: self.generator.or(fallback.generator),
            sessions: self.sessions.or(fallback.sessions),
        }
    }

    /// Whether this option is given. Keys of a `[run]` table name options.
    #[must_use]
    pub fn gives(&self, key: &str) -> bool {
        self.given().any(|given| given == key)
    }

    /// Returns the keys of the options that are given.
    pub fn given(&self) -> impl Iterator<Item = &'static str> + use<> {
        let Self {
            work,
            generator,
            sessions,
        } = self;
        work.given()
            .chain(generator.given())
            .chain(sessions.given())
    }
}

impl<'de> Deserialize<'de> for RunOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OptionsVisitor)
    }
}

impl JsonSchema for RunOptions {
    fn schema_name() -> Cow<'static, str> {
        "RunOptions".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        WorkSpec::describe(generator, &mut properties);
        GeneratorSpec::describe(generator, &mut properties);
        SessionsSpec::describe(generator, &mut properties);
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

struct OptionsVisitor;

impl<'de> Visitor<'de> for OptionsVisitor {
    type Value = RunOptions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of options")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<RunOptions, A::Error> {
        let mut options = RunOptions::default();
        while let Some(PartKey(key)) = table.next_key()? {
            // One part has the key; the others read nothing.
            options.work.read(&key, &mut table)?;
            options.generator.read(&key, &mut table)?;
            options.sessions.read(&key, &mut table)?;
        }
        Ok(options)
    }
}

/// A key of one of the parts.
struct PartKey(String);

impl<'de> Deserialize<'de> for PartKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        let known = [WorkSpec::KEYS, GeneratorSpec::KEYS, SessionsSpec::KEYS].concat();
        if known.contains(&&key[..]) {
            Ok(Self(key))
        } else {
            let known: Vec<_> = known.iter().map(|known| format!("`{known}`")).collect();
            Err(D::Error::custom(format_args!(
                "unknown field `{key}`, expected one of {}",
                known.join(", ")
            )))
        }
    }
}
