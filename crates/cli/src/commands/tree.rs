//! `smbench tree`: a tree of directories and files that stays between runs.

mod like;

use std::sync::Arc;
use std::time::{Duration, Instant};

use smbench_engine::Cancel;
use smbench_engine::prepared::TreeServer;
use smbench_engine::run::SessionError;
use smbench_model::tree::{
    CheckedTree, PreparedTree, Tree, TreeDifference, TreeNames, TreeProgress, TreeShape, TreeStage,
};
use smbench_report::units::{bytes, counted, plain, rate};

use crate::args::{ShapeArgs, TreeArgs, TreeCommand, TreePrepareArgs};
use crate::failure::{Exit, Failure};
use crate::output::{complain, print};
use crate::progress::{ProgressLine, Visibility};
use crate::recycled::print_removed;
use crate::requests::ServerAccess;
use crate::signals;

/// Executes the command.
pub(super) fn tree(command: &TreeCommand) -> Result<Exit, Failure> {
    match command {
        TreeCommand::Prepare(args) => prepare(args),
        TreeCommand::Check(args) => check(args),
        TreeCommand::Cleanup(args) => cleanup(args),
        TreeCommand::Shape { of } => {
            print(&smbench_formats::shape::write(&like::of(of)?))?;
            Ok(Exit::Done)
        }
    }
}

/// Returns the description of the tree that the options ask for.
fn shape(args: &ShapeArgs) -> Result<TreeShape, Failure> {
    let default = TreeShape::default();
    let measured = match args.like.as_ref().or(args.like_file.as_ref()) {
        Some(path) => like::of(path)?,
        None => TreeShape {
            directories: args.directories.unwrap_or(default.directories),
            files: args.files.unwrap_or(default.files),
            depth: args.depth,
            fan_out: args.fan_out,
            sizes: args.sizes.clone().unwrap_or(default.sizes),
            names: TreeNames {
                length: args.name_length.clone().unwrap_or_default(),
                ..default.names
            },
            ..TreeShape::default()
        },
    };
    Ok(TreeShape {
        seed: args.seed.unwrap_or(default.seed),
        names: TreeNames {
            utf8: args.name_utf8.unwrap_or(measured.names.utf8),
            case: args.name_case.unwrap_or(measured.names.case),
            ..measured.names
        },
        ..measured
    })
}

fn prepare(args: &TreePrepareArgs) -> Result<Exit, Failure> {
    let tree = Tree::new(shape(&args.shape)?);
    let tree = Arc::new(tree.map_err(|problem| Failure::Usage(problem.to_string()))?);
    let args = &args.tree;
    let remedy = "; what was written stays, and the same command continues";
    let prepared = work(args, remedy, |server| server.prepare(&tree))?;
    match prepared {
        Ok(prepared) => {
            print(&describe(&tree, &prepared))?;
            Ok(Exit::Done)
        }
        Err(SessionError::Interrupted) => {
            complain("interrupted: what was written stays, and the same command continues");
            Ok(Exit::Interrupted)
        }
        Err(error) => {
            // The server has answered, so the preparation had begun.
            if error.status().is_some() {
                complain("what was written stays, and the same command continues");
            }
            Err(error.into())
        }
    }
}

fn describe(tree: &Tree, prepared: &PreparedTree) -> String {
    let mut text = format!(
        "{} in {}, {}, up to {} below the root, in {}\n",
        counted(tree.files().into(), "file"),
        counted(tree.directories().into(), "directory"),
        bytes(tree.bytes()),
        counted(tree.depth().into(), "level"),
        plain(&prepared.directory)
    );
    if prepared.found > 0 {
        text += &format!("{} whole already\n", counted(prepared.found.into(), "file"));
    }
    let seconds = prepared.took.as_secs_f64().max(1e-9);
    text += &match prepared.written {
        0 => "no file written\n".to_owned(),
        written => format!(
            "{} and {} written in {seconds:.2} s: {} files/s\n",
            counted(written.into(), "file"),
            bytes(prepared.bytes),
            rate(f64::from(written) / seconds)
        ),
    };
    text
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method itself is for one lifetime only"
)]
fn check(args: &TreeArgs) -> Result<Exit, Failure> {
    let checked = work(args, "", |server| server.check())?;
    match checked {
        Ok(checked) => judged(&checked),
        Err(SessionError::Interrupted) => Ok(Exit::Interrupted),
        Err(error) => Err(error.into()),
    }
}

/// Prints the outcome of a comparison.
fn judged(checked: &CheckedTree) -> Result<Exit, Failure> {
    let Some(difference) = &checked.difference else {
        print(&format!(
            "{} in {} are as described in {}, seed {}\n",
            counted(checked.files.into(), "file"),
            counted(checked.directories.into(), "directory"),
            plain(&checked.directory),
            checked.shape.seed
        ))?;
        return Ok(Exit::Done);
    };
    complain(plain(&difference.to_string()) + remedy(difference));
    Ok(Exit::Failed)
}

