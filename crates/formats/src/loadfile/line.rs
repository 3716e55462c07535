//! Parser for one line of a loadfile.

use std::time::Duration;

use smbench_model::trace::{EXCLUSIVE_AT_ONCE, Handle, InfoLevel, Step, StepError, Verb, level};
use smbench_protocol::NtStatus;
use thiserror::Error;

use super::words::{WORDS_MAX, Words, is_time, old_form, shown, split};

/// Characters that search patterns may contain, but names of files may not (MS-FSCC
/// 2.1.5).
const WILDCARDS: [char; 5] = ['*', '?', '<', '>', '"'];

/// The forms of a status, for messages.
const STATUSES: &str = "a name such as NT_STATUS_OK, or a number such as 0xC0000034";

/// The content of a line.
#[derive(Debug, PartialEq)]
pub(super) struct LoadfileLine<'a> {
    pub(super) at: Option<Duration>,
    pub(super) verb: Verb,
    pub(super) step: Step<'a>,
    /// `None` if any status will do.
    pub(super) status: Option<NtStatus>,
}

/// The reason why a line is not valid, as a lower-case clause.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum LineError {
    #[error(
        "unknown verb `{0}`: expected one of {verbs}",
        verbs = Verb::of_loadfiles().map(Verb::name).collect::<Vec<_>>().join(", ")
    )]
    Unknown(String),
    #[error("{verb} of handle {handle}, which no line before has opened")]
    NotOpen { verb: Verb, handle: Handle },
    #[error("level {level} of {verb} is none that SMB2 has an equivalent of")]
    Level { verb: Verb, level: u32 },
    #[error("the status of {verb} is `{word}`: expected {STATUSES}")]
    Status { verb: Verb, word: String },
    #[error("{verb} of `{name}` is for all files that match, and SMB2 has no such request")]
    Wildcards { verb: Verb, name: String },
    #[error("`{0}` is not open: no line before has opened it")]
    NoFile(String),
    #[error("{verb} has the arguments `{found}`: expected {expected}, then SUCCESS, ERROR or *")]
    Backend {
        verb: String,
        found: String,
        expected: &'static str,
    },
    #[error("REPEAT has `{0}`: expected how often the next line runs, at least 1")]
    Repeat(String),
    #[error("{verb}: {error}")]
    Step { verb: Verb, error: StepError },
    #[error("{verb} has {found} arguments: expected {expected}, and a status")]
    Arguments {
        verb: Verb,
        found: usize,
        expected: &'static str,
    },
    #[error("the {what} of {verb} is `{word}`: expected {expected}")]
    Word {
        verb: Verb,
        what: &'static str,
        word: String,
        expected: &'static str,
    },
    #[error("a quotation mark is missing")]
    Quote,
    #[error("there are more than {WORDS_MAX} words")]
    TooLong,
    #[error("`{0}` is no time in seconds")]
    Time(String),
    #[error("there is a time, but no operation")]
    NoVerb,
    #[error(
        "this is a loadfile of dbench 4's SMB2 format, of which nothing is known here: expected \
         lines such as `ReadX 11 0 4096 4096 NT_STATUS_OK`"
    )]
    OtherFormat,
}

impl LineError {
    pub(super) fn of(verb: Verb, error: StepError) -> Self {
        match error {
            StepError::NotOpen(handle) => Self::NotOpen { verb, handle },
            error => Self::Step { verb, error },
        }
    }

    /// Returns the name under which the line is counted if it may be left out. Such
    /// a line is well-formed, but a part of it is unknown.
    pub(super) fn left_out_as(&self) -> Option<&str> {
        match self {
            Self::Unknown(name) => Some(name.as_str()),
            Self::NoFile(_) => Some("a file that is not open"),
            Self::NotOpen { verb, .. }
            | Self::Level { verb, .. }
            | Self::Status { verb, .. }
            | Self::Wildcards { verb, .. } => Some(verb.name()),
            _ => None,
        }
    }
}

