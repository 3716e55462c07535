//! The answer of a run in less than a screen of 80 columns: the load points, the peak,
//! and what a reader must know before quoting it. [`super::render`] prints everything.

use itertools::Itertools as _;
use smbench_model::files::Scope;
use smbench_model::setting::SERVER_METRICS;

use super::cautions::brief_cautions;
use super::cpu::busy_percent;
use super::failover::failover_in_brief;
use super::header::{flushes, names, negotiated, outcome, split, tree, writes};
use super::points::{load_points_in_brief, overall, peak_words, setup_words};
use super::populations::at_answer;
use super::rate::{missed_rate, rate_remarks};
use super::remarks::{footnotes, reached, remarks_with};
use super::soak::drifts;
use super::streams::stream_remarks;
use super::wrap::wrapped_to;
use super::{counters, machines, tables_of_load_points, tcp};
use crate::block::{self, Block};
use crate::curve::{Curve, CurveRow};
use crate::doc::{
    ConditionOutcome, FindDoc, FindKind, LoadPointDoc, LoopDoc, OutcomeDoc, PlanDoc, RunDoc,
    ServerLocation,
};
use crate::find::{answer, curve as curve_of_search, probes};
use crate::plan;
use crate::published::Efficiency;
use crate::replayed::Replayed;
use crate::tone::Tone;
use crate::units::{self, counted, plain, utilisation};

/// Width of the lines. A table of a run at a rate may be wider.
const COLUMNS: usize = 80;

/// One or more lines with the same meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// What the lines mean, for colours.
    pub tone: Tone,
    /// The text; ends with a newline.
    pub text: String,
}

impl Passage {
    fn new(tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { tone, text }
    }

    fn blank() -> Self {
        Self::new(Tone::Plain, "\n")
    }
}

/// A statement about a run.
struct Fact {
    tone: Tone,
    label: String,
    text: String,
}

impl Fact {
    fn new(tone: Tone, label: impl Into<String>, text: impl Into<String>) -> Self {
        let (label, text) = (label.into(), text.into());
        Self { tone, label, text }
    }

    fn plain(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, label, text)
    }
}

impl From<Fact> for Passage {
    /// The text follows the label, and is broken if it is too wide.
    fn from(Fact { tone, label, text }: Fact) -> Self {
        Self::new(tone, wrapped_to(COLUMNS, 9, &format!("{label:<9}{text}")))
    }
}

/// Returns the settings, the load points and the verdict of a run. The texts of the
/// passages are one text.
#[must_use]
pub fn summary(doc: &RunDoc) -> Vec<Passage> {
    let mut all: Vec<Passage> = settings(doc).into_iter().map(Passage::from).collect();
    all.push(Passage::blank());
    let curve = Curve::of(&doc.load_points);
    if curve.rows.is_empty() {
        all.push(Passage::new(Tone::Problem, "no load point was measured\n"));
    } else if let Some(find) = &doc.find {
        if find.kind != FindKind::Sessions && !find.probes.is_empty() {
            for table in [probes(find)].into_iter().chain(curve_of_search(find)) {
                all.push(Passage::new(Tone::Plain, table.to_text()));
                all.push(Passage::blank());
            }
        }
    } else {
        all.extend(table(doc, &curve));
        all.push(Passage::blank());
        for table in tables_of_load_points(doc, &curve) {
            all.push(Passage::new(Tone::Plain, table.to_text()));
            all.push(Passage::blank());
        }
    }
    all.extend(verdict(doc));
    all
}

/// Returns the same as GitHub's Markdown. `invalid` says why the run must not be quoted.
#[must_use]
pub fn to_markdown(doc: &RunDoc, invalid: Option<&str>) -> String {
    let facts = |facts: Vec<Fact>| {
        let facts = facts.into_iter();
        Block::facts(facts.map(|fact| (fact.label, fact.text)))
    };
    let curve = Curve::of(&doc.load_points);
    let mut blocks = vec![facts(settings(doc))];
    if curve.rows.is_empty() {
        blocks.push(Block::Text("no load point was measured".to_owned()));
    } else if let Some(find) = &doc.find {
        blocks.push(Block::Table(probes(find)));
        blocks.extend(curve_of_search(find).map(Block::Table));
    } else {
        blocks.push(Block::Table(load_points_in_brief(&curve)));
        blocks.extend(tables_of_load_points(doc, &curve).map(Block::Table));
    }
    blocks.push(facts(verdict_facts(doc)));
    let lines = footnotes(&curve) + &remarks_with("", doc);
    let lines = lines.lines().map(str::to_owned);
    let invalid = invalid.map(|reason| format!("the run is not valid: {reason}"));
    let outcomes = doc.conditions.iter().map(ToString::to_string);
    let lines: Vec<_> = lines.chain(invalid).chain(outcomes).collect();
    if !lines.is_empty() {
        blocks.push(Block::List(lines));
    }
    let heading = format!("smbench: {} on {}", doc.plan.profile, doc.server.url);
    block::to_markdown(&heading, &blocks)
}

