//! Names of separate documents as servers of a study. They stand in heads of columns and
//! in legends, so they are as short as tells them apart: the label, else the file's name
//! if the user chose it, else host, share and time.

use std::path::PathBuf;

use itertools::Itertools as _;

use super::LoadedDoc;
use crate::doc::{RunDoc, ServerLocation};

/// Returns a name for each document; empty for one that could not be read.
pub(super) fn names(loaded: &[LoadedDoc]) -> Vec<String> {
    let given = |(path, run): &(PathBuf, &RunDoc)| run.given_name(path);
    let readable = loaded
        .iter()
        .filter_map(|(path, run)| Some((path.clone(), run.as_ref().ok()?)));
    let automatic = readable.filter(|of| given(of).is_none());
    let automatic: Vec<&RunDoc> = automatic.map(|(_, run)| run).collect();
    let name = brief_name(&automatic);
    let named = loaded.iter().map(|(path, run)| match run {
        Ok(run) => run.given_name(path).unwrap_or_else(|| name(run)),
        Err(_) => String::new(),
    });
    named.collect()
}

/// Returns the shortest form of names in which these documents differ.
fn brief_name(runs: &[&RunDoc]) -> impl Fn(&RunDoc) -> String + use<> {
    let places = || runs.iter().map(|run| whole_place(run)).unique();
    let is_clear = places().map(share).all_unique();
    let is_one_day = runs.iter().map(|run| day(&run.started)).all_equal();
    let form = move |run: &RunDoc, clock: usize| {
        let whole = whole_place(run);
        let place = if is_clear {
            share(whole)
        } else {
            whole.to_owned()
        };
        let (day, time) = (day(&run.started), time(&run.started, clock));
        if is_one_day {
            format!("{place} ({time})")
        } else {
            format!("{place} ({day} {time})")
        }
    };
    let (minutes, seconds) = ("00:00".len(), "00:00:00".len());
    let differ = runs.iter().map(|run| form(run, minutes)).all_unique();
    let clock = if differ { minutes } else { seconds };
    move |run| form(run, clock)
}

fn day(started: &str) -> &str {
    started.split_once('T').map_or(started, |(day, _)| day)
}

fn time(started: &str, letters: usize) -> &str {
    let time = started.split_once('T').map_or("", |(_, time)| time);
    time.get(..letters).unwrap_or(time)
}

/// Returns the target without user and scheme.
fn whole_place(run: &RunDoc) -> &str {
    match run.server.place {
        ServerLocation::Embedded => "built-in server",
        ServerLocation::Remote => after_user(&run.server.url),
    }
}

fn after_user(url: &str) -> &str {
    let after = url.rsplit_once('@').or_else(|| url.split_once("://"));
    after.map_or(url, |(_, place)| place)
}

/// Returns host and share of a target, as in the names of its results: without the port and
/// the path in the share.
#[must_use]
pub fn place(url: &str) -> String {
    share(after_user(url))
}

/// Returns host and share of a place.
fn share(place: &str) -> String {
    let mut parts = place.split('/');
    let authority = parts.next().unwrap_or_default();
    let is_port = |port: &str| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => host,
        _ => authority,
    };
    [Some(host), parts.next()].into_iter().flatten().join("/")
}
