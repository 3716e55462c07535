//! `smbench import pcap --distil`: profiles of a capture, and how far they are from it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use smbench_capture::{
    DISTILLED_ACTIONS_MIN, DISTILLED_SESSIONS_MAX, Distillation, DistilledCounts, DistilledGroup,
    distance, issued,
};
use smbench_formats::profile::ProfileError;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_report::block::{self, Block};
use smbench_report::table::{Cell, Column, Table};
use smbench_report::units::{bytes, counted, latency, percent};

use super::super::write_all_new;
use super::{begin, finish, in_order, name_of, read_all};
use crate::args::PcapArgs;
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::request;

/// Profiles of a capture. The groups with most requests have one.
const PROFILES_MAX: usize = 16;
/// Actions that are drawn of each profile for the comparison.
const DRAWN: u64 = 100_000;
/// Rows of the table of sizes.
const SIZES_MAX: usize = 10;

/// A group of sessions with its profile.
struct MadeProfile<'a> {
    path: PathBuf,
    toml: String,
    group: &'a DistilledGroup,
    issued: DistilledCounts,
}

pub(super) fn distil(args: &PcapArgs, out: &Path) -> Result<Exit, Failure> {
    if out.extension() != Some(OsStr::new("toml")) {
        return Err(Failure::Usage(format!(
            "--distil writes profiles: give --out a file that ends with .toml, not {}",
            out.display()
        )));
    }
    let mut capture = begin(args)?;
    capture.distil();
    let files: Vec<_> = args.files.iter().map(PathBuf::as_path).collect();
    read_all(&mut capture, &in_order(&files)?)?;
    let mut result = finish(capture, args, &name_of(&files))?;
    let made = result.distilled();
    if made.groups.is_empty() {
        let encrypted = result.summary.unreadable.encrypted_messages;
        return Err(Failure::Usage(no_profile(&made, encrypted)));
    }
    let count = made.groups.len().min(PROFILES_MAX);
    let groups = made.groups.iter().take(PROFILES_MAX).enumerate();
    let profiles = groups.map(|(at, group)| profile(file_of(out, at, count), group));
    let profiles = profiles.collect::<Result<Vec<_>, _>>()?;
    let files = profiles.iter();
    let files: Vec<_> = files
        .map(|one| (one.path.clone(), one.toml.clone()))
        .collect();
    write_all_new(&files)?;
    let blocks: Vec<_> = profiles.iter().flat_map(blocks).collect();
    let mut text = block::to_text(&blocks);
    text += &left_out(&made);
    for (path, _) in &files {
        text += &format!("wrote {}\n", path.display());
    }
    print(&text)?;
    Ok(Exit::Done)
}

/// Returns the file of a group. A number tells several apart.
fn file_of(out: &Path, at: usize, count: usize) -> PathBuf {
    if count == 1 {
        return out.to_owned();
    }
    let stem = out.file_stem().unwrap_or_default().to_string_lossy();
    out.with_file_name(format!("{stem}-{}.toml", at + 1))
}

fn profile(path: PathBuf, group: &DistilledGroup) -> Result<MadeProfile<'_>, Failure> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let toml = group.to_toml(&name);
    let origin = path.display().to_string();
    let parsed = Profile::parse(&origin, &toml).map_err(ProfileError::from)?;
    let plan = Plan::of(&parsed, request::embedded())?;
    Ok(MadeProfile {
        issued: issued(&plan, DRAWN),
        path,
        toml,
        group,
    })
}

/// Says why a capture makes no profile, and what helps.
fn no_profile(made: &Distillation, encrypted: u64) -> String {
    let advice = if encrypted > 0 {
        let messages = counted(encrypted, "encrypted message");
        format!("open its {messages} with --keytab, --nt-password-file or --session-keys")
    } else {
        "capture for longer, or leave out the slice".to_owned()
    };
    if made.small_sessions == 0 {
        return format!(
            "the capture makes no profile, because no session has an operation that a profile can \
             have; {advice}"
        );
    }
    format!(
        "the capture makes no profile, because a session needs {DISTILLED_ACTIONS_MIN} operations \
         that a profile can have: the largest of {} has {}; {advice}",
        counted(made.small_sessions, "session"),
        made.small_actions,
    )
}

fn left_out(made: &Distillation) -> String {
    let mut lines = String::new();
    if made.left_out > 0 {
        let requests = counted(made.left_out, "request");
        let sessions = counted(made.small_sessions, "session");
        lines += &format!("left out: {requests} without a session");
        if made.small_sessions > 0 {
            lines +=
                &format!(", or of {sessions} with fewer than {DISTILLED_ACTIONS_MIN} operations");
        }
        lines.push('\n');
    }
    if made.unkept > 0 {
        let requests = counted(made.unkept, "request");
        lines += &format!(
            "left out: {requests} of sessions beyond the first {DISTILLED_SESSIONS_MAX}: take \
             slices with --from and --for\n"
        );
    }
    if let Some(others) = made
        .groups
        .get(PROFILES_MAX..)
        .filter(|rest| !rest.is_empty())
    {
        let requests =
            |groups: &[DistilledGroup]| groups.iter().map(DistilledGroup::requests).sum::<u64>();
        lines += &format!(
            "left out: {} of {} groups, with {} of {} requests, because {PROFILES_MAX} profiles are \
             the most: take slices with --client or --user\n",
            others.len(),
            made.groups.len(),
            requests(others),
            requests(&made.groups),
        );
    }
    lines
}

