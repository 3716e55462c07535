//! The page: a table of servers, and one of what they lack.

use std::collections::BTreeMap;

use crate::entries::DIALECTS;
use crate::launcher::NAMES;
use crate::row::{Aspect, ServerRow, Trial, TrialResult, Tried};

/// Columns after the date.
const CELLS: usize = 7;
const INTRODUCTION: &str = include_str!("introduction.md");

/// Returns the page. A server without a row here keeps what the page before says of it.
pub(crate) fn text(rows: &[ServerRow], before: &str) -> String {
    let settings = |row: &ServerRow| {
        if row.settings.is_empty() {
            Vec::new()
        } else {
            vec![format!(
                "| {} | `{}` |",
                row.name,
                row.settings.replace(", ", "`, `")
            )]
        }
    };
    let mut page = INTRODUCTION.to_owned();
    let mut add = |heading: &str, head: &str, lines: &dyn Fn(&ServerRow) -> Vec<String>| {
        let (_, old) = before.split_once(heading).unwrap_or_default();
        let old = old.split("\n## ").next().unwrap_or_default();
        let of_server = |name: &str| match rows.iter().find(|row| row.name == name) {
            Some(row) => lines(row),
            None => {
                let start = format!("| {name} |");
                let old = old.lines().filter(|line| line.starts_with(&start));
                old.map(str::to_owned).collect()
            }
        };
        let lines = NAMES.iter().flat_map(|name| of_server(name));
        page.push_str(heading);
        page.push_str(&table(head, lines));
    };
    let head = "| server | version | date | dialects | signing | ciphers | operations | verified reads | replay | sessions |";
    add("\n## Servers\n\n", head, &|row| vec![server(row)]);
    let head = "| server | what | dialects | result |";
    add("\n## What they lack\n\n", head, &lacking);
    let heading = "\n## Their settings\n\nEverything else has the server's default.\n\n";
    add(heading, "| server | settings |", &settings);
    page
}

fn table(head: &str, rows: impl Iterator<Item = String>) -> String {
    let columns = head.matches('|').count() - 1;
    let mut lines = vec![head.to_owned(), format!("|{}", "---|".repeat(columns))];
    lines.extend(rows);
    lines.join("\n") + "\n"
}

