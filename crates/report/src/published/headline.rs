//! The answer of a study in sentences: which server is faster, by how much, and how
//! certain that is.

use super::tables::contenders;
use super::{Contender, CurvePoint};
use crate::change::{CONFIDENCE, Change, Noise};
use crate::doc::LoopDoc;
use crate::metric::Metric;
use crate::study::Study;
use crate::units::{change, changes, counted, latency, plain};

/// Highest number of compared servers that have a sentence each.
const SENTENCES_MAX: usize = 4;

/// Returns the answer of one profile. Each sentence begins with the profile's name.
#[must_use]
pub fn headlines(study: &Study, profile: usize) -> Vec<String> {
    let name = plain(study.doc.profile_name(profile));
    let sentences = sentences(study, profile).into_iter();
    sentences
        .map(|sentence| format!("{name}: {sentence}"))
        .collect()
}

fn sentences(study: &Study, profile: usize) -> Vec<String> {
    let is_closed = |server| {
        let run = study.run(server, profile);
        run.is_some_and(|run| run.pacing == LoopDoc::Closed)
    };
    let all = contenders(study, profile);
    let measured: Vec<_> = all
        .iter()
        .enumerate()
        .filter(|(server, contender)| is_closed(*server) && contender.peak().is_some())
        .map(|(_, contender)| contender)
        .collect();
    let find = |name: &str| measured.iter().find(|of| of.name == name);
    let pairs = measured.iter().flat_map(|other| {
        let baselines = study.doc.baselines_of(&other.name).into_iter();
        baselines.filter_map(move |name| Some((*find(name)?, *other)))
    });
    let compared: Vec<_> = pairs
        .filter_map(|(one, other)| verdict(one, other))
        .collect();
    match (&measured[..], compared.len()) {
        ([], _) => Vec::new(),
        (_, 1..=SENTENCES_MAX) => compared,
        ([one], _) => one
            .peak()
            .map(|peak| alone(one, peak))
            .into_iter()
            .collect(),
        (several, _) => best(several).into_iter().collect(),
    }
}

/// Compares a server with its baseline.
fn verdict(baseline: &Contender, other: &Contender) -> Option<String> {
    let (from, to) = (baseline.peak()?, other.peak()?);
    if baseline.metric != other.metric {
        return None;
    }
    let found = Change::between(&from.height, &to.height, CONFIDENCE)?;
    let (one, two) = (plain(&baseline.name), plain(&other.name));
    let values = match from.clients == to.clients {
        true => format!(
            "{} against {} at {}",
            height(other, to),
            height(baseline, from),
            counted(to.clients.into(), "client")
        ),
        false => format!("{} against {}", placed(other, to), placed(baseline, from)),
    };
    let percent = change(found.percent);
    let interval = found.interval.filter(|of| of.noise == Noise::Passes);
    let sentence = match interval {
        Some(interval) => {
            let range = changes(interval.low, interval.high);
            let told = match (interval.shows_a_change(), found.percent > 0.0) {
                (true, true) => format!("{two} is faster than {one}"),
                (true, false) => format!("{two} is slower than {one}"),
                (false, _) => format!("no difference shown between {one} and {two}"),
            };
            format!("{told}: {values}, {percent} (95 % interval {range}).")
        }
        None => format!(
            "{two} against {one}: {values}, {percent}. One pass cannot tell this from noise; \
             repeat with 5 passes."
        ),
    };
    let limited: Vec<_> = [(&one, from), (&two, to)]
        .into_iter()
        .filter(|(_, peak)| peak.is_generator_limited)
        .map(|(name, _)| name.as_str())
        .collect();
    Some(match limited.is_empty() {
        true => sentence,
        false => format!(
            "{sentence} Client-limited: {}; the server may be faster.",
            limited.join(", ")
        ),
    })
}

/// Names the servers with the highest and the lowest peak.
fn best(contenders: &[&Contender]) -> Option<String> {
    let metric = contenders.first()?.metric;
    let alike = contenders.iter().filter(|of| of.metric == metric);
    let mut peaks: Vec<_> = alike.filter_map(|of| Some((*of, of.peak()?))).collect();
    peaks.sort_by(|one, other| other.1.height.value.total_cmp(&one.1.height.value));
    let ((first, high), (last, low)) = (peaks.first()?, peaks.last()?);
    Some(format!(
        "{} has the highest peak of {} servers, {}; {} the lowest, {}.",
        plain(&first.name),
        peaks.len(),
        placed(first, high),
        plain(&last.name),
        placed(last, low)
    ))
}

fn alone(contender: &Contender, peak: &CurvePoint) -> String {
    let p99 = peak.response_p99_ns.map(|ns| latency(ns as f64));
    let p99 = p99.map_or_else(String::new, |p99| format!(", p99 {p99}"));
    let limited = match peak.is_generator_limited {
        true => " Client-limited: the server may be faster.",
        false => "",
    };
    let (name, peak) = (plain(&contender.name), placed(contender, peak));
    format!("{name} reaches {peak}{p99}.{limited}")
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
