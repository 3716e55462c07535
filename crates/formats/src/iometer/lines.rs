//! The lines of a configuration file, and errors in them.

/// The first version whose specifications have names. Versions up to 2014 are
/// dates.
const NAMED_SINCE: [u32; 3] = [1998, 5, 21];
/// The smallest first number of a version that is a date.
const YEARS: u32 = 1900;

/// Beginnings of lines that are keys, or that begin or end a section. The value of
/// a key never comes from behind such a line. Other lines that begin with `'` may
/// name the columns of a value.
const KEYS: [&str; 22] = [
    "'END",
    "'Version",
    "'TEST SETUP",
    "'RESULTS DISPLAY",
    "'ACCESS SPECIFICATIONS",
    "'MANAGER",
    "'Test Description",
    "'Run Time",
    "'Ramp Up Time",
    "'Default ",
    "'Record ",
    "'Worker",
    "'Disk ",
    "'Target",
    "'Queue Depth Cycling",
    "'Test Type",
    "'Number of outstanding IOs",
    "'# of outstanding IOs",
    "'Assigned access specs",
    "'Access specification name",
    "'Local network interface",
    "'VI outstanding IOs",
];

/// An error in a line, and how to correct it.
#[derive(Debug)]
pub(super) struct LineProblem {
    pub(super) line: usize,
    pub(super) reason: String,
}

impl LineProblem {
    pub(super) fn at(line: usize, reason: impl Into<String>) -> Self {
        Self {
            line,
            reason: reason.into(),
        }
    }
}

/// The trimmed lines with their numbers. Empty lines matter only where a value is
/// expected.
pub(super) struct IcfLines {
    lines: Vec<(usize, String)>,
    at: usize,
}

/// Whether a line begins with this text, in upper or lower case.
pub(super) fn begins(text: &str, with: &str) -> bool {
    let head = text.as_bytes().get(..with.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(with.as_bytes()))
}

impl IcfLines {
    /// Splits a file into lines. Iometer writes the code page of its machine, so
    /// text that is not UTF-8 is read as Latin-1. The line ends of every system are
    /// accepted.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let text = match str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().copied().map(char::from).collect(),
        };
        let is_text = |c: &char| !c.is_control() || *c == '\t';
        let lines = (1..)
            .zip(text.trim_start_matches('\u{feff}').lines())
            .map(|(at, line)| {
                let line: String = line.chars().filter(is_text).collect();
                (at, line.trim().to_owned())
            })
            .collect();
        Self { lines, at: 0 }
    }

    /// Returns the number of lines, at least 1.
    pub(super) fn count(&self) -> usize {
        self.lines.len().max(1)
    }

    /// Returns the next line that is not empty.
    pub(super) fn peek(&self) -> Option<&(usize, String)> {
        let mut left = self.lines.iter().skip(self.at);
        left.find(|(_, text)| !text.is_empty())
    }

    /// Returns the next line that is not empty, and moves behind it.
    pub(super) fn next(&mut self) -> Option<(usize, String)> {
        let line = self.peek().cloned();
        // Line numbers start at 1.
        self.at = line.as_ref().map_or(self.lines.len(), |(at, _)| *at);
        line
    }

    /// Returns the next line of a section. The end of the file is an error.
    pub(super) fn within(&mut self, section: &str) -> Result<(usize, String), LineProblem> {
        let count = self.count();
        self.next()
            .ok_or_else(|| LineProblem::at(count, format!("the file ends within {section}")))
    }

    /// Returns the value below a key. Lines that name its columns, which begin with
    /// `'`, come before it.
    ///
    /// `None` if the value is empty, as the description of a test can be. The file
    /// then has an empty line and another key. An editor may have removed the empty
    /// line.
    pub(super) fn value(&mut self, key: &str) -> Result<Option<(usize, String)>, LineProblem> {
        let mut is_empty = false;
        while let Some((_, text)) = self.lines.get(self.at) {
            let names_columns = text.starts_with("'\t") || text.starts_with("' ");
            if text.is_empty() {
                is_empty = true;
            } else if !text.starts_with('\'') {
                break;
            } else if is_empty && !names_columns || KEYS.iter().any(|key| begins(text, key)) {
                return Ok(None);
            }
            self.at += 1;
        }
        self.within(key).map(Some)
    }

    /// Skips up to and including the line that begins like this, or to the end of
    /// the file.
    pub(super) fn skip_to(&mut self, end: &str) {
        while let Some((_, text)) = self.next() {
            if begins(&text, end) {
                return;
            }
        }
    }

    /// Checks the first line, which names the version of Iometer.
    pub(super) fn check_version(&mut self) -> Result<(), LineProblem> {
        let wrong = |line, text: &str| {
            let expected = "expected Version 1.1.0";
            let reason =
                format!("`{text}` is not the first line of an Iometer configuration: {expected}");
            LineProblem::at(line, reason)
        };
        let (at, text) = self.next().ok_or_else(|| wrong(1, ""))?;
        if !begins(&text, "Version") {
            return Err(wrong(at, &text));
        }
        let numbers = text.split(|c: char| !c.is_ascii_digit());
        let numbers: Vec<u32> = numbers.filter_map(|digits| digits.parse().ok()).collect();
        let [major, middle, minor, ..] = numbers[..] else {
            return Err(wrong(at, &text));
        };
        if major > YEARS && [major, middle, minor] < NAMED_SINCE {
            let reason = format!(
                "`{text}`: access specifications of Iometer before 1998.05.21 have no names \
                 and are not read: save the file with a newer Iometer"
            );
            return Err(LineProblem::at(at, reason));
        }
        Ok(())
    }
}

/// Returns the whole numbers of a line. Any text may separate them.
pub(super) fn numbers(at: usize, text: &str, expected: usize) -> Result<Vec<u64>, LineProblem> {
    let words = text.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<u64> = words.filter_map(|digits| digits.parse().ok()).collect();
    if numbers.len() >= expected && !text.contains('-') {
        return Ok(numbers);
    }
    let reason = format!("`{text}` has not the {expected} whole numbers that are expected here");
    Err(LineProblem::at(at, reason))
}

/// Returns the first word of a line.
pub(super) fn word(text: &str) -> &str {
    text.split([',', ' ', '\t']).next().unwrap_or_default()
}

/// Converts a count to u32; a larger one becomes the maximum.
pub(super) fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
