//! What went wrong: footnotes of the load points, failures, waits, leftovers.

use std::collections::{BTreeMap, BTreeSet};

use crate::curve::{Curve, Row};
use crate::doc::{LoadPointDoc, RunDoc};
use crate::units::{counted, latency, percent, plain, rate};

/// Drop-outs spelled out per load point; the document has them all.
const DROPOUTS_SHOWN: usize = 3;

/// A line or more for each pass that is not valid, and for each in the averages
/// whose generator was the limit; empty when there are none.
#[must_use]
pub fn footnotes(curve: &Curve<'_>) -> String {
    invalid_points(curve) + &limited_points(curve)
}

/// One footnote for each pass that is not valid, and its drop-outs.
fn invalid_points(curve: &Curve<'_>) -> String {
    curve
        .rows
        .iter()
        .flat_map(|row| row.invalid.iter().map(move |pass| footnote(row, pass)))
        .collect()
}

fn footnote(row: &Row<'_>, pass: &LoadPointDoc) -> String {
    let verdict = if row.is_valid() {
        "left out of the averages"
    } else {
        "not valid"
    };
    let reason = pass.invalid_reason.as_deref().unwrap_or("no reason given");
    let mut text = format!(
        "! {}, pass {}: {verdict}: {}\n",
        counted(pass.clients.into(), "client"),
        pass.repeat,
        plain(reason)
    );
    for dropout in pass.dropouts.iter().take(DROPOUTS_SHOWN) {
        text += &format!("  client {}: {}\n", dropout.client, plain(&dropout.reason));
    }
    let more = pass.dropouts.len().saturating_sub(DROPOUTS_SHOWN);
    if more > 0 {
        text += &format!("  and {}\n", counted(more as u64, "other"));
    }
    text
}

/// One footnote for each pass in the averages whose generator was the limit.
fn limited_points(curve: &Curve<'_>) -> String {
    let passes = curve.rows.iter().flat_map(|row| &row.passes);
    let footnote = |pass: &&LoadPointDoc| {
        let reason = pass.generator.as_ref()?.reason.as_deref()?;
        Some(format!(
            "~ {}, pass {}: the generator, not the server, was the limit\n  {}\n",
            counted(pass.clients.into(), "client"),
            pass.repeat,
            plain(reason)
        ))
    };
    passes.filter_map(footnote).collect()
}

/// Failures of the whole run, what held the load back and what is left on the
/// share; empty when all went well.
#[must_use]
pub fn remarks(doc: &RunDoc) -> String {
    let mut text = failures(&doc.load_points);
    text += &differences(&doc.load_points);
    let cap = doc.plan.credits;
    text.extend(
        doc.load_points
            .iter()
            .filter_map(|point| starved(point, cap)),
    );
    text.extend(doc.load_points.iter().filter_map(held_back));
    text.extend(doc.load_points.iter().filter_map(late));
    text += &unsteady(&doc.load_points);
    for remark in [unserved, outlasting, unfair, imbalance] {
        text.extend(doc.load_points.iter().filter_map(remark));
    }
    text.extend(doc.load_points.iter().filter_map(cached));
    text.extend(doc.load_points.iter().filter_map(unjudged));
    text.extend(
        doc.load_points
            .iter()
            .filter_map(|point| busy_generator(point, doc.plan.threads_at(point.clients))),
    );
    if let Some(leftover) = &doc.leftover {
        text += &format!("left on the share: {}\n", plain(leftover));
    }
    text
}

/// How far the run comes to what its generator can do, on one line however long it
/// is; `None` where that is not known.
#[must_use]
pub fn reached(doc: &RunDoc) -> Option<String> {
    let reached = doc.calibration.as_ref()?.reached(doc)?;
    Some(plain(&reached.text))
}

/// What clients were granted to cache, and what was taken back.
fn cached(point: &LoadPointDoc) -> Option<String> {
    let caching = point.caching.as_ref()?;
    let granted = caching.granted.iter();
    let granted: Vec<_> = granted
        .map(|(name, opens)| format!("{opens} {}", plain(name)))
        .collect();
    Some(format!(
        "oplocks: {}: granted {}; {}\n",
        counted(point.clients.into(), "client"),
        granted.join(", "),
        counted(caching.breaks, "break")
    ))
}

/// Reads that verification could not judge in full.
fn unjudged(point: &LoadPointDoc) -> Option<String> {
    let verified = point.verification.filter(|reads| reads.unjudged > 0)?;
    let all = verified.checked + verified.unjudged + verified.wrong;
    Some(format!(
        "verified {}: {} of {} met with writes to the same blocks and could not be judged in full\n",
        which(point),
        verified.unjudged,
        counted(all, "read")
    ))
}

