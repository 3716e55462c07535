//! The `--clients` list: the number of clients at each load point.
//!
//! `1,4..60:4,120` is 1, then 4 to 60 in steps of 4, then 120. A list holds at
//! least one load point. It holds no zero and no number twice.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The largest number of clients that one load point may have.
pub const CLIENTS_MAX: u32 = 100_000;

/// The number of clients at each load point, in the order in which the points run.
///
/// Elements are separated by commas. An element is a number, `FIRST..LAST` (in
/// steps of 1) or `FIRST..LAST:STEP`. LAST is included only if the steps meet it.
/// The canonical text writes three or more evenly rising numbers as a range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClientList(Vec<u32>);

/// The reason why a text is not a list of clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientListError {
    /// Nothing between two commas, or nothing at all.
    #[error(
        "client list `{list}` has an empty element: write numbers or ranges, such as 1,4..60:4"
    )]
    Empty {
        /// The whole list.
        list: String,
    },
    /// Neither a number nor a range.
    #[error("`{element}` in the client list is neither a number nor FIRST..LAST[:STEP]")]
    Malformed {
        /// The element as written.
        element: String,
    },
    /// A load point without clients.
    #[error("`{element}` in the client list asks for zero clients: the least is 1")]
    Zero {
        /// The element as written.
        element: String,
    },
    /// More clients than [`CLIENTS_MAX`].
    #[error("`{element}` in the client list asks for more than {CLIENTS_MAX} clients")]
    TooMany {
        /// The element as written.
        element: String,
    },
    /// A range that ends before it starts.
    #[error("range `{element}` in the client list is reversed: write the smaller number first")]
    Reversed {
        /// The element as written.
        element: String,
    },
    /// A range with step 0, which never advances.
    #[error("range `{element}` in the client list has step 0: the least is 1")]
    StepZero {
        /// The element as written.
        element: String,
    },
    /// A number that is listed twice. Results are keyed by clients and pass, so a
    /// point runs once per pass.
    #[error("{clients} clients are listed twice: use repeat to run the series again")]
    Twice {
        /// The repeated number.
        clients: u32,
    },
}

impl ClientList {
    /// Returns the load points, in the order in which they run. Never empty.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }
}

impl From<ClientList> for Vec<u32> {
    fn from(list: ClientList) -> Self {
        list.0
    }
}

impl TryFrom<String> for ClientList {
    type Error = ClientListError;

    fn try_from(text: String) -> Result<Self, ClientListError> {
        text.parse()
    }
}

impl From<ClientList> for String {
    fn from(list: ClientList) -> Self {
        list.to_string()
    }
}

impl FromStr for ClientList {
    type Err = ClientListError;

    fn from_str(text: &str) -> Result<Self, ClientListError> {
        let mut points = Vec::new();
        let mut seen = HashSet::new();
        for element in text.split(',').map(str::trim) {
            if element.is_empty() {
                return Err(ClientListError::Empty {
                    list: text.to_owned(),
                });
            }
            for clients in expand(element)? {
                if !seen.insert(clients) {
                    return Err(ClientListError::Twice { clients });
                }
                points.push(clients);
            }
        }
        Ok(Self(points))
    }
}

/// Returns the numbers that one element stands for.
fn expand(element: &str) -> Result<impl Iterator<Item = u32>, ClientListError> {
    let named = || element.to_owned();
    let number = |text: &str| parse_number(element, text);
    let (first, last, step) = match element.split_once("..") {
        None => (number(element)?, number(element)?, 1),
        Some((first, rest)) => match rest.split_once(':') {
            None => (number(first)?, number(rest)?, 1),
            Some((last, step)) => (number(first)?, number(last)?, number(step)?),
        },
    };
    if first == 0 {
        return Err(ClientListError::Zero { element: named() });
    }
    if last < first {
        return Err(ClientListError::Reversed { element: named() });
    }
    if step == 0 {
        return Err(ClientListError::StepZero { element: named() });
    }
    Ok((first..=last).step_by(step as usize))
}

fn parse_number(element: &str, text: &str) -> Result<u32, ClientListError> {
    let digits = text.trim();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ClientListError::Malformed {
            element: element.to_owned(),
        });
    }
    match digits.parse() {
        Ok(number) if number <= CLIENTS_MAX => Ok(number),
        _ => Err(ClientListError::TooMany {
            element: element.to_owned(),
        }),
    }
}

