//! The answer of a search as a sentence, and its probes as a table.

use itertools::Itertools as _;

use crate::doc::{FindDoc, FindEnd, FindKind, FindPassDoc, ProbeDoc, ProbeOutcome};
use crate::statistics::PassInterval;
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;
use crate::units::{counted, plain, rate};

/// Returns the answer of a search and what it means; without a label.
#[must_use]
pub fn answer(doc: &FindDoc) -> (Tone, String) {
    let (tone, text) = match doc.kind {
        _ if !doc.passes.is_empty() => several(doc),
        FindKind::Sessions => sessions(doc),
        FindKind::Rate | FindKind::Clients | FindKind::Logons => load(doc),
    };
    let text = match &doc.population {
        Some(name) => format!("population {}: {text}", plain(name)),
        None => text,
    };
    let (tone, text) = match contradiction(doc) {
        Some(words) => {
            let tone = match tone {
                Tone::Peak => Tone::Caution,
                other => other,
            };
            (tone, format!("{text}; {words}"))
        }
        None => (tone, text),
    };
    match doc.doubt.as_deref().map(plain) {
        Some(doubt) => {
            let text = format!("{text}; the server may take more: {doubt}");
            (Tone::Caution, text)
        }
        None => (tone, text),
    }
}

/// Names probes that contradict each other, and the range in which the answer lies.
pub(crate) fn contradiction(doc: &FindDoc) -> Option<String> {
    let found = doc.contradiction.as_ref()?;
    let probes = |numbers: &[u32]| {
        let word = if numbers.len() == 1 {
            "probe"
        } else {
            "probes"
        };
        format!("{word} {}", numbers.iter().join(", "))
    };
    let (held, broke) = (probes(&found.held_in), probes(&found.broke_in));
    let (held_at, broke_at) = (
        doc.kind.print(found.held_at),
        doc.kind.print(found.broke_at),
    );
    let words = if found.held_at == found.broke_at {
        format!("{held_at} held in {held} and broke in {broke}")
    } else {
        format!("{held_at} held in {held}, but {broke_at} broke in {broke}")
    };
    let [least, most] = [found.at_least, found.below].map(|at| at.map(|at| doc.kind.print(at)));
    let range = match (least, most) {
        (Some(least), Some(most)) => format!(": the answer lies between {least} and {most}"),
        (Some(least), None) => format!(": the answer is {least} or more"),
        (None, Some(most)) => format!(": the answer is less than {most}"),
        (None, None) => String::new(),
    };
    Some(format!("probes contradict each other: {words}{range}"))
}

/// Returns the mean of several searches, their answers, and why some have none.
fn several(doc: &FindDoc) -> (Tone, String) {
    let searches = doc.passes.len();
    let ends = |end: FindEnd| {
        doc.passes
            .iter()
            .filter(move |pass| pass.end == end)
            .count()
    };
    let without = doc.passes.iter().filter(|pass| pass.result.is_none());
    let reasons = without.map(|pass| pass.end.reason()).unique().join(", ");
    let limited = condition(doc);
    let Some(estimate) = doc.estimate else {
        let least = least(doc).map(|least| format!("at least {least}; "));
        let text = format!(
            "{}no answer {limited} in {searches} searches: {reasons}",
            least.unwrap_or_default()
        );
        return (Tone::Problem, text);
    };
    let answers: Vec<_> = doc.passes.iter().filter_map(|pass| pass.result).collect();
    let listed = answers.iter().map(|at| number(doc.kind, *at)).join(", ");
    let of = match answers.len() {
        1 => format!("found in 1 of {searches} searches"),
        all if all == searches => format!("mean of {searches} searches ({listed})"),
        some => format!("mean of {some} of {searches} searches ({listed})"),
    };
    let (tone, at_least) = match ends(FindEnd::NeverBroke) {
        0 if reasons.is_empty() => (Tone::Peak, ""),
        0 => (Tone::Caution, ""),
        _ => (Tone::Caution, "at least "),
    };
    let mean = match doc.kind {
        FindKind::Rate | FindKind::Logons => doc.kind.print(estimate.mean),
        FindKind::Clients | FindKind::Sessions => doc.kind.print(estimate.mean.round()),
    };
    let mut text = format!("{at_least}{mean} {limited}: {of}");
    // The answers themselves are listed.
    if let Some(PassInterval::Half(half)) = estimate.interval().filter(|_| at_least.is_empty()) {
        let ends = [estimate.mean - half, estimate.mean + half];
        let [low, high] = ends.map(|at| number(doc.kind, at));
        text += &format!(", 95 % interval {low} to {high}");
    }
    if !at_least.is_empty() {
        let count = ends(FindEnd::NeverBroke);
        text += &format!("; max allows no more in {count}: the limit is higher");
    }
    let is_broken = |pass: &&FindPassDoc| pass.broke_at == doc.broke_at;
    let reason = doc.broke_reason.as_deref().map(plain);
    if let (Some(at), Some(reason)) = (doc.broke_at, reason) {
        let pass = doc
            .passes
            .iter()
            .find(is_broken)
            .map_or(1, |pass| pass.pass);
        text += &match doc.kind {
            FindKind::Sessions => format!("; in pass {pass} {reason}"),
            _ => format!(
                "; in pass {pass} broken at {}: {reason}",
                doc.kind.print(at)
            ),
        };
    }
    if !reasons.is_empty() {
        let count = searches - answers.len();
        text += &format!("; no answer in {count}: {reasons}");
    }
    (tone, text)
}