/// A line per operation and cause, over all load points, ramps included.
fn failures(points: &[LoadPointDoc]) -> String {
    let mut causes: BTreeMap<(String, String), (u64, BTreeSet<u32>)> = BTreeMap::new();
    for point in points {
        for failure in &point.failures {
            let cause = cause(&failure.status, failure.code.as_deref());
            let (count, clients) = causes.entry((plain(&failure.op), cause)).or_default();
            *count = count.saturating_add(failure.count);
            clients.insert(point.clients);
        }
    }
    let line = |((op, cause), (count, clients)): ((String, String), (u64, BTreeSet<u32>))| {
        let clients: Vec<_> = clients.iter().map(u32::to_string).collect();
        let (times, points) = (counted(count, "time"), clients.join(", "));
        format!("failed: {op}, {cause}: {times}, at load points {points}\n")
    };
    causes.into_iter().map(line).collect()
}

/// A line per difference between what a replay recorded and what it saw, over
/// all load points.
fn differences(points: &[LoadPointDoc]) -> String {
    type Difference<'a> = (&'a str, &'a str, &'a str);
    let mut all: BTreeMap<Difference<'_>, (u64, BTreeSet<u32>)> = BTreeMap::new();
    for point in points {
        for found in &point.differences {
            let key = (&*found.op, &*found.recorded, &*found.seen);
            let (count, clients) = all.entry(key).or_default();
            *count = count.saturating_add(found.count);
            clients.insert(point.clients);
        }
    }
    let line =
        |((op, recorded, seen), (count, clients)): (Difference<'_>, (u64, BTreeSet<u32>))| {
            let clients: Vec<_> = clients.iter().map(u32::to_string).collect();
            format!(
                "not as recorded: {}, {} -> {}: {}, at load points {}\n",
                plain(op),
                plain(recorded),
                plain(seen),
                counted(count, "time"),
                clients.join(", ")
            )
        };
    let mut lines: Vec<_> = all.into_iter().collect();
    lines.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let more = lines.len().saturating_sub(DIFFERENCES_SHOWN);
    let mut text: String = lines
        .into_iter()
        .take(DIFFERENCES_SHOWN)
        .map(line)
        .collect();
    if more > 0 {
        text += &format!("and {}\n", counted(more as u64, "other difference"));
    }
    text
}

/// Differences spelled out; the document has them all.
const DIFFERENCES_SHOWN: usize = 10;

/// Below this share of the clients' time, a wait changes nothing.
const WAIT_WORTH_TELLING: f64 = 0.01;

fn starved(point: &LoadPointDoc, cap: Option<u16>) -> Option<String> {
    let share = worth_telling(point, point.credit_starved_s)?;
    let reason = match cap {
        Some(cap) => format!(
            "no connection used more than {}",
            counted(cap.into(), "credit")
        ),
        None => "the server granted too few".to_owned(),
    };
    Some(format!("starved of credits {share}: {reason}\n"))
}

fn held_back(point: &LoadPointDoc) -> Option<String> {
    let generator = point.generator.as_ref();
    if let Some(verdict) = generator.and_then(|generator| generator.back_pressure.as_deref()) {
        let (which, verdict) = (which(point), plain(verdict));
        return Some(format!("back-pressure at {which}: {verdict}\n"));
    }
    let share = worth_telling(point, point.held_back_s)?;
    let meaning = match point.generator_limited {
        Some(true) => "sockets took no more, which a generator at its limit may see late",
        _ => "network or server took requests slowly",
    };
    Some(format!("held back {share}: {meaning}\n"))
}

/// Load that could not be offered when it was due, and latencies that are
/// missing for it.
fn late(point: &LoadPointDoc) -> Option<String> {
    let offered = point.offered?;
    let place = || {
        let clients = counted(point.clients.into(), "client");
        format!("{clients}, pass {}", point.repeat)
    };
    let mut text = String::new();
    if offered.late > 0 || offered.dropped > 0 {
        let all = offered.operations.max(1) as f64;
        let share = |part: u64| percent(part as f64 * 100.0 / all);
        text += &format!(
            "due at {}: {} operations/s; {} sent late, by up to {}; {} never sent\n",
            place(),
            rate(offered.ops_per_s),
            share(offered.late),
            latency(offered.delay_ns_max as f64),
            share(offered.dropped)
        );
    }
    let longest = point.latency_ns.map_or(0, |latency| latency.max);
    if offered.unanswered > 0 && offered.unanswered_ns_max > longest {
        text += &format!(
            "unanswered at {}: {} when the window closed, which waited up to {}: longer than any \
             that its latencies count\n",
            place(),
            counted(offered.unanswered, "operation"),
            latency(offered.unanswered_ns_max as f64)
        );
    }
    (!text.is_empty()).then_some(text)
}

/// Unsteady load points spelled out; the document has them all.
const UNSTEADY_SHOWN: usize = 4;

