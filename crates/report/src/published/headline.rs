//! The answer of a study in sentences: what its events cost, which server is faster, by how
//! much, and how certain that is.

use super::events::event_sentences;
use super::tables::contenders;
use super::{Contender, CurvePoint};
use crate::change::{CONFIDENCE, Change, Noise};
use crate::curve::Curve;
use crate::doc::{BUILT_IN, DurabilityRemark, LoopDoc, NamedRun, PlanDoc, PopulationDoc, RunDoc};
use crate::metric::Metric;
use crate::names::listed;
use crate::study::Study;
use crate::units::{change, changes, clients, counted, latency, plain, rate};

/// Highest number of compared servers that have a sentence each.
const SENTENCES_MAX: usize = 4;

/// Advice after a difference that one pass found.
const ONE_PASS: &str = "One pass cannot tell this from noise; repeat with 5 passes.";

/// Advice after a doubt about the generator.
const MORE_CPUS: &str = "Generate the load on a machine of its own, or with more CPUs.";

/// A server with its run.
#[derive(Clone, Copy)]
struct Answering<'a> {
    contender: &'a Contender,
    run: &'a RunDoc,
}

/// Returns the answer of one profile. Each sentence begins with the profile's name.
#[must_use]
pub fn headlines(study: &Study, profile: usize) -> Vec<String> {
    let name = plain(study.doc.profile_name(profile));
    let of_events = event_sentences(study, profile).into_iter();
    of_events
        .chain(sentences(study, profile))
        .map(|sentence| format!("{name}: {sentence}"))
        .collect()
}

fn sentences(study: &Study, profile: usize) -> Vec<String> {
    let all = contenders(study, profile);
    let all = all.iter().enumerate().filter_map(|(server, contender)| {
        // The load points of a search are its probes.
        let run = study
            .run(server, profile)
            .filter(|run| run.find.is_none())?;
        Some(Answering { contender, run })
    });
    let all: Vec<_> = all.collect();
    let (paced, closed): (Vec<_>, Vec<_>) = all
        .iter()
        .partition::<Vec<&Answering<'_>>, _>(|of| of.run.pacing != LoopDoc::Closed);
    let (measured, without): (Vec<_>, Vec<_>) = closed
        .into_iter()
        .copied()
        .partition::<Vec<Answering<'_>>, _>(|of| of.contender.peak().is_some());
    let find = |name: &str| measured.iter().find(|of| of.contender.name == name);
    let pairs = measured.iter().flat_map(|other| {
        let baselines = study.doc.baselines_of(&other.contender.name).into_iter();
        baselines.filter_map(move |name| Some((*find(name)?, *other)))
    });
    let compared: Vec<_> = pairs
        .filter_map(|(one, other)| verdict(one, other))
        .collect();
    let mut sentences = match (&measured[..], compared.len()) {
        ([], _) => Vec::new(),
        (_, 1..=SENTENCES_MAX) => compared,
        ([one], _) => alone(one.contender).into_iter().collect(),
        (several, _) => best(several).into_iter().collect(),
    };
    sentences.extend(built_in(&measured));
    let runs = measured.iter().map(|of| NamedRun {
        name: plain(&of.contender.name),
        run: of.run,
    });
    let remarks = DurabilityRemark::all(&runs.collect::<Vec<_>>()).into_iter();
    sentences.extend(remarks.map(|remark| format!("{remark}.")));
    sentences.extend(dialects(&measured));
    sentences.extend(nothing_valid(&without));
    advise_once(&mut sentences);
    sentences.extend(paced.into_iter().filter_map(|of| at_a_rate(of)));
    sentences
}

