//! A report as Markdown, with plots as separate pictures.

use smbench_report::table::markdown as safe;

use crate::PLOTS;
use crate::plot::Plot;
use crate::report::{Report, ReportBlock, Section};

/// Returns the report in GitHub's Markdown.
#[must_use]
pub fn to_markdown(report: &Report) -> String {
    let mut text = format!("# {}\n", safe(&report.title));
    text.extend(
        report
            .lines
            .iter()
            .map(|line| format!("\n{}\n", safe(line))),
    );
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
        *text += &match block {
            ReportBlock::Plain(block) => block.to_markdown(),
            ReportBlock::Plot(plot) => picture(plot),
        };
    }
}

fn picture(plot: &Plot) -> String {
    let notes = plot.notes.iter().map(|note| format!("\n{}\n", safe(note)));
    let notes: String = notes.collect();
    format!(
        "![{}]({PLOTS}/{}.svg)\n{notes}",
        safe(&plot.title),
        plot.name
    )
}
