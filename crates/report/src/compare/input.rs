//! What is given to compare, and which of it belongs to which.

use std::path::{Path, PathBuf};

use super::{Comparison, Pair, Subject};
use crate::curve::Curve;
use crate::doc::{LoadError, RunDoc, SCHEMA_VERSION, ToolDoc};
use crate::study::Study;
use crate::units::{counted, plain};

/// A result document or the folder of a study, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    path: PathBuf,
    runs: Vec<InputRun>,
}

#[derive(Clone, Debug, PartialEq)]
struct InputRun {
    /// What a study calls the server; of a document alone, nothing.
    server: Option<String>,
    profile: String,
    run: RunDoc,
}

/// Why there is nothing to compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// One result alone.
    #[error("nothing to compare {path} with: give another result, or a study of several servers")]
    Alone {
        /// The file or folder.
        path: String,
    },
    /// Several servers, of which any could be meant.
    #[error(
        "{path} has several results ({names}), {single} has one: give two studies, or the results \
         one by one"
    )]
    Several {
        /// The folder with several.
        path: String,
        /// Their names.
        names: String,
        /// The one with one.
        single: String,
    },
    /// Two studies of different servers or profiles.
    #[error("{baseline} and {other} have no server with the same profile in common")]
    NoPair {
        /// The one folder.
        baseline: String,
        /// The other.
        other: String,
    },
    /// Runs at different numbers of clients.
    #[error("no load point in common: {baseline}, {other}")]
    NoLoadPoint {
        /// The one, with its load points.
        baseline: String,
        /// The other.
        other: String,
    },
    /// A run of which nothing may be quoted.
    #[error("nothing to compare: no load point in {names} is valid and saw an operation")]
    NotQuotable {
        /// It, or both.
        names: String,
    },
    /// A condition asks for what was not measured.
    #[error("--fail-if '{condition}': {reason}")]
    NoData {
        /// The condition as it was written.
        condition: String,
        /// What is missing.
        reason: String,
    },
}

impl Input {
    /// Reads a result document, or a study where `path` is a folder. All of its
    /// results must be readable: no condition may hold for want of one.
    ///
    /// # Errors
    ///
    /// As [`RunDoc::load`] and [`Study::load`].
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        if !path.is_dir() {
            return RunDoc::load(path).map(|run| Self::of_run(path, run));
        }
        let study = Study::load_whole(path)?;
        let runs = study.results.into_iter().map(|result| InputRun {
            server: Some(study.doc.servers[result.server].name.clone()),
            profile: study.doc.profiles[result.profile].clone(),
            run: result.run,
        });
        Ok(Self {
            path: path.to_owned(),
            runs: runs.collect(),
        })
    }

    /// A result that has been read from `path` already.
    #[must_use]
    pub fn of_run(path: &Path, run: RunDoc) -> Self {
        Self {
            path: path.to_owned(),
            runs: vec![InputRun {
                server: None,
                profile: run.plan.profile.clone(),
                run,
            }],
        }
    }

    fn name(&self) -> String {
        plain(&self.path.to_string_lossy())
    }

    /// The servers and profiles in it, for messages.
    fn names(&self) -> String {
        let mut names: Vec<_> = self.runs.iter().map(InputRun::name).collect();
        names.dedup();
        names.join(", ")
    }

    fn subject(&self, run: &InputRun, label: &str) -> Subject {
        let server = run.server.as_deref().map(plain);
        Subject {
            label: label.to_owned(),
            name: match &server {
                Some(server) => format!("{}: {server}", self.name()),
                None => self.name(),
            },
            server,
            profile: plain(&run.profile),
            url: plain(&run.run.server.url),
            started: plain(&run.run.started),
            outcome: run.run.outcome,
        }
    }

    fn servers(&self) -> Vec<&str> {
        let mut servers: Vec<_> = self
            .runs
            .iter()
            .filter_map(|run| run.server.as_deref())
            .collect();
        servers.dedup();
        servers
    }
}

impl InputRun {
    fn name(&self) -> String {
        match &self.server {
            Some(server) => format!("{} with {}", plain(server), plain(&self.profile)),
            None => plain(&self.profile),
        }
    }
}

/// Holds all inputs after the first against it, server by server and profile by
/// profile; a single study's servers against its first.
///
/// # Errors
///
/// [`CompareError`] where nothing belongs to anything, or two that do have no
/// valid load point in common. Where there are further pairs, that is one more
/// result that has no counterpart.
pub fn compare(inputs: &[Input]) -> Result<Comparison, CompareError> {
    let mut unmatched = Vec::new();
    let mut found = Vec::new();
    match inputs {
        [] => {}
        [alone] => found = within(alone)?,
        [baseline, others @ ..] => {
            for (other, at) in others.iter().zip(1..) {
                found.extend(across(baseline, other, &label(at), &mut unmatched)?);
            }
        }
    }
    let mut pairs = Vec::new();
    let mut apart = Vec::new();
    for pair in found {
        match pair {
            Ok(pair) => pairs.push(pair),
            Err(error) => apart.push(error),
        }
    }
    unmatched.extend(apart.iter().map(CompareError::to_string));
    match apart.into_iter().next().filter(|_| pairs.is_empty()) {
        Some(nothing) => Err(nothing),
        None => Ok(Comparison {
            schema_version: SCHEMA_VERSION,
            tool: ToolDoc::this(),
            pairs,
            unmatched,
        }),
    }
}

