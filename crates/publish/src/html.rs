//! A report as one page.
//!
//! The page has no script and refers to nothing outside itself. Its content
//! security policy makes browsers enforce that. Plots are parts of the page, so
//! that they use its colours. maud escapes all texts, and control characters are
//! replaced.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use smbench_report::block::Block;
use smbench_report::doc::ToolDoc;
use smbench_report::table::{Align, Table};
use smbench_report::units::plain;

use crate::plot::{Plot, PlotWidth, SvgError};
use crate::report::{Report, ReportBlock, Section};

const STYLE: &str = include_str!("html/style.css");

/// Policy that forbids loading from anywhere, even from the page's own folder.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Returns the report as an HTML document.
///
/// # Errors
///
/// When a plot cannot be drawn.
pub fn to_html(report: &Report) -> Result<String, SvgError> {
    let title = plain(&report.title);
    let when = if report.day.is_empty() {
        String::new()
    } else {
        format!(", {}", plain(&report.day))
    };
    let ToolDoc { name, version } = ToolDoc::this();
    let sections = report.sections.iter().enumerate();
    let sections: Result<Vec<_>, _> = sections.map(|(at, of)| section(at, of)).collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ (name) " " (version) };
                title { (title) (when) }
                // Without an icon, a browser would request one from a server.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    @for line in &report.lines { p { (plain(line)) } }
                }
                nav aria-label="Contents" { (contents(report)) }
                main { @for section in sections? { (section) } }
                footer { p { "Made by " (name) " " (version) "." } }
            }
        }
    };
    Ok(page.into_string())
}

/// Returns the names of the plots in a page; `None` if the page is not a report of
/// smbench.
pub(crate) fn plots_in(page: &str) -> Option<Vec<&str>> {
    // Texts of a report have their quotes escaped, so these searches find only
    // attributes that `to_html` wrote.
    let generator = format!(
        "<meta name=\"generator\" content=\"{} ",
        ToolDoc::this().name
    );
    let is_ours = page.contains(&generator);
    let is_name = |name: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        !name.is_empty() && name.chars().all(is_plain)
    };
    is_ours.then(|| {
        let after = page.split("data-plot=\"").skip(1);
        let names = after.filter_map(|text| Some(text.split_once('"')?.0));
        names.filter(is_name).collect()
    })
}

fn contents(report: &Report) -> Markup {
    html! {
        ol {
            @for (at, section) in report.sections.iter().enumerate() {
                li {
                    a href={ "#" (id(at)) } { (plain(&section.title)) }
                }
            }
        }
    }
}

fn id(section: usize) -> String {
    format!("section-{}", section + 1)
}

fn section(at: usize, section: &Section) -> Result<Markup, SvgError> {
    let content = blocks(&section.blocks)?;
    let parts: Result<Vec<_>, SvgError> = section
        .parts
        .iter()
        .map(|part| {
            let content = blocks(&part.blocks)?;
            Ok(html! { section { h3 { (plain(&part.title)) } (content) } })
        })
        .collect();
    Ok(html! {
        section id=(id(at)) {
            h2 { (plain(&section.title)) }
            (content)
            @for part in parts? { (part) }
        }
    })
}

/// Renders the blocks in order. Consecutive plots are side by side; the first of an odd
/// number has the width of the page.
fn blocks(blocks: &[ReportBlock]) -> Result<Markup, SvgError> {
    let is_plot = |block: &ReportBlock| matches!(block, ReportBlock::Plot(_));
    let both_plots = |one: &ReportBlock, other: &ReportBlock| is_plot(one) && is_plot(other);
    let groups: Result<Vec<_>, SvgError> = blocks
        .chunk_by(both_plots)
        .map(|group| {
            let content = group.iter().enumerate().map(|(at, element)| match element {
                ReportBlock::Plain(plain) => Ok(block(plain)),
                ReportBlock::Plot(plot) if at == 0 && group.len() % 2 == 1 => {
                    figure(plot, PlotWidth::Page)
                }
                ReportBlock::Plot(plot) => figure(plot, PlotWidth::Column),
            });
            let content: Result<Vec<_>, _> = content.collect();
            let content = content?;
            Ok(match group {
                [ReportBlock::Plot(_), ..] => {
                    html! { div class="plots" { @for plot in content { (plot) } } }
                }
                _ => html! { @for block in content { (block) } },
            })
        })
        .collect();
    Ok(html! { @for group in groups? { (group) } })
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Text(text) => html! { p { (plain(text)) } },
        Block::List(lines) => html! { ul { @for line in lines { li { (plain(line)) } } } },
        Block::Facts(facts) => html! {
            dl {
                @for (label, text) in facts {
                    dt { (plain(label)) }
                    dd { (plain(text)) }
                }
            }
        },
        Block::Verbatim(lines) => html! {
            pre { @for line in lines { (plain(line)) "\n" } }
        },
        Block::Table(table) => self::table(table),
    }
}

fn table(table: &Table) -> Markup {
    if table.columns.is_empty() {
        let lines = [&table.title].into_iter().chain(&table.notes);
        return html! { @for line in lines { p { (plain(line)) } } };
    }
    let class = |column: usize| match table.columns.get(column).map(|column| column.align) {
        Some(Align::Right) => Some("number"),
        Some(Align::Left) | None => None,
    };
    html! {
        figure class="table" {
            // Outside of the part that scrolls, so that it is as wide as the page.
            @if !table.title.is_empty() { figcaption { (plain(&table.title)) } }
            // The table has its own scroll bar if the page is too narrow.
            // `tabindex` lets keys reach it, too.
            div class="wide" tabindex="0" {
                div class="whole" {
                    // The style sheet shows it only if the table is wider than the page.
                    p class="more" { span { "Wider than the page: scroll sideways \u{2192}" } }
                    table {
                    thead {
                        tr {
                            @for (at, column) in table.columns.iter().enumerate() {
                                th scope="col" class=[class(at)] { (plain(&column.name)) }
                            }
                        }
                    }
                    tbody {
                        @for row in &table.rows {
                            tr {
                                @for at in 0..table.columns.len() {
                                    @let text = plain(Table::cell(row, at));
                                    @if at == 0 {
                                        th scope="row" class=[class(at)] { (text) }
                                    } @else {
                                        td class=[class(at)] { (text) }
                                    }
                                }
                            }
                        }
                    }
                    }
                }
            }
            @for note in &table.notes { p class="note" { (plain(note)) } }
        }
    }
}

/// Renders a plot. One of the width of the page is there a second time for narrow
/// screens, and the style sheet shows one of the two.
fn figure(plot: &Plot, width: PlotWidth) -> Result<Markup, SvgError> {
    let column = plot.to_inline_svg(PlotWidth::Column)?;
    let (class, page) = match width {
        PlotWidth::Column => ("plot", String::new()),
        PlotWidth::Page => ("plot across", plot.to_inline_svg(PlotWidth::Page)?),
    };
    Ok(html! {
        figure class=(class) {
            (PreEscaped(page)) (PreEscaped(column))
            @for note in &plot.notes { figcaption { (plain(note)) } }
        }
    })
}
