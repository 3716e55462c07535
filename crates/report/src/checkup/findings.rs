//! What is remarkable about a server. Each finding has the values that show it, and a bound
//! that a healthy server does not reach.

mod link;

use super::steps::{CheckupStep, MeasuredStep, mean, median_ms, megabytes, op, points};
use super::values::CheckupFinding;
use crate::doc::LoadPointDoc;
use crate::units::{self, plain};

/// Shortest round trip in milliseconds that one request in flight waits for noticeably.
const ROUND_TRIP_MS_MIN: f64 = 1.0;
/// How many times faster 8 in flight must be than 1.
const AHEAD_MIN: f64 = 1.5;
/// Share of the time of a request that the round trip must have.
const ROUND_TRIP_SHARE_MIN: f64 = 0.3;
/// Least cost of signing or encryption in percent.
const COST_MIN: f64 = 10.0;
/// Least time of a flush in milliseconds, and how many times that of the write before it.
const FLUSH_MS_MIN: f64 = 5.0;
const FLUSH_TO_WRITE_MIN: f64 = 4.0;
/// How much longer in milliseconds a lookup of a missing name must take in the folder of the URL
/// than in an empty one. Also how many times as long, without the round trip.
const LOOKUP_MS_MORE_MIN: f64 = 1.0;
const LOOKUP_TO_EMPTY_MIN: f64 = 3.0;
/// Waits of a resolver that gets no answer: multiples of this, and how far beyond them.
const RESOLVER_S: f64 = 5.0;
const RESOLVER_S_BEYOND: f64 = 0.6;
/// Load points in which each log-on must have waited.
const ALL_WAIT_POINTS_MIN: usize = 2;
/// Share of busy CPUs of this machine, from which longer waits show nothing.
const BUSY_MAX: f64 = 0.8;
/// CPU use of a server that has no more, in percent.
const CPU_FULL: f64 = 92.0;

/// Returns the findings, the most important first.
pub(super) fn all(measured: &[MeasuredStep]) -> Vec<CheckupFinding> {
    let findings = [
        client_limited(measured),
        log_on_waits(measured),
        link::full(measured),
        latency_bound(measured),
        slow_flush(measured),
        missing_names(measured),
        cost(
            measured,
            CheckupStep::ReadEncrypted,
            "encryption_cost",
            "Encryption",
        ),
        cost(measured, CheckupStep::ReadSigned, "signing_cost", "Signing"),
        server_cpu_full(measured),
    ];
    findings.into_iter().flatten().collect()
}

fn finding(name: &str, value: f64, unit: &str, text: String) -> CheckupFinding {
    CheckupFinding {
        name: name.to_owned(),
        text,
        value,
        unit: unit.to_owned(),
    }
}

fn ms(value: f64) -> String {
    units::latency(value * 1e6)
}

fn percent(value: f64) -> String {
    format!("{value:.0} %")
}

fn rate(value: f64) -> String {
    format!("{} MB/s", units::throughput(value))
}

fn all_points(measured: &[MeasuredStep]) -> impl Iterator<Item = &LoadPointDoc> {
    let runs = measured.iter().filter_map(|of| of.run.as_ref().ok());
    runs.flat_map(|run| &run.load_points)
}

/// The least round trip in milliseconds.
fn round_trip_ms(measured: &[MeasuredStep]) -> Option<f64> {
    let least = points(measured, CheckupStep::Echo, 1).filter_map(|point| {
        let echo = op(point, "echo")?.service_ns?;
        Some(echo.min as f64 / 1e6)
    });
    least.min_by(f64::total_cmp)
}

