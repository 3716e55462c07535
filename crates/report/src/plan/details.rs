//! The parts of a plan that its four lines sum up or leave out.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::time::Duration;

use itertools::Itertools as _;
use serde_json::Value;
use smbench_model::lists::clients::ClientList;
use smbench_model::sessions::{Mode, SessionOptions};
use smbench_model::stages::{Stages, StagesPurpose};
use smbench_model::units::{Size, format_duration};

use crate::doc::{DriverDoc, Named, OperationDoc, PatternDoc, PlanDoc, ReplayDoc, StreamDoc};
use crate::units::{counted, percent, plain, rate, seconds, throughput};

/// Describes the load points of a plan and the time that they take, and lists its
/// requests and sizes. A text may have several lines.
#[must_use]
pub fn details(plan: &PlanDoc) -> Vec<(&'static str, String)> {
    let mut details = vec![
        ("clients", clients(plan)),
        ("sessions", sessions(plan)),
        ("time", time(plan)),
    ];
    details.extend(
        plan.stream
            .as_ref()
            .map(|stream| ("stream", frames(stream))),
    );
    let workload = &plan.workload;
    let mut requests: Vec<_> = workload.operations.iter().map(operation).collect();
    requests.extend(workload.pattern.iter().map(pattern));
    requests.extend(workload.replay.iter().flat_map(replay));
    let is_mixed = workload.sizes.len() > 1;
    let sizes = workload.sizes.iter().filter(|_| is_mixed).map(|entry| {
        let size = format!("{:#}", Size(entry.bytes.into()));
        format!("{size:>9}  {:>8}", percent(entry.weight_percent))
    });
    let populations = match &plan.populations[..] {
        [_, _, ..] => super::populations::lines(plan),
        _ => Vec::new(),
    };
    let labelled = [
        ("populations", populations),
        ("requests", requests),
        ("sizes", sizes.collect()),
    ];
    for (label, lines) in labelled {
        details.extend((!lines.is_empty()).then(|| (label, lines.join("\n"))));
    }
    details
}

/// Describes the frames of each stream, and what they add up to.
pub(super) fn frames(stream: &StreamDoc) -> String {
    let bytes_per_s = f64::from(stream.frame_bytes) * stream.frames_per_s;
    format!(
        "frames of {} bytes, {}, {} per second: {} Mbit/s ({} MB/s) per client",
        stream.frame_bytes,
        plain(&stream.layout.to_string()),
        rate(stream.frames_per_s),
        throughput(bytes_per_s * 8.0 / 1e6),
        throughput(bytes_per_s / 1e6)
    )
}

fn clients(plan: &PlanDoc) -> String {
    let points = plan.load_points.iter().join(",");
    // As the user wrote it, if that is shorter.
    points
        .parse()
        .map_or(points, |list: ClientList| list.to_string())
}

fn sessions(plan: &PlanDoc) -> String {
    let points = || plan.load_points.iter().copied();
    let most = points().max().unwrap_or(0);
    let rates = plan.rates_per_s.len().max(1) as u64;
    let all = points().map(u64::from).sum::<u64>() * rates * u64::from(plan.repeat);
    let connections = match plan.connections_at(most) {
        connections if connections == u64::from(most) => String::new(),
        connections => format!(" on {}", counted(connections, "connection")),
    };
    let rate = plan.generator.setup_rate;
    let rate = rate.map_or_else(String::new, |rate| format!(", {rate} set up per second"));
    format!("{all} in all, up to {most} at a time{connections}{rate}")
}

fn time(plan: &PlanDoc) -> String {
    let of_pass = plan.load_points.len().max(plan.rates_per_s.len());
    let points = of_pass as u64 * u64::from(plan.repeat);
    let window_s = plan.until_steady_s.unwrap_or(plan.duration_s);
    let per_point = plan.ramp_up_s + window_s + plan.ramp_down_s;
    let all = Duration::try_from_secs_f64(per_point * points as f64).unwrap_or(Duration::MAX);
    let most = if plan.is_until_replayed() || plan.until_steady_s.is_some() {
        "at most "
    } else {
        ""
    };
    format!(
        "{most}{} for {}, without set-up",
        format_duration(all),
        stages(plan).unwrap_or_else(|| counted(points, "load point"))
    )
}

/// Counts the stages of all passes, or the rows of a soak, which are load points of one load.
/// `None` if the plan has none.
fn stages(plan: &PlanDoc) -> Option<String> {
    let stages = plan.stages.as_deref()?;
    let passes = u64::from(plan.repeat);
    Some(match plan.stages_purpose() {
        StagesPurpose::Lines => {
            // A change without a length is no load point.
            let lasting = stages.split(',').filter(|stage| !stage.starts_with("0s:"));
            counted(lasting.count() as u64 * passes, "stage")
        }
        StagesPurpose::Soak => {
            let length = Duration::try_from_secs_f64(plan.duration_s).ok()?;
            // Their number does not depend on the clients.
            let rows = Stages::soak(1, length).ok()?;
            counted(rows.places().count() as u64 * passes, "row")
        }
    })
}

