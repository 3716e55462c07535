//! `smbench fileio prepare` and `cleanup`: files that stay between runs.

use std::time::{Duration, Instant};

use smbench_engine::Cancel;
use smbench_engine::prepared;
use smbench_engine::run::Progress;
use smbench_engine::run::SessionError;
use smbench_model::fileio::{Fileio, Prepared, TestMode};
use smbench_report::units::{bytes, counted, plain};

use super::{target, test};
use crate::args::FileioArgs;
use crate::failure::{Exit, Failure};
use crate::output::{complain, print};
use crate::progress::{ProgressLine, Visibility};
use crate::recycled::print_removed;
use crate::signals;

/// Interval between two updates of the progress.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

pub(super) fn prepare(args: &FileioArgs) -> Result<Exit, Failure> {
    // The mode of the later test does not affect the files.
    let test = Fileio {
        time: Some(Duration::from_secs(1)),
        ..test(args, args.test.file_test_mode.unwrap_or(TestMode::RndRw))
    };
    test.check().map_err(|(field, problem)| {
        Failure::Usage(format!("--{}: {problem}", field.replace('_', "-")))
    })?;
    let target = target(args, "prepare")?;
    let line = ProgressLine::new(Visibility::unless(args.output.quiet));
    let cancel = Cancel::default();
    let remedy = "; what was written stays, and the same command continues".to_owned();
    signals::stop_on_interrupt(&cancel, &line, remedy)?;
    let begin = Instant::now();
    let mut shown = None;
    let mut show = |done, total| {
        let now = Instant::now();
        if shown.is_none_or(|shown| now.duration_since(shown) >= SHOWN_EVERY) {
            shown = Some(now);
            line.show(&Progress::Preparing { done, total });
        }
    };
    let (options, limits) = (
        args.server.session.options().session(),
        args.server.limits(),
    );
    let prepared = prepared::prepare(&target, options, limits, &test, &cancel, &mut show);
    line.clear();
    match prepared {
        Ok(prepared) => {
            print(&describe(&test, &prepared, begin.elapsed()))?;
            Ok(Exit::Done)
        }
        Err(SessionError::Interrupted) => {
            complain("interrupted: what was written stays, and the same command continues");
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(error.into()),
    }
}

fn describe(test: &Fileio, prepared: &Prepared, took: Duration) -> String {
    let each = test.file_bytes();
    let mut text = format!(
        "{}, {} each, {} total in {}\n",
        counted(test.files.into(), "file"),
        bytes(each),
        bytes(each * u64::from(test.files)),
        plain(&prepared.directory)
    );
    if prepared.found > 0 {
        text += &format!("{} whole already\n", counted(prepared.found.into(), "file"));
    }
    let seconds = took.as_secs_f64();
    text += &match prepared.bytes {
        0 => "No bytes written.\n".to_owned(),
        written => format!(
            "{written} bytes written in {seconds:.2} seconds ({:.2} MiB/sec).\n",
            written as f64 / 1_048_576.0 / seconds.max(1e-9)
        ),
    };
    text
}

pub(super) fn cleanup(args: &FileioArgs) -> Result<Exit, Failure> {
    let target = target(args, "cleanup")?;
    let (options, limits) = (
        args.server.session.options().session(),
        args.server.limits(),
    );
    let line = ProgressLine::new(Visibility::unless(args.output.quiet));
    signals::leave_on_interrupt(&line)?;
    line.show(&Progress::CleaningUp);
    let removed = prepared::remove(&target, options, limits);
    line.clear();
    print_removed(&removed?)
}
