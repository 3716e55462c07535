//! A report as Markdown, with plots as separate pictures.

use std::fmt::Write as _;

use smbench_report::table::markdown as safe;
use smbench_report::units::plain;

use crate::PLOTS;
use crate::report::{Block, Report, Section};

/// Returns the report in GitHub's Markdown.
#[must_use]
pub fn to_markdown(report: &Report) -> String {
    let mut text = format!("# {}\n", safe(&report.title));
    for section in &report.sections {
        add(&mut text, "##", section);
        for part in &section.parts {
            add(&mut text, "###", part);
        }
    }
    text
}

/// Adds a heading and its blocks, each after an empty line.
fn add(text: &mut String, heading: &str, section: &Section) {
    *text += &format!("\n{heading} {}\n", safe(&section.title));
    for block in &section.blocks {
        text.push('\n');
        *text += &self::block(block);
    }
}

fn block(block: &Block) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = text.write_fmt(arguments);
        text.push('\n');
    };
    match block {
        Block::Text(paragraph) => line(format_args!("{}", safe(paragraph))),
        Block::List(lines) => {
            for entry in lines {
                line(format_args!("- {}", safe(entry)));
            }
        }
        Block::Facts(facts) => {
            for (label, fact) in facts {
                line(format_args!("- {}: {}", safe(label), safe(fact)));
            }
        }
        Block::Verbatim(lines) => {
            let fence = fence(lines);
            line(format_args!("{fence}"));
            for code in lines {
                line(format_args!("{}", plain(code)));
            }
            line(format_args!("{fence}"));
        }
        Block::Table(table) => line(format_args!("{}", table.to_markdown().trim_end())),
        Block::Plot(plot) => {
            line(format_args!(
                "![{}]({PLOTS}/{}.svg)",
                safe(&plot.title),
                plot.name
            ));
            for note in &plot.notes {
                line(format_args!("\n{}", safe(note)));
            }
        }
    }
    text
}

/// Returns a fence that no line can end.
fn fence(lines: &[String]) -> String {
    let runs = lines.iter().flat_map(|line| line.split(|c| c != '`'));
    let longest = runs.map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}