/// Returns what corrects a difference, as the end of a sentence; nothing if only the server can.
const fn remedy(difference: &TreeDifference) -> &'static str {
    match difference {
        TreeDifference::Missing(_) | TreeDifference::Size { .. } => {
            "; the same `smbench tree prepare` makes the tree whole"
        }
        TreeDifference::Foreign(_) => "; move it away first",
        TreeDifference::Twice(_) => "",
    }
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method itself is for one lifetime only"
)]
fn cleanup(args: &TreeArgs) -> Result<Exit, Failure> {
    let remedy = "; the same command continues";
    match work(args, remedy, |server| server.remove())? {
        Ok(removed) => print_removed(&removed),
        Err(SessionError::Interrupted) => Ok(Exit::Interrupted),
        Err(error) => Err(error.into()),
    }
}

/// Works on the tree of a share until an interrupt, and shows the progress. The remedy tells
/// a user who interrupts what to do.
fn work<T>(
    args: &TreeArgs,
    remedy: &str,
    job: impl FnOnce(TreeServer<'_>) -> Result<T, SessionError>,
) -> Result<Result<T, SessionError>, Failure> {
    let access = ServerAccess::resolve(&args.server.url)?;
    let line = ProgressLine::new(Visibility::unless(args.quiet));
    let cancel = Cancel::default();
    signals::stop_on_interrupt(&cancel, &line, remedy.to_owned())?;
    let mut shown = StageLine::new(&line);
    let done = job(TreeServer {
        target: &access.target,
        options: args.server.session.options().session(),
        limits: access.limits,
        sessions: args.sessions,
        cancel: &cancel,
        progress: &mut |progress| shown.show(progress),
    });
    line.clear();
    Ok(done)
}

/// The progress on the line, with the rate and the time left of the current stage.
struct StageLine<'a> {
    line: &'a ProgressLine,
    /// The stage, its beginning, and what was done then.
    stage: Option<(TreeStage, Instant, u64)>,
}

impl<'a> StageLine<'a> {
    const fn new(line: &'a ProgressLine) -> Self {
        Self { line, stage: None }
    }

    fn show(&mut self, progress: TreeProgress) {
        let TreeProgress { stage, done, total } = progress;
        let now = Instant::now();
        let (_, begin, before) = match self.stage {
            Some(known) if known.0 == stage => known,
            _ => *self.stage.insert((stage, now, done)),
        };
        let elapsed = now.duration_since(begin).as_secs_f64();
        let text = words(progress, done.saturating_sub(before), elapsed);
        let share = if total == 0 {
            1.0
        } else {
            done as f64 / total as f64
        };
        self.line.show_part(share, text);
    }
}

/// Describes a stage in which a number of entries were done in this many seconds.
fn words(progress: TreeProgress, done_here: u64, seconds: f64) -> String {
    let (what, unit) = match progress.stage {
        TreeStage::Directories => ("making directories", "directories"),
        TreeStage::Listing => ("listing directories", "directories"),
        TreeStage::Files => ("writing files", "files"),
        TreeStage::Deletion => ("deleting files", "files"),
        TreeStage::Directory => ("deleting directories", "directories"),
    };
    let mut text = format!("{what}, {} of {}", progress.done, progress.total);
    if done_here > 0 && seconds > 0.5 {
        let per_second = done_here as f64 / seconds;
        let left = progress.total.saturating_sub(progress.done) as f64 / per_second;
        text += &format!(", {} {unit}/s, {} left", rate(per_second), time(left));
    }
    text
}

/// Formats a time in seconds, minutes or hours.
fn time(seconds: f64) -> String {
    let whole = Duration::from_secs(seconds.ceil() as u64);
    humantime::format_duration(whole).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_prepare_corrects_is_left_to_it() {
        let path = || r"smbench-tree\tree\a".to_owned();
        let size = TreeDifference::Size {
            path: path(),
            found: 9,
            bytes: 10,
        };
        for (difference, makes_whole) in [
            (TreeDifference::Missing(path()), true),
            (size, true),
            // `prepare` refuses a tree with such an entry.
            (TreeDifference::Foreign(path()), false),
            (TreeDifference::Twice(path()), false),
        ] {
            let remedy = remedy(&difference);
            assert_eq!(remedy.contains("tree prepare"), makes_whole, "{remedy}");
        }
    }

    /// The rest of a preparation that goes on is a listing of what is there.
    #[test]
    fn the_rate_of_files_is_that_of_their_writing() {
        let tree = Tree::new(TreeShape::default()).unwrap();
        let prepared = PreparedTree {
            directory: "smbench-tree".to_owned(),
            found: 900,
            written: 100,
            bytes: 409_600,
            took: Duration::from_millis(500),
        };
        let text = describe(&tree, &prepared);
        let expected = "900 files whole already\n\
                        100 files and 400 KiB written in 0.50 s: 200 files/s\n";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn a_stage_shows_its_rate_and_the_time_left() {
        let progress = TreeProgress {
            stage: TreeStage::Files,
            done: 3000,
            total: 10_000,
        };
        assert_eq!(words(progress, 0, 0.0), "writing files, 3000 of 10000");
        assert_eq!(
            words(progress, 2000, 2.0),
            "writing files, 3000 of 10000, 1000 files/s, 7s left"
        );
    }
}
