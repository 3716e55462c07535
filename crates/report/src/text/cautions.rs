//! Cautions: facts that a reader must know before trusting the numbers of valid
//! load points.
//!
//! Each kind of caution is one line for the whole run, with its worst value and its
//! load points. The document has the figures of every load point.

use crate::doc::{LoadPointDoc, OfferedDoc, PlanDoc, RunDoc};
use crate::text::wrapped;
use crate::units::{self, counted, latency, percent, plain};

/// Highest number of lines of cautions on a terminal.
const LINES_MAX: usize = 3;

/// A kind of caution: its name, and a function that looks for it in a load point.
type Kind = (&'static str, fn(&LoadPointDoc, &PlanDoc) -> Option<Finding>);

/// All kinds, the most serious first.
const KINDS: [Kind; 12] = [
    ("client-limited", |point, _| client_limited(point)),
    ("client-limited", busy_generator),
    ("stalled", |point, _| stalled(point)),
    ("unserved", |point, _| unserved(point)),
    ("latency noise", |point, _| latency_noise(point)),
    ("shared CPUs", |point, _| shared_cpus(point)),
    ("held back", |point, _| held_back(point)),
    ("starved of credits", starved),
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

/// Returns the cautions for a terminal: at most three lines, the last of which
/// names the kinds that do not fit. Each line ends with a newline, and is broken if
/// it is wider than the terminal.
pub(crate) fn brief(doc: &RunDoc) -> String {
    let mut lines = cautions(doc);
    if lines.len() > LINES_MAX {
        let also: Vec<_> = found(doc)
            .iter()
            .skip(LINES_MAX - 1)
            .map(|caution| format!("{} {}", caution.name, caution.places))
            .collect();
        lines.truncate(LINES_MAX - 1);
        lines.push(format!("also {}", also.join(", ")));
    }
    lines.iter().map(|line| wrapped(line)).collect()
}

fn found(doc: &RunDoc) -> Vec<Caution> {
    let caution = |(name, find): &Kind| {
        let findings: Vec<_> = doc
            .load_points
            .iter()
            .filter_map(|point| Some((point, find(point, &doc.plan)?)))
            .collect();
        let points: Vec<_> = findings.iter().map(|(point, _)| *point).collect();
        let worst = findings
            .into_iter()
            .max_by(|(_, one), (_, other)| one.weight.total_cmp(&other.weight))?;
        Some(Caution {
            name,
            places: places(&points, &doc.load_points),
            text: worst.1.text,
        })
    };
    KINDS.iter().filter_map(caution).collect()
}

/// Names load points: `at 4 clients`, `at 1, 8 to 16 clients`, `at all load points`.
fn places(points: &[&LoadPointDoc], all: &[LoadPointDoc]) -> String {
    let clients = |points: &mut dyn Iterator<Item = &LoadPointDoc>| {
        let mut clients: Vec<_> = points.map(|point| point.clients).collect();
        clients.sort_unstable();
        clients.dedup();
        clients
    };
    let these = clients(&mut points.iter().copied());
    let all = clients(&mut all.iter());
    if these.len() > 1 && these == all {
        return "at all load points".to_owned();
    }
    let is_next = |one: &u32, other: &u32| {
        let at = all.iter().position(|clients| clients == one);
        at.and_then(|at| all.get(at + 1)) == Some(other)
    };
    let runs = these.chunk_by(is_next).flat_map(|run| match run {
        [first, .., last] if run.len() > 2 => vec![format!("{first} to {last}")],
        few => few.iter().map(u32::to_string).collect(),
    });
    let runs: Vec<_> = runs.collect();
    match &these[..] {
        [1] => "at 1 client".to_owned(),
        _ => format!("at {} clients", runs.join(", ")),
    }
}

fn client_limited(point: &LoadPointDoc) -> Option<Finding> {
    let generator = point.generator.as_ref()?;
    let reason = generator.reason.as_deref()?;
    point.valid.then(|| Finding {
        weight: busiest_share(point),
        text: format!("throughput may be too low, because {}", plain(reason)),
    })
}

fn shared_cpus(point: &LoadPointDoc) -> Option<Finding> {
    let generator = point.generator.as_ref()?;
    let reason = generator.shared_cpus.as_deref()?;
    point.valid.then(|| Finding {
        weight: busiest_share(point),
        text: plain(reason),
    })
}

/// Returns the share of the window in which the worker with the least spare time
/// ran or waited for a CPU.
fn busiest_share(point: &LoadPointDoc) -> f64 {
    let workers = point
        .generator
        .iter()
        .flat_map(|generator| &generator.workers);
    workers
        .map(|worker| worker.cpu_share + worker.waiting_share.unwrap_or(0.0))
        .fold(0.0, f64::max)
}

/// Share of its threads' time above which the generator itself may limit the load.
const BUSY_WORTH_TELLING: f64 = 0.85;

/// Judges the generator of a document that has no verdict of its own.
fn busy_generator(point: &LoadPointDoc, plan: &PlanDoc) -> Option<Finding> {
    if point.generator.is_some() {
        return None;
    }
    let threads = plan.threads_at(point.clients);
    let busy_s = point.client.cpu_user_s + point.client.cpu_system_s;
    let busy = busy_s / (f64::from(threads) * point.window_s);
    // A window of length 0 compares as not busy.
    (busy > BUSY_WORTH_TELLING).then(|| Finding {
        weight: busy,
        text: format!(
            "throughput may be too low, because smbench used {} of the time of its {}",
            percent(busy * 100.0),
            counted(threads.into(), "thread")
        ),
    })
}

fn latency_noise(point: &LoadPointDoc) -> Option<Finding> {
    let noise = &point.latency_noise_ns;
    let mut noise: Vec<_> = noise.iter().collect();
    noise.sort_by_key(|(_, late)| **late);
    let ((first, least), (last, most)) = (noise.first()?, noise.last()?);
    let may_be =
        |key: &str, late: u64| format!("{} may be {} too high", name(key), latency(late as f64));
    let text = match first == last {
        true => may_be(last, **most),
        false => format!("{}, {}", may_be(first, **least), may_be(last, **most)),
    };
    point.valid.then(|| Finding {
        weight: **most as f64,
        text: format!("{text}: answers were handled late"),
    })
}

/// Returns a percentile's name in tables: `p99.9` for the key `p999`.
fn name(key: &str) -> String {
    match plain(key).as_str() {
        "p999" => "p99.9".to_owned(),
        name => name.to_owned(),
    }
}

/// Finds requests without an answer when the window closed that had waited longer
/// than any latency of the window. A missed rate has its own caution.
fn stalled(point: &LoadPointDoc) -> Option<Finding> {
    let waited = point.longest_unanswered_ns()? as f64;
    let longest = point.latency_ns.map_or(0, |latency| latency.max);
    let is_stalled = point.stalled.unwrap_or(waited > longest as f64);
    (point.valid && is_stalled && !point.misses_rate()).then(|| Finding {
        weight: waited,
        text: format!(
            "when the window closed a request had waited {}, longer than all latencies",
            latency(waited)
        ),
    })
}

/// Finds clients that completed nothing, so that the others made all of the load.
/// At a rate such clients may have had nothing to do, so rates are left out.
fn unserved(point: &LoadPointDoc) -> Option<Finding> {
    let without = point.clients.saturating_sub(point.clients_served?);
    (point.offered.is_none() && point.valid && without > 0).then(|| Finding {
        weight: without.into(),
        text: format!(
            "{without} of {} completed nothing in the window",
            counted(point.clients.into(), "client")
        ),
    })
}

/// Share of the clients' time below which a wait changes nothing.
const WAIT_WORTH_TELLING: f64 = 0.01;

/// Returns a wait in seconds, summed over clients, as a share of their time; `None`
/// if it is negligible.
fn share_of_time(point: &LoadPointDoc, wait_s: f64) -> Option<f64> {
    let share = wait_s / (f64::from(point.clients) * point.window_s);
    // A window of length 0 has no waits.
    (share > WAIT_WORTH_TELLING && point.window_s > 0.0).then_some(share)
}

fn starved(point: &LoadPointDoc, plan: &PlanDoc) -> Option<Finding> {
    let share = share_of_time(point, point.credit_starved_s)?;
    let reason = match plan.credits {
        Some(cap) => format!(
            "no connection used more than {}",
            counted(cap.into(), "credit")
        ),
        None => "the server granted too few".to_owned(),
    };
    Some(Finding {
        weight: share,
        text: format!("{} of the clients' time: {reason}", percent(share * 100.0)),
    })
}

fn held_back(point: &LoadPointDoc) -> Option<Finding> {
    let generator = point.generator.as_ref();
    let verdict = generator.and_then(|generator| generator.back_pressure.as_deref());
    let share = match verdict {
        Some(_) => point.generator.as_ref()?.held_back_share,
        None => share_of_time(point, point.held_back_s)?,
    };
    let has_cpus =
        generator.is_none_or(|generator| !generator.limited && generator.shared_cpus.is_none());
    let text = verdict.map_or_else(
        || {
            let reason = match has_cpus {
                true => "network or server took requests slowly",
                false => "sockets took no more, which a generator without a CPU may see late",
            };
            format!("{} of the clients' time: {reason}", percent(share * 100.0))
        },
        plain,
    );
    Some(Finding {
        weight: share,
        text,
    })
}

fn unsteady(point: &LoadPointDoc) -> Option<Finding> {
    let steady = point.steady.as_ref()?;
    (steady.is_steady == Some(false)).then(|| Finding {
        weight: steady.range_percent.unwrap_or(0.0),
        text: plain(&steady.reason),
    })
}

/// Fairness index below which a few clients make most of the load.
const JAIN_WORTH_TELLING: f64 = 0.9;
/// Operations per client below which clients differ by chance alone.
const OPERATIONS_TO_COMPARE: f64 = 100.0;

fn uneven(point: &LoadPointDoc) -> Option<Finding> {
    let fairness = point.fairness?;
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
    // Failed operations were in flight, but have no latency.
    (point.valid && (ratio - 1.0).abs() > LITTLE_TOLERANCE).then(|| {
        let reason = match point.differences.is_empty() {
            true => "operations that began before the window or outlast it weigh much in it",
            false => "what ended otherwise than recorded has no latency",
        };
        Finding {
            weight: (ratio - 1.0).abs(),
            text: format!(
                "{:.2} counted, {:.2} by Little's law: {reason}",
                concurrency.in_flight_mean, concurrency.by_littles_law
            ),
        }
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

/// Names the load points that missed the requested rate, and the largest shortfall.
/// `None` if all reached it, or if no rate was requested.
#[must_use]
pub fn missed_rate(doc: &RunDoc) -> Option<String> {
    let points = doc.load_points.iter();
    let missed: Vec<_> = points.filter(|point| point.misses_rate()).collect();
    let reached =
        |point: &&&LoadPointDoc| point.offered.and_then(|offered| offered.reached_share());
    let worst = missed.iter().min_by(|one, other| {
        let shares = [one, other].map(|point| reached(point).unwrap_or(1.0));
        shares[0].total_cmp(&shares[1])
    })?;
    let (offered, share) = (worst.offered?, reached(&worst)?);
    let at_worst = match &missed[..] {
        [_] => String::new(),
        _ => format!(" at {}", counted(worst.clients.into(), "client")),
    };
    Some(format!(
        "rate not reached {}: {} of {} operations/s ({}){at_worst}",
        places(&missed, &doc.load_points),
        units::rate(offered.ops_per_s * share),
        units::rate(offered.ops_per_s),
        percent(share * 100.0)
    ))
}

/// Returns [`rate_remarks`] for a terminal. Ends with a newline unless it is empty.
pub(crate) fn rate_lines(doc: &RunDoc) -> String {
    rate_remarks(doc).iter().map(|line| wrapped(line)).collect()
}

/// Describes whether the rate was reached, and how late operations were sent, a line
/// each. Empty for a load without due times.
#[must_use]
pub fn rate_remarks(doc: &RunDoc) -> Vec<String> {
    let missed = missed_rate(doc).map(|missed| {
        format!(
            "{missed}; latencies are mostly time in a growing queue: lower --rate, or raise \
             --clients or --outstanding"
        )
    });
    [missed, reached_rate(doc), sent_late(doc)]
        .into_iter()
        .flatten()
        .collect()
}

/// Names the load points that reached the requested rate; `None` if none did.
fn reached_rate(doc: &RunDoc) -> Option<String> {
    let is_reached = |point: &&LoadPointDoc| {
        let offered = point.offered.as_ref();
        offered.is_some_and(|offered| offered.rate_missed == Some(false))
    };
    let reached: Vec<_> = doc.load_points.iter().filter(is_reached).collect();
    let places = places(&reached, &doc.load_points);
    (!reached.is_empty()).then(|| format!("rate reached {places}"))
}

/// Describes the load point with the largest share of operations sent late or
/// never, among those that reached their rate.
fn sent_late(doc: &RunDoc) -> Option<String> {
    let share = |part: u64, of: u64| part as f64 * 100.0 / of.max(1) as f64;
    let amiss = |offered: &OfferedDoc| {
        let amiss = offered.late.saturating_add(offered.dropped);
        share(amiss, offered.operations)
    };
    let (point, offered) = doc
        .load_points
        .iter()
        .filter(|point| !point.misses_rate())
        .filter_map(|point| Some((point, point.offered?)))
        .filter(|(_, offered)| amiss(offered) > 0.0)
        .max_by(|(_, one), (_, other)| amiss(one).total_cmp(&amiss(other)))?;
    let of = |part| percent(share(part, offered.operations));
    let late = (offered.late > 0).then(|| {
        let delay = latency(offered.delay_ns_max as f64);
        format!("{} sent over 1 ms late, by up to {delay}", of(offered.late))
    });
    let dropped = (offered.dropped > 0).then(|| format!("{} never sent", of(offered.dropped)));
    let parts: Vec<_> = late.into_iter().chain(dropped).collect();
    Some(format!(
        "late at {}: of the operations {}",
        counted(point.clients.into(), "client"),
        parts.join(", ")
    ))
}