/// Parses a line; `None` for a line without content.
pub(super) fn parse<'a>(
    text: &'a str,
    words: &mut Words<'a>,
) -> Result<Option<LoadfileLine<'a>>, LineError> {
    let mut words = split(text, words).map_err(|error| unknown_verb(text).unwrap_or(error))?;
    let Some(first) = words.first() else {
        return Ok(None);
    };
    let mut at = None;
    if is_time(first) {
        at = Some(seconds(first)?);
        words = &words[1..];
    }
    let Some((name, arguments)) = words.split_first() else {
        return Err(LineError::NoVerb);
    };
    let verb = verb(name)?;
    let expected = arguments_of(verb);
    let arity = expected.split(' ').count();
    let completed;
    let arguments = match old_form(verb, arguments) {
        Some(words) => {
            completed = words;
            completed.0[..arity].as_ref()
        }
        None => arguments,
    };
    let (arguments, status) = match arguments.len() {
        len if len == arity => (arguments, None),
        len if len == arity + 1 => {
            let status = status(verb, arguments[arity])?;
            (&arguments[..arity], Some(status))
        }
        found => {
            return Err(LineError::Arguments {
                verb,
                found,
                expected,
            });
        }
    };
    let step = step(&Arguments {
        verb,
        words: arguments,
    })?;
    Ok(Some(LoadfileLine {
        at,
        verb,
        step,
        status,
    }))
}

fn verb(name: &str) -> Result<Verb, LineError> {
    Verb::of(name).ok_or_else(|| {
        if name.starts_with("SMB2_") {
            LineError::OtherFormat
        } else {
            LineError::Unknown(shown(name))
        }
    })
}

/// Returns the error of an unknown verb in a line whose words are malformed. The
/// words after an unknown verb may be anything, so the verb is the better reason.
fn unknown_verb(text: &str) -> Option<LineError> {
    let mut words = text.split_whitespace();
    let name = match words.next()? {
        time if is_time(time) => words.next()?,
        name => name,
    };
    if name.starts_with('"') {
        None
    } else {
        verb(name).err()
    }
}

/// Returns the arguments between a verb and the status.
const fn arguments_of(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "path create_options disposition handle",
        Verb::Read => "handle offset size returned",
        Verb::Write => "handle offset size written",
        Verb::Lock | Verb::Unlock => "handle offset size",
        Verb::Unlink => "path attributes",
        Verb::Rename => "path path",
        Verb::QueryPath => "path level",
        Verb::QueryFile | Verb::SetFile => "handle level",
        Verb::QueryFs => "level",
        Verb::Find => "pattern level maxcount count",
        Verb::Close | Verb::Flush => "handle",
        Verb::Mkdir | Verb::Rmdir | Verb::Deltree => "path",
        Verb::Sleep => "microseconds",
        // No loadfile has the others.
        _ => "",
    }
}

fn seconds(word: &str) -> Result<Duration, LineError> {
    let seconds: Option<f64> = word.parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| LineError::Time(shown(word)))
}

/// Parses a status: by its name in Samba, by its name in the specification, or by
/// its number.
fn status(verb: Verb, word: &str) -> Result<NtStatus, LineError> {
    let by_number = || {
        let digits = word.strip_prefix("0x").or(word.strip_prefix("0X"))?;
        u32::from_str_radix(digits, 16).ok().map(NtStatus)
    };
    let name = word.strip_prefix("NT_").unwrap_or(word);
    let by_name = || match name {
        "STATUS_OK" | "STATUS_SUCCESS" | "SUCCESS" => Some(NtStatus::SUCCESS),
        name => NtStatus::from_name(name),
    };
    let status = by_number().or_else(by_name);
    status.ok_or_else(|| {
        if name.starts_with("STATUS_") {
            LineError::Status {
                verb,
                word: shown(word),
            }
        } else {
            LineError::Word {
                verb,
                what: "status",
                word: shown(word),
                expected: STATUSES,
            }
        }
    })
}

/// The words between the verb and the status.
struct Arguments<'a, 'w> {
    verb: Verb,
    words: &'w [&'a str],
}