fn server(row: &ServerRow) -> String {
    let ServerRow {
        name,
        version,
        date,
        ..
    } = row;
    let cells = match &row.tried {
        Ok(tried) => cells(tried),
        Err(reason) => {
            let mut cells = vec![String::new(); CELLS];
            cells[0] = format!("not tried: {}", plain(reason));
            cells
        }
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

/// Lists what works, and where it does not.
fn whats(tried: &Tried, aspect: Aspect) -> String {
    let groups = by_what(tried, aspect);
    let all = groups.len();
    let texts: Vec<_> = groups
        .into_iter()
        .filter_map(|(what, group)| {
            let name = what.to_uppercase();
            let missing = group.iter().filter(|trial| !trial.verdict.works());
            let missing: Vec<_> = missing.map(|trial| trial.dialect).collect();
            match missing.len() {
                0 => Some((true, name)),
                count if count == group.len() => None,
                _ => Some((false, format!("{name} (not in {})", ranges(&missing)))),
            }
        })
        .collect();
    if all > 1 && texts.len() == all && texts.iter().all(|(everywhere, _)| *everywhere) {
        return format!("all {all}");
    }
    let texts: Vec<_> = texts.into_iter().map(|(_, text)| text).collect();
    or_none(texts.join(", "))
}

fn or_none(text: String) -> String {
    if text.is_empty() {
        "none".to_owned()
    } else {
        text
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
    let parts = parts.into_iter().map(|(first, last)| {
        if first == last {
            first.to_uppercase()
        } else {
            format!("{first} to {last}")
        }
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
pub(crate) fn lacking(row: &ServerRow) -> Vec<String> {
    let Ok(tried) = &row.tried else {
        return Vec::new();
    };
    let aspects = [
        Aspect::Dialect,
        Aspect::Signing,
        Aspect::Cipher,
        Aspect::Operation,
        Aspect::Together,
        Aspect::Protected,
        Aspect::Replay,
        Aspect::Tree,
        Aspect::Sessions,
    ];
    let mut lines = Vec::new();
    for (what, group) in aspects
        .into_iter()
        .flat_map(|aspect| by_what(tried, aspect))
    {
        let mut results: Vec<(&TrialResult, Vec<&str>)> = Vec::new();
        for trial in group.iter().filter(|trial| !trial.verdict.works()) {
            match results
                .iter_mut()
                .find(|(verdict, _)| **verdict == trial.verdict)
            {
                Some((_, dialects)) if dialects.contains(&trial.dialect) => {}
                Some((_, dialects)) => dialects.push(trial.dialect),
                None => results.push((&trial.verdict, vec![trial.dialect])),
            }
        }
        let what = match group[0].aspect {
            Aspect::Dialect | Aspect::Signing | Aspect::Cipher => what.to_uppercase(),
            _ => what.to_owned(),
        };
        for (verdict, dialects) in results {
            let dialects: Vec<_> = dialects
                .into_iter()
                .filter(|dialect| !dialect.is_empty())
                .collect();
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

/// Returns what makes the command fail: no such server, or a failure or a lack that the page
/// does not have.
pub(crate) fn complaints(row: &ServerRow, before: &str) -> Vec<String> {
    if let Err(reason) = &row.tried {
        return vec![format!("{} was not tried: {reason}", row.name)];
    }
    let is_known = before.contains(&format!("\n| {} |", row.name));
    let is_failure = |line: &str| line.contains("| fails: ");
    let is_new = |line: &String| !before.lines().any(|old| old == line);
    let lines = lacking(row).into_iter().filter(is_new);
    lines
        .filter(|line| is_known || is_failure(line))
        .map(|line| format!("not on the page: {line}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{complaints, ranges, text};
    use crate::row::{Aspect, ServerRow, Trial, TrialResult, Tried};

    fn trial(aspect: Aspect, what: &str, dialect: &'static str, verdict: TrialResult) -> Trial {
        Trial {
            aspect,
            what: what.to_owned(),
            dialect,
            verdict,
        }
    }

    fn row() -> ServerRow {
        let refused = || TrialResult::Refused("STATUS_NOT_SUPPORTED".to_owned());
        let trials = vec![
            trial(Aspect::Dialect, "cifs", "", TrialResult::NotOffered),
            trial(Aspect::Dialect, "2.1", "", TrialResult::Works),
            trial(Aspect::Dialect, "3.0", "", TrialResult::Works),
            trial(Aspect::Operation, "echo", "2.1", TrialResult::Works),
            trial(Aspect::Operation, "copy_chunk", "2.1", refused()),
            trial(Aspect::Operation, "echo", "3.0", TrialResult::Works),
            trial(Aspect::Operation, "copy_chunk", "3.0", refused()),
            trial(Aspect::Signing, "md5", "2.1", TrialResult::Works),
            trial(Aspect::Signing, "md5", "3.0", TrialResult::NotOffered),
        ];
        ServerRow {
            name: "ksmbd",
            version: "Some 1.2".to_owned(),
            settings: String::new(),
            date: "2026-01-02".to_owned(),
            tried: Ok(Tried {
                trials,
                checked: 7,
                replayed: 64,
                differing: 1,
                sessions: "100".to_owned(),
                ..Tried::default()
            }),
        }
    }

    #[test]
    fn a_row_says_what_works_and_a_line_what_is_lacking() {
        let page = text(&[row()], "");
        let expected = [
            "| ksmbd | Some 1.2 | 2026-01-02 | 2.1 to 3.0 | MD5 (not in 3.0) | none | 1 of 2 in SMB2 | \
             7, 0 wrong | 63 of 64 as recorded | 100 |",
            "| ksmbd | CIFS |  | not offered |",
            "| ksmbd | MD5 | 3.0 | not offered |",
            "| ksmbd | copy_chunk | 2.1 to 3.0 | refused: STATUS_NOT_SUPPORTED |",
        ];
        for line in expected {
            assert!(page.lines().any(|other| other == line), "{line}\n{page}");
        }
    }

    #[test]
    fn dialects_in_a_row_are_a_range_and_cifs_stands_alone() {
        assert_eq!(ranges(&["cifs", "2.0.2", "2.1"]), "CIFS, 2.0.2 to 2.1");
        assert_eq!(ranges(&["2.1", "3.0.2", "3.1.1"]), "2.1, 3.0.2 to 3.1.1");
    }

    #[test]
    fn a_lack_that_the_page_has_is_no_complaint() {
        let page = text(&[row()], "");
        assert_eq!(complaints(&row(), &page), [] as [String; 0]);
        let fewer = page.replace("| ksmbd | CIFS |  | not offered |\n", "");
        assert_eq!(complaints(&row(), &fewer).len(), 1);
        assert_eq!(complaints(&row(), ""), [] as [String; 0]);
    }

    #[test]
    fn a_server_that_was_not_tried_again_keeps_its_rows() {
        let page = text(&[row()], "");
        let mut other = row();
        other.name = "samba";
        let both = text(&[other], &page);
        assert!(
            page.lines()
                .all(|line| both.lines().any(|other| other == line)),
            "{both}"
        );
        assert_eq!(both.lines().count(), page.lines().count() + 4);
        assert_eq!(text(&[], &both), both);
    }

    #[test]
    fn a_failure_and_a_server_that_was_not_tried_are_complaints() {
        let mut row = row();
        if let Ok(tried) = &mut row.tried {
            tried.trials[1].verdict = TrialResult::Fails("no end".to_owned());
        }
        assert_eq!(complaints(&row, "").len(), 1);
        row.tried = Err("no kernel".to_owned());
        assert_eq!(complaints(&row, "").len(), 1);
    }
}
