//! `smbench checkup`: what is slow on a server?

use std::fs;

use smbench_engine::Cancel;
use smbench_model::spec::{GeneratorSpec, RunOptions};
use smbench_report::checkup::{CheckupDoc, render};
use smbench_runner::checkup::{Checkup, page};

use crate::advice::left_behind;
use crate::args::{CheckupArgs, Destination};
use crate::failure::{Exit, Failure};
use crate::files::write;
use crate::output::print;
use crate::progress::{ProgressLine, Visibility};
use crate::requests::{ServerAccess, server_cpu};
use crate::results::check_writable;
use crate::signals;

pub(super) fn checkup(args: &CheckupArgs) -> Result<Exit, Failure> {
    for path in args.html.iter().chain(json_file(args)) {
        check_writable(path)?;
    }
    let options = RunOptions {
        sessions: args.session.options(),
        generator: GeneratorSpec {
            server_cpu: server_cpu(args.server_metrics.as_deref())?,
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    };
    let access = ServerAccess::resolve(&args.url)?;
    let cancel = Cancel::default();
    let line = ProgressLine::new(Visibility::unless(args.document.quiet));
    let dialects = args.session.options().session().dialects;
    let remedy = left_behind(&access.target.redacted(), dialects);
    let unsaved = signals::stop_on_interrupt(&cancel, &line, remedy)?;
    let checkup = Checkup {
        target: access.target,
        options,
        limits: access.limits,
        long: args.long,
        window: args.duration,
        points: line.point_lines(Visibility::unless(args.document.quiet)),
        observer: &line,
        unsaved: &unsaved,
        cancel: &cancel,
    };
    let doc = checkup.measure();
    line.clear();
    let doc = doc?;
    if let Some(path) = &args.html {
        let page = page(&doc)?;
        fs::write(path, page).map_err(Failure::write(path))?;
    }
    if let Some(to) = &args.document.json {
        write(to, &doc.to_json())?;
    }
    if !matches!(args.document.json, Some(Destination::Stdout)) {
        print(&render(&doc))?;
    }
    Ok(if cancel.is_cancelled() {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

fn json_file(args: &CheckupArgs) -> Option<&std::path::PathBuf> {
    match &args.document.json {
        Some(Destination::File(path)) => Some(path),
        Some(Destination::Stdout) | None => None,
    }
}

/// Returns the text of two check-ups side by side; `None` if the files are no check-ups.
pub(super) fn compared(paths: &[std::path::PathBuf]) -> Result<Option<String>, Failure> {
    let [before, after] = paths else {
        return Ok(None);
    };
    let docs = (CheckupDoc::load(before)?, CheckupDoc::load(after)?);
    Ok(match docs {
        (Some(before), Some(after)) => {
            let blocks = smbench_report::checkup::compare(&before, &after);
            Some(smbench_report::block::to_text(&blocks))
        }
        _ => None,
    })
}
