//! Command lines of sysbench, written as those of `smbench fileio`.
//!
//! sysbench has the command at the end or between options. Version 0.4, which most posts
//! use, selects a test by `--test=` and has other names for some options; version 1.0
//! still takes these. Not here: the options that both have ([`super::fileio`]).

use std::ffi::OsString;

use clap::CommandFactory as _;

use super::Cli;
use crate::failure::Failure;

const COMMANDS: [&str; 4] = ["prepare", "run", "cleanup", "help"];

/// Options of sysbench 0.4 with their names of today.
const RENAMED: [(&str, &str); 4] = [
    ("num-threads", "threads"),
    ("max-time", "time"),
    ("max-requests", "events"),
    ("tx-rate", "rate"),
];

/// Options that change nothing over SMB or in this program, and what is used instead.
const WITHOUT_EFFECT: [(&str, &str); 10] = [
    ("init-rng", "--rand-seed"),
    ("rand-init", "--rand-seed"),
    ("luajit-cmd", ""),
    ("file-async-backlog", "--threads"),
    ("forced-shutdown", "--operation-timeout"),
    ("thread-stack-size", ""),
    ("thread-init-timeout", "--setup-timeout"),
    ("report-checkpoints", "--report-interval"),
    ("verbosity", "-q"),
    ("debug", ""),
];

/// A command line, and what to say about its spelling.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) words: Vec<OsString>,
    pub(super) note: Option<String>,
}

/// Returns a command line of sysbench as one of `smbench fileio`, and any other as it is.
///
/// # Errors
/// When the test is not `fileio`.
pub(super) fn translated(words: Vec<OsString>) -> Result<Translated, Failure> {
    let Some(lines) = words
        .iter()
        .map(|word| word.to_str())
        .collect::<Option<Vec<_>>>()
    else {
        return Ok(Translated { words, note: None });
    };
    let test = lines.iter().find_map(|word| word.strip_prefix("--test="));
    // sysbench 1.0 has the name of the test at the beginning.
    let named = lines.iter().skip(1).find(|word| !word.starts_with('-'));
    if let Some(other) = named.filter(|name| is_other_test(name)) {
        return Err(Failure::Usage(elsewhere(other)));
    }
    // Options may come before the name of the test.
    let has_name = lines.get(1).is_some_and(|word| word.starts_with("--"));
    let named_at = lines.iter().position(|word| *word == "fileio");
    let named_at = named_at.filter(|at| *at == 1 || has_name);
    let is_fileio = named_at.is_some();
    if !is_fileio && (test.is_none() || !lines[1].starts_with("--")) {
        return Ok(Translated { words, note: None });
    }
    if let Some(other) = test.filter(|test| *test != "fileio") {
        return Err(Failure::Usage(elsewhere(other)));
    }
    let (mut renamed, mut ignored) = (Vec::new(), Vec::new());
    let mut rest = Vec::new();
    let mut command = None;
    let words = lines.iter().copied().enumerate().skip(1);
    let mut given = words
        .filter(|(at, _)| Some(*at) != named_at)
        .map(|(_, word)| word)
        .peekable();
    while let Some(word) = given.next() {
        let is_value = rest.last().is_some_and(|last: &String| takes_a_value(last));
        if command.is_none() && COMMANDS.contains(&word) && (!is_value || given.peek().is_none()) {
            command = Some(word);
            continue;
        }
        let name = word.strip_prefix("--").unwrap_or_default();
        let (name, value) = name.split_once('=').unwrap_or((name, ""));
        if name == "test" && is_fileio {
            ignored.push("--test=fileio is not needed".to_owned());
        } else if name == "test" {
            renamed.push("fileio for --test=fileio".to_owned());
        } else if let Some((old, new)) = RENAMED.iter().find(|(old, _)| *old == name) {
            renamed.push(format!("--{new} for --{old}"));
            rest.push(word.replacen(old, new, 1));
        } else if let Some((old, instead)) = WITHOUT_EFFECT.iter().find(|(old, _)| *old == name) {
            ignored.push(match *instead {
                "" => format!("--{old} has no effect"),
                instead => format!("--{old} has no effect; see {instead}"),
            });
            let is_apart = value.is_empty() && !word.contains('=');
            let _value = given.next_if(|next| is_apart && next.parse::<f64>().is_ok());
        } else {
            rest.push(word.to_owned());
        }
    }
    let command = match (command, test) {
        // sysbench prints the options of the test.
        (Some("help"), Some(_)) => vec!["run", "--help"],
        (command, _) => Vec::from_iter(command),
    };
    let words = [lines[0], "fileio"].into_iter().chain(command);
    let words = words.map(str::to_owned).chain(rest).map(OsString::from);
    Ok(Translated {
        words: words.collect(),
        note: note(&renamed, ignored),
    })
}

fn note(renamed: &[String], ignored: Vec<String>) -> Option<String> {
    let renamed = (!renamed.is_empty()).then(|| format!("write {}", renamed.join(", ")));
    let parts: Vec<_> = renamed.into_iter().chain(ignored).collect();
    (!parts.is_empty()).then(|| format!("note: {}", parts.join("; ")))
}