fn latency_bound(measured: &[MeasuredStep]) -> Option<CheckupFinding> {
    let trip = round_trip_ms(measured)?;
    let one = mean(measured, CheckupStep::Read, 1, |of| Some(megabytes(of)))?;
    let ahead = mean(measured, CheckupStep::ReadAhead, 1, |of| {
        Some(megabytes(of))
    })?;
    let service = mean(measured, CheckupStep::Read, 1, |of| median_ms(of, "read"))?;
    let is_bound = trip >= ROUND_TRIP_MS_MIN
        && ahead >= one * AHEAD_MIN
        && trip >= service * ROUND_TRIP_SHARE_MIN;
    is_bound.then(|| {
        let text = format!(
            "One stream waits for the network: a round trip takes {}, and a read of 1 MiB {}. \
             With 8 reads in flight the rate is {:.1} times as high ({} against {}). Next: let \
             clients keep more in flight, or copy several files at once.",
            ms(trip),
            ms(service),
            ahead / one,
            rate(ahead),
            rate(one)
        );
        finding("latency_bound", trip, "ms", text)
    })
}

/// Returns the rates of the passes of a step in which this machine was not the limit.
fn sure_rates(measured: &[MeasuredStep], step: CheckupStep) -> Vec<f64> {
    let sure = points(measured, step, 1).filter(|point| !point.is_client_limited());
    sure.map(megabytes).collect()
}

/// What signing or encryption costs. Each pass without it must be faster than each with it. A
/// server on this machine has no network, and shares its CPUs with the cryptography of the client.
fn cost(
    measured: &[MeasuredStep],
    step: CheckupStep,
    name: &str,
    what: &str,
) -> Option<CheckupFinding> {
    if is_here(measured) {
        return None;
    }
    let (plain, dear) = (
        sure_rates(measured, CheckupStep::ReadAhead),
        sure_rates(measured, step),
    );
    let slowest = plain.iter().copied().min_by(f64::total_cmp)?;
    let fastest = dear.iter().copied().max_by(f64::total_cmp)?;
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (without, with) = (mean(&plain), mean(&dear));
    let cost = (1.0 - with / without) * 100.0;
    let is_sure = cost >= COST_MIN && fastest < slowest;
    is_sure.then(|| {
        let text = format!(
            "{what} costs {} of the rate: {} against {} for 1 MiB reads with 8 in flight. Next: \
             compare the CPU of both sides, and a newer algorithm or CPU.",
            percent(cost),
            rate(with),
            rate(without)
        );
        finding(name, cost, "%", text)
    })
}

/// The median is the figure. Where this machine was busy or the limit, the shortest flush decides,
/// because a busy machine delays many of them, and a slow disk all.
fn slow_flush(measured: &[MeasuredStep]) -> Option<CheckupFinding> {
    let flush = mean(measured, CheckupStep::Flush, 1, |of| median_ms(of, "flush"))?;
    let deciding = mean(measured, CheckupStep::Flush, 1, |of| {
        if of.is_client_limited() || !is_idle(of) {
            Some(op(of, "flush")?.service_ns?.min as f64 / 1e6)
        } else {
            median_ms(of, "flush")
        }
    })?;
    let write = mean(measured, CheckupStep::Flush, 1, |of| median_ms(of, "write"))?;
    let own = deciding - round_trip_ms(measured).unwrap_or(0.0);
    (own >= FLUSH_MS_MIN && flush >= write * FLUSH_TO_WRITE_MIN).then(|| {
        let text = format!(
            "The server honours flushes, and one takes {}; the write before it takes {}. \
             Databases and virtual machines wait that long for each commit. Next: a faster log \
             device or disk cache with power protection.",
            ms(flush),
            ms(write)
        );
        finding("slow_flush", flush, "ms", text)
    })
}

/// The median is the figure. The shortest lookup decides, because a busy machine delays many of
/// them, and a large folder all.
fn missing_names(measured: &[MeasuredStep]) -> Option<CheckupFinding> {
    let [empty, here] = [CheckupStep::MissingNames, CheckupStep::MissingNamesBeside].map(|step| {
        let least = mean(measured, step, 1, |of| {
            Some(op(of, "lookup_missing")?.service_ns?.min as f64 / 1e6)
        });
        let median = mean(measured, step, 1, |of| median_ms(of, "lookup_missing"));
        least.zip(median)
    });
    let ((empty_least, empty), (here_least, here)) = (empty?, here?);
    let trip = round_trip_ms(measured).unwrap_or(0.0);
    let grows = here_least - empty_least >= LOOKUP_MS_MORE_MIN
        && here_least - trip >= (empty_least - trip) * LOOKUP_TO_EMPTY_MIN;
    grows.then(|| {
        let text = format!(
            "Lookups of missing names grow with the folder: one takes {} here, and {} in an empty \
             folder. The server compares the name with each one that is there, to ignore case. \
             Next: fewer files in a folder, or a share that heeds case.",
            ms(here),
            ms(empty)
        );
        finding("missing_names", here, "ms", text)
    })
}

