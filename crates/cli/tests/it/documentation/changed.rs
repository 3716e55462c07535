//! What is changed in a command of the documentation before it runs: the server's
//! address, how long it measures, and how much.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Where commands run.
pub(super) struct Laboratory {
    pub(super) address: SocketAddr,
    /// The share `bench`, as its server prints it.
    pub(super) url: String,
    pub(super) folder: PathBuf,
}

/// Values that take the place of others.
const VALUES: [(&str, &str); 17] = [
    ("-d", WINDOW),
    ("--ramp-up", RAMP),
    ("--repeat", "2"),
    ("--hold", "300ms"),
    ("--max", "4"),
    ("--metrics", "127.0.0.1:0"),
    ("--file-total-size", "8M"),
    ("--time", "1"),
    ("--max-time", "1"),
    ("--threads", "2"),
    ("--outstanding", "2"),
    ("--loops", "1"),
    ("--note", "'firmware 4.2'"),
    ("--passes", "2"),
    ("--directories", "10"),
    ("--files", "100"),
    ("--units", "1..2"),
];
const WINDOW: &str = "150ms";
const RAMP: &str = "20ms";
/// Options that commands have in addition, unless they have others of that name.
const ADDITIONS: [(&str, &[(&str, &str)]); 9] = [
    (
        "run",
        &[
            ("-d", WINDOW),
            ("--ramp-up", RAMP),
            ("--ramp-down", RAMP),
            ("-c", "1,2"),
        ],
    ),
    ("find rate", &[("-c", "2"), ("--max", "100")]),
    ("find clients", &[]),
    ("find logons", &[("-c", "2"), ("--max", "10")]),
    (
        "find sessions",
        &[("--max", "4"), ("--keep-alive", "300ms")],
    ),
    (
        "suite",
        &[
            ("-d", WINDOW),
            ("--ramp-up", RAMP),
            ("--ramp-down", RAMP),
            ("--points", "1"),
            ("--passes", "1"),
            ("--calibration", "off"),
        ],
    ),
    ("checkup", &[("-d", "50ms")]),
    ("gate", &[("--passes", "3")]),
    ("suite adapter", &[("-p", "transmit-4KiB")]),
];
/// What searches of rates and clients have in addition.
const SEARCH: [(&str, &str); 5] = [
    ("-d", WINDOW),
    ("--ramp-up", RAMP),
    ("--ramp-down", RAMP),
    ("--precision", "50"),
    ("--confirm", "1/1"),
];
/// Words between two commands.
const BETWEEN: [&str; 4] = ["&&", "|", ">", "--"];
/// Time for the machines of a run to set up their sessions.
const LEAD: Duration = Duration::from_secs(8);
/// Lines of files, and those in their places.
const LINES: [(&str, &str); 5] = [
    ("start = \"10s\"", "start = \"50ms\""),
    ("duration = \"10m\"", "duration = \"100ms\""),
    ("size = \"256MiB\"", "size = \"1MiB\""),
    ("size = \"64MiB\"", "size = \"1MiB\""),
    ("max = 5000", "max = 4\nhold = \"300ms\""),
];

/// Returns the text of a file with the address of the server, and with less work.
pub(super) fn changed_file(text: &str, laboratory: &Laboratory) -> String {
    let mut text = text.replace("@nas/", &format!("@{}/", laboratory.address));
    for (line, other) in LINES {
        text = text.replace(line, other);
    }
    text
}

/// Returns a line with the address of the server in place of each host.
pub(super) fn at_server(line: &str, laboratory: &Laboratory) -> String {
    let line = line.replace("smb://...", &laboratory.url);
    let mut words: Vec<_> = line.split(' ').map(str::to_owned).collect();
    for word in &mut words {
        let Some((scheme, rest)) = word.split_once("//") else {
            continue;
        };
        let Some((server, share)) = rest.split_once('/') else {
            continue;
        };
        let user = server
            .split_once('@')
            .map_or(String::new(), |(user, _)| format!("{user}@"));
        *word = format!("{scheme}//{user}{}/{share}", laboratory.address);
    }
    words.join(" ")
}

