//! The command line accepts the first command of each line in the code blocks of the
//! documentation.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use clap::error::ErrorKind;

use crate::args::{Cli, sysbench};

/// Returns README.md and the chapters of the manual.
fn chapters() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                None if path.is_dir() => folders.push(path),
                Some(end) if end == "md" => found.push(path),
                _ => {}
            }
        }
    }
    found
}

/// Returns the lines of fenced blocks, with continued lines joined.
fn lines_of_blocks(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for block in text.split("```").skip(1).step_by(2) {
        let joined = block.replace("\\\n", " ");
        lines.extend(joined.lines().map(|line| line.trim().to_owned()));
    }
    lines
}

/// Splits a line into words as a shell does, up to a comment or another command.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (None, '|' | ';' | '>' | '&') => break,
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Returns the words of each command of smbench in a line: of one that runs another
/// command there are two.
fn commands(line: &str) -> Vec<Vec<String>> {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let words = words(&line.replace("cargo run --release --", "smbench"));
    let is_variable = |word: &&String| word.contains('=') && !word.starts_with('-');
    let words: Vec<_> = words.iter().skip_while(is_variable).cloned().collect();
    // A dependency in a Cargo.toml has the name of the command as well.
    let is_dependency = words.get(1).is_some_and(|word| word == "=");
    if is_dependency || words.first().is_none_or(|word| word != "smbench") {
        return Vec::new();
    }
    let inner = words.iter().position(|word| word == "--");
    let inner = inner.map(|at| words[at + 1..].to_vec());
    let inner = inner.filter(|words| words.first().is_some_and(|word| word == "smbench"));
    [Some(words), inner].into_iter().flatten().collect()
}

#[test]
fn commands_of_the_documentation_are_accepted() {
    let mut number = 0;
    for chapter in chapters() {
        let text = fs::read_to_string(&chapter).unwrap();
        for command in lines_of_blocks(&text)
            .iter()
            .flat_map(|line| commands(line))
        {
            number += 1;
            let words = command.iter().map(OsString::from).collect();
            if let Err(error) = Cli::try_parse_from(sysbench::translated(words).ok().unwrap().words)
            {
                let is_help = matches!(
                    error.kind(),
                    ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
                );
                assert!(is_help, "{}: {command:?}: {error}", chapter.display());
            }
        }
    }
    assert!(number > 50, "{number} commands found");
}
