//! Every operation that a mix can have: the entries of the profile `all-commands`, and one
//! that a built-in profile cannot have.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

use crate::program::Program;

/// The dialects as `--dialect` takes them, the oldest first.
pub(crate) const DIALECTS: [&str; 6] = ["cifs", "2.0.2", "2.1", "3.0", "3.0.2", "3.1.1"];

/// An operation with its parameters.
pub(crate) struct MixEntry {
    pub(crate) name: String,
    operation: Table,
    /// Whether sizes are drawn for it. A profile without such an operation has none.
    has_size: bool,
    /// Whether each of [`DIALECTS`] has it.
    dialects: [bool; DIALECTS.len()],
}

impl MixEntry {
    fn is_known(&self) -> bool {
        self.dialects.contains(&true)
    }
}

pub(crate) struct Pool {
    /// The profile without its operations.
    profile: Table,
    entries: Vec<MixEntry>,
}

impl Pool {
    /// Reads the profile, and asks smbench which dialects have which operation.
    pub(crate) fn read(repository: &Path, program: &Program) -> Result<Self, String> {
        let path = repository.join("crates/model/profiles/all-commands.toml");
        let failed = |problem: String| format!("{}: {problem}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
        let mut profile: Table =
            toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
        let mut pool = Self {
            entries: Vec::new(),
            profile: Table::new(),
        };
        let Some(Value::Array(operations)) = profile.remove("operations") else {
            return Err(failed("it has no operations".to_owned()));
        };
        let mut operations: Vec<Table> = operations
            .into_iter()
            .filter_map(|operation| operation.try_into().ok())
            .collect();
        operations.push(toml::toml! { op = "validate_negotiate" });
        pool.profile = profile;
        for operation in operations {
            let mut entry = MixEntry {
                name: name(&operation),
                operation,
                has_size: true,
                dialects: [false; DIALECTS.len()],
            };
            pool.ask(&mut entry, program)?;
            if !entry.is_known() {
                entry.has_size = false;
                pool.ask(&mut entry, program)?;
            }
            if !entry.is_known() {
                return Err(failed(format!("no dialect has {}", entry.name)));
            }
            pool.entries.push(entry);
        }
        Ok(pool)
    }

    /// Asks smbench which dialects have an operation.
    fn ask(&self, entry: &mut MixEntry, program: &Program) -> Result<(), String> {
        let profile = program.profile(&self.text(&[entry]))?;
        for (has, dialect) in entry.dialects.iter_mut().zip(DIALECTS) {
            *has = program.has_plan(&profile, dialect)?;
        }
        Ok(())
    }

    /// Returns the operations that a dialect has.
    pub(crate) fn of(&self, dialect: &str) -> Vec<&MixEntry> {
        let at = DIALECTS.iter().position(|other| *other == dialect);
        let has = |entry: &&MixEntry| at.is_some_and(|at| entry.dialects[at]);
        self.entries.iter().filter(has).collect()
    }

    /// Returns an operation, with READs and WRITEs beside it.
    pub(crate) fn beside<'a>(&'a self, entry: &'a MixEntry) -> Vec<&'a MixEntry> {
        let is_transfer = |other: &&MixEntry| ["read", "write"].contains(&&*other.name);
        let transfers = self.entries.iter().filter(is_transfer);
        let others = transfers.filter(|other| other.name != entry.name);
        others.chain([entry]).collect()
    }

    /// Returns a profile of these operations, as many of each.
    pub(crate) fn text(&self, entries: &[&MixEntry]) -> String {
        let (each, more) = (100 / entries.len(), 100 % entries.len());
        let weighted = entries.iter().enumerate().map(|(at, entry)| {
            let mut operation = entry.operation.clone();
            let weight = i64::try_from(each + usize::from(at < more)).unwrap_or(1);
            operation.insert("weight".to_owned(), Value::Integer(weight));
            Value::Table(operation)
        });
        let mut profile = self.profile.clone();
        if !entries.iter().any(|entry| entry.has_size) {
            profile.remove("sizes");
        }
        profile.insert("name".to_owned(), Value::String("interop".to_owned()));
        profile.insert("operations".to_owned(), Value::Array(weighted.collect()));
        profile.to_string()
    }
}

/// Returns the operation with its parameters: `query_info (class basic)`.
fn name(operation: &Table) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(texts) => {
            let texts = texts.iter().filter_map(Value::as_str);
            texts.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    };
    let parameters: Vec<_> = operation
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "op" | "weight"))
        .map(|(key, value)| match value {
            Value::Boolean(true) => key.clone(),
            other => format!("{key} {}", text(other)),
        })
        .collect();
    let op = operation.get("op").map(text).unwrap_or_default();
    if parameters.is_empty() {
        op
    } else {
        format!("{op} ({})", parameters.join(", "))
    }
}
