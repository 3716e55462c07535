//! `smbench schema`: the JSON Schema of a kind of file.

use schemars::{Schema, schema_for};
use serde_json::Value;
use smbench_model::spec::Spec;
use smbench_report::RunDoc;

use crate::args::SchemaOf;
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::suite::SuiteSpec;

pub(super) fn schema(of: SchemaOf) -> Result<Exit, Failure> {
    print(&format!("{:#}\n", described(of)))?;
    Ok(Exit::Done)
}

/// Returns the schema. Its descriptions are those of the code, without links.
pub(crate) fn described(of: SchemaOf) -> Value {
    let schema: Schema = match of {
        SchemaOf::Result => schema_for!(RunDoc),
        SchemaOf::Suite => schema_for!(SuiteSpec),
        SchemaOf::Profile => schema_for!(Spec),
    };
    let mut schema = schema.to_value();
    without_links(&mut schema);
    schema
}

/// Replaces links to code in descriptions by the names.
fn without_links(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match member {
                    Value::String(text) if key == "description" => *text = without_link(text),
                    member => without_links(member),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_links),
        _ => {}
    }
}

/// Replaces each link to code, with or without a place, by its name.
fn without_link(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, mut rest) = part.split_once("`]").unwrap_or((part, ""));
        if let Some((_, after)) = rest
            .strip_prefix('(')
            .and_then(|place| place.split_once(')'))
        {
            rest = after;
        }
        plain += name;
        plain += rest;
    }
    plain
}

#[cfg(test)]
mod tests;
