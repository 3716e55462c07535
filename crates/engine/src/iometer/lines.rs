//! The lines of a configuration file, and what is wrong with one.

/// Versions are dates up to 2014; before this one specifications had no names.
const NAMED_SINCE: [u32; 3] = [1998, 5, 21];
/// Where a version's first number is less, it is none of a year.
const YEARS: u32 = 1900;

/// What is wrong with a line, and what would be right.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) line: usize,
    pub(super) reason: String,
}

impl Problem {
    pub(super) fn at(line: usize, reason: impl Into<String>) -> Self {
        Self {
            line,
            reason: reason.into(),
        }
    }
}

/// The lines that are not empty, with their numbers, trimmed.
pub(super) struct Lines {
    lines: Vec<(usize, String)>,
    at: usize,
    count: usize,
}

/// Whether a line begins like this, whatever the case.
pub(super) fn begins(text: &str, with: &str) -> bool {
    let head = text.as_bytes().get(..with.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(with.as_bytes()))
}

impl Lines {
    /// Iometer writes the code page of its machine: what is not UTF-8 is taken for
    /// Latin-1. Lines end as on any system.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let text = match str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().copied().map(char::from).collect(),
        };
        let is_text = |c: &char| !c.is_control() || *c == '\t';
        let lines: Vec<_> = (1..)
            .zip(text.trim_start_matches('\u{feff}').lines())
            .map(|(at, line)| {
                let line: String = line.chars().filter(is_text).collect();
                (at, line.trim().to_owned())
            })
            .collect();
        Self {
            count: lines.len(),
            lines: lines
                .into_iter()
                .filter(|(_, line)| !line.is_empty())
                .collect(),
            at: 0,
        }
    }

    /// Lines of the file, at least 1.
    pub(super) fn count(&self) -> usize {
        self.count.max(1)
    }

    pub(super) fn peek(&self) -> Option<&(usize, String)> {
        self.lines.get(self.at)
    }

    pub(super) fn next(&mut self) -> Option<(usize, String)> {
        let line = self.peek().cloned();
        self.at += 1;
        line
    }

    /// The next line of a section that goes on.
    pub(super) fn within(&mut self, section: &str) -> Result<(usize, String), Problem> {
        let count = self.count();
        self.next()
            .ok_or_else(|| Problem::at(count, format!("the file ends within {section}")))
    }

    /// What stands below a key, other lines beginning with `'` left out; `None`
    /// where the next thing ends something.
    pub(super) fn value(&mut self, key: &str) -> Result<Option<(usize, String)>, Problem> {
        while let Some((_, text)) = self.peek() {
            if begins(text, "'END") {
                return Ok(None);
            }
            if !text.starts_with('\'') {
                break;
            }
            self.at += 1;
        }
        self.within(key).map(Some)
    }

    /// Up to and with the line that begins like this, or to the end of the file.
    pub(super) fn skip_to(&mut self, end: &str) {
        while let Some((_, text)) = self.next() {
            if begins(&text, end) {
                return;
            }
        }
    }

    /// The first line says which Iometer wrote the file.
    pub(super) fn check_version(&mut self) -> Result<(), Problem> {
        let wrong = |line, text: &str| {
            Problem::at(
                line,
                format!(
                    "`{text}` is not how a configuration of Iometer begins: expected a line such \
                     as Version 1.1.0"
                ),
            )
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
        match major > YEARS && [major, middle, minor] < NAMED_SINCE {
            true => Err(Problem::at(
                at,
                format!(
                    "`{text}`: access specifications of Iometer before 1998.05.21 have no names \
                     and are not read: save the file with a newer Iometer"
                ),
            )),
            false => Ok(()),
        }
    }
}
