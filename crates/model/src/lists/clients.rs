//! The `--clients` list: the number of clients at each load point.
//!
//! `1,4..60:4,120` is 1, then 4 to 60 in steps of 4, then 120. A list holds no zero.

use super::{List, ListError, Value, dashed};
use crate::setting::REPEAT;
use crate::units::{WholeError, parse_whole};

/// The largest number of clients that one load point may have.
pub const CLIENTS_MAX: u32 = 100_000;

/// The number of clients at each load point, in the order in which the points run.
///
/// An element is a number, `FIRST..LAST` (in steps of 1) or `FIRST..LAST:STEP`. LAST
/// is included only if the steps meet it.
pub type ClientList = List<u32>;

impl Value for u32 {
    const LIST: &str = "client list";
    const EXAMPLE: &str = "1,4..60:4";
    const WORD: &str = "number";
    const WORDS: &str = "numbers";
    const TO: &str = "..";
    const STEP_MAX: u128 = u128::MAX;
    const LENGTH_MAX: usize = usize::MAX;

    fn parse(element: &str) -> Result<(Self, Self, usize), ListError> {
        let number = |text| number(element, text);
        let (first, rest) = element.split_once("..").unwrap_or((element, element));
        Ok(match rest.split_once(':') {
            None => (number(first)?, number(rest)?, 1),
            Some((last, step)) => (number(first)?, number(last)?, number(step)? as usize),
        })
    }

    fn check(element: &str, first: Self, _: Self) -> Result<(), ListError> {
        match first {
            0 => Err(ListError(format!(
                "`{element}` in the client list is zero clients: the minimum is 1"
            ))),
            _ => Ok(()),
        }
    }

    fn distance(self, later: Self) -> Option<u128> {
        later.checked_sub(self).map(u128::from)
    }

    fn after(self, distance: u128) -> Self {
        self + distance as Self
    }

    /// Results are keyed by clients and pass, so a point runs once per pass.
    fn twice(self) -> ListError {
        ListError(format!(
            "{self} clients are listed twice: to run the series again, use {REPEAT} 2"
        ))
    }
}

fn number(element: &str, text: &str) -> Result<u32, ListError> {
    let too_many = || {
        ListError(format!(
            "`{element}` in the client list asks for more than {CLIENTS_MAX} clients"
        ))
    };
    match parse_whole(text) {
        Ok(number) if number <= CLIENTS_MAX => Ok(number),
        Ok(_) | Err(WholeError::TooLarge(_)) => Err(too_many()),
        Err(WholeError::Malformed(_)) => Err(ListError(format!(
            "`{element}` in the client list is neither a number nor FIRST..LAST[:STEP]{}",
            dashed(element).map_or_else(String::new, |[first, last]| format!(
                ": write {first}..{last}"
            ))
        ))),
    }
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
                "the client list is empty: write numbers or ranges, such as 1,4..60:4",
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
                "1-8",
                "`1-8` in the client list is neither a number nor FIRST..LAST[:STEP]: write 1..8",
            ),
            (
                "4,8 - 64:8",
                "`8 - 64:8` in the client list is neither a number nor FIRST..LAST[:STEP]: \
                 write 8..64:8",
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
                "`0` in the client list is zero clients: the minimum is 1",
            ),
            (
                "0..8",
                "`0..8` in the client list is zero clients: the minimum is 1",
            ),
            (
                "8..4",
                "range `8..4` in the client list is reversed: write the smaller number first",
            ),
            (
                "4..8:0",
                "range `4..8:0` in the client list has step 0: it must be at least 1",
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
                "4 clients are listed twice: to run the series again, use repeat 2",
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
    fn serde_reads_the_written_form() {
        let list: ClientList = serde_json::from_str("\"1,4..8:4\"").unwrap();
        assert_eq!(list.as_slice(), [1, 4, 8]);
        let error = serde_json::from_str::<ClientList>("\"0\"").unwrap_err();
        assert!(error.to_string().contains("zero clients"), "{error}");
    }

    proptest! {
        #[test]
        fn a_printed_list_reads_back(
            set in proptest::collection::hash_set(1..=60_u32, 1..40),
        ) {
            let list = List(set.into_iter().collect());
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