/// Compares a profile with its sessions.
fn blocks(profile: &MadeProfile<'_>) -> Vec<Block> {
    let (recorded, drawn) = (profile.group.recorded(), &profile.issued);
    let sessions = counted(profile.group.sessions, "session");
    let requests = counted(profile.group.requests(), "request");
    let of = |found: Option<f64>| found.map_or_else(|| "-".to_owned(), |d| format!("{d:.3}"));
    let think = |time: f64| latency(time);
    let facts = Block::facts([
        ("profile", profile.path.display().to_string()),
        ("made of", format!("{sessions}, {requests}")),
        (
            "distance",
            format!(
                "{} by command, {} by size of READs and WRITEs",
                of(distance(&recorded.commands, &drawn.commands)),
                of(distance(&recorded.sizes, &drawn.sizes)),
            ),
        ),
        (
            "think",
            format!(
                "mean {} recorded, {} issued",
                think(recorded.think_ns),
                think(drawn.think_ns)
            ),
        ),
    ]);
    let mut commands = shares("Commands", &recorded.commands, &drawn.commands);
    commands.notes.push(
        "distance: total variation, half of the sum of all differences of shares; 0 for equal \
         shares, 1 for nothing in common"
            .to_owned(),
    );
    let named = |counts: &BTreeMap<(String, u64), u64>| {
        let counts = counts.iter();
        let counts = counts.map(|((command, size), &n)| (format!("{command} {}", bytes(*size)), n));
        counts.fold(BTreeMap::new(), |mut all, (name, count)| {
            *all.entry(name).or_default() += count;
            all
        })
    };
    let mut sizes = shares("Sizes", &named(&recorded.sizes), &named(&drawn.sizes));
    if let more @ 1.. = sizes.rows.len().saturating_sub(SIZES_MAX) {
        sizes.rows.truncate(SIZES_MAX);
        sizes.notes.push(format!("and {more} more"));
    }
    let mut blocks = vec![facts];
    let notes = profile.group.notes();
    if !notes.is_empty() {
        blocks.push(Block::List(notes));
    }
    blocks.push(Block::Table(commands));
    if !sizes.rows.is_empty() {
        blocks.push(Block::Table(sizes));
    }
    blocks
}

/// Returns the shares of both, the largest recorded ones first.
fn shares(title: &str, recorded: &BTreeMap<String, u64>, drawn: &BTreeMap<String, u64>) -> Table {
    let [of_recorded, of_drawn] = [recorded, drawn].map(|counts| counts.values().sum::<u64>());
    let names: BTreeSet<_> = recorded.keys().chain(drawn.keys()).collect();
    let count = |counts: &BTreeMap<String, u64>, name| counts.get(name).copied().unwrap_or(0);
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|&name| std::cmp::Reverse(count(recorded, name)));
    let share = |count: u64, of: u64| {
        let share = (of > 0).then(|| 100.0 * count as f64 / of as f64);
        Cell::of(share, percent)
    };
    let rows = names.into_iter().map(|name| {
        let of = count(recorded, name);
        vec![
            name.as_str().into(),
            Cell::count(of),
            share(of, of_recorded),
            share(count(drawn, name), of_drawn),
        ]
    });
    let columns = vec![
        Column::text(title.trim_end_matches('s').to_lowercase()),
        Column::number("recorded"),
        Column::number("share"),
        Column::number("issued"),
    ];
    Table::of(title, columns, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sessions_are_named_only_if_there_are_some() {
        let mut made = Distillation {
            left_out: 2,
            ..Distillation::default()
        };
        assert_eq!(left_out(&made), "left out: 2 requests without a session\n");
        made.small_sessions = 1;
        assert_eq!(
            left_out(&made),
            "left out: 2 requests without a session, or of 1 session with fewer than 20 operations\n"
        );
    }

    #[test]
    fn each_limit_is_named_with_what_exceeds_it() {
        let groups = (0..18).map(|_| DistilledGroup::default());
        let made = Distillation {
            groups: groups.collect(),
            unkept: 1,
            ..Distillation::default()
        };
        assert_eq!(
            left_out(&made),
            "left out: 1 request of sessions beyond the first 20000: take slices with --from and \
             --for\nleft out: 2 of 18 groups, with 0 of 0 requests, because 16 profiles are the \
             most: take slices with --client or --user\n"
        );
        let small = Distillation {
            small_sessions: 3,
            small_actions: 13,
            ..Distillation::default()
        };
        let said = "the capture makes no profile, because a session needs 20 operations that a \
                    profile can have: the largest of 3 sessions has 13; ";
        let longer = "capture for longer, or leave out the slice";
        assert_eq!(no_profile(&small, 0), format!("{said}{longer}"));
        let keys =
            "open its 5 encrypted messages with --keytab, --nt-password-file or --session-keys";
        assert_eq!(no_profile(&small, 5), format!("{said}{keys}"));
        let said = "the capture makes no profile, because no session has an operation that a \
                    profile can have; ";
        let none = Distillation::default();
        assert_eq!(no_profile(&none, 5), format!("{said}{keys}"));
    }
}
