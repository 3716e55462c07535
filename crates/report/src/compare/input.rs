//! Inputs of a comparison, and how their results are paired.

mod label;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use itertools::Itertools as _;

use super::comparison::Comparison;
use super::error::CompareError;
use super::pair::{ComparedRun, ComparedSide, Pair};
use crate::doc::{LoadError, RunDoc, SCHEMA_VERSION, ToolDoc};
use crate::study::{Study, StudyDoc};
use crate::units::plain;

/// A result document or the folder of a study, already read.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    path: PathBuf,
    /// Name of a separate document in the comparison, if not its path.
    title: Option<String>,
    /// Where the list of expected results comes from.
    origin: InputOrigin,
    /// The servers in the order of their labels: the baseline of the study first.
    servers: Vec<String>,
    /// The expected results, by server and then by profile.
    results: Vec<InputResult>,
    /// Results of the built-in server that were left out: a line for people.
    set_aside: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputOrigin {
    /// A suite: each of its servers with each of its profiles.
    Suite,
    /// The files themselves: a document, or a folder of documents.
    Documents,
}

/// A result, or an expected result that was not measured.
#[derive(Clone, Debug, PartialEq)]
struct InputResult {
    /// Name of the server in the study; `None` for a separate document.
    server: Option<String>,
    profile: String,
    /// The servers of the same input that this one is compared with.
    baselines: Vec<String>,
    run: Option<RunDoc>,
}

impl Input {
    /// Reads a result document, or a study if `path` is a folder. All results must
    /// be readable, so that no condition passes because a result is missing.
    ///
    /// # Errors
    ///
    /// The errors of [`RunDoc::load`] and [`Study::load`].
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        if !path.is_dir() {
            return RunDoc::load(path).map(|run| Self::of_run(path, run));
        }
        let origin = match StudyDoc::load(path)? {
            Some(_) => InputOrigin::Suite,
            None => InputOrigin::Documents,
        };
        let study = Study::load_whole(path)?;
        let (servers, profiles) = (study.doc.servers.len(), study.doc.profiles.len());
        let all = (0..servers).flat_map(|server| (0..profiles).map(move |at| (server, at)));
        let is_to_be = |&(server, profile): &(usize, usize)| match origin {
            InputOrigin::Suite => !study.is_beyond(server, profile),
            InputOrigin::Documents => study.run(server, profile).is_some(),
        };
        let all: Vec<_> = all.filter(is_to_be).collect();
        let Study {
            doc,
            results,
            set_aside,
            ..
        } = study;
        let mut measured: BTreeMap<_, _> = results
            .into_iter()
            .map(|result| ((result.server, result.profile), result.run))
            .collect();
        let results = all.iter().map(|&(server, profile)| InputResult {
            server: Some(doc.servers[server].name.clone()),
            profile: doc.profiles[profile].clone(),
            baselines: baselines(&doc, origin, &all, server, profile),
            run: measured.remove(&(server, profile)),
        });
        let results = results.collect();
        let mut servers: Vec<_> = all
            .iter()
            .map(|at| doc.servers[at.0].name.clone())
            .collect();
        servers.dedup();
        if origin == InputOrigin::Suite {
            servers.sort_by_key(|name| Some(name.as_str()) != doc.baseline());
        }
        Ok(Self {
            path: path.to_owned(),
            title: None,
            origin,
            servers,
            results,
            set_aside,
        })
    }

    /// Builds an input from a result that has already been read from `path`.
    #[must_use]
    pub fn of_run(path: &Path, run: RunDoc) -> Self {
        Self {
            path: path.to_owned(),
            title: None,
            origin: InputOrigin::Documents,
            servers: Vec::new(),
            results: vec![InputResult {
                server: None,
                profile: run.question(),
                baselines: Vec::new(),
                run: Some(run),
            }],
            set_aside: None,
        }
    }

    fn name(&self) -> String {
        plain(&self.path.to_string_lossy())
    }

    /// Returns the servers and profiles of the input, for messages.
    fn names(&self) -> String {
        let name = |of: &InputResult| match of.run {
            Some(_) => of.name(),
            None => format!("{}: not measured", of.name()),
        };
        self.results.iter().map(name).join(", ")
    }

    /// Returns whether the input has other results with the same profile.
    fn has_others(&self, result: &InputResult) -> bool {
        let results = self.results.iter();
        results.filter(|of| of.is_alike(result)).count() > 1
    }

    fn measured(&self) -> impl Iterator<Item = MeasuredResult<'_>> {
        let results = self.results.iter();
        results.filter_map(|of| Some((of, of.run.as_ref()?)))
    }

    fn left_out(&self) -> Option<String> {
        let line = self.set_aside.as_ref()?;
        Some(format!("{}: {line}", self.name()))
    }

    /// Returns a sentence for each expected result that was not measured.
    fn missing(&self) -> impl Iterator<Item = String> {
        let missing = self.results.iter().filter(|of| of.run.is_none());
        missing.map(|of| format!("{}: no result of {}", self.name(), of.name()))
    }

    fn side<'a>(&self, (of, run): MeasuredResult<'a>, label: &str) -> ComparedSide<'a> {
        let server = of.server.as_deref().map(plain);
        let subject = ComparedRun {
            label: label.to_owned(),
            name: match &server {
                Some(server) => format!("{}: {server}", self.name()),
                None => self.title.clone().unwrap_or_else(|| self.name()),
            },
            server,
            profile: plain(&of.profile),
            url: plain(&run.server.url),
            started: plain(&run.started),
            outcome: run.outcome,
            is_built_in: run.is_of_built_in_server(),
        };
        ComparedSide { subject, run }
    }
}

