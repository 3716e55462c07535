//! A comparison as text for a terminal of 100 columns, or as Markdown.

mod doubts;
mod tables;

use smbench_model::setting::REPEAT;

use super::comparison::Comparison;
use super::judgement::Judgement;
use super::pair::{ComparedRun, FoundComparison, Pair};
use super::points::{MetricChange, PointComparison, Verdict};
use super::words::{difference, profiles};
use crate::block::{self, Block};
use crate::change::{CONFIDENCE, Noise};
use crate::doc::{BUILT_IN, FindEnd, OutcomeDoc};
use crate::table::{Cell, Column, Table};
use crate::units::{change, changes, percent, plain};
use doubts::doubts;
use tables::{details, load_points, numbers, operations, populations, populations_in_full};

/// Amount of detail for each load point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The changes in one row.
    Overview,
    /// Every number with its interval, also by operation.
    Details,
}

/// Number of comparisons from which wrong results by chance are worth a remark.
const MANY: usize = 20;

/// Returns the whole comparison. Ends with a newline.
#[must_use]
pub fn render(comparison: &Comparison, depth: Depth) -> String {
    let parts = parts(comparison, depth);
    let texts: Vec<_> = parts.iter().map(|part| block::to_text(part)).collect();
    texts.join("\n\n")
}

/// Returns the whole comparison as GitHub's Markdown. `verdicts` are the outcomes of
/// conditions.
#[must_use]
pub fn to_markdown(comparison: &Comparison, depth: Depth, verdicts: &[Judgement]) -> String {
    let mut blocks = parts(comparison, depth).concat();
    if !verdicts.is_empty() {
        blocks.push(Block::List(
            verdicts.iter().map(ToString::to_string).collect(),
        ));
    }
    block::to_markdown("smbench compare", &blocks)
}

/// Returns the elements of each pair, and those of results that have no counterpart.
fn parts(comparison: &Comparison, depth: Depth) -> Vec<Vec<Block>> {
    let pairs = comparison.pairs.iter();
    let mut parts: Vec<_> = pairs.map(|pair| of_pair(pair, depth)).collect();
    for lines in [&comparison.unmatched, &comparison.left_out] {
        if !lines.is_empty() {
            parts.push(vec![Block::List(lines.clone())]);
        }
    }
    parts
}

fn of_pair(pair: &Pair, depth: Depth) -> Vec<Block> {
    let mut sections = vec![header(pair)];
    sections.extend(pair.found.as_ref().map(|found| answers(pair, found)));
    match &pair.peak {
        None if pair.found.is_some() => {}
        None => {
            let text = "no peak: a run has no valid load point";
            sections.push(Block::Text(text.to_owned()));
        }
        Some(peak) => {
            sections.push(numbers(pair, peak, &at_the_peak(pair, peak)));
            if peak.baseline.load != peak.other.load
                && let Some(held) = pair.at_baseline_peak()
            {
                sections.push(numbers(pair, held, &title(pair, held)));
            }
        }
    }
    match depth {
        Depth::Overview => {
            let usual = pair.at_baseline_peak();
            sections.extend(usual.map(|held| operations(pair, held)));
            sections.extend(usual.and_then(|held| populations(pair, held)));
            if !pair.load_points.is_empty() {
                sections.push(load_points(pair));
            }
        }
        Depth::Details => {
            for held in &pair.load_points {
                sections.push(numbers(pair, held, &title(pair, held)));
                sections.push(details(pair, held));
                sections.extend(populations_in_full(pair, held));
            }
        }
    }
    sections.extend(remarks(pair));
    sections
}

/// Returns the answers of two searches.
fn answers(pair: &Pair, found: &FoundComparison) -> Block {
    let answer = |answer: Option<f64>, end: FindEnd| {
        let least = match end {
            FindEnd::NeverBroke => "at least ",
            _ => "",
        };
        Cell::of(answer, |answer| {
            format!("{least}{}", found.kind.print(answer))
        })
    };
    let mut row = vec![
        answer(found.baseline, found.baseline_end),
        answer(found.other, found.other_end),
        Cell::of(found.change_percent, change),
        Cell::of(Some(found.precision_percent), percent),
    ];
    let mut columns = vec![
        &*pair.baseline.label,
        &pair.other.label,
        "change",
        "precision",
    ];
    if let Some((low, high)) = found.interval_percent {
        row.push(changes(low, high).into());
        columns.push("95 % interval");
    }
    let title = format!(
        "limits: {} against {}",
        pair.other.label, pair.baseline.label
    );
    let columns = columns.into_iter().map(Column::number).collect();
    let mut table = Table::of(&title, columns, vec![row]);
    table.notes.push(match &found.no_change_because {
        Some(because) => format!("the change is not known: {because}"),
        None => "a change within the precision is no difference".to_owned(),
    });
    table.notes.extend(found.doubts.iter().cloned());
    Block::Table(table)
}

