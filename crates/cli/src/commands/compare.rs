//! `smbench compare`: compares results with the first of them.

use std::io;

use serde::Serialize;
use smbench_report::compare::{
    Comparison, Depth, Input, Judgement, compare, render, to_markdown, write_csv,
};

use super::checkup;
use crate::args::{CompareArgs, is_stdout_taken};
use crate::failure::{Exit, Failure};
use crate::files::write;
use crate::junit::{Junit, JunitCase, JunitOutcome};
use crate::output::{complain, print};

/// The document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// Judgements of each `--fail-if` for each pair.
    conditions: &'a [Judgement],
}

/// Name of the JUnit test suite.
const SUITE: &str = "smbench compare";

pub(super) fn compare_results(args: &CompareArgs) -> Result<Exit, Failure> {
    let junit = Junit::begin(args.junit.as_deref(), SUITE);
    let ended = compared(args, junit.as_ref());
    if let Some(junit) = junit {
        junit.save_failure(&ended)?;
    }
    ended
}

fn compared(args: &CompareArgs, junit: Option<&Junit<'_>>) -> Result<Exit, Failure> {
    let is_taken = is_stdout_taken(&[
        ("--json", &args.json),
        ("--csv", &args.csv),
        ("--markdown", &args.markdown),
    ])?;
    if let Some(text) = checkup::compared(&args.results)? {
        print(&text)?;
        return Ok(Exit::Done);
    }
    let inputs = args.results.iter().map(|path| Input::load(path));
    let inputs = Input::by_label(inputs.collect::<Result<_, _>>()?);
    let comparison = if args.force {
        compare(&inputs)?
    } else {
        compare(&inputs)?.of_same_work()?
    };
    let judgements = judge(args, &comparison)?;
    if let Some(to) = &args.json {
        write(to, &json(&comparison, &judgements))?;
    }
    if let Some(to) = &args.csv {
        write(to, &csv(&comparison)?)?;
    }
    let depth = if args.details {
        Depth::Details
    } else {
        Depth::Overview
    };
    if let Some(to) = &args.markdown {
        write(to, &to_markdown(&comparison, depth, &judgements))?;
    }
    if let Some(junit) = junit {
        let cases = judgements.iter().map(|judged| case(judged, args));
        junit.save(&cases.collect::<Vec<_>>())?;
    }
    if !is_taken {
        let lines: Vec<_> = judgements
            .iter()
            .map(|judged| format!("{judged}\n"))
            .collect();
        let text = render(&comparison, depth);
        print(&if lines.is_empty() {
            text
        } else {
            format!("{text}\n{}", lines.concat())
        })?;
    }
    let not_passed = || judgements.iter().filter(|judged| !judged.passed());
    if is_taken {
        comparison.left_out.iter().for_each(complain);
        not_passed().for_each(complain);
    }
    let fails = |judged: &Judgement| judged.failed || args.fail_if_inconclusive;
    Ok(if not_passed().any(fails) {
        Exit::Failed
    } else {
        Exit::Done
    })
}

/// Judges every condition on every pair.
fn judge(args: &CompareArgs, comparison: &Comparison) -> Result<Vec<Judgement>, Failure> {
    if let (Some(alone), false) = (comparison.unmatched.first(), args.fail_if.is_empty()) {
        return Err(Failure::Usage(format!(
            "--fail-if cannot be judged on all results: {alone}"
        )));
    }
    let mut judgements = Vec::new();
    for condition in &args.fail_if {
        for pair in &comparison.pairs {
            judgements.push(condition.judge(pair)?);
        }
    }
    Ok(judgements)
}

fn json(comparison: &Comparison, conditions: &[Judgement]) -> String {
    let document = Document {
        comparison,
        conditions,
    };
    let json = serde_json::to_string_pretty(&document).unwrap_or_else(|error| {
        unreachable!("string keys and plain values always have a JSON form: {error}")
    });
    json + "\n"
}

fn csv(comparison: &Comparison) -> Result<String, Failure> {
    let mut csv = Vec::new();
    let to_text = |error| Failure::io("write CSV")(io::Error::other(error));
    write_csv(comparison, &mut csv).map_err(to_text)?;
    Ok(String::from_utf8_lossy(&csv).into_owned())
}

fn case(judged: &Judgement, args: &CompareArgs) -> JunitCase {
    let subject = judged.server.as_ref().unwrap_or(&judged.other);
    let place = &judged.place;
    JunitCase {
        name: format!(
            "{} {place}, {subject}, {}",
            judged.condition, judged.profile
        ),
        outcome: match (judged.passed(), judged.failed || args.fail_if_inconclusive) {
            (true, _) => JunitOutcome::Passed,
            (false, true) => JunitOutcome::Failed,
            (false, false) => JunitOutcome::Skipped,
        },
        message: judged.to_string(),
    }
}