/// Returns the servers that a result is compared with: those that the suite names,
/// or the first document with the same profile.
fn baselines(
    doc: &StudyDoc,
    origin: InputOrigin,
    all: &[(usize, usize)],
    server: usize,
    profile: usize,
) -> Vec<String> {
    let name = |server: usize| doc.servers[server].name.as_str();
    let found = match origin {
        InputOrigin::Suite => doc.baselines_of(name(server)),
        InputOrigin::Documents => {
            let first = all.iter().find(|at| at.1 == profile);
            let others = first.filter(|at| at.0 != server);
            others.map(|at| name(at.0)).into_iter().collect()
        }
    };
    found.into_iter().map(str::to_owned).collect()
}

/// A result that was measured.
type MeasuredResult<'a> = (&'a InputResult, &'a RunDoc);

impl InputResult {
    /// Returns whether both results are of the same profile. Searches of one profile have
    /// different names in a suite and in separate documents.
    fn is_alike(&self, other: &Self) -> bool {
        let runs = self.run.as_ref().zip(other.run.as_ref());
        let mut searches = runs.filter(|(one, _)| one.find.is_some()).into_iter();
        self.profile == other.profile || searches.any(|(one, two)| one.has_same_question_as(two))
    }

    fn name(&self) -> String {
        match &self.server {
            Some(server) => format!("{} with {}", plain(server), plain(&self.profile)),
            None => plain(&self.profile),
        }
    }
}

/// Compares all inputs after the first with the first, server by server and profile
/// by profile. The servers of a single study are compared with the baselines of its
/// comparisons, or with its first server. An expected result that was not measured
/// is listed as one without a counterpart.
///
/// # Errors
///
/// [`CompareError`] if no results can be paired, or if a pair has no valid load
/// point in common. If there are other pairs, such a pair is listed as unmatched
/// instead.
pub fn compare(inputs: &[Input]) -> Result<Comparison, CompareError> {
    let mut unmatched: Vec<_> = inputs.iter().flat_map(Input::missing).collect();
    let mut found = Vec::new();
    match inputs {
        [] => {}
        [alone] => found = within(alone, &mut unmatched)?,
        [baseline, others @ ..] => {
            for (other, at) in others.iter().zip(1..) {
                found.extend(across(baseline, other, &label(at), &mut unmatched)?);
            }
        }
    }
    let (pairs, apart): (Vec<_>, Vec<_>) = found.into_iter().partition_result();
    unmatched.extend(apart.iter().map(CompareError::to_string));
    match apart.into_iter().next().filter(|_| pairs.is_empty()) {
        Some(nothing) => Err(nothing),
        None => Ok(Comparison {
            schema_version: SCHEMA_VERSION,
            tool: ToolDoc::this(),
            pairs,
            unmatched,
            left_out: inputs.iter().flat_map(Input::left_out).collect(),
        }),
    }
}

/// Pairs of results, each compared if possible.
type Found = Vec<Result<Pair, CompareError>>;

/// Returns the label at a position: `A`, `B` and so on.
fn label(at: usize) -> String {
    match u8::try_from(at) {
        Ok(at @ 0..26) => char::from(b'A' + at).to_string(),
        _ => format!("#{}", at + 1),
    }
}