/// Returns the profile and the verdict, for one of several runs.
#[must_use]
pub fn verdict_of_one(doc: &RunDoc) -> Vec<Passage> {
    let profile = Fact::plain("Profile", plain(&doc.plan.profile));
    [vec![profile.into()], verdict(doc)].concat()
}

/// Returns how a run ended if it is not complete, the peak or the rate that was
/// reached, the CPU use, the cautions, the problems and the outcomes of conditions.
#[must_use]
pub fn verdict(doc: &RunDoc) -> Vec<Passage> {
    let mut all: Vec<Passage> = verdict_facts(doc).into_iter().map(Passage::from).collect();
    for line in remarks_with("", doc).lines() {
        let tone = if line.starts_with("failed:") || line.starts_with("left on ") {
            Tone::Problem
        } else {
            Tone::Plain
        };
        all.push(Passage::new(tone, wrapped_to(COLUMNS, 2, line)));
    }
    all.extend(doc.conditions.iter().map(|judged| {
        let tone = match judged.outcome {
            ConditionOutcome::Passed => Tone::Plain,
            ConditionOutcome::Skipped => Tone::Caution,
            ConditionOutcome::Failed | ConditionOutcome::Unknown => Tone::Problem,
        };
        Passage::new(tone, wrapped_to(COLUMNS, 9, &judged.to_string()))
    }));
    all
}

fn verdict_facts(doc: &RunDoc) -> Vec<Fact> {
    let curve = Curve::of(&doc.load_points);
    let mut all = Vec::new();
    if doc.outcome != OutcomeDoc::Complete {
        let ended = interrupted(doc).unwrap_or_else(|| outcome(doc));
        all.push(Fact::new(Tone::Problem, "Run", ended));
    }
    let replayed = Replayed::of(&doc.load_points);
    let differ = replayed.results();
    all.extend(differ.map(|phrase| Fact::new(replayed.tone(), "Replay", phrase)));
    if let Some(find) = &doc.find {
        let (tone, words) = answer(find);
        all.push(Fact::new(tone, "Found", words));
        all.extend(at_answer(doc, find).map(|words| Fact::plain("Of these", words)));
        let set_up = setup_words(&curve).filter(|_| find.kind == FindKind::Sessions);
        all.extend(set_up.map(|phrase| Fact::plain("Set-up", phrase)));
        all.extend(load_on_machines(doc, &curve));
        return all;
    }
    let peak = peak_words(doc.pacing, &curve).filter(|_| !curve.rows.is_empty());
    all.extend(peak.map(|(tone, words)| match tone {
        Tone::Problem => Fact::new(tone, "Peak", format!("none: {words}")),
        _ => Fact::new(tone, "Peak", words),
    }));
    let rate_tone = match missed_rate(doc) {
        Some(_) => Tone::Caution,
        None => Tone::Plain,
    };
    all.extend(until_steady(doc).map(|phrase| Fact::plain("Window", phrase)));
    all.extend(drifts(doc).map(|(tone, words)| Fact::new(tone, "Soak", words)));
    let is_void = !curve.rows.iter().all(CurveRow::is_quotable);
    let curve_doc = doc.curve.as_ref().filter(|curve| curve.valid || is_void);
    all.extend(curve_doc.map(|curve| Fact::plain("Curve", overall(curve))));
    for remark in rate_remarks(doc) {
        let remark = remark.strip_prefix("rate ").unwrap_or(&remark);
        all.push(Fact::new(rate_tone, "Rate", remark));
    }
    all.extend(failover_in_brief(doc).map(|phrase| Fact::plain("Events", phrase)));
    let streams = stream_remarks(doc).into_iter();
    all.extend(streams.map(|(tone, words)| Fact::new(tone, "Streams", words)));
    all.extend(machines::in_brief(doc).map(|phrase| Fact::plain("Machines", phrase)));
    all.extend(load_on_machines(doc, &curve));
    if let Some(phrase) = reached(doc) {
        let phrase = phrase.strip_prefix("calibration: ").unwrap_or(&phrase);
        all.push(Fact::plain("Limit", phrase));
    }
    let cautions = brief_cautions(doc).into_iter();
    let cautions = cautions.chain(doc.server.mixed_passes().map(|phrase| plain(&phrase)));
    all.extend(cautions.map(|caution| Fact::new(Tone::Caution, "Caution", caution)));
    all
}