/// Describes an operation of a mix, with its relevant parameters.
fn operation(entry: &OperationDoc) -> String {
    let mut line = format!("{:>8}  {}", percent(entry.weight_percent), plain(&entry.op));
    for (name, value) in &entry.parameters {
        let value = match value {
            Value::Null | Value::Bool(false) => continue,
            Value::Bool(true) => String::new(),
            Value::String(text) => format!(" {}", plain(text)),
            Value::Array(some) if some.is_empty() => continue,
            Value::Array(some) => {
                format!(
                    " {}",
                    plain(&some.iter().filter_map(Value::as_str).join(" "))
                )
            }
            other => format!(" {other}"),
        };
        // Writing to a String cannot fail.
        let _ = write!(line, ", {}{value}", plain(name));
    }
    line
}

/// Describes a line of an access pattern.
fn pattern(line: &PatternDoc) -> String {
    let exact = |bytes: u32| format!("{:#}", Size(bytes.into()));
    let mut text = format!(
        "{:>8}  {:>9}, {} reads, {} random, aligned to {}",
        percent(line.weight_percent),
        exact(line.bytes),
        percent(line.read_percent),
        percent(line.random_percent),
        exact(line.align_bytes)
    );
    if line.delay_s > 0.0 {
        text += &format!(", {} before each burst", seconds(line.delay_s));
    }
    if line.burst > 1 {
        text += &format!(", bursts of {}", line.burst);
    }
    if line.reply_bytes > 0 {
        text += &format!(", replies of {}", exact(line.reply_bytes));
    }
    text
}

/// Describes a replay, verb by verb.
fn replay(replay: &ReplayDoc) -> Vec<String> {
    let operations = replay.operations.values().copied();
    let operations = operations.fold(0, u64::saturating_add);
    let verbs = replay.operations.iter();
    let verbs = verbs.sorted_by_key(|(_, count)| Reverse(**count));
    let verbs = verbs.map(|(verb, &count)| {
        let share = percent(count as f64 / operations.max(1) as f64 * 100.0);
        format!("{share:>8}  {verb:<22}  {count:>9}")
    });
    let mut lines: Vec<_> = verbs.collect();
    lines.push(format!(
        "{} read and {} written per loop",
        Size(replay.bytes_read),
        Size(replay.bytes_written)
    ));
    if replay.closed > 0 {
        let handles = counted(replay.closed, "handle");
        lines.push(format!("{handles} left open, which are closed"));
    }
    let skipped = replay.skipped.iter();
    lines.extend(
        skipped.map(|(what, &lines)| {
            format!("{} of {} left out", counted(lines, "line"), plain(what))
        }),
    );
    lines
}

/// Describes the dialect, signing and encryption that a plan asks for.
#[must_use]
pub fn session(plan: &PlanDoc) -> Vec<(&'static str, String)> {
    let dialect = match plan.sessions.dialect.as_str() {
        "auto" => "the newest that both sides speak".to_owned(),
        range if range.contains("..") => {
            format!("the newest of {} that the server speaks", plain(range))
        }
        one => plain(one),
    };
    let always_signs = matches!(plan.generator.driver, Some(Named::Known(DriverDoc::SmbRs)));
    let mut signing = match plan.sessions.signing {
        Mode::Auto if always_signs => "whatever is not encrypted",
        wanted => mode(wanted),
    }
    .to_owned();
    let algorithm = plan.sessions.signing_algorithm.as_deref();
    if let Some(algorithm) = algorithm.filter(|algorithm| *algorithm != "auto") {
        signing += &format!(", with {}", plain(algorithm));
    }
    let wanted = plan.sessions.encryption;
    let encryption = wanted.map(|wanted| encryption(plan, wanted));
    let mut facts = vec![("dialect", dialect), ("signing", signing)];
    facts.extend(encryption.map(|text| ("encryption", text)));
    facts
}

/// Describes the encryption, with the ciphers offered if they are a choice.
fn encryption(plan: &PlanDoc, wanted: Mode) -> String {
    let all = SessionOptions::default().ciphers;
    let all: Vec<_> = all.iter().map(|cipher| cipher.name().to_owned()).collect();
    let is_choice = |ciphers: &&Vec<String>| all != **ciphers;
    match plan.sessions.ciphers.as_ref().filter(is_choice) {
        Some(ciphers) if wanted != Mode::Off => {
            format!("{}, with {}", mode(wanted), plain(&ciphers.join(" ")))
        }
        _ => mode(wanted).to_owned(),
    }
}

const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Auto => "as the server requires",
        Mode::Required => "required",
        Mode::Off => "off",
    }
}

/// Describes the longest time of each wait.
#[must_use]
pub fn waits(plan: &PlanDoc) -> String {
    let limits = plan.limits;
    let [connect, setup, operation] =
        [limits.connect_s, limits.setup_s, limits.operation_s].map(seconds);
    format!(
        "at most {connect} to connect, {setup} for a set-up request, {operation} for an operation"
    )
}