/// Compares the servers of a study with their baselines. In a folder of results,
/// each is compared with the first one that has the same profile.
fn within<'a>(study: &'a Input, unmatched: &mut Vec<String>) -> Result<Found, CompareError> {
    let mut found = Vec::new();
    let mut alone = Vec::new();
    let subject = |of: MeasuredResult<'a>| {
        let mut servers = study.servers.iter();
        let position = servers.position(|server| of.0.server.as_ref() == Some(server));
        study.side(of, &label(position.unwrap_or_default()))
    };
    for of @ (result, _) in study.measured() {
        let baselines = study.measured().filter(|(other, _)| {
            let mut names = result.baselines.iter();
            other.is_alike(result) && names.any(|name| other.server.as_ref() == Some(name))
        });
        let before = found.len();
        found.extend(baselines.map(|held| Pair::of(subject(held), subject(of))));
        let is_baseline = result.baselines.is_empty()
            && (study.origin == InputOrigin::Suite || study.has_others(result));
        if found.len() == before && !is_baseline {
            alone.push(result);
        }
    }
    if found.is_empty() {
        let missing: Vec<_> = study.missing().collect();
        return Err(if missing.is_empty() {
            CompareError::Alone { path: study.name() }
        } else {
            not_measured(&missing)
        });
    }
    let sentence = |of: &InputResult| {
        let (study, of) = (study.name(), of.name());
        format!("{study}: {of} has no result to compare with")
    };
    unmatched.extend(alone.into_iter().map(sentence));
    Ok(found)
}

/// Highest number of missing results that an error names; of the others it has the
/// number.
const MISSING_SHOWN: usize = 3;

fn not_measured(missing: &[String]) -> CompareError {
    let more = missing.len().saturating_sub(MISSING_SHOWN);
    let more = (more > 0).then(|| format!("and {more} more"));
    CompareError::NotMeasured {
        missing: missing.iter().take(MISSING_SHOWN).chain(&more).join("; "),
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
    let held = |(one, two): (MeasuredResult<'_>, MeasuredResult<'_>)| {
        Pair::of(
            baseline.side(one, &label(0)),
            other.side(two, label_of_other),
        )
    };
    Ok(matched.into_iter().map(held).collect())
}

type Matched<'a> = Vec<(MeasuredResult<'a>, MeasuredResult<'a>)>;

/// Pairs the results of two inputs. Returns the pairs, and a sentence for each
/// result without a counterpart.
fn matches<'a>(
    baseline: &'a Input,
    other: &'a Input,
) -> Result<(Matched<'a>, Vec<String>), CompareError> {
    // Each input is expected to have one result, so these form the pair, no matter
    // how they are named.
    let is_one_each = baseline.results.len() == 1 && other.results.len() == 1;
    // If either has a single server, no matter how it is named, the profile
    // decides.
    let by_server = baseline.servers.len() > 1 && other.servers.len() > 1;
    let belong = |one: &InputResult, two: &InputResult| {
        is_one_each || (one.is_alike(two) && (!by_server || one.server == two.server))
    };
    for (several, single) in [(other, baseline), (baseline, other)] {
        let is_ambiguous = |of: &InputResult| {
            let candidates = several.results.iter();
            candidates.filter(|candidate| belong(of, candidate)).count() > 1
        };
        if single.results.iter().any(is_ambiguous) {
            return Err(CompareError::Several {
                path: several.name(),
                names: several.names(),
                single: single.name(),
            });
        }
    }
    let mut matched: Matched<'a> = Vec::new();
    for one in baseline.measured() {
        let found = other.measured().filter(|two| belong(one.0, two.0));
        matched.extend(found.map(|two| (one, two)));
    }
    if matched.is_empty() {
        let missing: Vec<_> = baseline.missing().chain(other.missing()).collect();
        return Err(if missing.is_empty() {
            CompareError::NoPair {
                baseline: baseline.name(),
                other: other.name(),
            }
        } else {
            not_measured(&missing)
        });
    }
    let sentence =
        |input: &Input, of: &InputResult| format!("only in {}: {}", input.name(), of.name());
    let mut unmatched = Vec::new();
    for (input, opposite) in [(baseline, other), (other, baseline)] {
        // Expected results that the other lacks are already listed.
        let alone = input
            .measured()
            .filter(|(of, _)| !opposite.results.iter().any(|two| belong(of, two)));
        unmatched.extend(alone.map(|(of, _)| sentence(input, of)));
    }
    Ok((matched, unmatched))
}
