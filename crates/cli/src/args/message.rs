//! Mistakes in the command line, in one line each.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use smbench_formats::named::suggestion;

/// Returns clap's message in one line. The usage that follows it becomes a hint at the
/// command's help, unless the message has a tip or the possible values. A suggestion
/// replaces that hint.
pub(super) fn one_line(error: &clap::Error, root: &Command) -> String {
    let rendered = error.render().to_string();
    let command = command_of(&rendered);
    let suggestion = meant(error, &command, root);
    // Of the standard library, for every whole number.
    let line = without_usage(&rendered)
        .replace("invalid digit found in string", "expected a whole number");
    let is_complete =
        command.is_empty() || line.contains("; ") || line.contains("[possible values");
    if suggestion.is_empty() && !is_complete {
        format!("{line} (see {} --help)", command.join(" "))
    } else {
        line + &suggestion
    }
}

/// Returns the words of the command whose usage a message has.
fn command_of(rendered: &str) -> Vec<String> {
    let mut lines = rendered.lines();
    let usage = lines.find_map(|line| line.trim().strip_prefix("Usage: "));
    let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    let words = usage.unwrap_or_default().split(' ').take_while(is_word);
    words.map(str::to_owned).collect()
}

/// Returns what a mistyped command, option or value may mean. The text is empty if
/// nothing is near.
fn meant(error: &clap::Error, command: &[String], root: &Command) -> String {
    let texts = |kind| match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    };
    let (wrong, mut known) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, Vec::new()),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, texts(ContextKind::SuggestedArg)),
        ErrorKind::InvalidValue => (ContextKind::InvalidValue, texts(ContextKind::ValidValue)),
        _ => return String::new(),
    };
    let written = texts(wrong).concat();
    let mut words = command.iter().skip(1);
    let asked = words.try_fold(root, |parent, word| parent.find_subcommand(word));
    let words: Vec<_> = command.iter().skip(1).map(String::as_str).collect();
    let advice = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let below = asked.into_iter().flat_map(Command::get_subcommands);
            let shown = below.filter(|command| !command.is_hide_set());
            known.extend(shown.map(|command| command.get_name().to_owned()));
            misplaced_word(&words, &written)
        }
        ErrorKind::UnknownArgument => {
            let has = |option: &str| {
                let mut all = asked.into_iter().flat_map(Command::get_arguments);
                all.any(|known| known.get_long() == option.strip_prefix("--"))
            };
            let same = SYNONYMS.iter().find(|(other, _)| *other == written);
            if let Some((_, option)) = same.filter(|(_, option)| has(option)) {
                return format!(" (did you mean {option}?)");
            }
            misplaced_argument(&words, &written)
        }
        _ => None,
    };
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    match (suggestion(&written, &known), advice) {
        (near, Some(advice)) if near.is_empty() => format!("; {advice}"),
        (near, _) => near,
    }
}

/// Options of other programs that measure storage, and their names here.
const SYNONYMS: [(&str, &str); 9] = [
    ("--time", "--duration"),
    ("--runtime", "--duration"),
    ("--threads", "--clients"),
    ("--numjobs", "--clients"),
    ("--users", "--clients"),
    ("--bs", "--size"),
    ("--block-size", "--size"),
    ("--iodepth", "--outstanding"),
    ("--queue-depth", "--outstanding"),
];

/// Says what to write for a word that is no command.
fn misplaced_word(command: &[&str], written: &str) -> Option<String> {
    match command {
        ["import"] => import(written).map(str::to_owned),
        ["profiles"] if written == "list" => Some("smbench profiles lists them".to_owned()),
        ["profiles"] => Some(format!(
            "to print a profile: smbench profiles show {written}"
        )),
        _ => None,
    }
}

/// Says what to write for an argument that the command does not take.
fn misplaced_argument(command: &[&str], written: &str) -> Option<String> {
    let bare = written.trim_start_matches('-');
    let is_option = bare.len() < written.len();
    let is_negative = is_option && bare.starts_with(|c: char| c.is_ascii_digit());
    let advice = match command {
        [] if is_option => "options come after the command, for example smbench run --json -",
        ["lab", _] if !is_option => {
            return Some(format!("put -- before the command: -- {written}"));
        }
        ["gate", ..] if written == "--target" => "write the URL after the baseline",
        ["compare" | "gate", ..] if is_negative => {
            "write a whole condition, for example --fail-if 'throughput < -5%'"
        }
        _ if is_negative => "no size, time or count is below zero",
        _ => return None,
    };
    Some(advice.to_owned())
}

/// Says how to use the workloads of another program that `import` does not read.
fn import(program: &str) -> Option<&'static str> {
    Some(match program.to_lowercase().as_str() {
        "fio" => "fio jobs are not imported: docs/from/fio.md shows how to write one as a profile",
        "dbench" | "nbench" | "loadfile" => {
            "a loadfile needs no import: smbench run -p loadfile:FILE"
        }
        "sysbench" => "its fileio test needs no import: see smbench fileio --help",
        "netbench" => "docs/from/netbench.md has profiles like it: smbench run -p netbench-like",
        _ => return None,
    })
}

fn without_usage(rendered: &str) -> String {
    let message = rendered.strip_prefix("error: ").unwrap_or(rendered);
    message
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .fold(String::new(), |text, line| {
            match line.strip_prefix("tip: ") {
                // Of clap, for words that begin with a dash and are no options.
                Some(tip) if tip.starts_with("to pass '") => text,
                // An advice says more.
                Some(tip) if tip.ends_with(" exists") && tip.starts_with('\'') => text,
                // clap suggests names that are far from the written one.
                Some(tip) if tip.contains(" similar ") => text,
                Some(tip) => format!("{text}; {tip}"),
                None if text.is_empty() => line.to_owned(),
                None => format!("{text} {line}"),
            }
        })
}
