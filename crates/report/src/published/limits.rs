//! The limits of servers that the searches of a study have found. They are answers in
//! sentences, a table, and the changes that a study asks for. Not here: the answer of one
//! search in words ([`crate::find::answer`]).

use super::words::{versus, whole_change};
use crate::change::Noise;
use crate::doc::{FindDoc, FindEnd, FindKind};
use crate::find::{answer, answer_in_brief, contradiction};
use crate::names::said_once;
use crate::study::{ComparisonDoc, ComparisonKind, Study};
use crate::table::{Cell, Column, Table};
use crate::units::{self, plain};

/// Returns the answers of a profile's searches, equal ones of several servers once.
#[must_use]
pub fn found(study: &Study, profile: usize) -> Vec<String> {
    let name = plain(study.doc.profile_name(profile));
    let servers = 0..study.doc.servers.len();
    let names: Vec<_> = servers
        .map(|server| plain(study.doc.server_name(server)))
        .collect();
    let answers = names.iter().enumerate().filter_map(|(server, of)| {
        let (_, words) = answer(search(study, server, profile)?);
        Some((of.as_str(), words))
    });
    let answers = said_once(answers, names.len()).into_iter();
    answers.map(|answer| format!("{name}: {answer}.")).collect()
}

/// Where a table shows why a search ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndPlace {
    InColumn,
    Below,
}

/// Returns the limits of all servers: a row for each search, a column for each server.
/// `None` if the study has no search.
#[must_use]
pub fn limits(study: &Study) -> Option<Table> {
    let rows: Vec<_> = searches(study).collect();
    let servers: Vec<_> = (0..study.doc.servers.len())
        .filter(|server| rows.iter().any(|row| row.find(study, *server).is_some()))
        .collect();
    if servers.is_empty() {
        return None;
    }
    let mut columns = ["search", "limit", "unit"].map(Column::text).to_vec();
    columns.extend(
        servers
            .iter()
            .map(|server| Column::number(study.doc.server_name(*server))),
    );
    // With several servers, the notes below the table have the searches without an answer.
    let end_place = match servers.len() {
        1 => EndPlace::InColumn,
        _ => EndPlace::Below,
    };
    let is_alone = end_place == EndPlace::InColumn;
    if is_alone {
        columns.push(Column::text("ended because"));
    }
    let mut notes = Vec::new();
    let cells = |row: &SearchRow<'_>| {
        let mut cells: Vec<Cell> = [row.name, &row.limit, &row.unit].map(Cell::from).to_vec();
        cells.extend(servers.iter().map(|&server| match row.find(study, server) {
            Some(find) => answer_in_brief(find).unwrap_or_else(|| "none".into()),
            None => Cell::or_dash(None),
        }));
        if is_alone {
            let find = row.find(study, servers[0]);
            cells.push(Cell::or_dash(find.map(|find| reason(find).into())));
        }
        cells
    };
    let cells = rows.iter().map(cells).collect();
    let finds = rows.iter().flat_map(|row| {
        let servers = servers.iter();
        servers.filter_map(|server| row.find(study, *server))
    });
    notes.extend(legend(&finds));
    for row in &rows {
        notes.extend(remarks(study, row, &servers, end_place));
    }
    Some(Table {
        title: "limits".to_owned(),
        columns,
        rows: cells,
        notes,
    })
}

/// Returns the remarks on a search of several servers, each once.
fn remarks(study: &Study, row: &SearchRow<'_>, servers: &[usize], place: EndPlace) -> Vec<String> {
    let name = row.name;
    let mut lines = Vec::new();
    for &server in servers {
        let find = row.find(study, server);
        let reasons = match find {
            Some(find) => {
                let of_end = place == EndPlace::Below && !find.is_exact();
                let of_end = of_end.then(|| reason(find));
                [of_end, doubt(find), contradiction(find)]
                    .into_iter()
                    .flatten()
                    .collect()
            }
            None if study.doc.search(name).is_some() => vec!["not measured".to_owned()],
            None => Vec::new(),
        };
        let server = study.doc.server_name(server);
        lines.extend(reasons.into_iter().map(|reason| (server, reason)));
    }
    let lines = said_once(lines, servers.len()).into_iter();
    lines.map(|line| format!("{name} on {line}")).collect()
}

fn doubt(find: &FindDoc) -> Option<String> {
    let doubt = plain(find.doubt.as_ref()?);
    Some(format!("the server may take more: {doubt}"))
}

