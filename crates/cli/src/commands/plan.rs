//! `smbench plan`: prints the plan that `run` would execute with the same options.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;
use smbench_engine::clients::ClientList;
use smbench_engine::login::{Login, Proof};
use smbench_engine::plan::{
    Access, AccessLine, Caching, Connections, DriverKind, LoadModel, Mode, Pinning, Plan, Ramp,
    RateScope, Replay, Requests, Scope, Timing, Verify, WeightedAction,
};
use smbench_engine::stream::{Mix, OpStream, Operation};
use smbench_engine::trace::Replays;
use smbench_engine::units::{Size, format_duration};
use smbench_protocol::{CipherList, DialectRange};
use smbench_report::units::{self, counted, percent, plain};

use crate::args::RunArgs;
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::request::{Request, Server};

/// Number of operations shown for the first client.
const OPERATIONS_SHOWN: usize = 5;

pub(super) fn plan(args: &RunArgs) -> Result<Exit, Failure> {
    let requests = Request::resolve_all(args)?;
    let plans: Vec<_> = requests.iter().map(describe).collect();
    print(&plans.join("\n"))?;
    Ok(Exit::Done)
}

fn describe(request: &Request) -> String {
    let plan = &request.plan;
    let server = match request.server {
        Server::Embedded => "embedded, started on this machine for the run".to_owned(),
        Server::Given(_) => plan.sessions.target.redacted(),
    };
    let mut lines = vec![
        ("profile", plain(&plan.work.profile)),
        ("server", server),
        ("clients", clients(plan)),
        ("sessions", sessions(plan)),
        ("time", time(plan)),
        ("load", load(plan)),
        ("outstanding", outstanding(plan)),
        ("requests", requests(plan)),
        ("sizes", sizes(plan)),
        ("files", files(plan)),
        ("verify", verify(plan).to_owned()),
        ("seed", plan.work.seed.to_string()),
        ("threads", threads(plan)),
        ("dialect", dialect(plan)),
        ("signing", signing(plan)),
        ("encryption", encryption(plan)),
    ];
    // The default is not shown.
    let other =
        (plan.generator.driver != DriverKind::default()).then(|| plan.generator.driver.to_string());
    lines.extend(other.map(|name| ("driver", name)));
    let asked = (plan.sessions.caching != Caching::None).then(|| plan.sessions.caching.to_string());
    lines.extend(asked.map(|name| ("oplock", name)));
    lines.extend(login(&plan.sessions.target.login).map(|text| ("log on", text)));
    lines.extend(connections(plan).map(|text| ("connections", text)));
    lines.extend([
        ("limits", limits(plan)),
        ("digest", plan.digest()),
        ("begins with", operations(plan)),
    ]);
    let mut text = String::new();
    for (label, value) in lines {
        // Further lines of a value are aligned with its first.
        let value = value.replace('\n', &format!("\n{:<13}", ""));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{label:<13}{value}");
    }
    text
}

fn threads(plan: &Plan) -> String {
    match plan.generator.pinning {
        Pinning::Free => plan.generator.threads.to_string(),
        Pinning::Pinned => format!("{}, each on a CPU of its own", plan.generator.threads),
    }
}

fn login(login: &Login) -> Option<String> {
    match login {
        Login::Ntlm => None,
        Login::Guest => Some("as a guest".to_owned()),
        Login::Anonymous => Some("anonymously".to_owned()),
        Login::Kerberos(login) => Some(match &login.proof {
            Proof::Password => "by Kerberos, with the password".to_owned(),
            Proof::Keytab(path) => format!("by Kerberos, with the keytab {}", path.display()),
            Proof::Cache(path) => {
                format!("by Kerberos, with the credential cache {}", path.display())
            }
        }),
    }
}

fn clients(plan: &Plan) -> String {
    let points: Vec<_> = plan.work.load_points.iter().map(u32::to_string).collect();
    // As the user wrote it, if that is shorter.
    let points = points.join(",");
    let list = points
        .parse()
        .map_or(points, |list: ClientList| list.to_string());
    let passes = match plan.work.repeat {
        1 => "1 pass".to_owned(),
        repeat => format!("{repeat} passes"),
    };
    format!("{list}; {passes}")
}

