//! The chapter on options is what the help says, and the one on keys what the schemas say.

use std::env;
use std::fs;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};
use serde_json::Value;

use crate::args::{Cli, SchemaOf};
use crate::commands::schema::described;

/// The variable that makes the test write the chapter.
const UPDATE: &str = "SMBENCH_UPDATE_MANUAL";

const INTRODUCTION: &str = "\
# Options

`smbench COMMAND -h` shows the usual options of a command, and `--help` shows all of them. This chapter is generated from them.
Square brackets give the default. \"The profile's\" means the value in the profile's `[run]` table.
";

/// Returns a text as a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
        .replace('<', "&lt;")
}

/// Returns how an option is written: `-c`, `--clients LIST`.
fn written(arg: &Arg) -> String {
    let value = arg.get_value_names().unwrap_or_default().join(" ");
    if arg.is_positional() {
        return format!("`{}`", cell(&value));
    }
    let short = arg.get_short().map(|short| format!("`-{short}`, "));
    let long = arg.get_long().unwrap_or_default();
    let takes_value = arg.get_action().takes_values();
    let value = if takes_value {
        format!(" {}", cell(&value))
    } else {
        String::new()
    };
    format!("{}`--{long}{value}`", short.unwrap_or_default())
}

/// Returns the help of an option with its values and its default.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let mut text = help.map(|help| cell(&help.to_string())).unwrap_or_default();
    let values = arg.get_possible_values();
    if arg.get_action().takes_values() && !values.is_empty() {
        let names: Vec<_> = values
            .iter()
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        text += &format!("; one of {}", names.join(", "));
    }
    let defaults: Vec<_> = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy())
        .collect();
    if arg.get_action().takes_values() && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        text += &format!(" [default: {}]", defaults.join(","));
    }
    text
}

/// Adds the tables of a command and of the commands below it.
fn describe(command: &Command, path: &str, text: &mut String) {
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    *text += &format!("\n## {path}\n\n{about}.\n");
    if path == "smbench plan" {
        *text += "It takes the options of `smbench run`.\n";
        return;
    }
    let args: Vec<_> = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set())
        .collect();
    let mut headings: Vec<_> = args.iter().map(|arg| arg.get_help_heading()).collect();
    let mut known = Vec::new();
    headings.retain(|heading| {
        let is_new = !known.contains(heading);
        known.push(*heading);
        is_new
    });
    for heading in headings {
        if let Some(heading) = heading {
            *text += &format!("\n### {heading}: {path}\n");
        }
        *text += "\n| option | meaning |\n|---|---|\n";
        for arg in args.iter().filter(|arg| arg.get_help_heading() == heading) {
            *text += &format!("| {} | {} |\n", written(arg), meaning(arg));
        }
    }
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        describe(below, &format!("{path} {}", below.get_name()), text);
    }
}

#[test]
fn the_chapter_on_options_is_up_to_date() {
    let command = Cli::command();
    let mut text = INTRODUCTION.to_owned();
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        describe(below, &format!("smbench {}", below.get_name()), &mut text);
    }
    check_chapter("options.md", &text);
}

/// Compares a chapter with its text, or writes it.
fn check_chapter(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let chapter = folder.join(name);
    if env::var_os(UPDATE).is_some() {
        fs::write(&chapter, text).unwrap();
    }
    let found = fs::read_to_string(&chapter).unwrap_or_default();
    assert!(
        found == text,
        "{} is out of date: run this test with {UPDATE}=1",
        chapter.display()
    );
}

const KEYS: &str = "\
# Keys of files

`smbench schema result`, `suite` and `profile` print these keys as JSON Schema, for editors and other programs. This chapter is generated
from them. `[]` stands for each element of a list, and `*` for each name.
";

/// Adds a row for each key of a schema, and for the keys below it.
fn describe_keys(root: &Value, schema: &Value, path: &str, text: &mut String) {
    let schema = match schema["$ref"].as_str() {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    for part in ["anyOf", "oneOf"] {
        for schema in schema[part].as_array().into_iter().flatten() {
            describe_keys(root, schema, path, text);
        }
    }
    if schema["items"].is_object() {
        describe_keys(root, &schema["items"], &format!("{path}[]"), text);
    }
    if schema["additionalProperties"].is_object() {
        describe_keys(
            root,
            &schema["additionalProperties"],
            &format!("{path}.*"),
            text,
        );
    }
    for (key, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        let path = path.trim_start_matches('.');
        let about = member["description"].as_str().unwrap_or_default();
        *text += &format!("| `{}` | {} |\n", path, cell(about));
        describe_keys(root, member, path, text);
    }
}

#[test]
fn the_chapter_on_keys_is_up_to_date() {
    let mut text = KEYS.to_owned();
    for (title, of) in [
        ("Results", SchemaOf::Result),
        ("Suites", SchemaOf::Suite),
        ("Profiles", SchemaOf::Profile),
    ] {
        text += &format!("\n## {title}\n\n| key | meaning |\n|---|---|\n");
        let schema = described(of);
        describe_keys(&schema, &schema, "", &mut text);
    }
    check_chapter("keys.md", &text);
}