/// Names the compared runs and their differences.
fn header(pair: &Pair) -> Block {
    let mut lines = Vec::new();
    for subject in [&pair.baseline, &pair.other] {
        lines.push((&*subject.label, subject_in_words(subject)));
    }
    if pair.is_same_result {
        let (one, other) = (&pair.baseline.label, &pair.other.label);
        let text = format!("{one} and {other} are the same result: no change can show");
        lines.push(("warning", text));
    }
    for of in [&pair.baseline, &pair.other]
        .iter()
        .filter(|of| of.is_built_in)
    {
        let text = format!("{} is of {BUILT_IN}", of.label);
        lines.push(("warning", text));
    }
    let settings = pair.settings.iter();
    lines.extend(settings.map(|part| ("differs", difference(pair, part))));
    let remarks = pair.durability.iter();
    lines.extend(remarks.map(|remark| ("note", remark.clone())));
    let warnings = match profiles(pair) {
        Some(profiles) => vec![profiles],
        None => {
            let line = |part| format!("not the same work: {}", difference(pair, part));
            pair.workload.iter().map(line).collect()
        }
    };
    lines.extend(warnings.into_iter().map(|part| ("warning", part)));
    lines.extend(pair.left_out.iter().map(|part| ("left out", plain(part))));
    Block::facts(lines)
}

fn subject_in_words(subject: &ComparedRun) -> String {
    let outcome = match subject.outcome {
        OutcomeDoc::Complete => "",
        OutcomeDoc::Interrupted => ", interrupted",
        OutcomeDoc::Aborted => ", aborted",
    };
    format!(
        "{}: {} on {}, {}{outcome}",
        subject.name, subject.profile, subject.url, subject.started
    )
}

fn at_the_peak(pair: &Pair, peak: &PointComparison) -> String {
    let (one, other) = (peak.baseline.load, peak.other.load);
    let place = if one == other {
        one.to_string()
    } else {
        format!(
            "{} at {}, {} at {}",
            pair.baseline.label, one, pair.other.label, other
        )
    };
    format!(
        "{} against {} at the peak, {place}{}",
        pair.other.label,
        pair.baseline.label,
        passes(peak)
    )
}

fn title(pair: &Pair, held: &PointComparison) -> String {
    format!(
        "{} against {} at {}{}",
        pair.other.label,
        pair.baseline.label,
        held.baseline.load,
        passes(held)
    )
}

/// Returns the number of passes: `, 3 passes each`.
fn passes(held: &PointComparison) -> String {
    match (held.baseline.passes, held.other.passes) {
        (1, 1) => ", 1 pass each".to_owned(),
        (one, other) if one == other => format!(", {one} passes each"),
        (one, other) => format!(", {one} and {other} passes"),
    }
}

fn changes_of(held: &PointComparison) -> impl Iterator<Item = &MetricChange> {
    let all = held.metrics.iter().chain(held.ops.values().flatten());
    // Of a single one, that would be the same again.
    let populations = held
        .populations
        .iter()
        .filter(|_| held.populations.len() > 1);
    all.chain(populations.flat_map(|of| of.metrics.iter().chain(of.ops.values().flatten())))
}

fn is_open(found: &MetricChange) -> bool {
    found.verdict == Verdict::CannotTell && found.pooled.change_percent.is_some()
}

/// Explains how to read the tables, as far as it matters for these runs.
fn remarks(pair: &Pair) -> Option<Block> {
    let places = || pair.load_points.iter().chain(&pair.peak);
    let any = |of: fn(&MetricChange) -> bool| places().flat_map(changes_of).any(of);
    let mut lines = Vec::new();
    if any(|found| found.noise == Some(Noise::Passes)) {
        lines.push(
            "response times are over the operations of all passes; throughput and ops/s are means \
             over passes"
                .to_owned(),
        );
        lines.push(
            "intervals are of the noise between passes; (in brackets): no difference shown"
                .to_owned(),
        );
        lines.push(
            "detectable: the smallest change for the worse that such passes show (80 % power)"
                .to_owned(),
        );
    }
    if any(|found| is_open(found) && found.noise == Some(Noise::Passes)) {
        lines.push("?: cannot tell: a side is client-limited, its server may be faster".to_owned());
    }
    if any(|found| is_open(found) && found.noise != Some(Noise::Passes)) {
        lines.push(format!(
            "?: cannot tell: one pass does not say how far runs lie apart; repeat both, with {REPEAT} 5"
        ));
    }
    if any(|found| found.noise == Some(Noise::Window)) {
        lines.push(
            "*: within the windows of these runs only, by batch means: noise from run to run comes \
             on top"
                .to_owned(),
        );
    }
    let judged = pair.load_points.iter().flat_map(changes_of);
    let judged = judged.filter(|found| found.verdict != Verdict::CannotTell);
    let judged = judged.count();
    if judged >= MANY {
        lines.push(format!(
            "with {judged} comparisons at the load points, about {:.0} false positives are expected",
            (judged as f64 * (1.0 - CONFIDENCE)).ceil()
        ));
    }
    lines.extend(doubts(pair));
    (!lines.is_empty()).then_some(Block::List(lines))
}
