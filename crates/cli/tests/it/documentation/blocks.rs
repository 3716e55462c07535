//! The fenced blocks of README.md and the chapters of the manual.

use std::fs;
use std::path::Path;

/// Languages of blocks that have no commands and are no file of a user.
const OTHERS: [&str; 4] = ["text", "rust", "rust,no_run", "ini"];

/// A fenced block.
pub(super) struct CodeBlock {
    pub(super) chapter: String,
    /// The line of the fence.
    pub(super) line: usize,
    language: String,
    lines: Vec<String>,
}

/// Returns all blocks in the order of the table of contents.
pub(super) fn code_blocks() -> Vec<CodeBlock> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap();
    let links = summary.split("](").skip(1);
    let chapters = links.filter_map(|link| Some(format!("docs/{}", link.split_once(')')?.0)));
    let chapters = [String::from("README.md")].into_iter().chain(chapters);
    chapters
        .flat_map(|chapter| {
            let text = fs::read_to_string(root.join(&chapter)).unwrap();
            blocks_of(&chapter, &text)
        })
        .collect()
}

fn blocks_of(chapter: &str, text: &str) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<CodeBlock> = None;
    for (at, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => {
                open = Some(CodeBlock {
                    chapter: chapter.to_owned(),
                    line: at + 1,
                    language: language.to_owned(),
                    lines: Vec::new(),
                });
            }
            (None, Some(block)) => block.lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    blocks
}

impl CodeBlock {
    /// Returns the name and the text of the file that the block shows.
    pub(super) fn file(&self) -> Option<(String, String)> {
        if !["toml", "csv"].contains(&&self.language[..]) {
            return None;
        }
        let first = self.lines.first()?;
        let comment = first.strip_prefix("# ").map(str::to_owned);
        let name = first.strip_prefix("name = \"");
        let name = name.and_then(|rest| Some(format!("{}.toml", rest.split_once('"')?.0)));
        let place = format!("{} in line {}", self.chapter, self.line);
        let name = comment.or(name);
        let name = name.unwrap_or_else(|| panic!("{place}: the file has no name"));
        Some((name, self.lines.join("\n")))
    }

    /// Returns the commands of the block. Those that several machines run at the same
    /// time are together.
    pub(super) fn commands(&self) -> Vec<Vec<String>> {
        let lines: Vec<_> = match self.language.as_str() {
            "sh" => self.lines.clone(),
            // The other lines are what the commands print.
            "console" => {
                let typed = self.lines.iter().filter_map(|line| line.strip_prefix("$ "));
                typed.map(str::to_owned).collect()
            }
            "yaml" => {
                let script = self.lines.iter().skip_while(|line| line.trim() != "run: |");
                script.skip(1).cloned().collect()
            }
            "csv" => Vec::new(),
            "toml" => return self.command_of_file().into_iter().collect(),
            language => {
                let place = format!("{} in line {}", self.chapter, self.line);
                assert!(OTHERS.contains(&language), "{place}: `{language}`");
                Vec::new()
            }
        };
        let joined = lines.join("\n").replace("\\\n", " ");
        let mut commands: Vec<Vec<String>> = Vec::new();
        let mut is_of_machine = false;
        for line in joined.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let prompt = line
                .split_once("$ ")
                .filter(|(name, _)| !name.contains(' '));
            let line = prompt.map_or(line, |(_, command)| command).to_owned();
            match commands.last_mut() {
                Some(together) if is_of_machine && prompt.is_some() => together.push(line),
                _ => commands.push(vec![line]),
            }
            is_of_machine = prompt.is_some();
        }
        commands
    }

    /// Returns the heads of the lines that a command is said to print: labels and column
    /// titles, but no cautions, which depend on the machine.
    pub(super) fn heads(&self) -> Vec<String> {
        if self.language != "console" {
            return Vec::new();
        }
        let heads = self.lines.iter().filter_map(|line| match line {
            line if line.starts_with("clients ") => Some(unaligned(line)),
            line if line.starts_with("Caution ") => None,
            line if line.starts_with(char::is_uppercase) => {
                Some(unaligned(line).split_once(' ')?.0.to_owned())
            }
            _ => None,
        });
        heads.collect()
    }

    /// Returns the command that reads a profile.
    fn command_of_file(&self) -> Option<Vec<String>> {
        let (name, text) = self.file()?;
        let is_profile = text.contains("[files]");
        is_profile.then(|| vec![format!("smbench plan smb://ann@nas/bench -p ./{name}")])
    }
}

/// Returns a line with one blank between its words.
pub(super) fn unaligned(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