impl fmt::Display for ClientList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut separator = "";
        while let [first, tail @ ..] = rest {
            f.write_str(separator)?;
            separator = ",";
            let (length, step) = rising_run(rest);
            if length < 3 {
                write!(f, "{first}")?;
                rest = tail;
                continue;
            }
            write!(f, "{first}..{}", rest[length - 1])?;
            if step != 1 {
                write!(f, ":{step}")?;
            }
            rest = &rest[length..];
        }
        Ok(())
    }
}

/// Returns how many of the leading numbers rise by the same step, and that step.
fn rising_run(points: &[u32]) -> (usize, u32) {
    let [first, second, ..] = points else {
        return (points.len(), 1);
    };
    if second <= first {
        return (1, 1);
    }
    let step = second - first;
    let more = points
        .windows(2)
        .take_while(|pair| pair[1].checked_sub(pair[0]) == Some(step))
        .count();
    (more + 1, step)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(text: &str) -> Vec<u32> {
        text.parse::<ClientList>().unwrap().into()
    }

    #[test]
    fn numbers_and_ranges_mix() {
        let expected: Vec<u32> = [1]
            .into_iter()
            .chain((4..=60).step_by(4))
            .chain([120])
            .collect();
        assert_eq!(points("1,4..60:4,120"), expected);
        assert_eq!(points("4..8"), [4, 5, 6, 7, 8]);
        assert_eq!(points("1..10:4"), [1, 5, 9]);
        assert_eq!(points(" 8 , 2 .. 4 : 2 "), [8, 2, 4]);
        assert_eq!(points("7..7"), [7]);
        assert_eq!(points("100000"), [CLIENTS_MAX]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, message) in [
            (
                "",
                "client list `` has an empty element: write numbers or ranges, such as 1,4..60:4",
            ),
            (
                "1,,4",
                "client list `1,,4` has an empty element: write numbers or ranges, such as 1,4..60:4",
            ),
            (
                "1,x",
                "`x` in the client list is neither a number nor FIRST..LAST[:STEP]",
            ),
            (
                "1..",
                "`1..` in the client list is neither a number nor FIRST..LAST[:STEP]",
            ),
            (
                "-4",
                "`-4` in the client list is neither a number nor FIRST..LAST[:STEP]",
            ),
            (
                "4..8:",
                "`4..8:` in the client list is neither a number nor FIRST..LAST[:STEP]",
            ),
            (
                "4:2",
                "`4:2` in the client list is neither a number nor FIRST..LAST[:STEP]",
            ),
            (
                "0",
                "`0` in the client list asks for zero clients: the least is 1",
            ),
            (
                "0..8",
                "`0..8` in the client list asks for zero clients: the least is 1",
            ),
            (
                "8..4",
                "range `8..4` in the client list is reversed: write the smaller number first",
            ),
            (
                "4..8:0",
                "range `4..8:0` in the client list has step 0: the least is 1",
            ),
            (
                "100001",
                "`100001` in the client list asks for more than 100000 clients",
            ),
            (
                "99999999999999999999",
                "`99999999999999999999` in the client list asks for more than 100000 clients",
            ),
            (
                "1..8,4",
                "4 clients are listed twice: use repeat to run the series again",
            ),
        ] {
            let error = text.parse::<ClientList>().unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn printing_is_canonical() {
        for (written, printed) in [
            ("1,4..60:4,120", "1,4..60:4,120"),
            ("1,4,8,16", "1,4,8,16"),
            ("1,2,3", "1..3"),
            ("3..1000:500", "3,503"),
            ("9,7,5", "9,7,5"),
            ("1..10:4", "1..9:4"),
        ] {
            let list: ClientList = written.parse().unwrap();
            assert_eq!(list.to_string(), printed);
        }
    }

    #[test]
    fn serde_speaks_the_written_form() {
        let list: ClientList = serde_json::from_str("\"1,4..8:4\"").unwrap();
        assert_eq!(list.as_slice(), [1, 4, 8]);
        assert_eq!(serde_json::to_string(&list).unwrap(), "\"1,4,8\"");
        let error = serde_json::from_str::<ClientList>("\"0\"").unwrap_err();
        assert!(error.to_string().contains("zero clients"), "{error}");
    }

    proptest! {
        #[test]
        fn a_printed_list_reads_back(
            set in proptest::collection::hash_set(1..=60_u32, 1..40),
        ) {
            let list = ClientList(set.into_iter().collect());
            prop_assert_eq!(list.to_string().parse(), Ok(list));
        }

        #[test]
        fn hostile_text_never_panics(text in "[0-9.,: -]{0,24}") {
            if let Ok(list) = text.parse::<ClientList>() {
                prop_assert!(!list.as_slice().is_empty());
                prop_assert!(list.as_slice().iter().all(|n| (1..=CLIENTS_MAX).contains(n)));
            }
        }
    }
}
