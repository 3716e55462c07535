//! The page: a table of servers, and one of what they lack.

use std::collections::BTreeMap;

use crate::entries::DIALECTS;
use crate::row::{Aspect, Row, Trial, Tried, Verdict};

const INTRODUCTION: &str = include_str!("introduction.md");

/// Returns the page.
pub(crate) fn text(rows: &[Row]) -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n## Servers\n\n");
    page.push_str(&table(
        "| server | version | date | dialects | signing | ciphers | operations | verified reads | replay | sessions |",
        rows.iter().map(server),
    ));
    page.push_str("\n## What they lack\n\n");
    page.push_str(&table(
        "| server | what | dialects | result |",
        rows.iter().flat_map(lacking),
    ));
    page.push_str("\n## Their settings\n\nEverything else has the server's default.\n\n");
    page.push_str(&table(
        "| server | settings |",
        rows.iter()
            .filter(|row| !row.settings.is_empty())
            .map(|row| {
                format!(
                    "| {} | `{}` |",
                    row.name,
                    row.settings.replace(", ", "`, `")
                )
            }),
    ));
    page
}

fn table(head: &str, rows: impl Iterator<Item = String>) -> String {
    let columns = head.matches('|').count() - 1;
    let mut lines = vec![head.to_owned(), format!("|{}", "---|".repeat(columns))];
    lines.extend(rows);
    lines.join("\n") + "\n"
}

fn server(row: &Row) -> String {
    let Row {
        name,
        version,
        date,
        ..
    } = row;
    let cells = match &row.tried {
        Ok(tried) => cells(tried),
        Err(reason) => vec![
            format!("not tried: {}", plain(reason)),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
        ],
    };
    format!("| {name} | {version} | {date} | {} |", cells.join(" | "))
}

fn cells(tried: &Tried) -> Vec<String> {
    vec![
        dialects(tried),
        whats(tried, Aspect::Signing),
        whats(tried, Aspect::Cipher),
        operations(tried),
        format!("{}, {} wrong", tried.checked, tried.wrong),
        replay(tried),
        tried.sessions.clone(),
    ]
}

/// Trials of the same thing, in all dialects in which it was tried.
fn by_what(tried: &Tried, aspect: Aspect) -> Vec<(&str, Vec<&Trial>)> {
    let mut groups: Vec<(&str, Vec<&Trial>)> = Vec::new();
    for trial in tried.trials.iter().filter(|trial| trial.aspect == aspect) {
        match groups.iter_mut().find(|(what, _)| *what == trial.what) {
            Some((_, group)) => group.push(trial),
            None => groups.push((&trial.what, vec![trial])),
        }
    }
    groups
}

/// Returns whether a thing works wherever it was tried.
fn works(group: &[&Trial]) -> bool {
    group.iter().all(|trial| trial.verdict.works())
}

fn whats(tried: &Tried, aspect: Aspect) -> String {
    let working: Vec<_> = by_what(tried, aspect)
        .into_iter()
        .filter(|(_, group)| works(group))
        .map(|(what, _)| what)
        .collect();
    or_none(working.join(", "))
}

fn or_none(text: String) -> String {
    match text.is_empty() {
        true => "none".to_owned(),
        false => text,
    }
}

fn dialects(tried: &Tried) -> String {
    let trials = tried.trials.iter();
    let working = trials.filter(|trial| trial.aspect == Aspect::Dialect && trial.verdict.works());
    or_none(ranges(
        &working.map(|trial| &*trial.what).collect::<Vec<_>>(),
    ))
}

/// Joins neighbours: `cifs, 2.1 to 3.1.1`.
fn ranges(dialects: &[&str]) -> String {
    let at = |dialect: &str| DIALECTS.iter().position(|other| *other == dialect);
    let mut parts: Vec<(&str, &str)> = Vec::new();
    for dialect in dialects {
        match parts.last_mut() {
            Some((first, last)) if *first != "cifs" && at(last).map(|at| at + 1) == at(dialect) => {
                *last = dialect;
            }
            _ => parts.push((dialect, dialect)),
        }
    }
    let parts = parts.into_iter().map(|(first, last)| match first == last {
        true => first.to_owned(),
        false => format!("{first} to {last}"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Counts operations in SMB2 and in CIFS.
fn operations(tried: &Tried) -> String {
    let count = |is_cifs: bool, name: &str| {
        let mut done = BTreeMap::new();
        let of_operation = |trial: &&Trial| trial.aspect == Aspect::Operation;
        let here = |trial: &&Trial| (trial.dialect == "cifs") == is_cifs;
        for trial in tried.trials.iter().filter(of_operation).filter(here) {
            *done.entry(&trial.what).or_insert(true) &= trial.verdict.works();
        }
        let working = done.values().filter(|works| **works).count();
        (!done.is_empty()).then(|| format!("{working} of {} in {name}", done.len()))
    };
    let counts = [count(false, "SMB2"), count(true, "CIFS")];
    or_none(counts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn replay(tried: &Tried) -> String {
    match tried.replayed {
        0 => "none".to_owned(),
        all => format!("{} of {all} as recorded", all - tried.differing.min(all)),
    }
}

/// Returns a line for each thing and result, with the dialects of the result.
fn lacking(row: &Row) -> Vec<String> {
    let Ok(tried) = &row.tried else {
        return Vec::new();
    };
    let aspects = [
        Aspect::Dialect,
        Aspect::Signing,
        Aspect::Cipher,
        Aspect::Operation,
        Aspect::Together,
        Aspect::Replay,
        Aspect::Sessions,
    ];
    let mut lines = Vec::new();
    for (what, group) in aspects
        .into_iter()
        .flat_map(|aspect| by_what(tried, aspect))
    {
        let mut results: Vec<(&Verdict, Vec<&str>)> = Vec::new();
        for trial in group.iter().filter(|trial| !trial.verdict.works()) {
            match results
                .iter_mut()
                .find(|(verdict, _)| **verdict == trial.verdict)
            {
                Some((_, dialects)) => dialects.push(trial.dialect),
                None => results.push((&trial.verdict, vec![trial.dialect])),
            }
        }
        for (verdict, dialects) in results {
            let dialects = ranges(&dialects);
            lines.push(format!(
                "| {} | {what} | {dialects} | {} |",
                row.name,
                plain(&verdict.text())
            ));
        }
    }
    lines
}

/// Returns a text that does not end its cell.
fn plain(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