fn load_points(plan: &Plan) -> u64 {
    plan.work.load_points.len() as u64 * u64::from(plan.work.repeat)
}

fn sessions(plan: &Plan) -> String {
    let per_pass: u64 = plan.work.load_points.iter().map(|&n| u64::from(n)).sum();
    format!(
        "{} in all, up to {} at a time{}",
        per_pass * u64::from(plan.work.repeat),
        plan.max_clients(),
        plan.generator
            .setup_rate
            .map_or_else(String::new, |rate| format!(", {rate} set up per second"))
    )
}

fn time(plan: &Plan) -> String {
    let per_point = plan.work.ramp_up + plan.work.duration + plan.work.ramp_down;
    let points = load_points(plan);
    let all =
        u32::try_from(points).map_or(Duration::MAX, |points| per_point.saturating_mul(points));
    format!(
        "{} measured per load point, after {} of ramp-up and before {} of ramp-down;\n\
         {} for {} besides setting up",
        format_duration(plan.work.duration),
        format_duration(plan.work.ramp_up),
        format_duration(plan.work.ramp_down),
        format_duration(all),
        counted(points, "load point")
    )
}

fn outstanding(plan: &Plan) -> String {
    let most = match plan.work.load.is_paced() {
        true => "at most ",
        false => "",
    };
    let requests = counted(plan.work.outstanding.into(), "request");
    format!("{most}{requests} per client")
}

/// Describes the event that starts an operation.
fn load(plan: &Plan) -> String {
    let model = match plan.work.load {
        LoadModel::Closed { think: None } => "closed loop, without think times".to_owned(),
        LoadModel::Recorded => {
            "each operation when it was recorded, after the one before".to_owned()
        }
        LoadModel::Closed { think: Some(think) } => format!(
            "closed loop, {} think time of {}",
            think.spacing.of_think_times(),
            format_duration(think.mean)
        ),
        LoadModel::Rate {
            rate,
            arrivals: spacing,
        } => {
            let per_client = match rate.scope {
                RateScope::Total => "",
                RateScope::Client => " per client",
            };
            let (rate, arrivals) = (units::rate(rate.per_second), spacing.of_arrivals());
            format!("{rate} operations/s{per_client}, {arrivals} arrivals")
        }
    };
    let ramp = match plan.work.ramp {
        Ramp::Full => "",
        Ramp::Linear => "; clients join one by one during the ramp-up",
    };
    model + ramp
}

fn requests(plan: &Plan) -> String {
    let workload = &plan.work.workload;
    let access = match workload.access {
        Access::Random => "random",
        Access::Sequential => "sequential",
    };
    match &workload.requests {
        Requests::Data { read_percent, .. } => {
            let flush = match workload.flush_every_writes() {
                Some(writes) => format!("flush every {}", counted(writes.into(), "write")),
                None => "no flush".to_owned(),
            };
            format!(
                "{} reads, {} writes, {access} offsets, {flush}",
                percent(*read_percent),
                percent(100.0 - read_percent)
            )
        }
        Requests::Divided { readers_percent } => format!(
            "{} of the clients read, the others write, {access} offsets",
            percent(*readers_percent)
        ),
        Requests::Mix(mix) => {
            let mut lines: Vec<_> = mix.iter().map(weighted).collect();
            if workload.uses_sizes() {
                lines.push(format!("{access} offsets"));
            }
            lines.join("\n")
        }
        Requests::Pattern(lines) => lines.iter().map(line).collect::<Vec<_>>().join("\n"),
        Requests::Replay(replay) => replayed(replay),
        Requests::Fileio(test) => format!("fileio {}", test.mode.name()),
    }
}

