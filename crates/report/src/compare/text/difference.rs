//! A difference of two documents, as a part of a line.

use serde_json::Value;

use crate::compare::Pair;
use crate::compare::difference::{Difference, PROFILE};
use crate::units::plain;

/// Characters of a value that are shown; the document has it all.
const VALUE_CHARS_MAX: usize = 60;
/// Characters that are shown before those in which long values differ.
const CONTEXT_CHARS: usize = 24;
/// Stands for what is not shown.
const CUT: &str = "...";

/// The profiles of the two, where they have other names: those differ in all else.
pub(crate) fn profiles(pair: &Pair) -> Option<String> {
    let mut differences = pair.workload.iter();
    differences.find(|difference| difference.key == PROFILE)?;
    let (one, other) = (&pair.baseline, &pair.other);
    Some(format!(
        "{} ran profile {}, {} ran {}",
        one.label, one.profile, other.label, other.profile
    ))
}

/// `plan.outstanding: 4 in A, 1 in B`; of lists the elements that only one has.
pub(crate) fn difference(pair: &Pair, found: &Difference) -> String {
    let (one, other) = (&pair.baseline.label, &pair.other.label);
    let key = plain(&found.key);
    if let (Value::Array(baseline), Value::Array(changed)) = (&found.baseline, &found.other) {
        match (
            &elements(baseline, changed)[..],
            &elements(changed, baseline)[..],
        ) {
            // The same ones in another order.
            ("", "") => {}
            (only, "") => return format!("{key}: {} only in {one}", cut(only)),
            ("", only) => return format!("{key}: {} only in {other}", cut(only)),
            (first, second) => {
                let [first, second] = shortened(first, second);
                return format!("{key}: {first} in {one}, {second} in {other}");
            }
        }
    }
    let [first, second] = shortened(&text(&found.baseline), &text(&found.other));
    format!("{key}: {first} in {one}, {second} in {other}")
}

/// Those of one list that the other lacks.
fn elements(of: &[Value], lacks: &[Value]) -> String {
    let only = of.iter().filter(|element| !lacks.contains(element));
    only.map(text).collect::<Vec<_>>().join("; ")
}

/// A value without the marks of JSON around it.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => plain(text),
        Value::Array(elements) => {
            let elements: Vec<_> = elements.iter().map(text).collect();
            elements.join("; ")
        }
        Value::Object(parts) => {
            let part = |(key, value): (&String, &Value)| format!("{} {}", plain(key), text(value));
            let parts: Vec<_> = parts.iter().map(part).collect();
            parts.join(", ")
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Two values that differ, of which what differs is shown.
fn shortened(one: &str, other: &str) -> [String; 2] {
    let is_long = |text: &str| text.chars().count() > VALUE_CHARS_MAX;
    if !is_long(one) && !is_long(other) {
        return [one, other].map(str::to_owned);
    }
    let alike = one.char_indices().zip(other.chars());
    let apart = alike
        .take_while(|((_, one), other)| one == other)
        .last()
        .map_or(0, |((at, character), _)| at + character.len_utf8());
    let before = one[..apart].char_indices().rev();
    let start = before.take(CONTEXT_CHARS).last().map_or(0, |(at, _)| at);
    let word = one[start..apart].find(' ').map_or(0, |space| space + 1);
    let from = if start == 0 { 0 } else { start + word };
    [one, other].map(|text| match from {
        0 => cut(text),
        from => format!("{CUT}{}", cut(&text[from..])),
    })
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((at, _)) => format!("{}{CUT}", &text[..at]),
        None => text.to_owned(),
    }
}
