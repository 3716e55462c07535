//! A difference of two documents, as a part of a line.

use itertools::Itertools as _;
use serde_json::Value;

use super::difference::{Difference, PROFILE};
use super::pair::Pair;
use crate::units::plain;

/// Highest number of characters shown of a value; the document has it all.
const VALUE_CHARS_MAX: usize = 60;
/// Number of characters shown before the part in which long values differ.
const CONTEXT_CHARS: usize = 24;
/// Mark for omitted text.
const CUT: &str = "...";

/// Names the profiles of the two runs if they have different names. All else then
/// differs as well.
pub(super) fn profiles(pair: &Pair) -> Option<String> {
    let mut differences = pair.workload.iter();
    differences.find(|difference| difference.key == PROFILE)?;
    let (one, other) = (&pair.baseline, &pair.other);
    Some(format!(
        "{} ran profile {}, {} ran {}",
        one.label, one.profile, other.label, other.profile
    ))
}

/// Returns `plan.outstanding: 4 in A, 1 in B`. Of lists, shows only elements that
/// one run lacks.
pub(super) fn difference(pair: &Pair, found: &Difference) -> String {
    let (one, other) = (&pair.baseline.label, &pair.other.label);
    let key = plain(&found.key);
    if let (Value::Array(baseline), Value::Array(changed)) = (&found.baseline, &found.other) {
        match (
            &elements(baseline, changed)[..],
            &elements(changed, baseline)[..],
        ) {
            // Both lists have the same elements in a different order.
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

/// Returns the elements of one list that the other lacks.
fn elements(of: &[Value], lacks: &[Value]) -> String {
    let only = of.iter().filter(|element| !lacks.contains(element));
    only.map(text).join("; ")
}

/// Returns a value without JSON's quotation marks.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => plain(text),
        Value::Array(elements) => elements.iter().map(text).join("; "),
        Value::Object(parts) => {
            let part = |(key, value): (&String, &Value)| format!("{} {}", plain(key), text(value));
            parts.iter().map(part).join(", ")
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Shortens two values to the parts in which they differ.
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
