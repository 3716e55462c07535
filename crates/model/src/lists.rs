//! Lists in the notation that users write: numbers of clients, addresses.
//!
//! Elements are separated by commas. An element is one value or a range. A list
//! holds at least one value, and no value twice.

pub mod clients;
pub mod rates;
pub mod sources;

use std::collections::HashSet;
use std::fmt::{self, Display};
use std::hash::Hash;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

/// Values in the order in which they are written.
///
/// The canonical text writes three or more evenly rising values as a range.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct List<T>(Vec<T>);

/// The reason why a text is not a list. It names the element as written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ListError(String);

/// A value of a [`List`], and the notation of the list.
pub trait Value: Copy + Eq + Hash + Display {
    /// The name of the list, in messages.
    const LIST: &str;
    /// An example of a list, in messages.
    const EXAMPLE: &str;
    /// The word for a value, in messages.
    const WORD: &str;
    /// The plural of that word.
    const WORDS: &str;
    /// The text between the ends of a range.
    const TO: &str;
    /// The largest step of a range.
    const STEP_MAX: u128;
    /// The largest number of values in a list.
    const LENGTH_MAX: usize;

    /// Parses an element: the ends of its range, and the step.
    ///
    /// # Errors
    /// When the element is malformed.
    fn parse(element: &str) -> Result<(Self, Self, usize), ListError>;

    /// Checks the ends of a range.
    ///
    /// # Errors
    /// When the range has a value that a list must not have.
    fn check(element: &str, first: Self, last: Self) -> Result<(), ListError>;

    /// Returns the distance to a later value, or `None` for a value that is not
    /// later.
    fn distance(self, later: Self) -> Option<u128>;

    /// Returns the value at this distance.
    #[must_use]
    fn after(self, distance: u128) -> Self;

    /// Returns the error of a list that has this value twice.
    fn twice(self) -> ListError;
}

/// Returns the ends of `FIRST-LAST`, which some programs write for `FIRST..LAST`.
fn dashed(element: &str) -> Option<[&str; 2]> {
    let (first, last) = element.split_once('-')?;
    let ends = [first.trim(), last.trim()];
    let is_number = |end: &&str| end.starts_with(|c: char| c.is_ascii_digit());
    ends.iter().all(is_number).then_some(ends)
}

impl<T> List<T> {
    /// Returns the values in their order. Never empty.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

impl<T> From<List<T>> for Vec<T> {
    fn from(list: List<T>) -> Self {
        list.0
    }
}

impl<'de, T: Value> Deserialize<'de> for List<T> {
    /// Reads the text of a list, or the number that is its only element.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);

        impl<T: Value> Visitor<'_> for ListVisitor<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a {} in quotes, such as \"{}\"", T::LIST, T::EXAMPLE)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<List<T>, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<List<T>, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<List<T>, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

impl<T: Value> FromStr for List<T> {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let (list, word, words) = (T::LIST, T::WORD, T::WORDS);
        let error = |message| Err(ListError(message));
        if text.trim().is_empty() {
            return error(format!(
                "the {list} is empty: write {words} or ranges, such as {}",
                T::EXAMPLE
            ));
        }
        let mut values = Vec::new();
        let mut seen = HashSet::new();
        for element in text.split(',').map(str::trim) {
            if element.is_empty() {
                return error(format!(
                    "{list} `{text}` has an empty element: write {words} or ranges, such as {}",
                    T::EXAMPLE
                ));
            }
            let (first, last, step) = T::parse(element)?;
            let Some(distance) = first.distance(last) else {
                return error(format!(
                    "range `{element}` in the {list} is reversed: write the smaller {word} first"
                ));
            };
            T::check(element, first, last)?;
            if step == 0 {
                return error(format!(
                    "range `{element}` in the {list} has step 0: it must be at least 1"
                ));
            }
            if distance / step as u128 >= (T::LENGTH_MAX - values.len()) as u128 {
                let most = T::LENGTH_MAX;
                return error(format!("the {list} has more than {most} {words}"));
            }
            for value in (0..=distance).step_by(step).map(|at| first.after(at)) {
                if !seen.insert(value) {
                    return Err(value.twice());
                }
                values.push(value);
            }
        }
        Ok(Self(values))
    }
}

impl<T: Value> Display for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut separator = "";
        while let [first, tail @ ..] = rest {
            f.write_str(separator)?;
            separator = ",";
            let (length, step) = rising_run(rest);
            if length < 3 || step > T::STEP_MAX {
                write!(f, "{first}")?;
                rest = tail;
                continue;
            }
            write!(f, "{first}{}{}", T::TO, rest[length - 1])?;
            if step != 1 {
                write!(f, ":{step}")?;
            }
            rest = &rest[length..];
        }
        Ok(())
    }
}

/// Returns how many of the leading values rise by the same step, and that step.
fn rising_run<T: Value>(values: &[T]) -> (usize, u128) {
    let mut steps = values.windows(2).map(|pair| pair[0].distance(pair[1]));
    match steps.next().flatten() {
        None => (1, 1),
        Some(step) => (
            2 + steps.take_while(|more| *more == Some(step)).count(),
            step,
        ),
    }
}
