//! The workload of a plan in one line.

use itertools::Itertools as _;
use smbench_model::access::Access;
use smbench_model::workload::Timing;

use crate::doc::{FileioDoc, Named, PatternDoc, PlanDoc, ReplayDoc, WorkloadDoc};
use crate::units::{self, bytes, counted, percent, plain, seconds};

/// Names the profile, and describes its workload.
pub(super) fn profile(plan: &PlanDoc) -> String {
    let workload = &plan.workload;
    let mut parts = Vec::new();
    if !workload.sizes.is_empty() {
        parts.push(sizes(workload));
        let access = match workload.access {
            Access::Random => "random",
            Access::Sequential => "sequential",
        };
        parts.push(access.to_owned());
    }
    if let Some(read_percent) = workload.read_percent {
        parts.push(format!("{} reads", percent(read_percent)));
    }
    if let Some(readers_percent) = workload.readers_percent {
        let readers = percent(readers_percent);
        parts.push(format!("{readers} of the clients read, the others write"));
    }
    if !workload.operations.is_empty() {
        parts.push(format!("actions {}", operations(workload)));
    }
    parts.extend(pattern(&workload.pattern));
    parts.extend(workload.replay.as_ref().map(replay));
    parts.extend(users(plan));
    parts.extend(workload.fileio.as_ref().map(fileio));
    if let Some(writes) = workload.flush_every_writes {
        parts.push(format!("flush every {}", counted(writes.into(), "write")));
    }
    let population = plan.populations.first();
    let population = population.map(|one| format!(", population {}", plain(&one.name)));
    let (profile, of) = (plain(&plan.profile), population.unwrap_or_default());
    format!("{profile}{of}: {}", parts.join(", "))
}

/// Describes the lines of an access pattern: common values, or ranges from the
/// lowest to the highest.
fn pattern(lines: &[PatternDoc]) -> Option<String> {
    let span = |of: fn(&PatternDoc) -> f64, print: fn(f64) -> String| {
        let ends = lines.iter().map(of).minmax_by(f64::total_cmp);
        let (least, most) = ends.into_option()?;
        Some(if least == most {
            print(least)
        } else {
            format!("{} to {}", print(least), print(most))
        })
    };
    let mut text = format!(
        "{}, {} random, {} reads",
        span(|line| line.bytes.into(), |size| bytes(size as u64))?,
        span(|line| line.random_percent, percent)?,
        span(|line| line.read_percent, percent)?,
    );
    if lines.iter().any(|line| line.delay_s > 0.0) {
        let delay = span(|line| line.delay_s * 1e9, units::latency)?;
        text += &format!(", {delay} before each burst");
    }
    if lines.iter().any(|line| line.burst > 1) {
        let burst = span(|line| line.burst.into(), |burst| format!("{burst:.0}"))?;
        text += &format!(", bursts of {burst}");
    }
    if lines.iter().any(|line| line.reply_bytes > 0) {
        let reply = span(|line| line.reply_bytes.into(), |size| bytes(size as u64))?;
        text += &format!(", replies of {reply}");
    }
    Some(text)
}

/// Describes the test in a few of sysbench's terms.
fn fileio(test: &FileioDoc) -> String {
    let FileioDoc {
        test_mode,
        fsync_freq,
        fsync_all,
        fsync_end,
        ..
    } = test;
    let flushes = match (fsync_all, fsync_freq, fsync_end) {
        (true, _, _) => "fsync after each write".to_owned(),
        (false, 0, false) => "no fsync".to_owned(),
        (false, 0, true) => "fsync at the end".to_owned(),
        (false, every, end) => {
            let end = if *end { ", and at the end" } else { "" };
            format!("fsync of all files every {every} requests{end}")
        }
    };
    format!("{}, {flushes}", plain(test_mode))
}

/// Says as whom recorded users log on, if the capture has several.
fn users(plan: &PlanDoc) -> Option<String> {
    let users = plan.workload.replay.as_ref()?.recorded_users?;
    let accounts = plan.sessions.accounts.unwrap_or(1);
    let accounts = counted(accounts.into(), "account");
    (users > 1).then(|| format!("{users} recorded users as {accounts}"))
}

/// Describes the replay.
fn replay(replay: &ReplayDoc) -> String {
    let operations = replay.operations.values().copied();
    let operations = counted(operations.fold(0, u64::saturating_add), "operation");
    let length = match (&replay.timing, replay.length_s) {
        (Named::Known(Timing::Recorded), Some(length)) => {
            let speed = replay.speed.map(|speed| format!(", {speed} times as fast"));
            let speed = speed.unwrap_or_default();
            format!(" recorded over {}{speed}", seconds(length))
        }
        _ => String::new(),
    };
    let loops = match replay.loops {
        Some(loops) => format!("{} of each client", counted(loops.into(), "loop")),
        None => "over and over".to_owned(),
    };
    let copies = replay
        .clients_per_copy
        .map(|clients| format!(", {} per copy", counted(clients.into(), "client")));
    let copies = copies.unwrap_or_default();
    let skipped = replay.skipped.values().copied();
    let skipped = match skipped.fold(0, u64::saturating_add) {
        0 => String::new(),
        lines => format!(", {} left out", counted(lines, "line")),
    };
    format!(
        "replay of {}, {operations}{length}{copies}, {loops}{skipped}",
        plain(&replay.source)
    )
}

/// Highest number of operations shown; the document has them all.
const OPERATIONS_SHOWN: usize = 4;

/// Names the operations with the highest weights, equal names together.
fn operations(workload: &WorkloadDoc) -> String {
    let mut weights: Vec<(&str, f64)> = Vec::new();
    for entry in &workload.operations {
        match weights.iter_mut().find(|(op, _)| *op == entry.op) {
            Some((_, weight)) => *weight += entry.weight_percent,
            None => weights.push((&entry.op, entry.weight_percent)),
        }
    }
    weights.retain(|(_, weight)| *weight > 0.0);
    weights.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let more = weights.len().saturating_sub(OPERATIONS_SHOWN);
    let shown = weights.iter().take(OPERATIONS_SHOWN);
    let shown = shown.map(|(op, weight)| format!("{} {}", percent(*weight), plain(op)));
    let more = (more > 0).then(|| format!("{more} more"));
    shown.chain(more).join(", ")
}

fn sizes(workload: &WorkloadDoc) -> String {
    let sizes = workload.sizes.iter().map(|entry| u64::from(entry.bytes));
    match sizes.minmax().into_option() {
        Some((least, most)) if least == most => bytes(most),
        Some((least, most)) => format!("{} to {}", bytes(least), bytes(most)),
        None => "no requests".to_owned(),
    }
}