/// Explains the cells of the table.
fn legend<'a>(finds: &(impl Iterator<Item = &'a FindDoc> + Clone)) -> Vec<String> {
    let mut notes = Vec::new();
    let has_interval = |find: &FindDoc| {
        let is_shown = find.end != FindEnd::NeverBroke;
        is_shown && find.estimate.is_some_and(|of| of.ci95.is_some())
    };
    if finds.clone().any(has_interval) {
        notes.push(
            "the answer is the mean over passes; ±: half its 95 % interval; in brackets: the \
             lowest and the highest pass"
                .to_owned(),
        );
    }
    if finds.clone().any(|find| find.passes.is_empty()) {
        notes.push("one search: how far answers lie apart is not known".to_owned());
    }
    if finds.clone().any(|find| find.kind == FindKind::Sessions) {
        notes.push("sessions: at the same time, one of them is smbench's own".to_owned());
    }
    notes
}

/// Returns why a search ended; with several passes, why those did that found nothing or
/// too little.
fn reason(find: &FindDoc) -> String {
    let passes = || find.passes.iter();
    let odd: Vec<_> = passes().filter(|pass| pass.end != FindEnd::Found).collect();
    match (&odd[..], &find.broke_reason) {
        ([], Some(reason)) if find.end == FindEnd::Found && find.passes.is_empty() => plain(reason),
        ([], _) => find.end.reason().to_owned(),
        ([first, ..], _) if odd.iter().all(|pass| pass.end == first.end) => {
            let of = if odd.len() == find.passes.len() {
                String::new()
            } else {
                format!(" in {} of {} passes", odd.len(), find.passes.len())
            };
            format!("{}{of}", first.end.reason())
        }
        _ => {
            let phrase = odd
                .iter()
                .map(|pass| format!("pass {}: {}", pass.pass, pass.end.reason()));
            phrase.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Returns the changes of the limits of a comparison; `None` if it has fewer than two
/// answers of any search.
#[must_use]
pub fn limit_changes(study: &Study, part: &ComparisonDoc) -> Option<Table> {
    let names: Vec<&str> = part.rows().collect();
    let mut rows = Vec::new();
    let mut notes = vec!["no change where a search did not find the limit".to_owned()];
    let mut has_intervals = false;
    for search in searches(study) {
        let finds: Vec<_> = names
            .iter()
            .map(|name| search.find(study, study.doc.server_number(name)?))
            .collect();
        if finds
            .iter()
            .flatten()
            .filter(|find| find.result.is_some())
            .count()
            < 2
        {
            continue;
        }
        for (at, name) in names.iter().enumerate() {
            let before = match (part.kind, at) {
                (_, 0) => None,
                (ComparisonKind::Scaling, at) => finds[at - 1],
                (ComparisonKind::Change | ComparisonKind::Gain, _) => finds[0],
            };
            let change = before
                .zip(finds[at])
                .and_then(|(from, to)| from.change_to(to));
            let interval = change.as_ref().and_then(|change| change.interval);
            let interval = interval.filter(|interval| interval.noise == Noise::Passes);
            has_intervals |= interval.is_some();
            let answer = finds[at].and_then(answer_in_brief);
            let doubt = finds[at].and_then(doubt);
            notes.extend(doubt.map(|doubt| format!("{} on {name}: {doubt}", search.name)));
            rows.push(vec![
                search.name.into(),
                (*name).into(),
                search.unit.as_str().into(),
                Cell::or_dash(answer),
                Cell::of(change.map(|change| change.percent), whole_change),
                Cell::or_dash(interval.map(|of| units::changes(of.low, of.high).into())),
            ]);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let first = names.first().copied().unwrap_or_default();
    let mut columns = ["search", "server", "unit"].map(Column::text).to_vec();
    columns.push(Column::number("answer"));
    columns.push(Column::number(versus(part.kind, first)));
    if has_intervals {
        columns.push(Column::number("95 % interval"));
        notes.push("95 % interval: Welch's over passes, of the percentage".to_owned());
    } else {
        rows.iter_mut()
            .for_each(|row: &mut Vec<Cell>| row.truncate(5));
        notes.push("no interval: that takes several passes with an answer".to_owned());
    }
    Some(Table {
        title: format!("{}: limits", part.title),
        columns,
        rows,
        notes,
    })
}

/// A search of a study.
struct SearchRow<'a> {
    profile: usize,
    name: &'a str,
    limit: String,
    unit: String,
}

impl SearchRow<'_> {
    fn find<'a>(&self, study: &'a Study, server: usize) -> Option<&'a FindDoc> {
        search(study, server, self.profile)
    }
}

/// Returns the searches of a study that have a result, in the order of its profiles.
fn searches(study: &Study) -> impl Iterator<Item = SearchRow<'_>> {
    let profiles = study.doc.profiles.iter().enumerate();
    profiles.filter_map(|(profile, name)| {
        let mut results = study.of_profile(profile);
        let find = results.find_map(|result| result.run.find.as_ref())?;
        Some(SearchRow {
            profile,
            name,
            limit: find.limit_in_words(),
            unit: find.unit.clone(),
        })
    })
}

fn search(study: &Study, server: usize, profile: usize) -> Option<&FindDoc> {
    study.run(server, profile)?.find.as_ref()
}
