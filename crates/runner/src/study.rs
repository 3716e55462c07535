//! Studies for people: as text, and as a report.

use std::path::Path;

use smbench_report::block::{self, Block};
use smbench_report::doc::LoadError;
use smbench_report::published::{found, headlines, tables};
use smbench_report::study::{Study, StudyDoc};
use smbench_report::text::{interrupted, wrapped};
use smbench_report::units::{counted, plain};

use crate::failure::Failure;

/// Returns a line for each file that a study is shown without, with `remedy` for those that
/// cannot be read.
pub fn left_out(study: &Study, remedy: &str) -> Vec<String> {
    let unread = study.unread.iter();
    let unread = unread.map(|line| format!("{line}; the study is shown without it{remedy}"));
    study.set_aside.iter().cloned().chain(unread).collect()
}

/// Reads a study without the calibration in its folder, and without a message if
/// that calibration is unreadable.
pub fn uncalibrated(folder: &Path) -> Result<Study, LoadError> {
    Ok(Study {
        calibration: None,
        unread: Vec::new(),
        ..Study::load(folder)?
    })
}

/// Formats the whole study. Ends with a newline.
pub fn text(study: &Study) -> String {
    block::to_text(&blocks(study, |text| {
        wrapped(text).lines().map(str::to_owned).collect()
    }))
}

/// Formats the whole study as GitHub's Markdown.
pub fn to_markdown(study: &Study) -> String {
    let heading = format!("smbench: {}", study.doc.title);
    block::to_markdown(&heading, &blocks(study, |text| vec![text.to_owned()]))
}

/// Returns the parts of the text. `break_lines` breaks long ones.
fn blocks(study: &Study, break_lines: fn(&str) -> Vec<String>) -> Vec<Block> {
    let mut blocks = vec![header(study)];
    let answers: Vec<_> = (0..study.doc.profiles.len())
        .filter(|profile| {
            study
                .doc
                .transfer(study.doc.profile_name(*profile))
                .is_none()
        })
        .flat_map(|profile| [headlines(study, profile), found(study, profile)].concat())
        .chain(study.results.iter().filter_map(|result| {
            let server = study.doc.server_name(result.server);
            let profile = study.doc.profile_name(result.profile);
            let reason = interrupted(&result.run)?;
            Some(format!("{}: {}: {reason}", plain(profile), plain(server)))
        }))
        .flat_map(|answer| break_lines(&answer))
        .collect();
    if !answers.is_empty() {
        blocks.push(Block::List(answers));
    }
    blocks.extend(tables(study).into_iter().map(Block::Table));
    let reached = reached(study);
    blocks.extend(reached.map(|[place, text]| {
        let lines = [vec![place], break_lines(&text)];
        Block::List(lines.concat())
    }));
    blocks
}

/// Describes the result that came closest to the generator's limit, or that
/// exceeded the calibration; `None` if that is not known.
fn reached(study: &Study) -> Option<[String; 2]> {
    let calibration = study.calibration.as_ref()?;
    let results = study.results.iter();
    let reached = results.filter_map(|result| {
        let name = &study.doc.servers.get(result.server)?.name;
        Some((
            name,
            &result.run.plan.profile,
            calibration.reached(&result.run)?,
        ))
    });
    let (name, profile, reached) =
        reached.max_by(|one, other| one.2.percent.total_cmp(&other.2.percent))?;
    let place = if reached.is_usable() {
        format!("closest to the generator's limit: {profile} on {name}")
    } else {
        format!("the generator's limit is not known: {profile} on {name}")
    };
    Some([plain(&place), plain(&reached.text)])
}

/// Writes the report of a study to `folder`. Returns a text with the paths of its
/// parts.
pub fn publish(study: &Study, folder: &Path) -> Result<String, Failure> {
    let written = smbench_publish::save(study, folder)?;
    Ok(format!(
        "page      {}\nmarkdown  {}\ncsv       {}\nplots     {}, {} as SVG, PNG and CSV\n",
        written.page.display(),
        written.markdown.display(),
        written.csv.display(),
        written.plots.display(),
        written.plot_count
    ))
}

/// Lists the profiles by name, and the number of those that are transfers or searches.
fn profiles(doc: &StudyDoc) -> String {
    let mut counts = Vec::new();
    if !doc.transfers.is_empty() {
        counts.push(counted(doc.transfers.len() as u64, "transfer"));
    }
    let named = doc.profiles.iter();
    let is_named = |name: &&String| doc.transfer(name).is_none() && doc.search(name).is_none();
    counts.extend(named.filter(is_named).cloned());
    if !counts.is_empty() && !doc.load_points.is_empty() {
        counts.push(counted(doc.load_points.len() as u64, "load point"));
    }
    counts.extend(doc.searches_in_words());
    counts.join(", ")
}

/// Describes the study, and the facts that a reader needs about each server.
fn header(study: &Study) -> Block {
    let doc = &study.doc;
    let mut lines = vec![
        ("study", doc.title.clone()),
        (
            "plan",
            format!(
                "{} with {}, {}",
                counted(doc.servers.len() as u64, "server"),
                profiles(doc),
                match doc.passes {
                    1 => "1 pass".to_owned(),
                    passes => format!("{passes} passes"),
                }
            ),
        ),
    ];
    for server in &doc.servers {
        let mut details = vec![
            server
                .url
                .clone()
                .unwrap_or_else(|| "started for the study".to_owned()),
        ];
        details.extend(server.settings.iter().cloned());
        details.extend(server.client.iter().cloned());
        details.extend(server.notes.iter().cloned());
        lines.push(("server", format!("{}: {}", server.name, details.join("; "))));
    }
    Block::facts(lines)
}
