//! Settings of a run, in a few labelled lines.

use smbench_model::record::OpKind;

use crate::doc::{
    AccessDoc, FileioDoc, FlushDoc, LoadPointDoc, LoopDoc, OutcomeDoc, PatternDoc, Place, PlanDoc,
    ReplayDoc, RunDoc, ScopeDoc, ServerDoc, VerifyDoc, WorkloadDoc,
};
use crate::units::{self, bytes, counted, percent, plain, seconds};

/// Working set below which the data fits in the memory of any file server.
const CACHED_ANYWHERE_BYTES: u64 = 1 << 30;

/// Describes the run, its settings and its server, as labels of up to 8 characters
/// and texts without control characters. Notes on the server come last.
#[must_use]
pub fn facts(doc: &RunDoc) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("run", run(doc)),
        ("profile", workload(&doc.plan)),
        ("server", server(&doc.server)),
        ("load", load(doc)),
        ("data", data(doc)),
        ("window", window(&doc.plan)),
    ];
    facts.extend(
        doc.server
            .software
            .iter()
            .map(|software| ("software", plain(software))),
    );
    facts.extend(doc.mixed_passes().map(|told| ("warning", plain(&told))));
    facts.extend(flushes(doc).map(|told| ("flushes", told)));
    facts.extend(doc.server.notes.iter().map(|note| ("note", plain(note))));
    facts
}

fn run(doc: &RunDoc) -> String {
    let outcome = match doc.outcome {
        OutcomeDoc::Complete => complete(&doc.load_points),
        OutcomeDoc::Interrupted => "interrupted".to_owned(),
        OutcomeDoc::Aborted => "aborted".to_owned(),
    };
    let reason = doc
        .outcome_reason
        .as_ref()
        .map(|reason| format!(": {}", plain(reason)))
        .unwrap_or_default();
    format!(
        "{}, {} {}, {outcome}{reason}",
        plain(&doc.started),
        plain(&doc.tool.name),
        plain(&doc.tool.version)
    )
}

fn complete(points: &[LoadPointDoc]) -> String {
    match points.iter().filter(|point| !point.valid).count() {
        0 => "complete".to_owned(),
        invalid => format!(
            "complete, {invalid} of {} not valid",
            counted(points.len() as u64, "load point")
        ),
    }
}

fn workload(plan: &PlanDoc) -> String {
    let workload = &plan.workload;
    let access = match workload.access {
        AccessDoc::Random => "random",
        AccessDoc::Sequential => "sequential",
    };
    let mut parts = Vec::new();
    if !workload.sizes.is_empty() {
        parts.push(sizes(workload));
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
        parts.push(operations(workload));
    }
    parts.extend(pattern(&workload.pattern));
    parts.extend(workload.replay.as_ref().map(replay));
    parts.extend(workload.fileio.as_ref().map(fileio));
    if let Some(writes) = workload.flush_every_writes {
        parts.push(format!("flush every {}", counted(writes.into(), "write")));
    }
    format!("{}: {}", plain(&plan.profile), parts.join(", "))
}