/// The longest log-on decides. Many at once may last longer than the wait, so that points count too
/// in which even the shortest one waited.
fn log_on_waits(measured: &[MeasuredStep]) -> Option<CheckupFinding> {
    let set_ups = all_points(measured).filter_map(|point| point.setup.latency_ns);
    let log_ons = all_points(measured).filter_map(|point| op(point, "session")?.service_ns);
    let all: Vec<_> = set_ups.chain(log_ons).collect();
    let seconds = |ns: u64| ns as f64 / 1e9;
    let waits = |took_s: &f64| {
        let steps = (took_s / RESOLVER_S).floor();
        steps >= 1.0 && took_s - steps * RESOLVER_S <= RESOLVER_S_BEYOND
    };
    let shortest = all.iter().map(|times| seconds(times.min)).filter(waits);
    let shortest: Vec<_> = shortest.collect();
    let longest = all.iter().map(|times| seconds(times.max));
    let longest = longest.max_by(f64::total_cmp).filter(waits).or_else(|| {
        let is_sure = shortest.len() >= ALL_WAIT_POINTS_MIN;
        let longest = shortest.into_iter().max_by(f64::total_cmp);
        longest.filter(|_| is_sure)
    });
    longest.map(|longest| {
        let text = format!(
            "Log-ons wait in steps of 5 s: the longest took {}. Servers wait so long for a name \
             server that does not answer. Next: check the server's name servers, and its reverse \
             look-up of this client.",
            units::seconds(longest)
        );
        finding("log_on_waits", longest * 1e3, "ms", text)
    })
}

/// Returns whether the server shares this machine.
fn is_here(measured: &[MeasuredStep]) -> bool {
    let mut runs = measured.iter().filter_map(|of| of.run.as_ref().ok());
    runs.any(|run| {
        run.server
            .notes
            .iter()
            .any(|note| note.contains("share this machine"))
    })
}

/// Returns whether CPUs of this machine are known to have been free.
fn is_idle(point: &LoadPointDoc) -> bool {
    let generator = point.generator.as_ref();
    let busy = generator.and_then(|generator| generator.machine_busy_share);
    busy.is_some_and(|share| share < BUSY_MAX)
}

/// A server on this machine shares its CPUs with the generator, so nothing follows from them.
fn server_cpu_full(measured: &[MeasuredStep]) -> Option<CheckupFinding> {
    if is_here(measured) {
        return None;
    }
    let busy = all_points(measured).filter_map(|point| {
        let cpu = point.server_cpu.as_ref()?;
        Some((cpu.percent?, cpu.source.clone()))
    });
    let (percent, source) = busy.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (percent >= CPU_FULL).then(|| {
        let text = format!(
            "The server's CPUs are full: up to {} busy, as {} says. Next: compare signing and \
             encryption, and look at the server's processes.",
            units::utilisation(percent),
            plain(&source)
        );
        finding("server_cpu_full", percent, "%", text)
    })
}

fn client_limited(measured: &[MeasuredStep]) -> Option<CheckupFinding> {
    let limited = all_points(measured).filter(|point| point.is_client_limited());
    let limited: Vec<_> = limited.collect();
    let reason = limited
        .iter()
        .find_map(|point| point.generator.as_ref()?.reason.clone())?;
    let all = all_points(measured).count();
    let text = format!(
        "This machine was the limit in {} of {all} load points: {}. Their rates say little about \
         the server. Next: end other programs here, or use a faster client.",
        limited.len(),
        plain(&reason)
    );
    Some(finding(
        "client_limited",
        limited.len() as f64,
        "load points",
        text,
    ))
}
