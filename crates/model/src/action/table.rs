//! Reads an `[[operations]]` table: the name of an operation, its weight and its
//! parameters. An error names the operation and the parameter at fault.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use smbench_protocol::command::query_directory::DirectoryClass;
use toml::Value;

use super::{
    Action, ChangeFilter, LookedAt, QueryClass, SetClass, TreeRoot, WeightedAction, opening,
};
use crate::units::Size;

/// The longest pattern of names, in characters: the length limit of a name.
const PATTERN_LEN_MAX: usize = 255;

/// The smallest buffer of a listing in bytes: it holds any name.
const LISTING_LEN_MIN: u64 = 1 << 10;
/// The largest buffer of a listing in bytes: no server has a larger MaxTransactSize.
const LISTING_LEN_MAX: u64 = 8 << 20;

/// The changes that a file manager waits for while it shows a directory.
const CHANGES_SHOWN: [ChangeFilter; 5] = [
    ChangeFilter::FileName,
    ChangeFilter::DirName,
    ChangeFilter::Attributes,
    ChangeFilter::Size,
    ChangeFilter::LastWrite,
];

/// Makes an action of its parameters.
type Make = fn(&mut Parameters) -> Result<Action, String>;

/// The operations that a profile may name.
const OPERATIONS: [(&str, Make); 28] = [
    ("read", |given| {
        Ok(Action::Read {
            unbuffered: given.flag("unbuffered")?,
        })
    }),
    ("write", |given| {
        Ok(Action::Write {
            write_through: given.flag("write_through")?,
            unbuffered: given.flag("unbuffered")?,
        })
    }),
    ("flush", |_| Ok(Action::Flush)),
    ("create", |given| opening::read(given).map(Action::Create)),
    ("lock", |given| {
        Ok(Action::Lock {
            exclusive: given.flag("exclusive")?,
            past_end: given.flag("past_end")?,
        })
    }),
    ("query_info", |given| {
        let class = given.needed("class")?;
        Ok(Action::QueryInfo { class })
    }),
    ("set_info", |given| {
        let class = given.needed("class")?;
        Ok(Action::SetInfo { class })
    }),
    ("query_directory", |given| {
        let class = given.optional("class")?;
        Ok(Action::QueryDirectory {
            class: class.unwrap_or(DirectoryClass::IdBothDirectory),
            pattern: pattern(given)?,
        })
    }),
    ("change_notify", |given| {
        Ok(Action::ChangeNotify {
            filter: filter(given)?,
            recursive: given.flag("recursive")?,
        })
    }),
    ("watch", |given| {
        Ok(Action::Watch {
            filter: filter(given)?,
            recursive: given.flag("recursive")?,
            changers: given.optional("changers")?.unwrap_or(1),
        })
    }),
    ("copy_chunk", |_| Ok(Action::CopyChunk)),
    ("query_interfaces", |_| Ok(Action::QueryInterfaces)),
    ("validate_negotiate", |_| Ok(Action::ValidateNegotiate)),
    ("echo", |_| Ok(Action::Echo)),
    ("tree_connect", |_| Ok(Action::TreeConnect)),
    ("log_on", |_| Ok(Action::LogOn)),
    ("session", |_| Ok(Action::Session)),
    ("create_read_close", |_| Ok(Action::CreateReadClose)),
    ("create_query_close", |given| {
        let class = given.needed("class")?;
        Ok(Action::CreateQueryClose { class })
    }),
    ("create_set_close", |given| {
        match given.needed::<SetClass>("class")? {
            class if class.is_chain() => Err(given.refuse(
                "class",
                "one of basic, allocation, end_of_file goes with one frame; see operation \
                 set_info for the others",
            )),
            class => Ok(Action::CreateSetClose { class }),
        }
    }),
    ("stat", |given| {
        let class = given.optional("class")?;
        Ok(Action::Stat {
            class: class.unwrap_or(QueryClass::NetworkOpen),
        })
    }),
    ("lookup_missing", |given| {
        let root = given.optional("root")?.unwrap_or_default();
        let name = given.optional("name")?;
        if name.is_some() && root == TreeRoot::Target {
            return Err(given.refuse("name", "a lookup in the target has names of its own"));
        }
        Ok(Action::LookupMissing { root, name })
    }),
    ("neighbour", |given| {
        let class = given.optional("class")?;
        let at = if given.flag("read")? {
            LookedAt::Data
        } else {
            LookedAt::Attributes
        };
        if at == LookedAt::Data && class.is_some() {
            return Err(given.refuse("read", "class is of attributes: give one of the two"));
        }
        Ok(Action::Neighbour {
            class: class.unwrap_or(QueryClass::NetworkOpen),
            at,
        })
    }),
    ("list", |given| {
        let class = given.optional("class")?;
        let class = class.unwrap_or(DirectoryClass::IdBothDirectory);
        let aapl = given.flag("aapl")?;
        if aapl && class != DirectoryClass::IdBothDirectory {
            return Err(given.refuse("aapl", "it needs class id_both_directory"));
        }
        Ok(Action::List {
            class,
            pattern: pattern(given)?,
            buffer: buffer(given)?,
            aapl,
        })
    }),
    ("walk", |given| {
        let class = given.optional("class")?;
        Ok(Action::Walk {
            class: match class.unwrap_or(DirectoryClass::IdBothDirectory) {
                DirectoryClass::Names => {
                    return Err(given.refuse(
                        "class",
                        "names does not say which entries are directories: give another class",
                    ));
                }
                class => class,
            },
            buffer: buffer(given)?,
            root: given.optional("root")?.unwrap_or_default(),
        })
    }),
    ("copy_in", |_| Ok(Action::CopyIn)),
    ("copy_out", |_| Ok(Action::CopyOut)),
    ("save_office", |_| Ok(Action::SaveOffice)),
];

