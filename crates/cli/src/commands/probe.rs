//! `smbench probe`: prints the features of a server.

mod cifs;
mod steps;

use std::fmt::{Display, Write as _};
use std::io::{IsTerminal as _, stdout};
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::probe::{self, FlushPolicy, PolicyFinding, Probe, Probed, TimeSpread, Trials};
use smbench_model::units::Size;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::{Cipher, Logon};
use smbench_report::text::wrapped_to;
use smbench_report::units::{latency, plain, rate};

use crate::advice::{cleanup_command, left_behind};
use crate::args::ProbeArgs;
use crate::failure::{Exit, Failure};
use crate::output::{complain, print};
use crate::progress::{ProgressLine, Visibility};
use crate::requests::ServerAccess;
use crate::signals;
use steps::StepLines;

/// Names of the capability bits (MS-SMB2 2.2.4).
const CAPABILITIES: [(u32, &str); 7] = [
    (0x01, "DFS"),
    (0x02, "LEASING"),
    (0x04, "LARGE_MTU"),
    (0x08, "MULTI_CHANNEL"),
    (0x10, "PERSISTENT_HANDLES"),
    (0x20, "DIRECTORY_LEASING"),
    (0x40, "ENCRYPTION"),
];

/// Columns of a label, and of a line on a terminal.
const LABEL: usize = 16;
const COLUMNS: usize = 80;

/// A label and its value.
type LabelledValue = (&'static str, String);

pub(super) fn probe(args: &ProbeArgs) -> Result<Exit, Failure> {
    let access = ServerAccess::resolve(&args.url)?;
    let url = access.target.redacted();
    let cancel = Cancel::default();
    let options = args.session.options().session();
    let remedy = left_behind(&url, options.dialects);
    let line = ProgressLine::new(Visibility::Terminal);
    signals::stop_on_interrupt(&cancel, &line, remedy)?;
    let lines = line.is_hidden().then(StepLines::begin);
    let show_step = |step: &str| match &lines {
        Some(lines) => lines.step(step),
        None => line.step(step),
    };
    let found = probe::probe_in_steps(&access.target, options, access.limits, &cancel, &show_step);
    drop(lines);
    line.clear();
    let probe = match found? {
        Probed::Smb2(probe) => probe,
        Probed::Cifs(probe) => {
            print(&fitted(&cifs::describe(&url, &probe)))?;
            return Ok(Exit::Done);
        }
    };
    print(&fitted(&describe(&url, &probe)))?;
    match &probe.leftover {
        Some(leftover) => {
            let cleanup = cleanup_command(&url, options.dialects);
            complain(format_args!("{leftover}; remove it with: {cleanup}"));
            Ok(Exit::Setup)
        }
        None => Ok(Exit::Done),
    }
}

fn describe(url: &str, probe: &Probe) -> String {
    let session = &probe.session;
    let negotiated = &session.negotiated;
    let size = |bytes: u32| format!("{:#}", Size(bytes.into()));
    let signing = match session.terms.signing {
        Some(algorithm) => algorithm.name(),
        None => "off",
    };
    let mut lines = vec![
        ("server", url.to_owned()),
        ("dialect", negotiated.dialect.to_string()),
    ];
    lines.extend(tried(&probe.dialects));
    lines.push((
        "signing",
        format!("{signing}, {}", demand(negotiated.server_requires_signing)),
    ));
    lines.extend(tried(&probe.signing));
    lines.push((
        "encryption",
        session
            .terms
            .encryption
            .map_or("off", Cipher::name)
            .to_owned(),
    ));
    lines.extend(tried(&probe.ciphers));
    lines.extend([
        (
            "capabilities",
            capabilities(&CAPABILITIES, negotiated.capabilities),
        ),
        ("largest read", size(negotiated.max_read)),
        ("largest write", size(negotiated.max_write)),
        ("largest query", size(negotiated.max_transact)),
        (
            "credits",
            format!(
                "{} granted of {} asked for",
                session.credits_granted, session.credits_asked
            ),
        ),
        ("logged on", logged_on(session.terms.logon).to_owned()),
        ("server GUID", guid(negotiated.server_guid)),
        ("free space", free_space(probe.free_bytes)),
        ("session set-up", spread(&session.setup)),
    ]);
    lines.push((
        "multichannel",
        match &probe.channels {
            Ok(()) => "a session on two connections: accepted".to_owned(),
            Err(reason) => plain(reason),
        },
    ));
    match &probe.trials {
        Ok(trials) => lines.extend(tried_out(trials)),
        Err(reason) => lines.push(("not tried out", plain(reason))),
    }
    table(lines)
}

/// Breaks long lines for a terminal. Programs that read the text get a line for each label.
fn fitted(text: &str) -> String {
    if stdout().is_terminal() {
        broken(text)
    } else {
        text.to_owned()
    }
}

fn broken(text: &str) -> String {
    let fits = |line: &str| line.chars().count() <= COLUMNS;
    text.lines()
        .map(|line| match line.split_at_checked(LABEL) {
            Some((label, value)) if !fits(line) => {
                let value = wrapped_to(COLUMNS - LABEL, 1, value);
                let value = value.replace('\n', &format!("\n{:LABEL$}", ""));
                format!("{label}{}\n", value.trim_end())
            }
            _ => format!("{line}\n"),
        })
        .collect()
}

/// Formats a line for each label.
fn table(lines: Vec<LabelledValue>) -> String {
    lines
        .into_iter()
        .fold(String::new(), |mut text, (label, value)| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{label:<LABEL$}{value}");
            text
        })
}