/// Names the servers that have no valid load point.
fn nothing_valid(servers: &[Answering<'_>]) -> Option<String> {
    let names: Vec<_> = servers.iter().map(|of| plain(&of.contender.name)).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let has = if names.len() == 1 { "has" } else { "have" };
    (!names.is_empty()).then(|| format!("{} {has} no valid load point.", listed(&names)))
}

/// Leaves an advice that ends several sentences to a sentence of its own after them.
fn advise_once(sentences: &mut Vec<String>) {
    for advice in [ONE_PASS, MORE_CPUS] {
        let ending = sentences.iter().filter(|text| text.ends_with(advice));
        if ending.count() > 1 {
            for text in &mut *sentences {
                let rest = text
                    .strip_suffix(advice)
                    .map(|rest| rest.trim_end().to_owned());
                *text = rest.unwrap_or_else(|| std::mem::take(text));
            }
            sentences.push(advice.to_owned());
        }
    }
}

/// Compares a server with its baseline.
fn verdict(baseline: Answering<'_>, other: Answering<'_>) -> Option<String> {
    let (from, to) = (baseline.contender.peak()?, other.contender.peak()?);
    let [one, two] = [baseline, other].map(|of| plain(&of.contender.name));
    if !is_same_work(&baseline.run.plan, &other.run.plan) {
        return Some(format!(
            "{two} and {one} are not compared: their work differs."
        ));
    }
    let found = Change::between(&from.height, &to.height, CONFIDENCE)?;
    let values = if from.clients == to.clients {
        format!(
            "{} against {} at {}",
            height(other.contender, to),
            height(baseline.contender, from),
            counted(to.clients.into(), "client")
        )
    } else {
        format!(
            "{} against {}",
            placed(other.contender, to),
            placed(baseline.contender, from)
        )
    };
    let values = format!("{values}, {}", change(found.percent));
    let interval = found.interval.filter(|of| of.noise == Noise::Passes);
    let range = interval.map(|of| format!(" (95 % interval {})", changes(of.low, of.high)));
    let range = range.unwrap_or_default();
    if let Some(doubt) = doubt(&[(baseline, to), (other, from)], found.percent) {
        return Some(format!(
            "cannot tell which is faster, {two} or {one}: {values}{range}. {doubt}"
        ));
    }
    Some(match interval {
        Some(interval) => {
            let text = match (interval.shows_a_change(), found.percent > 0.0) {
                (true, true) => format!("{two} is faster than {one}"),
                (true, false) => format!("{two} is slower than {one}"),
                (false, _) => format!("no difference shown between {two} and {one}"),
            };
            format!("{text}: {values}{range}.")
        }
        None => format!("{two} against {one}: {values}. {ONE_PASS}"),
    })
}

/// Names the dialects if they differ, or if all of them are CIFS.
fn dialects(servers: &[Answering<'_>]) -> Option<String> {
    let mut protocols = Vec::new();
    for of in servers {
        let protocol = of.run.server.protocol();
        let name = plain(&of.contender.name);
        match protocols.iter_mut().find(|(known, _)| *known == protocol) {
            Some((_, names)) => *names = format!("{names}, {name}"),
            None => protocols.push((protocol, name)),
        }
    }
    let every = protocols
        .iter()
        .map(|(protocol, names)| format!("{protocol} with {names}"));
    match &protocols[..] {
        [(protocol, _)] if servers.iter().all(|of| of.run.server.is_cifs()) => {
            Some(format!("the dialect was {protocol} (SMB1)."))
        }
        [_, _, ..] => Some(format!(
            "the dialects differ: {}.",
            every.collect::<Vec<_>>().join("; ")
        )),
        _ => None,
    }
}

/// Returns whether two runs did the same operations in the same way.
fn is_same_work(one: &PlanDoc, other: &PlanDoc) -> bool {
    let populations = |plan: &PlanDoc| -> Vec<_> {
        let all = plan.populations.iter();
        all.map(PopulationDoc::without_sessions).collect()
    };
    one.workload == other.workload
        && populations(one) == populations(other)
        && one.outstanding == other.outstanding
        && one.think_time_s == other.think_time_s
}

/// Returns why the peaks of two servers do not tell which is faster. Either the slower
/// server was client-limited, or one has no valid result where the other has its peak.
/// Each server stands with the peak of its counterpart, the baseline first.
fn doubt(sides: &[(Answering<'_>, &CurvePoint); 2], percent: f64) -> Option<String> {
    let slower = sides[usize::from(percent < 0.0)].0.contender;
    let mut peaks = sides.iter().map(|(side, _)| side.contender.peak());
    if peaks.all(|peak| peak.is_some_and(|peak| peak.is_generator_limited)) {
        return Some(format!(
            "Both were client-limited: their servers may be faster. {MORE_CPUS}"
        ));
    }
    if slower.peak()?.is_generator_limited {
        let name = plain(&slower.name);
        return Some(format!(
            "{name} was client-limited: its server may be faster. {MORE_CPUS}"
        ));
    }
    let lacking = sides.iter().find_map(|(side, peak)| {
        let is_left_out = side.contender.left_out.contains(&peak.clients);
        is_left_out.then_some((&side.contender.name, peak.clients))
    });
    lacking.map(|(name, at)| format!("{} has no valid result at {}.", plain(name), clients(&[at])))
}

/// Names the results of the built-in server, if there are others.
fn built_in(servers: &[Answering<'_>]) -> Option<String> {
    let demos = servers.iter().filter(|of| of.run.is_of_built_in_server());
    let names: Vec<_> = demos.map(|of| plain(&of.contender.name)).collect();
    let is_beside_others = !names.is_empty() && names.len() < servers.len();
    is_beside_others.then(|| format!("{} is of {BUILT_IN}.", names.join(", ")))
}

/// Names the servers with the highest and the lowest peak. The built-in server is not
/// ranked among others.
fn best(servers: &[Answering<'_>]) -> Option<String> {
    let is_real = |of: &&Answering<'_>| !of.run.is_of_built_in_server();
    let real: Vec<_> = servers.iter().copied().filter(|of| is_real(&of)).collect();
    let servers = if real.is_empty() { servers } else { &real };
    let metric = servers.first()?.contender.metric;
    let contenders = servers.iter().map(|of| of.contender);
    let alike = contenders.filter(|of| of.metric == metric);
    let mut peaks: Vec<_> = alike.filter_map(|of| Some((of, of.peak()?))).collect();
    peaks.sort_by(|one, other| other.1.height.value.total_cmp(&one.1.height.value));
    let ((first, high), (last, low)) = (peaks.first()?, peaks.last()?);
    if peaks.len() == 1 {
        return alone(first);
    }
    let found = Change::between(&low.height, &high.height, CONFIDENCE)?;
    let interval = found.interval.filter(|of| of.noise == Noise::Passes);
    let certainty = match interval {
        _ if low.is_generator_limited => {
            format!("The lowest was client-limited: its server may be faster. {MORE_CPUS}")
        }
        Some(interval) => format!(
            "That is {} (95 % interval {}).",
            change(found.percent),
            changes(interval.low, interval.high)
        ),
        None => ONE_PASS.to_owned(),
    };
    Some(format!(
        "{} has the highest peak of {} servers, {}; {} the lowest, {}. {certainty}",
        plain(&first.name),
        peaks.len(),
        placed(first, high),
        plain(&last.name),
        placed(last, low)
    ))
}

/// Describes the only server.
fn alone(contender: &Contender) -> Option<String> {
    let peak = contender.peak()?;
    let p99 = peak.response_p99_ns.map(|ns| latency(ns as f64));
    let p99 = p99.map_or_else(String::new, |p99| format!(", p99 {p99}"));
    let limited = if peak.is_generator_limited {
        format!(" It was client-limited: its server may be faster. {MORE_CPUS}")
    } else {
        String::new()
    };
    let (name, place) = (plain(&contender.name), placed(contender, peak));
    Some(format!("{name} reaches {place}{p99}.{limited}"))
}

/// Describes the last load point of a run at a rate, or with recorded times.
fn at_a_rate(of: &Answering<'_>) -> Option<String> {
    let curve = Curve::of(&of.run.load_points);
    let row = curve.rows.iter().rfind(|row| row.is_quotable())?;
    let is_missed = row.passes.iter().any(|pass| {
        let offered = pass.offered.as_ref();
        offered.and_then(|offered| offered.rate_missed) == Some(true)
    });
    let missed = if is_missed {
        ", but the rate was not reached"
    } else {
        ""
    };
    Some(format!(
        "{} has a p99 of {} at {} and {} operations/s{missed}.",
        plain(&of.contender.name),
        latency(row.latency_ns?.p99 as f64),
        counted(row.clients.into(), "client"),
        rate(row.ops_per_s)
    ))
}

fn placed(contender: &Contender, peak: &CurvePoint) -> String {
    let place = counted(peak.clients.into(), "client");
    format!("{} at {place}", height(contender, peak))
}

fn height(contender: &Contender, peak: &CurvePoint) -> String {
    let value = contender.metric.print(peak.height.value);
    match contender.metric {
        Metric::Operations => format!("{value} ops/s"),
        _ => value,
    }
}