/// Reads the bytes of a listing that one request asks for. One credit pays for the default.
fn buffer(given: &mut Parameters) -> Result<u32, String> {
    let buffer: Option<Size> = given.optional("buffer")?;
    match buffer.unwrap_or(Size(64 << 10)).0 {
        bytes @ LISTING_LEN_MIN..=LISTING_LEN_MAX => Ok(bytes as u32),
        _ => Err(given.refuse("buffer", "give 1KiB to 8MiB, such as 64KiB")),
    }
}

fn pattern(given: &mut Parameters) -> Result<String, String> {
    let pattern: Option<String> = given.optional("pattern")?;
    let pattern = pattern.unwrap_or_else(|| "*".to_owned());
    match pattern.chars().count() {
        1..=PATTERN_LEN_MAX if !pattern.contains(['\\', '/']) => Ok(pattern),
        _ => Err(given.refuse(
            "pattern",
            format_args!("give 1 to {PATTERN_LEN_MAX} characters without \\ and /, such as *.dat"),
        )),
    }
}

fn filter(given: &mut Parameters) -> Result<Vec<ChangeFilter>, String> {
    match given.optional::<Vec<_>>("filter")? {
        None => Ok(CHANGES_SHOWN.to_vec()),
        Some(none) if none.is_empty() => Err(given.refuse(
            "filter",
            "it is empty: give changes to wait for, such as file_name",
        )),
        Some(some) => Ok(some),
    }
}

/// The parameters of one table.
pub(super) struct Parameters {
    op: &'static str,
    /// Values that have not been read.
    given: BTreeMap<String, Value>,
    /// Parameters that the operation takes, in the order in which it reads them.
    takes: Vec<&'static str>,
}

impl Parameters {
    /// Reads a parameter that may be absent.
    pub(super) fn optional<T: DeserializeOwned>(
        &mut self,
        parameter: &'static str,
    ) -> Result<Option<T>, String> {
        self.takes.push(parameter);
        let value = self.given.remove(parameter).map(T::deserialize).transpose();
        value.map_err(|error| self.refuse(parameter, error.message()))
    }

    /// Reads a flag, which is `false` when absent.
    pub(super) fn flag(&mut self, parameter: &'static str) -> Result<bool, String> {
        Ok(self.optional(parameter)?.unwrap_or(false))
    }

    /// Reads a parameter that has names for values.
    fn needed<T: DeserializeOwned>(&mut self, parameter: &'static str) -> Result<T, String> {
        self.optional(parameter)?.ok_or_else(|| {
            // No value has an empty name, so this error lists the valid names.
            let refusal = T::deserialize(StrDeserializer::<ValueError>::new("")).err();
            let refusal = refusal.map_or_else(String::new, |error| error.to_string());
            let (_, valid) = refusal.split_once("expected ").unwrap_or_default();
            format!("operation {} needs a {parameter}: give {valid}", self.op)
        })
    }

    pub(super) fn refuse(&self, parameter: &str, problem: impl fmt::Display) -> String {
        format!("{parameter} of operation {}: {problem}", self.op)
    }

    /// Makes the action, and refuses parameters that it does not take.
    fn make(mut self, make: Make) -> Result<Action, String> {
        let action = make(&mut self)?;
        let Some(parameter) = self.given.keys().next() else {
            return Ok(action);
        };
        let takes = match &self.takes[..] {
            [] => "it has no parameters".to_owned(),
            some => format!("it has {}", some.join(", ")),
        };
        Err(format!(
            "operation {} takes no {parameter}: {takes}",
            self.op
        ))
    }
}

/// The name of an operation, with its function.
struct Op(&'static str, Make);

impl<'de> Deserialize<'de> for Op {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = OPERATIONS.iter().find(|(name, _)| *name == text);
        known.map(|&(name, make)| Self(name, make)).ok_or_else(|| {
            let names = OPERATIONS.map(|(name, _)| format!("`{name}`"));
            D::Error::custom(format_args!(
                "unknown operation `{text}`, expected one of {}",
                names.join(", ")
            ))
        })
    }
}

impl<'de> Deserialize<'de> for WeightedAction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ActionVisitor)
    }
}

impl JsonSchema for WeightedAction {
    fn schema_name() -> Cow<'static, str> {
        "WeightedAction".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An operation, its weight and its parameters, which depend on the operation",
            "type": "object",
            "properties": {
                "op": {"enum": OPERATIONS.map(|(name, _)| name)},
                "weight": {"type": "number"},
            },
            "required": ["op", "weight"],
        })
    }
}

struct ActionVisitor;

impl<'de> Visitor<'de> for ActionVisitor {
    type Value = WeightedAction;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table with op and weight")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<WeightedAction, A::Error> {
        let (mut op, mut weight, mut given) = (None, None, BTreeMap::new());
        while let Some(key) = table.next_key::<String>()? {
            match &key[..] {
                "op" => op = Some(table.next_value::<Op>()?),
                "weight" => weight = Some(table.next_value()?),
                _ => drop(given.insert(key, table.next_value()?)),
            }
        }
        let Op(op, make) = op.ok_or_else(|| A::Error::missing_field("op"))?;
        let weight = weight.ok_or_else(|| A::Error::missing_field("weight"))?;
        let parameters = Parameters {
            op,
            given,
            takes: Vec::new(),
        };
        let action = parameters.make(make).map_err(A::Error::custom)?;
        Ok(WeightedAction { action, weight })
    }
}

#[cfg(test)]
mod tests;