/// Describes a line of an access pattern.
fn line(line: &AccessLine) -> String {
    let size = format!("{:#}", Size(line.size.into()));
    let mut text = format!(
        "{:>8}  {size:>9}, {} reads, {} random, aligned to {:#}",
        percent(line.weight),
        percent(line.read_percent),
        percent(line.random_percent),
        Size(line.align.into())
    );
    let delay = match line.delay {
        Duration::ZERO => String::new(),
        delay => format!(", {} before each burst", format_duration(delay)),
    };
    let burst = match line.burst {
        1 => String::new(),
        burst => format!(", bursts of {burst}"),
    };
    let reply = match line.reply {
        0 => String::new(),
        reply => format!(", replies of {:#}", Size(reply.into())),
    };
    text += &(delay + &burst + &reply);
    text
}

/// Describes a replay, verb by verb.
fn replayed(replay: &Replay) -> String {
    let summary = replay.trace.summary();
    let operations: u64 = summary.operations.values().sum();
    let length = match (replay.timing, summary.length) {
        (Timing::Recorded, Some(length)) => {
            format!(", as recorded over {}", format_duration(length))
        }
        _ => String::new(),
    };
    let loops = match replay.loops {
        Some(loops) => format!("{} of each client", counted(loops.into(), "loop")),
        None => "over and over".to_owned(),
    };
    let mut lines = vec![format!(
        "replay of {}, {}{length}, {loops}",
        plain(&summary.source),
        counted(operations, "operation")
    )];
    let mut verbs: Vec<_> = summary.operations.iter().collect();
    verbs.sort_by_key(|(_, count)| Reverse(**count));
    lines.extend(verbs.into_iter().map(|(verb, &count)| {
        let share = percent(count as f64 / operations.max(1) as f64 * 100.0);
        format!("{share:>8}  {verb:<22}  {count:>9}")
    }));
    lines.push(format!(
        "{} read and {} written per loop",
        Size(summary.bytes_read),
        Size(summary.bytes_written)
    ));
    if summary.closed > 0 {
        let handles = counted(summary.closed, "handle");
        lines.push(format!("{handles} left open, which are closed"));
    }
    lines.extend(
        summary.skipped.iter().map(|(what, &lines)| {
            format!("{} of {} left out", counted(lines, "line"), plain(what))
        }),
    );
    lines.join("\n")
}

/// Describes an operation of a mix, with its relevant parameters.
fn weighted(entry: &WeightedAction) -> String {
    let mut line = format!("{:>8}  {}", percent(entry.weight), entry.action.name());
    for (name, value) in entry.action.parameters() {
        let value = match value {
            Value::Null | Value::Bool(false) => continue,
            Value::Bool(true) => String::new(),
            Value::String(text) => format!(" {}", plain(&text)),
            Value::Array(some) if some.is_empty() => continue,
            Value::Array(some) => {
                let words: Vec<_> = some.iter().filter_map(Value::as_str).collect();
                format!(" {}", words.join(" "))
            }
            other => format!(" {other}"),
        };
        // Writing to a String cannot fail.
        let _ = write!(line, ", {name}{value}");
    }
    line
}