/// Returns the number of sessions that stood, where this machine allowed no more.
fn least(doc: &FindDoc) -> Option<String> {
    let is_bound = (doc.kind, doc.end) == (FindKind::Sessions, FindEnd::ClientLimited);
    let held = doc.held_at.filter(|_| is_bound)?;
    Some(doc.kind.print(held))
}

/// Returns the conditions of a search with a word before them.
fn condition(doc: &FindDoc) -> String {
    match (doc.kind, &doc.limit[..]) {
        (_, []) => "while the rate is reached".to_owned(),
        (FindKind::Sessions, all) => format!("until {}", plain(&all.join(", "))),
        (_, all) => format!("while {}", plain(&all.join(", "))),
    }
}

/// Formats a load without its unit.
fn number(kind: FindKind, load: f64) -> String {
    match kind {
        FindKind::Rate | FindKind::Logons => rate(load),
        FindKind::Clients | FindKind::Sessions => format!("{load:.0}"),
    }
}

/// Returns the answer in a few characters, without its unit: the mean with its interval
/// if there are several passes. `None` if there is no answer.
#[must_use]
pub fn answer_in_brief(doc: &FindDoc) -> Option<Cell> {
    let found = match (doc.result, doc.held_at) {
        (None, held) => {
            return least(doc).and(held).map(|held| at_least(doc.kind, held));
        }
        (Some(result), _) => result,
    };
    let interval = doc.estimate.and_then(|estimate| estimate.interval());
    let interval = interval.map(|interval| interval.after(|end| number(doc.kind, end)));
    let interval = interval.unwrap_or_default();
    Some(match doc.end {
        FindEnd::NeverBroke => at_least(doc.kind, found),
        _ => Cell::number(found, number(doc.kind, found) + &interval),
    })
}

fn at_least(kind: FindKind, load: f64) -> Cell {
    Cell::number(load, format!("at least {}", number(kind, load)))
}

/// Returns the number of sessions that were open at the same time.
fn sessions(doc: &FindDoc) -> (Tone, String) {
    let held = doc.held_at.unwrap_or_default() as u64;
    let held = counted(held, "session");
    let held = format!("{held} at the same time, one of them smbench's own");
    let last = doc.probes.last();
    let reason = last.map(|probe| plain(&probe.reason)).unwrap_or_default();
    match doc.end {
        FindEnd::Found => (Tone::Peak, format!("{held}; {reason}")),
        FindEnd::NeverBroke => {
            let more = "max allows no more: the limit is higher";
            (Tone::Caution, format!("at least {held}; {more}; {reason}"))
        }
        FindEnd::ClientLimited => {
            let why = "this machine, not the server, was the limit";
            let remedy = doc.remedy.as_deref().map(plain);
            let remedy = remedy.map(|remedy| format!("; {remedy}"));
            let text = format!(
                "at least {held}: {why}; {reason}{}",
                remedy.unwrap_or_default()
            );
            (Tone::Problem, text)
        }
        _ if doc.held_at.is_none() => (Tone::Problem, "not finished".to_owned()),
        _ => (Tone::Problem, format!("not finished; {held}; {reason}")),
    }
}

