//! The plan of a run in words: the one text that `smbench plan`, the header of
//! results and the report share.
//!
//! Texts have no control characters. Not here: what the server negotiated.

mod details;
mod populations;
mod workload;

pub use details::{details, session, waits};
pub(crate) use populations::credits;

use std::time::Duration;

use smbench_model::contents::Verify;
use smbench_model::files::Scope;
use smbench_model::load::{RateScope, Spacing};
use smbench_model::stages::StagesPurpose;
use smbench_model::units::format_duration;

use crate::doc::{
    ArrivalsDoc, DriverDoc, FindKind, LoopDoc, Named, OperationDoc, PlanDoc, StreamDoc, TreeDoc,
    WorkloadDoc,
};
use crate::units::{self, bytes, counted, plain, seconds};

/// Working set below which the data fits in the memory of any file server.
const CACHED_ANYWHERE_BYTES: u64 = 1 << 30;

/// Describes a plan in four lines: the profile, the load, the data, the window.
#[must_use]
pub fn facts(plan: &PlanDoc, pacing: LoopDoc) -> [(&'static str, String); 4] {
    [
        (
            "profile",
            match &plan.populations[..] {
                [_, _, ..] => populations::profile(plan),
                _ => workload::profile(plan),
            },
        ),
        ("load", load(plan, pacing)),
        ("data", data(plan)),
        ("window", window(plan)),
    ]
}

/// Formats a number of passes: `1 pass`, `3 passes`.
#[must_use]
pub fn passes(number: u32) -> String {
    match number {
        1 => "1 pass".to_owned(),
        number => format!("{number} passes"),
    }
}

/// Describes the load of a search, and the window of a probe, in a line.
#[must_use]
pub fn of_search(plan: &PlanDoc, pacing: LoopDoc, kind: FindKind) -> String {
    let clients = plan.load_points.iter().copied().max().unwrap_or(0);
    let clients = counted(clients.into(), "client");
    let model = match kind {
        FindKind::Rate | FindKind::Logons => format!(
            "{clients} at rates that the search chooses, {} arrivals",
            arrivals(plan)
        ),
        FindKind::Clients => {
            format!("{}, at most {clients}", load_model(plan, pacing))
        }
        FindKind::Sessions => {
            let think_s = plan.think_time_s.unwrap_or_default();
            let interval = units::latency(think_s * 1e9);
            let held = seconds(plan.duration_s);
            let most = plan.load_points.iter().copied().max().unwrap_or(0);
            // One more is that of the run.
            let most = counted(u64::from(most) + 1, "session");
            return format!("at most {most}, an ECHO in each every {interval}; held {held}");
        }
    };
    let load = load_parts(plan, model, pacing, Vec::new());
    format!("{load}; {} per probe", per_point(plan))
}

/// Describes the load and the window in a line, without threads and seed.
#[must_use]
pub fn in_brief(plan: &PlanDoc, pacing: LoopDoc) -> String {
    let load = load_parts(plan, load_model(plan, pacing), pacing, Vec::new());
    let window = if plan.is_until_replayed() || plan.workload.fileio.is_some() {
        window(plan)
    } else {
        format!(
            "{}, {}",
            in_stages(plan).unwrap_or_else(|| format!("{} per load point", per_point(plan))),
            passes(plan.repeat)
        )
    };
    format!("{load}; {window}")
}

fn load(plan: &PlanDoc, pacing: LoopDoc) -> String {
    let most_clients = plan.load_points.iter().copied().max();
    let threads = plan.threads_at(most_clients.unwrap_or(u32::MAX));
    let kind = match plan.generator.pin_threads {
        Some(true) => "pinned thread",
        _ => "thread",
    };
    let generator = vec![counted(threads.into(), kind), format!("seed {}", plan.seed)];
    load_parts(plan, load_model(plan, pacing), pacing, generator)
}

/// Describes the load, with texts about the generator before what is seldom set.
fn load_parts(plan: &PlanDoc, model: String, pacing: LoopDoc, generator: Vec<String>) -> String {
    let mut parts = match plan.populations.len() {
        0 | 1 => vec![model, outstanding(plan, pacing)],
        // The populations have loads of their own.
        several => vec![counted(several as u64, "population")],
    };
    parts.extend(connections(plan));
    parts.extend(generator);
    parts.extend(match &plan.generator.driver {
        None | Some(Named::Known(DriverDoc::Native)) => None,
        Some(other) => Some(format!("driver {}", plain(&other.to_string()))),
    });
    let is_own = plan.operations.is_some();
    parts.extend(is_own.then(|| "operations not the profile's".to_owned()));
    let oplock = plan.sessions.oplock.as_ref();
    parts.extend(oplock.map(|asked| format!("oplock {}", plain(&asked.to_string()))));
    let handles = plan.sessions.handles.as_ref();
    parts.extend(handles.map(|kind| format!("{} handles", plain(&kind.to_string()))));
    let reconnect = plan.sessions.reconnect_s;
    let churn = plan.sessions.churn.as_ref();
    parts.extend(churn.map(|rate| format!("churn {}", plain(rate))));
    let vanish = plan.sessions.vanish.as_ref();
    parts.extend(vanish.map(|share| format!("vanish {}", plain(share))));
    parts.extend(reconnect.map(|limit| format!("{} to come back", seconds(limit))));
    parts.extend(match plan.verify {
        Verify::Off => None,
        Verify::ReadBack => Some(populations::verified(plan)),
    });
    parts.join(", ")
}

/// Describes the event that starts operations, and how clients join.
fn load_model(plan: &PlanDoc, pacing: LoopDoc) -> String {
    let model = match (pacing, plan.rate_per_s, plan.think_time_s) {
        _ if let Some(stream) = &plan.stream => streams(stream),
        (LoopDoc::Rate, Some(rate), _) => {
            let scope = match plan.rate_scope {
                Some(Named::Known(RateScope::Client)) => " per client",
                _ => "",
            };
            let (rates, points) = match &plan.rates_per_s[..] {
                [first, .., last] => {
                    let points = plan.rates_per_s.len();
                    let clients = plan.load_points.iter().copied().max().unwrap_or(0);
                    let clients = counted(clients.into(), "client");
                    let (first, last) = (units::rate(*first), units::rate(*last));
                    (
                        format!("{first} to {last}"),
                        format!(" in {points} load points of {clients}"),
                    )
                }
                _ => (units::rate(rate), String::new()),
            };
            format!(
                "{rates} operations/s{scope}{points}, {} arrivals",
                arrivals(plan)
            )
        }
        (LoopDoc::Rate, None, _) => "at a rate".to_owned(),
        (LoopDoc::Recorded, ..) => "as recorded".to_owned(),
        (LoopDoc::Closed, _, Some(think_s)) => {
            let fixed = Named::Known(Spacing::Fixed);
            let kind = plan.think_distribution.as_ref().unwrap_or(&fixed);
            let think = units::latency(think_s * 1e9);
            format!(
                "closed loop, {} think time of {think}",
                plain(&kind.to_string())
            )
        }
        (LoopDoc::Closed, ..) => "closed loop".to_owned(),
    };
    if plan.is_joined_one_by_one() {
        model + ", clients join one by one"
    } else {
        model
    }
}

/// Describes the stream that each client is.
fn streams(stream: &StreamDoc) -> String {
    format!(
        "streams of {} frames/s, {} ahead, {} starts",
        units::rate(stream.frames_per_s),
        counted(stream.read_ahead_frames.into(), "frame"),
        plain(&stream.start.to_string())
    )
}

fn arrivals(plan: &PlanDoc) -> String {
    let constant = Named::Known(ArrivalsDoc::Constant);
    plain(&plan.arrivals.as_ref().unwrap_or(&constant).to_string())
}

fn outstanding(plan: &PlanDoc, pacing: LoopDoc) -> String {
    let most = match pacing {
        LoopDoc::Closed if plan.think_time_s.is_none() => "",
        _ => "at most ",
    };
    format!("{most}{} outstanding per client", plan.outstanding)
}

/// Describes how sessions use connections, as far as it was asked for.
fn connections(plan: &PlanDoc) -> impl Iterator<Item = String> {
    let shared = |number: Option<u32>, what, of| {
        let number = number.filter(|&number| number > 1)?;
        Some(format!("{} per {of}", counted(number.into(), what)))
    };
    let credits = |credits: u16| format!("at most {}", counted(credits.into(), "credit"));
    let parts = [
        shared(
            plan.sessions.sessions_per_connection,
            "session",
            "connection",
        ),
        shared(
            plan.sessions.connections_per_session,
            "connection",
            "session",
        ),
        plan.sessions.credits.map(credits),
        plan.sessions
            .source_ip
            .as_ref()
            .map(|addresses| format!("from {}", plain(addresses))),
        plan.sessions
            .accounts
            .map(|accounts| format!("as {}", counted(accounts.into(), "user"))),
    ];
    parts.into_iter().flatten()
}

fn data(plan: &PlanDoc) -> String {
    if matches!(plan.generator.driver, Some(Named::Known(DriverDoc::Own))) {
        return "that of a target that smbench does not know".to_owned();
    }
    let workload = &plan.workload;
    let hint = if plan.bytes_on_share < CACHED_ANYWHERE_BYTES {
        " (cached by any server)"
    } else {
        ""
    };
    let on_share = bytes(plan.bytes_on_share);
    if plan.populations.len() > 1 {
        return format!("files of each population, {on_share} on the share{hint}");
    }
    let files = counted(workload.files.into(), "file");
    match (&workload.replay, plan.bytes_on_share) {
        (Some(_), 0) => "files that the replay makes".to_owned(),
        (None, 0) => made(plan).unwrap_or_else(|| "no files on the share".to_owned()),
        (Some(replay), _) => {
            // The clients of a copy have the same files.
            let owner = replay.clients_per_copy.map_or("client", |_| "copy");
            format!(
                "{files} per {owner} at first, {on_share} on the share{hint}, and files that the \
                 replay makes"
            )
        }
        (None, _) => {
            if let Some(tree) = &workload.tree {
                let files = in_tree(workload, tree);
                return format!("{files}, {on_share} on the share{hint}");
            }
            let scope = match workload.scope {
                Scope::Private => "per client",
                Scope::Shared => "shared by all clients",
            };
            let size = bytes(workload.file_bytes);
            format!("{files} of {size} {scope}, {on_share} on the share{hint}")
        }
    }
}

/// Describes the files that the operations of a mix make and remove themselves.
fn made(plan: &PlanDoc) -> Option<String> {
    let workload = &plan.workload;
    let has = |name: &str| workload.operations.iter().any(|entry| entry.op == name);
    let size = bytes(workload.file_bytes);
    match (has("copy_in"), has("save_office"), &workload.tree) {
        (true, _, Some(tree)) => {
            let files = in_tree(workload, tree);
            let all = tree.bytes.map(|all| format!(", {}", bytes(all)));
            let all = all.unwrap_or_default();
            Some(format!(
                "{files}{all}, which each client copies to the share"
            ))
        }
        (true, _, None) => Some(
            match plan.count.filter(|_| workload.operations.len() == 1) {
                Some(count) => {
                    let files = counted(count, "file");
                    let all = bytes(count.saturating_mul(workload.file_bytes));
                    format!("{files} of {size}, {all}, which each client copies to the share")
                }
                None => format!("files that clients copy to the share, each of {size}"),
            },
        ),
        (false, true, _) => Some(format!("documents that clients save, each of {size}")),
        (false, false, _) => is_of_target(workload)
            .then(|| "reads what is in the folder of the URL, makes no files".to_owned()),
    }
}

/// Tells whether all operations walk what lies on the share.
fn is_of_target(workload: &WorkloadDoc) -> bool {
    let is_walk = |entry: &OperationDoc| {
        let root = entry.parameters.get("root");
        entry.op == "walk" && root.is_some_and(|root| root == "target")
    };
    !workload.operations.is_empty() && workload.operations.iter().all(is_walk)
}

fn in_tree(workload: &WorkloadDoc, tree: &TreeDoc) -> String {
    let files = counted(workload.files.into(), "file");
    let directories = counted(tree.directories.into(), "directory");
    format!("{files} in a tree of {directories}")
}

/// Describes the stages of the load, if it has any: `19 min in stages 2m:50,10m:500`.
fn in_stages(plan: &PlanDoc) -> Option<String> {
    let stages = plan.stages.as_ref()?;
    let length = Duration::try_from_secs_f64(plan.duration_s).unwrap_or(Duration::MAX);
    let length = format_duration(length);
    Some(match plan.stages_purpose() {
        StagesPurpose::Soak => format!("a soak of {length} under one load"),
        StagesPurpose::Lines => format!("{length} in stages {}", plain(stages)),
    })
}

/// Returns the length of the window: `3 s`, or `3 s to 60 s (until steady)`.
fn per_point(plan: &PlanDoc) -> String {
    let length = seconds(plan.duration_s);
    match plan.until_steady_s {
        None => length,
        Some(most) => format!("{length} to {} (until steady)", seconds(most)),
    }
}

fn window(plan: &PlanDoc) -> String {
    let length = seconds(plan.duration_s);
    if let Some(stages) = in_stages(plan) {
        return format!("{stages}, {}", passes(plan.repeat));
    }
    if plan.is_until_replayed() {
        return format!("until all clients have ended, {length} at most");
    }
    if let Some(test) = &plan.workload.fileio {
        let warm_up = match plan.ramp_up_s {
            0.0 => String::new(),
            warm_up => format!(" after a warm-up of {}", seconds(warm_up)),
        };
        return match test.events {
            0 => format!("{length}{warm_up}"),
            events => format!(
                "until {} are done, {length} at most{warm_up}",
                counted(events, "event")
            ),
        };
    }
    format!(
        "{} per load point, ramps of {} and {} excluded, {}",
        per_point(plan),
        seconds(plan.ramp_up_s),
        seconds(plan.ramp_down_s),
        passes(plan.repeat)
    )
}
