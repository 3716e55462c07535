//! Search patterns of QUERY_DIRECTORY (MS-FSA 2.1.4.4), without case.
//!
//! Matching takes one step per pair of pattern and name character, for any
//! pattern. So no client can make a listing slow.
//!
//! Not here: the check that a pattern is valid, which the protocol layer does.

/// A search pattern.
///
/// - `*` matches any characters, `?` exactly one.
/// - `<` (DOS_STAR) matches any characters up to the last dot of the name.
/// - `>` (DOS_QM) matches one character other than a dot, or nothing before a
///   dot or at the end.
/// - `"` (DOS_DOT) matches a dot, or nothing at the end.
pub(super) struct SearchPattern {
    /// The pattern's characters in lower case; `None` matches every name.
    chars: Option<Vec<char>>,
}

impl SearchPattern {
    /// Makes a pattern from its text. No pattern, `*` and `*.*` match every
    /// name. `*.*` does so because DOS names without an extension end with an
    /// invisible dot.
    pub(super) fn new(pattern: Option<&str>) -> Self {
        let chars = pattern
            .filter(|text| !matches!(*text, "*" | "*.*"))
            .map(|text| fold(text).chars().collect());
        Self { chars }
    }

    /// Returns whether the whole of `name` matches.
    pub(super) fn matches(&self, name: &str) -> bool {
        let Some(pattern) = &self.chars else {
            return true;
        };
        let name: Vec<char> = fold(name).chars().collect();
        let last_dot = name.iter().rposition(|&c| c == '.');
        // `reach[i]` is true if the first `i` pattern characters can match the
        // name so far.
        let mut reach = vec![false; pattern.len() + 1];
        reach[0] = true;
        for (at, &c) in name.iter().enumerate() {
            skip_empty(pattern, &mut reach, Some(c));
            let mut next = vec![false; reach.len()];
            for (i, &p) in pattern.iter().enumerate().filter(|&(i, _)| reach[i]) {
                match p {
                    '*' => next[i] = true,
                    '<' => next[i] |= last_dot != Some(at),
                    '?' => next[i + 1] = true,
                    '>' => next[i + 1] |= c != '.',
                    '"' => next[i + 1] |= c == '.',
                    literal => next[i + 1] |= literal == c,
                }
            }
            reach = next;
        }
        skip_empty(pattern, &mut reach, None);
        reach[pattern.len()]
    }
}

/// Lets wildcards match nothing before `upcoming`, the next character of the
/// name, or at the name's end.
fn skip_empty(pattern: &[char], reach: &mut [bool], upcoming: Option<char>) {
    for (i, &p) in pattern.iter().enumerate() {
        let may_be_empty = match p {
            '*' | '<' => true,
            '>' => upcoming.is_none_or(|c| c == '.'),
            '"' => upcoming.is_none(),
            _ => false,
        };
        reach[i + 1] |= reach[i] && may_be_empty;
    }
}

/// Returns `name` in lower case, as names are compared.
pub(super) fn fold(name: &str) -> String {
    name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::SearchPattern;

    #[test]
    fn wildcards_match_as_the_specification_says() {
        let cases = [
            ("*", "anything", true),
            ("*.*", "noextension", true),
            ("*.txt", "notes.TXT", true),
            ("*.txt", "notes.txt.bak", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("**a**", "xay", true),
            ("ÉT*", "été", true),
            ("file1", "file10", false),
            // DOS_STAR matches up to the last dot.
            ("<.txt", "a.b.txt", true),
            ("<", "abc", true),
            ("<", "a.b", false),
            // DOS_QM matches one character, or nothing before a dot or at the end.
            (">>>", "ab", true),
            (">>.txt", "a.txt", true),
            (">.txt", "ab.txt", false),
            (">w.txt", "w.txt", false),
            // DOS_DOT matches a dot, or nothing at the end.
            ("a\"", "a", true),
            ("a\"", "a.", true),
            ("a\"b", "ab", false),
            ("<\"<", "abc", true),
        ];
        for (pattern, name, expected) in cases {
            let found = SearchPattern::new(Some(pattern)).matches(name);
            assert_eq!(found, expected, "pattern {pattern:?}, name {name:?}");
        }
        assert!(SearchPattern::new(None).matches("x"));
    }

    #[test]
    fn a_pattern_of_wildcards_only_takes_bounded_steps() {
        let pattern = "*a".repeat(127);
        assert!(!SearchPattern::new(Some(&pattern)).matches(&"a".repeat(126)));
        assert!(SearchPattern::new(Some(&pattern)).matches(&"a".repeat(255)));
    }
}