/// Describes the lines of an access pattern: common values, or ranges from the
/// lowest to the highest.
fn pattern(lines: &[PatternDoc]) -> Option<String> {
    let span = |of: fn(&PatternDoc) -> f64, print: fn(f64) -> String| {
        let values = || lines.iter().map(of);
        let (least, most) = (
            values().min_by(f64::total_cmp)?,
            values().max_by(f64::total_cmp)?,
        );
        Some(match least == most {
            true => print(least),
            false => format!("{} to {}", print(least), print(most)),
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

/// Describes the replay.
fn replay(replay: &ReplayDoc) -> String {
    let operations: u64 = replay.operations.values().sum();
    let loops = match replay.loops {
        Some(loops) => format!("{} of each client", counted(loops.into(), "loop")),
        None => "over and over".to_owned(),
    };
    let skipped: u64 = replay.skipped.values().sum();
    let skipped = match skipped {
        0 => String::new(),
        lines => format!(", {} left out", counted(lines, "line")),
    };
    format!(
        "replay of {}, {}, {loops}{skipped}",
        plain(&replay.source),
        counted(operations, "operation")
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
    let mut shown: Vec<_> = weights
        .iter()
        .take(OPERATIONS_SHOWN)
        .map(|(op, weight)| format!("{} {}", percent(*weight), plain(op)))
        .collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}

fn sizes(workload: &WorkloadDoc) -> String {
    let sizes = || workload.sizes.iter().map(|entry| u64::from(entry.bytes));
    match (sizes().min(), sizes().max()) {
        (Some(least), Some(most)) if least == most => bytes(most),
        (Some(least), Some(most)) => format!("{} to {}", bytes(least), bytes(most)),
        _ => "no requests".to_owned(),
    }
}

fn server(server: &ServerDoc) -> String {
    let place = match server.place {
        Place::Remote => "",
        Place::Embedded => " (embedded)",
    };
    let auth = server
        .auth
        .as_ref()
        .map(|auth| format!(", auth {}", plain(auth)));
    if server.dialect == "none" {
        return format!("{}{place}, not SMB", plain(&server.url));
    }
    format!(
        "{}{place}, SMB {}{}, signing {}, encryption {}",
        plain(&server.url),
        plain(&server.dialect),
        auth.unwrap_or_default(),
        plain(&server.signing),
        plain(&server.encryption)
    )
}

/// Explains how the server handles a FLUSH. The unknown case is only reported if
/// the run has flushes.
fn flushes(doc: &RunDoc) -> Option<String> {
    let flushes = |point: &LoadPointDoc| point.whole.contains_key(OpKind::Flush.name());
    let told = match doc.server.flush? {
        FlushDoc::Honours => match doc.idle_flushes() {
            Some(idle) => return Some(format!("honoured, but {}", plain(&idle))),
            None => "honoured: on stable storage before they are answered",
        },
        FlushDoc::Ignores => "ignored: answered without writing",
        FlushDoc::Unknown if doc.load_points.iter().any(flushes) => {
            "nobody has said whether the server honours them"
        }
        FlushDoc::Unknown => return None,
    };
    Some(told.to_owned())
}

fn load(doc: &RunDoc) -> String {
    let pacing = pacing(doc);
    let verify = match doc.plan.verify {
        VerifyDoc::Off => "",
        VerifyDoc::ReadBack => ", what is read is verified",
    };
    let driver = match doc.plan.driver.as_deref() {
        None | Some("native") => String::new(),
        Some(other) => format!(", driver {}", plain(other)),
    };
    let operations = match doc.plan.operations {
        None => "",
        Some(_) => ", operations not the profile's",
    };
    let oplock = match doc.plan.oplock.as_deref() {
        None => String::new(),
        Some(asked) => format!(", oplock {}", plain(asked)),
    };
    let most_clients = doc.plan.load_points.iter().copied().max();
    let threads = doc.plan.threads_at(most_clients.unwrap_or(u32::MAX));
    format!(
        "{pacing} {} outstanding per client{}, {}, seed {}{driver}{operations}{oplock}{verify}",
        doc.plan.outstanding,
        connections(&doc.plan),
        counted(threads.into(), "thread"),
        doc.plan.seed
    )
}

/// Describes the event that starts operations. The number in flight follows this
/// text.
fn pacing(doc: &RunDoc) -> String {
    let plan = &doc.plan;
    let ramp = match plan.ramp.as_deref() {
        Some("linear") => ", clients join one by one",
        _ => "",
    };
    match (doc.pacing, plan.rate_per_s, plan.think_time_s) {
        (LoopDoc::Rate, Some(rate), _) => {
            let scope = match plan.rate_scope.as_deref() {
                Some("client") => " per client",
                _ => "",
            };
            let arrivals = plain(plan.arrivals.as_deref().unwrap_or("constant"));
            let rate = units::rate(rate);
            format!("{rate} operations/s{scope}, {arrivals} arrivals{ramp}, at most")
        }
        (LoopDoc::Rate, None, _) => "at a rate, at most".to_owned(),
        (LoopDoc::Recorded, ..) => format!("as recorded{ramp}, at most"),
        (LoopDoc::Closed, _, Some(think_s)) => {
            let kind = plain(plan.think_distribution.as_deref().unwrap_or("fixed"));
            let think = units::latency(think_s * 1e9);
            format!("closed loop, {kind} think time of {think}{ramp}, at most")
        }
        (LoopDoc::Closed, ..) => format!("closed loop{ramp},"),
    }
}

/// Describes how sessions share connections, unless each has its own.
fn connections(plan: &PlanDoc) -> String {
    let part = |number: Option<u32>, what, of| match number {
        Some(number @ 2..) => format!(", {} per {of}", counted(number.into(), what)),
        _ => String::new(),
    };
    part(plan.sessions_per_connection, "session", "connection")
        + &part(plan.connections_per_session, "connection", "session")
}

fn data(doc: &RunDoc) -> String {
    let plan = &doc.plan;
    if plan.driver.as_deref() == Some("own") {
        return "that of a target that smbench does not know".to_owned();
    }
    let workload = &plan.workload;
    if workload.replay.is_some() && plan.bytes_on_share == 0 {
        return "files that the replay makes".to_owned();
    }
    if plan.bytes_on_share == 0 {
        return "no files on the share".to_owned();
    }
    let scope = match workload.scope {
        ScopeDoc::Private => "per client",
        ScopeDoc::Shared => "shared by all clients",
    };
    let hint = if plan.bytes_on_share < CACHED_ANYWHERE_BYTES {
        " (fits the cache of any server)"
    } else {
        ""
    };
    if workload.replay.is_some() {
        return format!(
            "{} per client at first, {} on the share{hint}, and files that the replay makes",
            counted(workload.files.into(), "file"),
            bytes(plan.bytes_on_share)
        );
    }
    format!(
        "{} of {} {scope}, {} on the share{hint}",
        counted(workload.files.into(), "file"),
        bytes(workload.file_bytes),
        bytes(plan.bytes_on_share)
    )
}

fn window(plan: &PlanDoc) -> String {
    if plan
        .workload
        .replay
        .as_ref()
        .is_some_and(|replay| replay.loops.is_some())
    {
        return format!(
            "until all clients have ended, {} at most",
            seconds(plan.duration_s)
        );
    }
    if let Some(test) = plan.workload.fileio.as_ref() {
        let warm_up = match plan.ramp_up_s {
            0.0 => String::new(),
            warm_up => format!(" after a warm-up of {}", seconds(warm_up)),
        };
        return match test.events {
            0 => format!("{}{warm_up}", seconds(plan.duration_s)),
            events => format!(
                "until {} are done, {} at most{warm_up}",
                counted(events, "event"),
                seconds(plan.duration_s)
            ),
        };
    }
    let passes = match plan.repeat {
        1 => "1 pass".to_owned(),
        repeat => format!("{repeat} passes"),
    };
    format!(
        "{} per load point, ramps of {} and {} excluded, {passes}",
        seconds(plan.duration_s),
        seconds(plan.ramp_up_s),
        seconds(plan.ramp_down_s)
    )
}