/// Says when an interrupt ended the last load point, and what it had measured until then:
/// `interrupted after 7.3 s of 20 s at 4 clients: 941.2 Mbit/s, 9000 ops/s, mean 440 us, p99
/// 1.23 ms so far, not valid`. `None` if it ended none.
#[must_use]
pub fn interrupted(doc: &RunDoc) -> Option<String> {
    let point = doc.load_points.last()?;
    if doc.outcome != OutcomeDoc::Interrupted || point.valid {
        return None;
    }
    let reason = point.invalid_reason.as_deref().map(plain);
    let reason = reason.filter(|reason| reason.starts_with("interrupted"))?;
    let figures = point.latency_ns.as_ref().map(|latency| {
        let throughput = (point.throughput_mbps > 0.0)
            .then(|| format!("{} Mbit/s, ", units::throughput(point.throughput_mbps)));
        format!(
            ": {}{} ops/s, mean {}, p99 {} so far, not valid",
            throughput.unwrap_or_default(),
            units::rate(point.ops_per_s),
            units::latency(latency.mean),
            units::latency(latency.p99 as f64)
        )
    });
    let figures = figures.unwrap_or_default();
    Some(format!("{reason} at {}{figures}", point.load()))
}

/// Describes how long it took until the load was steady, if windows were extended for that.
fn until_steady(doc: &RunDoc) -> Option<String> {
    let most_s = doc.plan.until_steady_s?;
    let is_steady = |point: &&LoadPointDoc| {
        let steady = point.steady.as_ref();
        steady.is_some_and(|steady| steady.is_steady == Some(true))
    };
    let measured: Vec<_> = doc.load_points.iter().filter(|point| point.valid).collect();
    let steady = measured.iter().copied().filter(is_steady);
    let lengths = steady.map(|point| point.window_s).sorted_by(f64::total_cmp);
    let lengths: Vec<_> = lengths.collect();
    let after = match lengths[..] {
        [] => None,
        [first, .., last] if first < last => {
            let (first, last) = (units::seconds(first), units::seconds(last));
            Some(format!("{first} to {last}"))
        }
        [first, ..] => Some(units::seconds(first)),
    };
    let after = after.map(|after| format!("steady after {after}"));
    let never = measured.len() - lengths.len();
    let never = (never > 0).then(|| {
        let points = counted(never as u64, "load point");
        format!("{points} not steady within {}", units::seconds(most_s))
    });
    let phrase = after.into_iter().chain(never).join("; ");
    (!phrase.is_empty()).then_some(phrase)
}

/// Returns the plan. That of a search for clients has only the data that was written, which
/// is that of the most clients so far.
fn with_written_data(doc: &RunDoc) -> PlanDoc {
    let mut plan = doc.plan.clone();
    let is_for_clients = |find: &FindDoc| find.kind == FindKind::Clients;
    let most = doc.load_points.iter().map(|point| point.clients).max();
    if doc.find.as_ref().is_some_and(is_for_clients)
        && plan.workload.scope == Scope::Private
        && let (Some(planned), Some(most)) = (plan.load_points.iter().max(), most)
    {
        plan.bytes_on_share = plan.bytes_on_share / u64::from(*planned).max(1) * u64::from(most);
    }
    plan
}