fn sizes(plan: &Plan) -> String {
    if plan.work.workload.replay().is_some() {
        return format!(
            "as recorded, up to {:#}",
            Size(plan.largest_request().into())
        );
    }
    if plan.work.workload.pattern().is_some() {
        return format!("as above, up to {:#}", Size(plan.largest_request().into()));
    }
    if plan.work.workload.sizes.is_empty() {
        return "none: no operation has one".to_owned();
    }
    let lines = plan.work.workload.sizes.iter().map(|entry| {
        let size = format!("{:#}", Size(entry.size.into()));
        format!("{size:>9}  {:>8}", percent(entry.weight))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn files(plan: &Plan) -> String {
    let files = &plan.work.workload.files;
    let on_share = plan.bytes_on_share();
    if plan.work.workload.replay().is_some() {
        return match files.count {
            0 => "those that the replay makes".to_owned(),
            count => format!(
                "{} per client at first, {:#} on the share; and those that the replay makes",
                counted(count.into(), "file"),
                Size(on_share)
            ),
        };
    }
    if on_share == 0 {
        return "none: no operation needs them".to_owned();
    }
    let scope = match files.scope {
        Scope::Private => "per client",
        Scope::Shared => "shared by all clients",
    };
    format!(
        "{} of {:#} {scope}; {} and {:#} on the share",
        counted(files.count.into(), "file"),
        Size(files.size),
        counted(on_share / files.size.max(1), "file"),
        Size(on_share)
    )
}

fn verify(plan: &Plan) -> &'static str {
    match plan.work.verify {
        Verify::Off => "off",
        Verify::ReadBack => "what is read is compared with what was written",
    }
}

fn dialect(plan: &Plan) -> String {
    let dialects = plan.sessions.options.dialects;
    let newest = dialects.newest();
    if dialects == DialectRange::ALL {
        "the newest that both sides speak".to_owned()
    } else if dialects == newest.into() {
        newest.to_string()
    } else {
        format!("the newest of {dialects} that the server speaks")
    }
}

fn signing(plan: &Plan) -> String {
    let mode = match plan.sessions.options.signing {
        Mode::Auto if plan.generator.driver.always_signs() => "whatever is not encrypted",
        wanted => mode(wanted),
    };
    match plan.sessions.options.signing_algorithm {
        Some(algorithm) => format!("{mode}, with {algorithm}"),
        None => mode.to_owned(),
    }
}

fn encryption(plan: &Plan) -> String {
    let ciphers = plan.sessions.options.ciphers;
    match plan.sessions.options.encryption {
        Mode::Off => mode(Mode::Off).to_owned(),
        wanted if ciphers == CipherList::default() => mode(wanted).to_owned(),
        wanted => format!("{}, with {ciphers}", mode(wanted)),
    }
}

const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Auto => "as the server requires",
        Mode::Required => "required",
        Mode::Off => "off",
    }
}

fn connections(plan: &Plan) -> Option<String> {
    let Connections {
        sessions_per_connection: sessions,
        connections_per_session: connections,
        credits,
        sources,
    } = &plan.sessions.connections;
    let count = plan.sessions.connections.count(plan.max_clients());
    let shared = (*sessions > 1 || *connections > 1).then(|| {
        format!(
            "up to {count} at a time: {} on each, {} per session",
            counted((*sessions).into(), "session"),
            counted((*connections).into(), "connection")
        )
    });
    let credits = credits.map(|credits| format!("at most {}", counted(credits.into(), "credit")));
    let sources = sources
        .as_ref()
        .map(|sources| format!("from {sources}, in turn"));
    let parts: Vec<_> = [shared, credits, sources].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn limits(plan: &Plan) -> String {
    let limits = plan.limits;
    format!(
        "connect {}, set-up request {}, operation {}",
        format_duration(limits.connect),
        format_duration(limits.setup),
        format_duration(limits.operation)
    )
}

fn operations(plan: &Plan) -> String {
    if let Some(replay) = plan.work.workload.replay() {
        let first = Replays::new(replay.clone(), plan.work.seed).of_client(0);
        let shown = first.take(OPERATIONS_SHOWN);
        let describe = |operation: Operation| replay.trace.describe(operation.file as usize, 0);
        return shown.map(describe).collect::<Vec<_>>().join("\n");
    }
    let mix = Mix::new(&plan.work.workload);
    let mut stream = OpStream::new(&mix, plan.work.seed, 0);
    let mut lines = Vec::new();
    for _ in 0..OPERATIONS_SHOWN {
        lines.push(operation(plan, &mix, stream.next()));
    }
    lines.join("\n")
}

fn operation(plan: &Plan, mix: &Mix, operation: Operation) -> String {
    let action = mix.action(&operation);
    let name = action.name();
    if !action.holds_file() && !action.opens_file() {
        return name.to_owned();
    }
    let file = plan.file_name(0, operation.file);
    if operation.length == 0 {
        return format!("{name} {file}");
    }
    format!(
        "{name:<5} {file} at {}, {:#}",
        operation.offset,
        Size(operation.length.into())
    )
}
