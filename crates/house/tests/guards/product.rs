//! What holds for every file of the product: at most 400 lines, so that a reader has
//! them in view, one meaning for each name of a type, flags in texts of commands only, and
//! plain texts.
//! Clippy limits the length of functions (`too_many_lines`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use super::{crates, repository, sources, sources_of, without_tests};

const LINES_MAX: usize = 400;

fn name_of(path: &Path) -> String {
    let name = path.strip_prefix(repository()).unwrap();
    name.display().to_string()
}

/// Returns the name of the type that a line at the left margin declares.
fn declared(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.split_once(' ')?.1,
        None => line,
    };
    let (keyword, rest) = line.split_once(' ')?;
    let is_type = ["struct", "enum", "trait", "union", "type"].contains(&keyword);
    is_type
        .then(|| rest.split(|letter: char| !letter.is_alphanumeric()).next())
        .flatten()
}

#[test]
fn no_file_of_the_product_has_more_than_400_lines() {
    let mut long = Vec::new();
    for krate in crates() {
        for file in sources_of(&krate) {
            let lines = fs::read_to_string(&file).unwrap().lines().count();
            if lines > LINES_MAX {
                long.push(format!("{} has {lines} lines", name_of(&file)));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn the_name_of_a_type_has_one_meaning() {
    let mut places = BTreeMap::<String, Vec<String>>::new();
    for folder in ["crates", "benches", "fuzz"] {
        for file in sources(&repository().join(folder)) {
            for name in fs::read_to_string(&file)
                .unwrap()
                .lines()
                .filter_map(declared)
            {
                let files = places.entry(name.to_owned()).or_default();
                files.push(name_of(&file));
            }
        }
    }
    assert!(places.len() > 500, "{}", places.len());
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}

/// The crates that are no commands. A text of theirs names a setting by its key; see
/// `model::setting`.
const LIBRARIES: [&str; 10] = [
    "capture", "engine", "formats", "kerberos", "lab", "model", "protocol", "publish", "report",
    "runner",
];

/// Files whose texts begin like flags, and what these are.
const NO_FLAGS: [(&str, &str); 7] = [
    (
        "crates/engine/src/machine/counters/smbstatus.rs",
        "options of Samba's programs",
    ),
    ("crates/publish/src/plot/palette.rs", "variables of CSS"),
    ("crates/lab/src/samba.rs", "options of smbd"),
    ("crates/lab/src/samba/judge.rs", "options of testparm"),
    (
        "crates/lab/src/samba/launch.rs",
        "options of Samba's programs",
    ),
    ("crates/runner/src/hosts.rs", "options of mpirun"),
    ("crates/runner/src/suite/spec.rs", "a placeholder in suites"),
];

/// Returns the literals of code, without its documentation.
fn literals(code: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_documentation = false;
    for token in code {
        match token {
            TokenTree::Group(group) => found.extend(literals(group.stream())),
            TokenTree::Ident(name) => is_documentation = name == "doc",
            TokenTree::Punct(sign) => is_documentation &= sign.as_char() == '=',
            TokenTree::Literal(_) if is_documentation => {}
            TokenTree::Literal(text) => found.push(text.to_string()),
        }
    }
    found
}

/// Returns what texts of the libraries name after a mark, as flags, each with its file.
fn named_after(mark: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for library in LIBRARIES {
        for file in sources_of(library) {
            let code = without_tests(&file).parse().unwrap();
            for literal in literals(code) {
                for (at, _) in literal.match_indices(mark) {
                    let is_begin = literal[..at].ends_with([' ', '"', '(', '`', '\'']);
                    let name = literal[at + mark.len()..].chars();
                    let name =
                        name.take_while(|&next| next.is_ascii_lowercase() || "-_".contains(next));
                    let name = name.collect::<String>().replace('_', "-");
                    if is_begin && name.starts_with(|first: char| first != '-') {
                        found.push((format!("--{name}"), name_of(&file)));
                    }
                }
            }
        }
    }
    found
}

#[test]
fn no_text_outside_the_commands_names_a_flag() {
    let mut flags = named_after("--");
    flags.retain(|(_, file)| NO_FLAGS.iter().all(|(exempt, _)| file != exempt));
    assert!(flags.is_empty(), "{flags:#?}");
}

#[test]
fn a_setting_that_a_text_names_is_an_option_of_the_command() {
    let options = fs::read_to_string(repository().join("docs/reference/options.md")).unwrap();
    let mut settings = named_after("@");
    assert!(settings.len() > 50, "{settings:#?}");
    settings.retain(|(flag, _)| flag != "--help" && !options.contains(&format!("`{flag}")));
    assert!(settings.is_empty(), "{settings:#?}");
}

/// Most words of a sentence in a text for users.
const WORDS_MAX: usize = 25;

/// Shorter literals are names and parts of texts.
const WORDS_MIN: usize = 4;

/// Begin of a row that another program defines.
const COLUMNS: &str = "\"Target Type,";

/// Turns of phrase that a reader of English does not expect.
const FOREIGN: [&str; 6] = [
    "is not told",
    "as told by",
    "is no condition",
    "the least is",
    "what answers there is no",
    "which is no ",
];

/// Returns the text of a literal in one line, for each paragraph of it.
fn paragraphs(literal: &str) -> Vec<String> {
    // A line that ends with a backslash goes on with the next one.
    let continued = literal.split("\\\n").map(str::trim_start);
    let text = continued.collect::<String>().replace("\\n", "\n");
    text.lines().map(str::to_owned).collect()
}

/// Returns the sentences of a paragraph. A colon or a semicolon separates two of them, because
/// messages join a fact and an advice with it.
fn sentences(paragraph: &str) -> Vec<&str> {
    let ends = [". ", "! ", "? ", ": ", "; "];
    let mut found = Vec::new();
    let mut rest = paragraph;
    while let Some(at) = ends.iter().filter_map(|end| rest.find(end)).min() {
        found.push(&rest[..at]);
        rest = &rest[at + 2..];
    }
    found.push(rest);
    found
}

/// Returns the number of words. A number or a place for a value is a word, too.
fn words(sentence: &str) -> usize {
    sentence.split_whitespace().count()
}

#[test]
fn a_text_for_users_is_plain() {
    let (mut texts, mut found) = (0, Vec::new());
    for krate in crates() {
        for file in sources_of(&krate) {
            for literal in literals(without_tests(&file).parse().unwrap()) {
                if words(&literal) < WORDS_MIN || literal.starts_with(COLUMNS) {
                    continue;
                }
                texts += 1;
                for paragraph in paragraphs(&literal) {
                    let long = sentences(&paragraph)
                        .into_iter()
                        .filter(|sentence| words(sentence) > WORDS_MAX);
                    let foreign = FOREIGN.into_iter().filter(|turn| paragraph.contains(turn));
                    let faults = long.chain(foreign);
                    found.extend(faults.map(|fault| format!("{}: {fault}", name_of(&file))));
                }
            }
        }
    }
    assert!(texts > 1000, "{texts}");
    assert!(found.is_empty(), "{}", found.join("\n"));
}
