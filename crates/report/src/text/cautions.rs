//! Cautions: facts that a reader must know before trusting the numbers of valid
//! load points.
//!
//! Each kind of caution is one line for the whole run, with its worst value and its
//! load points. The document has the figures of every load point.

use itertools::Itertools as _;
use smbench_model::setting::DETAILS;

use super::in_flight::{in_words, waiting};
use super::places::places;
use super::wrap::wrapped;
use crate::doc::{LoadPointDoc, OldReason, RunDoc, share_of_time};
use crate::plan::credits;
use crate::replayed::Replayed;
use crate::units::{counted, latency, percent, plain};

/// Highest number of lines of cautions on a terminal.
const LINES_MAX: usize = 3;

/// A kind of caution: its name, and a function that looks for it in a load point.
type Kind = (&'static str, fn(&LoadPointDoc, &RunDoc) -> Option<Finding>);

/// All kinds, the most serious first.
const KINDS: [Kind; 14] = [
    ("client-limited", |point, _| client_limited(point)),
    ("client-limited", busy_generator),
    ("stalled", |point, _| stalled(point)),
    ("unanswered", |point, _| unanswered(point)),
    ("unserved", |point, _| unserved(point)),
    ("latency noise", latency_noise),
    ("shared CPUs", |point, _| shared_cpus(point)),
    ("held back", |point, _| held_back(point)),
    ("starved of credits", starved),
    ("not quiet", |point, _| loud(point)),
    ("not steady", |point, _| unsteady(point)),
    ("uneven", |point, _| uneven(point)),
    ("in flight", |point, _| imbalance(point)),
    ("not verified", |point, _| unjudged(point)),
];

/// A caution in one load point of one pass.
struct Finding {
    /// Severity, to compare findings of the same kind.
    weight: f64,
    text: String,
}

/// A caution about a run.
struct Caution {
    name: &'static str,
    places: String,
    text: String,
}

/// Returns a line for each kind of caution that the run has, the most serious
/// first.
#[must_use]
pub fn cautions(doc: &RunDoc) -> Vec<String> {
    let line = |caution: &Caution| format!("{} {}: {}", caution.name, caution.places, caution.text);
    found(doc).iter().map(line).collect()
}

/// Returns all cautions for a terminal. Each line ends with a newline, and is broken if it
/// is wider than the terminal.
pub(super) fn caution_lines(doc: &RunDoc) -> String {
    cautions(doc).iter().map(|line| wrapped(line)).collect()
}

/// Returns the most important cautions for a terminal.
pub(crate) fn brief(doc: &RunDoc) -> String {
    let lines = brief_cautions(doc);
    lines.iter().map(|line| wrapped(line)).collect()
}

/// Returns at most three cautions, the last of which names the kinds that do not fit.
pub(super) fn brief_cautions(doc: &RunDoc) -> Vec<String> {
    let mut lines = cautions(doc);
    if lines.len() > LINES_MAX {
        let found = found(doc);
        let mut also = found[LINES_MAX - 1..].iter().map(|caution| caution.name);
        let also = also.join(", ");
        lines.truncate(LINES_MAX - 1);
        lines.push(format!("also {also}: see `smbench show {DETAILS}`"));
    }
    lines
}

fn found(doc: &RunDoc) -> Vec<Caution> {
    let caution = |(name, find): &Kind| {
        let valid = doc.load_points.iter().filter(|point| point.valid);
        let findings = valid.filter_map(|point| Some((point, find(point, doc)?)));
        let findings = findings.collect_vec();
        let points: Vec<_> = findings.iter().map(|(point, _)| *point).collect();
        let are_several = !points.iter().map(|point| point.load()).all_equal();
        let (worst, finding) = findings
            .into_iter()
            .max_by(|(_, one), (_, other)| one.weight.total_cmp(&other.weight))?;
        Some(Caution {
            name,
            places: places(&points, &doc.load_points),
            text: if are_several {
                format!("at {}, {}", worst.load().print(), finding.text)
            } else {
                finding.text
            },
        })
    };
    KINDS.iter().filter_map(caution).collect()
}

/// Finds a server that was not quiet when the load point began.
fn loud(point: &LoadPointDoc) -> Option<Finding> {
    let quiet = point.quiet.as_ref().filter(|quiet| !quiet.is_quiet)?;
    let (weight, text) = (quiet.waited_s, plain(&quiet.in_words()));
    Some(Finding { weight, text })
}

fn unanswered(point: &LoadPointDoc) -> Option<Finding> {
    let waited = waiting(point).into_iter();
    let longest = waited.filter_map(|(_, op)| op.in_flight_ns_max).max()?;
    Some(Finding {
        weight: longest as f64,
        text: in_words(point)?,
    })
}

fn client_limited(point: &LoadPointDoc) -> Option<Finding> {
    let reason =
        reason_meant_as(point, OldReason::Limited).filter(|_| point.is_client_limited())?;
    Some(Finding {
        weight: worst_share(point),
        text: reason,
    })
}

fn shared_cpus(point: &LoadPointDoc) -> Option<Finding> {
    let generator = point.generator.as_ref()?;
    let reason = generator.shared_cpus.as_deref().map(plain);
    Some(Finding {
        weight: worst_share(point),
        text: reason.or_else(|| reason_meant_as(point, OldReason::Shared))?,
    })
}

/// Returns the reason why the generator was the limit, if it meant this in the release that
/// wrote the document.
fn reason_meant_as(point: &LoadPointDoc, meaning: OldReason) -> Option<String> {
    let reason = point.generator.as_ref()?.reason.as_deref()?;
    (point.old_reason() == meaning).then(|| plain(reason))
}

/// Returns the largest share of the window in which a worker waited for a CPU. If none
/// waited for long, it is the share in which one ran: the figure that reasons name.
fn worst_share(point: &LoadPointDoc) -> f64 {
    let generator = point.generator.iter();
    generator
        .flat_map(|generator| &generator.workers)
        .map(|worker| match (worker.cpu_share, worker.waiting_share) {
            // A worker that was never idle is worse than any that waited.
            (ran, _) if ran > 0.9 => 1.0 + ran,
            (_, waited) => waited.unwrap_or(0.0),
        })
        .fold(0.0, f64::max)
}

/// Share of its threads' time above which the generator itself may limit the load.
const BUSY_WORTH_TELLING: f64 = 0.85;

/// Judges the generator of a document that has no verdict of its own.
fn busy_generator(point: &LoadPointDoc, doc: &RunDoc) -> Option<Finding> {
    if point.generator.is_some() {
        return None;
    }
    let threads = doc.plan.threads_at(point.clients);
    let busy = point.client.cpu_s() / (f64::from(threads) * point.window_s);
    // A window of length 0 compares as not busy.
    (busy > BUSY_WORTH_TELLING).then(|| Finding {
        weight: busy,
        text: format!(
            "smbench used {} of the time of its {}",
            percent(busy * 100.0),
            counted(threads.into(), "thread")
        ),
    })
}

fn latency_noise(point: &LoadPointDoc, doc: &RunDoc) -> Option<Finding> {
    let mut noise: Vec<_> = point.latency_noise_ns.iter().collect();
    // By name: longer names are higher percentiles.
    noise.sort();
    let (Some((first, least)), Some((last, most))) = (noise.first(), noise.last()) else {
        let text = reason_meant_as(point, OldReason::Late)?;
        return Some(Finding { weight: 0.0, text });
    };
    let by = |late: u64| latency(late as f64);
    let text = if first == last {
        format!("{} may be {} too high", name(first), by(**least))
    } else {
        format!(
            "{} may be {} too high, {} {}",
            name(first),
            by(**least),
            name(last),
            by(**most)
        )
    };
    let pass = match doc.plan.repeat {
        0 | 1 => String::new(),
        _ => format!(" in pass {}", point.repeat),
    };
    Some(Finding {
        weight: **most as f64,
        text: text + &pass,
    })
}

/// Returns a percentile's name in tables: `p99.9` for the key `p999`.
fn name(key: &str) -> String {
    match plain(key).as_str() {
        "p999" => "p99.9".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns a request in flight when the window closed that took far longer than those
/// which the latencies count.
fn stalled(point: &LoadPointDoc) -> Option<Finding> {
    let took = point.stall_ns()? as f64;
    Some(Finding {
        weight: took,
        text: format!(
            "a request in flight when the window closed took {}",
            latency(took)
        ),
    })
}

/// Finds clients that completed nothing, so that the others made all of the load.
/// At a rate such clients may have had nothing to do, so rates are left out.
fn unserved(point: &LoadPointDoc) -> Option<Finding> {
    let without = point.clients.saturating_sub(point.clients_served?);
    (point.offered.is_none() && without > 0).then(|| Finding {
        weight: without.into(),
        text: format!(
            "{without} of {} completed nothing in the window",
            point.load()
        ),
    })
}

/// Share of the clients' time below which a wait changes nothing.
const WAIT_WORTH_TELLING: f64 = 0.01;

/// Returns a wait in seconds, summed over clients, as a share of their time; `None`
/// if it is negligible.
fn share_of_waits(point: &LoadPointDoc, wait_s: f64) -> Option<f64> {
    let share = share_of_time(wait_s, point.mean_clients(), point.window_s);
    (share > WAIT_WORTH_TELLING).then_some(share)
}

fn starved(point: &LoadPointDoc, doc: &RunDoc) -> Option<Finding> {
    let share = share_of_waits(point, point.credit_starved_s)?;
    let reason = match credits(&doc.plan) {
        Some(limits) => limits,
        None if doc.server.is_cifs() => {
            "the server permits too few requests at a time (MaxMpxCount)".to_owned()
        }
        None => "the server granted too few".to_owned(),
    };
    Some(Finding {
        weight: share,
        text: format!("{} of the clients' time: {reason}", percent(share * 100.0)),
    })
}

fn held_back(point: &LoadPointDoc) -> Option<Finding> {
    let generator = point.generator.as_ref();
    let share = match generator {
        Some(generator) if generator.back_pressure.is_some() => generator.held_back_share,
        _ => share_of_waits(point, point.held_back_s)?,
    };
    let has_cpus =
        generator.is_none_or(|generator| !generator.limited && generator.shared_cpus.is_none());
    let who = if has_cpus {
        "; network or server was slow"
    } else {
        ""
    };
    Some(Finding {
        weight: share,
        text: format!(
            "sockets took no more {} of the clients' time{who}",
            percent(share * 100.0)
        ),
    })
}

fn unsteady(point: &LoadPointDoc) -> Option<Finding> {
    point.unsteady().map(|steady| Finding {
        weight: steady.range_percent.unwrap_or(0.0),
        text: plain(&steady.reason),
    })
}

/// Fairness index below which a few clients make most of the load.
const JAIN_WORTH_TELLING: f64 = 0.9;
/// Operations per client below which clients differ by chance alone.
const OPERATIONS_TO_COMPARE: f64 = 100.0;

fn uneven(point: &LoadPointDoc) -> Option<Finding> {
    // Populations do different work.
    let fairness = point.fairness.filter(|_| point.populations.len() < 2)?;
    let is_uneven =
        fairness.jain_index < JAIN_WORTH_TELLING && fairness.mean >= OPERATIONS_TO_COMPARE;
    is_uneven.then(|| Finding {
        weight: 1.0 - fairness.jain_index,
        text: format!(
            "clients completed {} to {} operations, fairness index {:.2}",
            fairness.min, fairness.max, fairness.jain_index
        ),
    })
}

/// Deviation from Little's law above which it is reported.
const LITTLE_TOLERANCE: f64 = 0.05;

fn imbalance(point: &LoadPointDoc) -> Option<Finding> {
    let concurrency = point.concurrency?;
    let ratio = concurrency.littles_ratio?;
    // Operations that differ from a recording were in flight, but have no latency.
    let replayed = Replayed::of([point]);
    let lack = (ratio < 1.0 && replayed.is_worth_reporting()).then(|| {
        let how_many = replayed.how_many();
        format!(", which lacks operations without a latency: {how_many}")
    });
    ((ratio - 1.0).abs() > LITTLE_TOLERANCE).then(|| Finding {
        weight: (ratio - 1.0).abs(),
        text: format!(
            "{:.2} requests counted, {:.2} by Little's law{}",
            concurrency.in_flight_mean,
            concurrency.by_littles_law,
            lack.unwrap_or_else(|| "; look at the errors, or measure longer".to_owned())
        ),
    })
}

/// Finds reads that verification could not judge completely.
fn unjudged(point: &LoadPointDoc) -> Option<Finding> {
    let verified = point.verification.filter(|reads| reads.unjudged > 0)?;
    let all = verified.checked + verified.unjudged + verified.wrong;
    Some(Finding {
        weight: verified.unjudged as f64 / all.max(1) as f64,
        text: format!(
            "{} of {} met concurrent writes and were not judged in full",
            verified.unjudged,
            counted(all, "read")
        ),
    })
}
