//! Lines of dbench's `smb` backend (`smb.c`, `loadfiles/smb.txt`), written as the lines
//! that all other loadfiles have.
//!
//! The backend names files where others have handles. Its names are relative to the
//! directory of the client. It knows three outcomes: `SUCCESS`, `ERROR`, and `*` for
//! either. Here `ERROR` is the most likely status. A status that differs is counted as in
//! other replays. `REPEAT n` is for the line after it, and offsets may be computed: `*` is a
//! random number, and `+n`, `%n` and `/n` add, take the remainder and align.

use std::collections::HashMap;

use smbench_model::random::draw;

use super::line::LineError;
use super::words::{Words, is_time, shown, split};

/// The directory of the client, under the name that becomes `client2`, `client3` ....
const HOME: &str = r"\clients\client1";
/// The level and the number of names that a listing of Windows asks for.
const LISTING: &str = "260 1366 0";
/// The create option for what is not a directory.
const FILE: u32 = 0x40;

/// The files that are open, with the handles that they get here.
#[derive(Default)]
pub(super) struct OpenFiles {
    handles: HashMap<String, i64>,
    opened: i64,
    /// How often the next line runs, if a REPEAT says so.
    repeat: Option<u32>,
    /// The offset of the last READ or WRITE.
    offset: u64,
    /// Number of random offsets so far.
    drawn: u64,
}

impl OpenFiles {
    /// Returns how often a line runs; 0 of a line that says so of the next one.
    pub(super) fn times_of(&mut self, text: &str) -> Result<u32, LineError> {
        let mut words = text.split_whitespace().skip_while(|word| is_time(word));
        if words.next() != Some("REPEAT") {
            let is_content = !matches!(text.trim_start().chars().next(), None | Some('#'));
            let times = if is_content { self.repeat.take() } else { None };
            return Ok(times.unwrap_or(1));
        }
        let count = words.next().unwrap_or_default();
        match (count.parse(), words.next()) {
            (Ok(times @ 1..), None) => {
                self.repeat = Some(times);
                Ok(0)
            }
            _ => Err(LineError::Repeat(shown(count))),
        }
    }

    /// Returns the offset that a word stands for.
    fn offset(&mut self, word: &str) -> Option<u64> {
        let mut value = self.offset;
        let mut rest = word;
        if let Some(after) = word.strip_prefix('*') {
            // The same numbers in each run.
            (value, rest) = (draw(0, self.drawn), after);
            self.drawn += 1;
        } else if !word.starts_with(['+', '%', '/']) {
            (value, rest) = (number(word)?, "");
        }
        while let Some(operator) = rest.chars().next() {
            let after = &rest[operator.len_utf8()..];
            let end = after.find(['+', '%', '/']).unwrap_or(after.len());
            let operand = number(&after[..end])?;
            value = match operator {
                '+' => value.checked_add(operand)?,
                '%' => value.checked_rem(operand)?,
                '/' => value.checked_div(operand)? * operand,
                _ => return None,
            };
            rest = &after[end..];
        }
        self.offset = value;
        Some(value)
    }

    /// Returns the line as others have it; `None` for a line of another format.
    pub(super) fn translated(&mut self, text: &str) -> Result<Option<String>, LineError> {
        let mut verbs = text.split_whitespace().skip_while(|word| is_time(word));
        let verb = verbs.next().unwrap_or_default();
        let (name, arguments, failure) = match verb {
            "OPEN" => ("NTCreateX", 2, "NT_STATUS_OBJECT_NAME_NOT_FOUND"),
            "CLOSE" => ("Close", 1, "NT_STATUS_FILE_CLOSED"),
            "READ" => ("ReadX", 3, "NT_STATUS_END_OF_FILE"),
            "WRITE" => ("WriteX", 3, "NT_STATUS_ACCESS_DENIED"),
            "MKDIR" => ("Mkdir", 1, "NT_STATUS_OBJECT_NAME_COLLISION"),
            "RMDIR" => ("Rmdir", 1, "NT_STATUS_OBJECT_NAME_NOT_FOUND"),
            "UNLINK" => ("Unlink", 1, "NT_STATUS_OBJECT_NAME_NOT_FOUND"),
            "READDIR" => ("FIND_FIRST", 1, "NT_STATUS_NO_SUCH_FILE"),
            _ => return Ok(None),
        };
        let mut words = Words::default();
        let words = split(text, &mut words)?;
        let start = words.iter().position(|word| *word == verb).unwrap_or(0);
        let (time, words) = (&words[..start], &words[start + 1..]);
        let [given @ .., outcome] = words else {
            return Err(wrong(verb, words));
        };
        if given.len() != arguments {
            return Err(wrong(verb, words));
        }
        let (is_success, status) = match *outcome {
            "SUCCESS" => (true, "NT_STATUS_OK"),
            "ERROR" => (false, failure),
            "*" => (true, ""),
            _ => return Err(wrong(verb, words)),
        };
        let path = given[0].replace('/', r"\");
        let path = format!(r"{HOME}\{}", path.trim_start_matches('\\'));
        let rest = match verb {
            "OPEN" => {
                let disposition = disposition(given[1]).ok_or_else(|| wrong(verb, words))?;
                self.opened += 1;
                let line = format!(r#""{path}" {FILE:#x} {disposition} {}"#, self.opened);
                if is_success {
                    self.handles.insert(path, self.opened);
                }
                line
            }
            "READ" | "WRITE" | "CLOSE" => {
                let handle = match verb {
                    "CLOSE" => self.handles.remove(&path),
                    _ => self.handles.get(&path).copied(),
                };
                let handle = handle.ok_or_else(|| LineError::NoFile(shown(given[0])))?;
                let moved = match given {
                    [_, offset, length] => {
                        let moved = if is_success { *length } else { "0" };
                        let offset = self.offset(offset);
                        let offset = offset.ok_or_else(|| wrong(verb, words))?;
                        format!(" {offset} {length} {moved}")
                    }
                    _ => String::new(),
                };
                format!("{handle}{moved}")
            }
            "UNLINK" => format!(r#""{path}" 0x6"#),
            "READDIR" => format!(r#""{path}\*" {LISTING}"#),
            _ => format!(r#""{path}""#),
        };
        let time = time.first().map(|time| format!("{time} "));
        let time = time.unwrap_or_default();
        Ok(Some(format!("{time}{name} {rest} {status}")))
    }
}

/// Returns a number: decimal, or hexadecimal after `0x`.
fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// Returns the create disposition (MS-SMB2 2.2.13) of the flags of an OPEN.
fn disposition(flags: &str) -> Option<u32> {
    const CREATE: u32 = 0x08;
    const EXCLUSIVE: u32 = 0x10;
    const TRUNCATE: u32 = 0x20;
    let flags = u32::try_from(number(flags)?).ok()?;
    let has = |flag| flags & flag != 0;
    Some(match (has(CREATE), has(EXCLUSIVE), has(TRUNCATE)) {
        (true, true, _) => 2,
        (true, false, true) => 5,
        (true, false, false) => 3,
        (false, _, true) => 4,
        (false, _, false) => 1,
    })
}

fn wrong(verb: &str, words: &[&str]) -> LineError {
    let expected = match verb {
        "OPEN" => "\"/name\" flags",
        "READ" | "WRITE" => "\"/name\" offset size",
        _ => "\"/name\"",
    };
    LineError::Backend {
        verb: verb.to_owned(),
        found: shown(&words.join(" ")),
        expected,
    }
}