/// Two results that belong together, held against each other where they can be.
type Found = Vec<Result<Pair, CompareError>>;

/// `A`, `B` and so on.
fn label(at: usize) -> String {
    match u8::try_from(at) {
        Ok(at @ 0..26) => char::from(b'A' + at).to_string(),
        _ => format!("#{}", at + 1),
    }
}

/// The servers of a study against its first.
fn within(study: &Input) -> Result<Found, CompareError> {
    let servers = study.servers();
    let mut found = Vec::new();
    for (at, run) in study.runs.iter().enumerate() {
        let earlier = &study.runs[..at];
        let Some(baseline) = earlier.iter().find(|first| first.profile == run.profile) else {
            continue;
        };
        let subject = |run: &InputRun| {
            let position = servers
                .iter()
                .position(|server| run.server.as_deref() == Some(server));
            study.subject(run, &label(position.unwrap_or_default()))
        };
        found.push(Pair::of(
            (subject(baseline), &baseline.run),
            (subject(run), &run.run),
        ));
    }
    match found.is_empty() {
        true => Err(CompareError::Alone { path: study.name() }),
        false => Ok(found),
    }
}

fn across(
    baseline: &Input,
    other: &Input,
    label_of_other: &str,
    unmatched: &mut Vec<String>,
) -> Result<Found, CompareError> {
    let (matched, alone) = matches(baseline, other)?;
    unmatched.extend(alone);
    let held = |(one, two): (&InputRun, &InputRun)| {
        Pair::of(
            (baseline.subject(one, &label(0)), &one.run),
            (other.subject(two, label_of_other), &two.run),
        )
    };
    Ok(matched.into_iter().map(held).collect())
}

type Matched<'a> = Vec<(&'a InputRun, &'a InputRun)>;

/// What belongs together, and a sentence for each that has no counterpart.
fn matches<'a>(
    baseline: &'a Input,
    other: &'a Input,
) -> Result<(Matched<'a>, Vec<String>), CompareError> {
    if let ([one], [two]) = (&baseline.runs[..], &other.runs[..]) {
        return Ok((vec![(one, two)], Vec::new()));
    }
    // Where either has one server, whatever it is called, profiles tell.
    let by_server = baseline.servers().len() > 1 && other.servers().len() > 1;
    let belong = |one: &InputRun, two: &InputRun| {
        one.profile == two.profile && (!by_server || one.server == two.server)
    };
    let mut matched: Matched<'a> = Vec::new();
    for one in &baseline.runs {
        let found = other.runs.iter().filter(|two| belong(one, two));
        matched.extend(found.map(|two| (one, two)));
    }
    for (several, single) in [(other, baseline), (baseline, other)] {
        let is_ambiguous = |run: &InputRun| {
            let candidates = several.runs.iter();
            candidates
                .filter(|candidate| belong(run, candidate))
                .count()
                > 1
        };
        if single.runs.iter().any(is_ambiguous) {
            return Err(CompareError::Several {
                path: several.name(),
                names: several.names(),
                single: single.name(),
            });
        }
    }
    if matched.is_empty() {
        return Err(CompareError::NoPair {
            baseline: baseline.name(),
            other: other.name(),
        });
    }
    let sentence =
        |input: &Input, run: &InputRun| format!("only in {}: {}", input.name(), run.name());
    let mut unmatched = Vec::new();
    for (input, opposite) in [(baseline, other), (other, baseline)] {
        let alone = input
            .runs
            .iter()
            .filter(|run| !opposite.runs.iter().any(|two| belong(run, two)));
        unmatched.extend(alone.map(|run| sentence(input, run)));
    }
    Ok((matched, unmatched))
}

/// `16 clients`, or `1, 4, 16 clients`.
pub(super) fn clients(of: &[u32]) -> String {
    match of {
        [one] => counted((*one).into(), "client"),
        several => {
            let several: Vec<_> = several.iter().map(u32::to_string).collect();
            format!("{} clients", several.join(", "))
        }
    }
}

/// A run and its load points, for a message.
pub(super) fn with_clients(subject: &Subject, curve: &Curve<'_>) -> String {
    let points: Vec<_> = curve.rows.iter().map(|row| row.clients).collect();
    match points.is_empty() {
        true => format!("{} has none", subject.name),
        false => format!("{} has {}", subject.name, clients(&points)),
    }
}