const fn demand(is_signing_required: bool) -> &'static str {
    if is_signing_required {
        "the server requires it"
    } else {
        "the server does not require it"
    }
}

const fn logged_on(logon: Logon) -> &'static str {
    match logon {
        Logon::Ntlm => "as the user asked for, by NTLM",
        Logon::Kerberos => "as the user asked for, by Kerberos",
        Logon::Guest => "as a guest",
        Logon::Anonymous => "anonymously",
    }
}

fn free_space(bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => Size(bytes).to_string(),
        None => "unknown".to_owned(),
    }
}

/// Returns the result of each offer that was made alone.
fn tried<T: Display>(all: &[(T, Result<(), String>)]) -> impl Iterator<Item = LabelledValue> {
    all.iter().map(|(offered, accepted)| {
        let answer = match accepted {
            Ok(()) => "accepted".to_owned(),
            Err(reason) => plain(reason),
        };
        ("", format!("{offered}: {answer}"))
    })
}

/// Describes how the server handled a temporary file of smbench.
fn tried_out(trials: &Trials) -> Vec<LabelledValue> {
    let compound = match &trials.compound {
        Ok(()) => "create, query and close in one frame: accepted".to_owned(),
        Err(reason) => plain(reason),
    };
    let mut lines = vec![
        (
            "write",
            format!(
                "{:#}: {}",
                Size(Trials::WRITE_BYTES.into()),
                spread(&trials.write)
            ),
        ),
        ("write policy", write_policy(trials)),
        ("flush after it", spread(&trials.flush)),
        ("flush policy", flush_policy(trials)),
        ("compounds", compound),
    ];
    lines.extend(granted("oplocks", &trials.oplocks, |level| {
        oplock(level).to_owned()
    }));
    lines.extend(granted("leases", &trials.leases, |state| state.to_string()));
    lines
}

/// Describes whether a WRITE waits for stable storage, and the evidence for it.
fn write_policy(trials: &Trials) -> String {
    let PolicyFinding { policy, evidence } = &trials.write_finding;
    format!("{policy}: {}", plain(evidence))
}

/// Describes the server's flush policy and the evidence for it. Without evidence,
/// it describes what the times suggest, which is not a proof.
fn flush_policy(trials: &Trials) -> String {
    let PolicyFinding { policy, evidence } = &trials.flush_finding;
    let evidence = plain(evidence);
    let ratio = trials.flush.median.as_secs_f64() / trials.write.median.as_secs_f64();
    match policy {
        FlushPolicy::Unknown if ratio.is_finite() => format!(
            "unknown: {evidence}; a FLUSH takes {} times a WRITE, which proves nothing",
            rate(ratio)
        ),
        policy => format!("{policy}: {evidence}"),
    }
}

/// Returns the result of each request, the first line with the label.
fn granted<T: Copy + PartialEq>(
    label: &'static str,
    all: &[(T, Result<T, String>)],
    name: impl Fn(T) -> String,
) -> Vec<LabelledValue> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    let lines = all.iter().zip(labels).map(|((asked, granted), label)| {
        let answer = match granted {
            Ok(granted) if granted == asked => "granted".to_owned(),
            Ok(granted) => format!("{} granted", name(*granted)),
            Err(reason) => plain(reason),
        };
        (label, format!("{}: {answer}", name(*asked)))
    });
    lines.collect()
}

const fn oplock(level: OplockLevel) -> &'static str {
    match level {
        OplockLevel::None => "none",
        OplockLevel::LevelII => "level II",
        OplockLevel::Exclusive => "exclusive",
        OplockLevel::Batch => "batch",
        OplockLevel::Lease => "lease",
    }
}

fn spread(times: &TimeSpread) -> String {
    let TimeSpread {
        count,
        min,
        median,
        max,
    } = *times;
    let [min, median, max] = [min, median, max].map(elapsed);
    format!("{median}, median of {count} ({min} to {max})")
}

fn elapsed(time: Duration) -> String {
    latency(time.as_nanos() as f64)
}

fn capabilities(known: &[(u32, &str)], bits: u32) -> String {
    let named = known.iter().filter(|(bit, _)| bits & bit != 0);
    let mut names: Vec<_> = named.map(|(_, name)| (*name).to_owned()).collect();
    let known = known.iter().fold(0, |all, (bit, _)| all | bit);
    if bits & !known != 0 {
        names.push(format!("{:#x}", bits & !known));
    }
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}

/// Formats a GUID as Windows does: the first three fields are little-endian
/// (MS-DTYP 2.3.4.2).
fn guid(bytes: [u8; 16]) -> String {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut text = String::with_capacity(36);
    for (at, byte) in ORDER.iter().map(|&from| bytes[from]).enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests;