impl<'a> Arguments<'a, '_> {
    /// Parses a number: decimal, or hexadecimal after `0x`.
    fn number<T: TryFrom<i128>>(
        &self,
        at: usize,
        what: &'static str,
        expected: &'static str,
    ) -> Result<T, LineError> {
        let word = self.words[at];
        let number = match word.strip_prefix("0x").or(word.strip_prefix("0X")) {
            // A minus sign is not allowed after the prefix.
            Some(digits) => u64::from_str_radix(digits, 16).ok().map(i128::from),
            None => word.parse::<i128>().ok(),
        };
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| LineError::Word {
                verb: self.verb,
                what,
                word: shown(word),
                expected,
            })
    }

    fn u32(&self, at: usize, what: &'static str) -> Result<u32, LineError> {
        self.number(at, what, "a number, 0 to 4294967295")
    }

    fn offset(&self, at: usize) -> Result<u64, LineError> {
        self.number(at, "offset", "a number of bytes")
    }

    fn handle(&self, at: usize) -> Result<Handle, LineError> {
        self.number(at, "handle", "a number")
    }

    /// Returns the name of one file or directory; a search pattern is an error.
    fn no_pattern(&self, at: usize) -> Result<&'a str, LineError> {
        let name = self.words[at];
        if name.contains(WILDCARDS) {
            Err(LineError::Wildcards {
                verb: self.verb,
                name: shown(name),
            })
        } else {
            Ok(name)
        }
    }

    fn level(&self, at: usize, class: fn(u32) -> Option<u8>) -> Result<InfoLevel, LineError> {
        let number = self.u32(at, "level")?;
        let level = u16::try_from(number).ok().zip(class(number));
        let level = level.map(|(level, class)| InfoLevel { level, class });
        level.ok_or(LineError::Level {
            verb: self.verb,
            level: number,
        })
    }
}

fn step<'a>(given: &Arguments<'a, '_>) -> Result<Step<'a>, LineError> {
    Ok(match given.verb {
        Verb::Create => Step::Create {
            path: given.words[0],
            options: given.u32(1, "create_options")?,
            disposition: given.number(2, "disposition", "a number, 0 to 5")?,
            handle: given.handle(3)?,
        },
        Verb::Close => Step::Close(given.handle(0)?),
        Verb::Read => Step::Read {
            handle: given.handle(0)?,
            offset: given.offset(1)?,
            length: given.u32(2, "size")?,
            returned: given.u32(3, "returned")?,
        },
        Verb::Write => Step::Write {
            handle: given.handle(0)?,
            offset: given.offset(1)?,
            length: given.u32(2, "size")?,
            written: given.u32(3, "written")?,
        },
        Verb::Flush => Step::Flush(given.handle(0)?),
        Verb::Lock => Step::Lock {
            handle: given.handle(0)?,
            offset: given.offset(1)?,
            length: given.u32(2, "size")?,
            flags: EXCLUSIVE_AT_ONCE,
        },
        Verb::Unlock => Step::Unlock {
            handle: given.handle(0)?,
            offset: given.offset(1)?,
            length: given.u32(2, "size")?,
        },
        Verb::Unlink => {
            // The attributes select some of the files that match a pattern. SMB1
            // deleted and renamed all of these (MS-CIFS 2.2.4.7, 2.2.4.8). The
            // recording does not contain their names.
            given.u32(1, "attributes")?;
            Step::Unlink(given.no_pattern(0)?)
        }
        Verb::Rename => Step::Rename {
            from: given.no_pattern(0)?,
            to: given.no_pattern(1)?,
        },
        Verb::Mkdir => Step::Mkdir(given.words[0]),
        Verb::Rmdir => Step::Rmdir(given.words[0]),
        Verb::Deltree => Step::Deltree(given.words[0]),
        Verb::QueryPath => Step::QueryPath {
            path: given.words[0],
            level: given.level(1, level::query)?,
        },
        Verb::QueryFile => Step::QueryFile {
            handle: given.handle(0)?,
            level: given.level(1, level::query)?,
        },
        Verb::QueryFs => Step::QueryFs {
            level: given.level(0, level::file_system)?,
        },
        Verb::SetFile => Step::SetFile {
            handle: given.handle(0)?,
            level: given.level(1, level::set)?,
            size: None,
        },
        Verb::Find => {
            // The number of names found depends on the recorded server, so it is
            // not used.
            given.u32(3, "count")?;
            Step::Find {
                pattern: given.words[0],
                level: given.level(1, level::listing)?,
                most: given.u32(2, "maxcount")?,
            }
        }
        Verb::Sleep => {
            let microseconds = given.number(0, "microseconds", "a number")?;
            Step::Sleep(Duration::from_micros(microseconds))
        }
        other => unreachable!("no loadfile has {other}"),
    })
}