/// Returns the highest load that held.
fn load(doc: &FindDoc) -> (Tone, String) {
    let load = |at: f64| doc.kind.print(at);
    let limit = match &doc.limit[..] {
        [] => "the server reached the rate, which".to_owned(),
        all => plain(&all.join(", ")),
    };
    let reason = doc.broke_reason.as_deref().map(plain).unwrap_or_default();
    let broke = doc.broke_at.map(|at| format!("{}: {reason}", load(at)));
    let broke = broke.unwrap_or_else(|| "none".to_owned());
    let known = match (doc.held_at, doc.broke_at) {
        (None, None) => "no probe held or broke the limit".to_owned(),
        (Some(held), None) => format!("{} held, and nothing broke it", load(held)),
        (None, Some(_)) => format!("nothing held; broken at {broke}"),
        (Some(held), Some(_)) => format!("{} held; broken at {broke}", load(held)),
    };
    let held = |result: f64| {
        let tries = || doc.probes.iter().filter(|probe| probe.load == result);
        let held = tries().filter(|probe| probe.verdict == ProbeOutcome::Held);
        let (held, of) = (held.count(), counted(tries().count() as u64, "probe"));
        format!("{}: {limit} held in {held} of {of}", load(result))
    };
    match (doc.end, doc.result) {
        (FindEnd::Found, Some(result)) => {
            (Tone::Peak, format!("{}; broken at {broke}", held(result)))
        }
        (FindEnd::NeverBroke, Some(result)) => {
            let more = "the highest load that max allows: the limit is higher";
            (Tone::Caution, format!("{}; {more}", held(result)))
        }
        (FindEnd::NeverHeld, _) => {
            let lowest = format!("none: {limit} did not hold at the lowest load");
            (Tone::Problem, format!("{lowest}, {broke}"))
        }
        (FindEnd::ClientLimited, _) => {
            let limited = |probe: &&ProbeDoc| probe.verdict == ProbeOutcome::ClientLimited;
            let tries = doc.probes.iter().rev().take_while(limited).count();
            let tries = counted(tries as u64, "probe");
            let last = doc.probes.last().map(|probe| plain(&probe.reason));
            // Documents of older releases do not have it.
            let remedy = doc.remedy.as_deref().map(plain);
            let remedy = remedy.unwrap_or_else(|| "close other programs".to_owned());
            let text = format!(
                "none: smbench or its machine was the limit in the last {tries}, not the server \
                 ({}); {known}; {remedy}",
                last.unwrap_or_default()
            );
            (Tone::Problem, text)
        }
        (FindEnd::Unknown, _) => {
            let last = doc.probes.last().map(|probe| plain(&probe.reason));
            let text = format!("none: {}; {known}", last.unwrap_or_default());
            (Tone::Problem, text)
        }
        (FindEnd::ProbesUsedUp, _) => {
            let probes = counted(doc.probes.len() as u64, "probe");
            let text = format!("none after {probes}; {known}; allow more probes");
            (Tone::Problem, text)
        }
        (FindEnd::Unfinished | FindEnd::Found | FindEnd::NeverBroke, _) => {
            (Tone::Problem, format!("not finished; {known}"))
        }
    }
}

/// Bytes of the longest reason that a table shows whole.
const BRIEF_LEN: usize = 60;
/// Explains a mark beside response times.
const NOISE: &str = "latency noise: smbench or its machine delayed answers";

/// Returns the probes of a search in their order.
#[must_use]
pub fn probes(doc: &FindDoc) -> Table {
    let (load, achieved) = match doc.kind {
        FindKind::Rate => ("asked ops/s", Some("ops/s")),
        FindKind::Logons => ("asked log-ons/s", Some("log-ons/s")),
        FindKind::Clients => ("clients", Some("ops/s")),
        // Its only operations keep the sessions alive.
        FindKind::Sessions => ("attempts", None),
    };
    let row = |(probe, number): (&ProbeDoc, u64)| {
        let mut cells = vec![
            Cell::count(number),
            match doc.kind {
                FindKind::Rate | FindKind::Logons => Cell::of(Some(probe.load), rate),
                FindKind::Clients | FindKind::Sessions => Cell::count(probe.load as u64),
            },
        ];
        cells.extend(achieved.map(|_| Cell::of(Some(probe.ops_per_s), rate)));
        cells.push(probe_outcome(probe.verdict).into());
        cells.push(plain(brief(&probe.reason)).into());
        cells
    };
    let mut reasons = doc.probes.iter().map(|probe| &probe.reason);
    let noisy = reasons.any(|reason| reason.contains("latency noise"));
    let mut columns = vec![Column::number("probe"), Column::number(load)];
    columns.extend(achieved.map(Column::number));
    columns.extend(["limit", "because"].map(Column::text));
    Table {
        title: String::new(),
        columns,
        rows: doc.probes.iter().zip(1..).map(row).collect(),
        notes: noisy.then(|| NOISE.to_owned()).into_iter().collect(),
    }
}

/// Returns the first part of a long reason, so that the table stays narrow. The answer of
/// the search has the whole reason.
fn brief(reason: &str) -> &str {
    if reason.len() <= BRIEF_LEN {
        return reason;
    }
    let first = reason.split("; ").next().unwrap_or(reason);
    if first.len() <= BRIEF_LEN {
        return first;
    }
    let mut clauses = first.match_indices(": ").map(|(at, _)| at);
    // The name of a population alone is no reason.
    let named = usize::from(first.starts_with("population "));
    clauses.nth(named).map_or(first, |end| &first[..end])
}

/// Returns a word for a verdict.
#[must_use]
pub const fn probe_outcome(verdict: ProbeOutcome) -> &'static str {
    match verdict {
        ProbeOutcome::Held => "held",
        ProbeOutcome::Broke => "broke",
        ProbeOutcome::ClientLimited => "client-limited",
        ProbeOutcome::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_after_its_first_clause() {
        let nothing = "no operation completed in the window";
        let more = "2 save_flush were in flight, the longest for 3.1 s; 12 operations before it";
        let of_one = format!("{nothing}: {more}");
        assert_eq!(brief(&of_one), nothing);
        let named = format!("population office: {nothing}");
        assert_eq!(brief(&format!("{named}: {more}")), named);
        let unsplit = "population office: a reason that is longer than a table shows as a whole";
        assert_eq!(brief(unsplit), unsplit);
        assert_eq!(brief("p99 12 ms: too long"), "p99 12 ms: too long");
    }
}