fn unsteady(points: &[LoadPointDoc]) -> String {
    let line = |point: &LoadPointDoc| {
        let steady = point.steady.as_ref()?;
        let (which, reason) = (which(point), plain(&steady.reason));
        (steady.is_steady == Some(false)).then(|| format!("not steady at {which}: {reason}\n"))
    };
    let lines: Vec<_> = points.iter().filter_map(line).collect();
    let mut text: String = lines.iter().take(UNSTEADY_SHOWN).cloned().collect();
    let more = lines.len().saturating_sub(UNSTEADY_SHOWN);
    if more > 0 {
        text += &format!(
            "and {} not steady\n",
            counted(more as u64, "other load point")
        );
    }
    text
}

/// Clients whose requests were all left without an answer, or that had none to send: the
/// load was that of the others. At a rate they may have had nothing to do.
fn unserved(point: &LoadPointDoc) -> Option<String> {
    let served = point.clients_served?;
    let without = point.clients.saturating_sub(served);
    (point.offered.is_none() && point.valid && without > 0).then(|| {
        format!(
            "unserved at {}: {without} of {} completed nothing in the window\n",
            which(point),
            counted(point.clients.into(), "client")
        )
    })
}

/// So many times what their longest latency was: what closed loops have under way when the
/// window closes is often a little longer than that.
const OUTLASTING_WORTH_TELLING: u64 = 2;

/// What closed loops had under way when the window closed.
fn outlasting(point: &LoadPointDoc) -> Option<String> {
    let waited = point.unanswered_ns_max?;
    let longest = point.latency_ns.map_or(0, |latency| latency.max);
    (point.valid && waited / OUTLASTING_WORTH_TELLING > longest).then(|| {
        format!(
            "unanswered at {}: an operation under way when the window closed took up to {}: \
             longer than any that its latencies count\n",
            which(point),
            latency(waited as f64)
        )
    })
}

/// Below this fairness index a few clients carry the load.
const JAIN_WORTH_TELLING: f64 = 0.9;
/// With fewer operations per client chance alone makes them differ.
const OPERATIONS_TO_COMPARE: f64 = 100.0;

fn unfair(point: &LoadPointDoc) -> Option<String> {
    let fairness = point.fairness?;
    let is_unfair =
        fairness.jain_index < JAIN_WORTH_TELLING && fairness.mean >= OPERATIONS_TO_COMPARE;
    is_unfair.then(|| {
        format!(
            "uneven at {}: clients completed {} to {} operations, fairness index {:.2}\n",
            which(point),
            fairness.min,
            fairness.max,
            fairness.jain_index
        )
    })
}

/// How far Little's law may be off before it is told.
const LITTLE_TOLERANCE: f64 = 0.05;

fn imbalance(point: &LoadPointDoc) -> Option<String> {
    let concurrency = point.concurrency?;
    let ratio = concurrency.littles_ratio?;
    // Failed operations were in flight, but have no latency.
    (point.valid && (ratio - 1.0).abs() > LITTLE_TOLERANCE).then(|| {
        let reason = match point.differences.is_empty() {
            true => "operations that began before the window or outlast it weigh much in it",
            false => "what ended otherwise than recorded has no latency",
        };
        format!(
            "in flight at {}: {:.2} counted, {:.2} by Little's law: {reason}\n",
            which(point),
            concurrency.in_flight_mean,
            concurrency.by_littles_law
        )
    })
}

fn which(point: &LoadPointDoc) -> String {
    format!(
        "{}, pass {}",
        counted(point.clients.into(), "client"),
        point.repeat
    )
}

/// A wait, summed over clients, as a share of their time; `None` where it is
/// negligible.
fn worth_telling(point: &LoadPointDoc, wait_s: f64) -> Option<String> {
    let share = wait_s / (f64::from(point.clients) * point.window_s);
    // A window of no length has no waits.
    (share > WAIT_WORTH_TELLING && point.window_s > 0.0).then(|| {
        format!(
            "{} of the clients' time at {}, pass {}",
            percent(share * 100.0),
            counted(point.clients.into(), "client"),
            point.repeat
        )
    })
}

/// Above this share of its threads' time, the generator itself may be what
/// limits the load.
const BUSY_WORTH_TELLING: f64 = 0.85;

/// The verdict on a generator, for documents without one.
fn busy_generator(point: &LoadPointDoc, threads: u32) -> Option<String> {
    if point.generator.is_some() {
        return None;
    }
    let busy_s = point.client.cpu_user_s + point.client.cpu_system_s;
    let busy = busy_s / (f64::from(threads) * point.window_s);
    // A window of no length compares as not busy.
    (busy > BUSY_WORTH_TELLING).then(|| {
        format!(
            "generator busy {} of the time of its {} at {}, pass {}: it may be the limit, not the \
             server\n",
            percent(busy * 100.0),
            counted(threads.into(), "thread"),
            counted(point.clients.into(), "client"),
            point.repeat
        )
    })
}

/// `STATUS_DISK_FULL (0xC000007F)`, or one of the two where they are equal.
fn cause(status: &str, code: Option<&str>) -> String {
    let status = plain(status);
    match code.map(plain) {
        Some(code) if code != status => format!("{status} ({code})"),
        _ => status,
    }
}