fn settings(doc: &RunDoc) -> Vec<Fact> {
    let [profile, _, data, _] = plan::facts(&with_written_data(doc), doc.pacing);
    let is_embedded = doc.server.place == ServerLocation::Embedded;
    let server = if is_embedded {
        "built-in test server on this machine, files in memory: not for quoting".to_owned()
    } else {
        plain(&doc.server.url)
    };
    let capital = |label: &str| label[..1].to_uppercase() + &label[1..];
    let names = names(doc).map(|(label, text)| Fact::plain(capital(label), text));
    let mut all: Vec<_> = names.collect();
    all.extend([
        Fact::plain("Profile", profile.1),
        Fact::plain("Server", server),
        Fact::plain("Session", negotiated(doc)),
        Fact::plain(
            "Load",
            match &doc.find {
                Some(find) => plan::of_search(&doc.plan, doc.pacing, find.kind),
                None => plan::in_brief(&doc.plan, doc.pacing),
            },
        ),
    ]);
    all.extend(split(doc).map(|phrase| Fact::plain("Split", phrase)));
    if !is_embedded {
        all.push(Fact::plain("Data", data.1));
        all.extend(tree(doc).map(|phrase| Fact::plain("Tree", phrase)));
        all.extend(flushes(doc).map(|phrase| Fact::plain("Flushes", phrase)));
        all.extend(writes(doc).map(|phrase| Fact::plain("Writes", phrase)));
    }
    // The line of the built-in server has said it.
    let is_said = |note: &&String| is_embedded && note.contains("files are in memory");
    let notes = doc.server.notes.iter().filter(|note| !is_said(note));
    all.extend(notes.map(|note| Fact::plain("Note", plain(note))));
    all
}

/// Returns the table of load points, a passage for each row that is special, and the
/// reasons of rows that are not valid.
fn table(doc: &RunDoc, curve: &Curve<'_>) -> Vec<Passage> {
    let peak = curve.peak().filter(|_| doc.pacing == LoopDoc::Closed);
    let peak = peak.map(|peak| peak.clients);
    let tone = |row: &CurveRow<'_>| match () {
        () if !row.invalid.is_empty() || row.errors > 0 => Tone::Problem,
        () if Some(row.clients) == peak && curve.rows.len() > 1 => Tone::Peak,
        () => Tone::Plain,
    };
    let text = load_points_in_brief(curve).to_text();
    let tones = [Tone::Plain]
        .into_iter()
        .chain(curve.rows.iter().map(tone))
        .chain(std::iter::repeat(Tone::Plain));
    let lines = text.lines().zip(tones);
    let mut all: Vec<_> = lines
        .map(|(line, tone)| Passage::new(tone, format!("{line}\n")))
        .collect();
    let notes = footnotes(curve);
    let notes = notes.lines();
    all.extend(notes.map(|note| {
        let fits = note.chars().count() <= COLUMNS;
        let text = if fits {
            format!("{note}\n")
        } else {
            wrapped_to(COLUMNS, 2, note)
        };
        Passage::new(Tone::Problem, text)
    }));
    all
}

/// Returns the CPU use of both sides, and what TCP did if that was measured.
fn load_on_machines(doc: &RunDoc, curve: &Curve<'_>) -> Vec<Fact> {
    let Some(row) = quoted_row(doc, curve) else {
        return Vec::new();
    };
    let cpu = Fact::plain("CPU", cpu(doc, row));
    let tcp = tcp::in_brief(row).map(|text| Fact::plain("TCP", text));
    let counters = counters::in_brief(curve).map(|text| Fact::plain("Counted", text));
    [cpu].into_iter().chain(tcp).chain(counters).collect()
}

/// Returns the row at the answer of a search, else at the peak, or at the last load point if
/// the clock set the load.
fn quoted_row<'a, 'd>(doc: &RunDoc, curve: &'a Curve<'d>) -> Option<&'a CurveRow<'d>> {
    let peak = curve.peak_row().filter(|_| doc.pacing == LoopDoc::Closed);
    match &doc.find {
        Some(find) if find.kind != FindKind::Sessions => curve.row_of(find),
        _ => peak.or(curve.rows.last()),
    }
}

/// Describes the CPU use of both sides at a load point.
fn cpu(doc: &RunDoc, row: &CurveRow<'_>) -> String {
    let cpus = doc.generator_cpus();
    let server = match Efficiency::of_row("", row).cpu_percent {
        Some(percent) => format!("server {}", utilisation(percent)),
        None => format!("server not measured (see {SERVER_METRICS})"),
    };
    let own = busy_percent(row, cpus).zip(cpus);
    let own = own.map(|(percent, cpus)| {
        let cores = counted(cpus.into(), "core");
        format!(", smbench {} of {cores}", utilisation(percent))
    });
    let place = row.load();
    format!("at {place}: {server}{}", own.unwrap_or_default())
}
