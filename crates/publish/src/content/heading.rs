//! The top of a report: what was measured, on which servers, and when. A folder's name
//! says none of this.

use itertools::Itertools as _;
use smbench_report::names::listed;
use smbench_report::study::{Study, place};
use smbench_report::units::{counted, plain};

/// Highest number of names in a title, and in the lines below it.
const IN_TITLE: usize = 3;
const IN_LINES: usize = 10;

/// Returns the title: that of the suite, else the profiles and the servers.
pub(super) fn title(study: &Study) -> String {
    if has_title(study) {
        study.doc.title.clone()
    } else {
        of_places(study)
    }
}

/// Returns the lines below the title: the results that it does not name, and the time.
pub(super) fn lines(study: &Study) -> Vec<String> {
    let names = study.doc.servers.iter().map(|server| server.name.as_str());
    let whole = subject(study, names, IN_LINES);
    let is_one = study.doc.servers.len() == 1;
    let is_in_title = !has_title(study) && (is_one || whole == of_places(study));
    let whole = (!is_in_title).then_some(whole);
    whole.into_iter().chain(started(study)).collect()
}

/// Returns whether a suite made the study.
fn is_suite(study: &Study) -> bool {
    !study.doc.command.is_empty()
}

/// Returns whether a suite named the study. Without a title, it has the name of its file.
fn has_title(study: &Study) -> bool {
    is_suite(study) && study.doc.title != study.doc.name
}

/// Names each place once. Results of one place differ in their time, which follows the
/// place in their names.
fn of_places(study: &Study) -> String {
    let places = study.doc.servers.iter().map(|server| {
        let place = server.url.as_deref().map(place);
        let is_in_name =
            |place: &String| !place.is_empty() && server.name.starts_with(place.as_str());
        place
            .filter(is_in_name)
            .unwrap_or_else(|| server.name.clone())
    });
    let places: Vec<_> = places.unique().collect();
    subject(study, places.iter().map(String::as_str), IN_TITLE)
}

/// Names the profiles and the servers, or counts them if they are many.
fn subject<'a>(study: &Study, servers: impl Iterator<Item = &'a str>, names_max: usize) -> String {
    let in_brief = |names: Vec<&str>, thing: &str| match names.len() {
        many if many == 0 || many > names_max => counted(many as u64, thing),
        _ => listed(&names),
    };
    let profiles = study.doc.profiles.iter().map(String::as_str);
    let what = if is_suite(study) { "server" } else { "result" };
    format!(
        "{}: {}",
        in_brief(profiles.collect(), "profile"),
        in_brief(servers.collect(), what)
    )
}

/// Returns when the first measurement began, and the last one if that was on another day.
fn started(study: &Study) -> Option<String> {
    let runs = study
        .results
        .iter()
        .map(|result| result.run.started.as_str());
    let all = || runs.clone().chain([study.doc.started.as_str()]);
    let (first, last) = (all().filter(|at| !at.is_empty()).min()?, all().max()?);
    let (from, to) = (day_and_time(first), day_and_time(last));
    Some(if from.0 == to.0 {
        format!("Measured on {}, from {} UTC on.", from.0, from.1)
    } else {
        format!(
            "Measured from {}, {} UTC on. The last result is of {}, {} UTC.",
            from.0, from.1, to.0, to.1
        )
    })
}

/// Splits an instant into its day and its time in minutes.
fn day_and_time(instant: &str) -> (String, String) {
    let (day, time) = instant.split_once('T').unwrap_or((instant, ""));
    (plain(day), plain(time.get(..5).unwrap_or(time)))
}

/// Returns the day of the first measurement; empty if it is not known.
pub(super) fn day(study: &Study) -> String {
    day_and_time(&study.doc.started).0
}