/// Whether the word after this one can be its value: `--time 60`, but not `--time=60`.
fn takes_a_value(word: &str) -> bool {
    let command = Cli::command();
    let fileio = command.find_subcommand("fileio");
    let run = fileio.and_then(|fileio| fileio.find_subcommand("run"));
    let mut known = run.into_iter().flat_map(clap::Command::get_arguments);
    let name = word.trim_start_matches('-');
    let is_it = |arg: &&clap::Arg| {
        if word.starts_with("--") {
            arg.get_long() == Some(name)
        } else {
            name.chars().eq(arg.get_short())
        }
    };
    let takes_one =
        |arg: &clap::Arg| arg.get_action().takes_values() && !arg.is_require_equals_set();
    word.starts_with('-') && !word.contains('=') && known.find(is_it).is_none_or(takes_one)
}

/// Whether sysbench 1.0 has another test of this name.
fn is_other_test(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "mutex" | "threads") || name.starts_with("oltp_")
}

/// Returns what measures another test of sysbench.
fn elsewhere(test: &str) -> String {
    let instead = match test {
        "cpu" => {
            "`smbench calibrate` shows what this machine can do as a load generator; results have \
             the CPU time per operation of server and client"
        }
        "threads" | "mutex" => {
            "`smbench run URL -c 1,16,128` shows how a server handles more clients"
        }
        name if name.starts_with("oltp") => {
            "for the I/O of a database on a share, try `smbench run URL --read 70 --size 16KiB \
             --access random`"
        }
        "memory" => "sysbench does",
        _ => return format!("sysbench has no test `{test}` that is known here: use --test=fileio"),
    };
    format!("nothing here measures sysbench's test `{test}`: {instead}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    fn of(text: &str) -> (String, Option<String>) {
        let Translated { words, note } = translated(words(text)).ok().unwrap();
        (
            words.join(&OsString::from(" ")).into_string().unwrap(),
            note,
        )
    }

    #[test]
    fn lines_of_sysbench_04_become_todays() {
        for (typed, expected) in [
            (
                "smbench --test=fileio --file-total-size=5G prepare",
                "smbench fileio prepare --file-total-size=5G",
            ),
            (
                "smbench fileio --target U --test=fileio --num-threads=4 --max-time=1 \
                 --max-requests=0 --init-rng=on run",
                "smbench fileio run --target U --threads=4 --time=1 --events=0",
            ),
            (
                "smbench fileio --verbosity=5 run --file-async-backlog=128 --debug --time=1",
                "smbench fileio run --time=1",
            ),
            ("smbench fileio --verbosity 5 run", "smbench fileio run"),
            (
                "smbench --threads=2 --rand-init=on fileio run --file-num=4",
                "smbench fileio run --threads=2 --file-num=4",
            ),
            ("smbench --test=fileio help", "smbench fileio run --help"),
            ("smbench run --label cpu", "smbench run --label cpu"),
            ("smbench fileio help", "smbench fileio help"),
            ("x fileio --threads=4", "x fileio --threads=4"),
            ("x fileio cleanup --a", "x fileio cleanup --a"),
            ("x suite --a run", "x suite --a run"),
            (
                "smbench fileio -q run --histogram --time=1",
                "smbench fileio run -q --histogram --time=1",
            ),
            // A label is no command.
            (
                "smbench fileio --label run cleanup",
                "smbench fileio cleanup --label run",
            ),
            ("smbench run --label fileio", "smbench run --label fileio"),
        ] {
            assert_eq!(of(typed).0, expected);
        }
        let (_, note) = of("smbench --test=fileio --max-time=9 --forced-shutdown=off run");
        assert_eq!(
            note.unwrap(),
            "note: write fileio for --test=fileio, --time for --max-time; --forced-shutdown has no \
             effect; see --operation-timeout"
        );
        let (_, note) = of("smbench fileio --test=fileio --num-threads=2 run");
        assert_eq!(
            note.unwrap(),
            "note: write --threads for --num-threads; --test=fileio is not needed"
        );
        assert_eq!(of("smbench fileio run --time=9").1, None);
    }

    #[test]
    fn other_tests_name_what_measures_them() {
        for test in ["cpu", "threads", "memory", "mutex", "oltp", "x"] {
            let error = translated(words(&format!("smbench --test={test} run")));
            let Err(Failure::Usage(message)) = error else {
                panic!("{test} was accepted");
            };
            assert!(message.contains(&format!("test `{test}`")), "{message}");
        }
        // As sysbench 1.0 has it.
        for line in [
            "cpu run",
            "--threads=4 memory run",
            "oltp_read_write --time=9 run",
        ] {
            let error = translated(words(&format!("smbench {line}")));
            let Err(Failure::Usage(message)) = error else {
                panic!("{line} was accepted");
            };
            assert!(message.starts_with("nothing here measures"), "{message}");
        }
    }
}