/// Returns the line with less work.
pub(super) fn changed(line: &str, laboratory: &Laboratory) -> String {
    let line = line.replace("cargo run --release --", "smbench");
    let line = if line.contains("smbench run") {
        line.replace("--quick", "--quick -c 1")
    } else {
        line
    };
    let words = words(&line);
    let commands = words.split_inclusive(|word| BETWEEN.contains(&word.as_str()));
    let commands = commands.flat_map(|command| {
        if command.first().is_some_and(|word| word == "smbench") {
            let (command, between) = match command.split_last() {
                Some((last, before)) if BETWEEN.contains(&last.as_str()) => (before, Some(last)),
                _ => (command, None),
            };
            let mut command = of_smbench(command, laboratory);
            command.extend(between.cloned());
            command
        } else {
            command.to_vec()
        }
    });
    commands.collect::<Vec<_>>().join(" ")
}

/// Splits a line into words, up to a comment. Words keep their quotes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '#') if word.is_empty() => break,
            (None, ' ') => {
                words.push(std::mem::take(&mut word));
                continue;
            }
            _ => {}
        }
        word.push(letter);
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Returns a command of smbench with less work.
fn of_smbench(words: &[String], laboratory: &Laboratory) -> Vec<String> {
    let mut changed: Vec<String> = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, given) = match word.split_once('=').filter(|_| word.starts_with("--")) {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let Some(value) = Changed::of(name) else {
            changed.push(existing(word, laboratory));
            continue;
        };
        let old = given.or_else(|| words.next().map(String::as_str));
        let new = value.in_place_of(old.unwrap_or_default());
        if given.is_some() {
            changed.push(format!("{name}={new}"));
        } else {
            changed.extend([name.to_owned(), new]);
        }
    }
    // Three seconds are long for several servers.
    let is_suite = changed.get(1).is_some_and(|word| word == "suite");
    changed.retain(|word| !is_suite || word != "--quick");
    let more = additions(&changed);
    changed.extend(more);
    changed
}

/// Returns the options that a command needs in addition.
fn additions(command: &[String]) -> Vec<String> {
    let has = |name: &str| command.iter().any(|word| word == name);
    if has("--quick") || has("-h") {
        return Vec::new();
    }
    let begin = command[1..].join(" ");
    let mut more = Vec::new();
    for (name, options) in ADDITIONS {
        if format!("{begin} ").starts_with(&format!("{name} ")) {
            more.extend_from_slice(options);
        }
    }
    if begin.starts_with("find rate") || begin.starts_with("find clients") {
        more.extend_from_slice(&SEARCH);
    }
    // Searches choose their load points, and loops have no ramps. Stages have lengths.
    let refused: &[&str] = match () {
        () if has("searches.toml") || has("curve") => &["--points"],
        () if has("--stages") || has("--soak") => &["-c", "-d", "--ramp-up"],
        // Populations need some.
        () if has("--clients") || has("--units") => &["-c"],
        () if has("--loops") => &["-d", "--ramp-up", "--ramp-down"],
        () => &[],
    };
    more.retain(|(name, _)| !has(name) && !refused.contains(name));
    let words = more.into_iter().flat_map(|(name, value)| [name, value]);
    words.map(str::to_owned).collect()
}

/// Returns a file that exists in place of one that is named after a day.
fn existing(word: &str, laboratory: &Laboratory) -> String {
    let name = word.strip_prefix("smbench-results/");
    let Some((_, end)) = name.and_then(|name| name.split_once('Z')) else {
        return word.replace("/usr/share/dbench/", "");
    };
    let results = fs::read_dir(laboratory.folder.join("smbench-results")).unwrap();
    let mut names = results.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = names.find(|name| name.ends_with(end)).unwrap();
    format!("smbench-results/{name}")
}

/// An option whose value is changed.
enum Changed {
    To(&'static str),
    Clients,
    Range,
    Begin,
}

impl Changed {
    fn of(name: &str) -> Option<Self> {
        match name {
            "-c" => Some(Self::Clients),
            "--client-range" => Some(Self::Range),
            "--begin-at" => Some(Self::Begin),
            _ => {
                let entry = VALUES.iter().find(|(option, _)| *option == name)?;
                Some(Self::To(entry.1))
            }
        }
    }

    fn in_place_of(&self, old: &str) -> String {
        match self {
            Self::To(value) => (*value).to_owned(),
            Self::Clients if old.contains(',') => "1,2".to_owned(),
            Self::Clients if old == "1" => old.to_owned(),
            // Those of a run by several machines.
            Self::Clients => "2".to_owned(),
            Self::Range if old.starts_with('0') => "0..1/2".to_owned(),
            Self::Range => "1..2/2".to_owned(),
            Self::Begin => humantime::format_rfc3339_seconds(SystemTime::now() + LEAD).to_string(),
        }
    }
}
