//! `smbench show`: prints a saved result, the tables of a study, or the summary of a capture.

use std::fs::File;
use std::path::Path;

use smbench_capture::{SESSIONS_FILE, SUMMARY_FILE, TRACE_FILE, TREE_FILE, first_time_ns};
use smbench_report::block::{self, Block};
use smbench_report::text::{summary, to_markdown};
use smbench_report::{LoadError, RunDoc, Study, render};

use super::import::blocks_of_folder;
use crate::args::{Destination, ShowArgs, is_stdout_taken};
use crate::failure::{Exit, Failure};
use crate::files::{save_csv, write};
use crate::output::{complain, print, print_coloured};
use crate::results::save_csv_iometer;
use crate::study;

pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    if args.result.join(TRACE_FILE).is_file() {
        return show_capture(args);
    }
    if args.result.is_dir() {
        return show_study(args);
    }
    let outputs = [("--csv", &args.csv), ("--markdown", &args.markdown)];
    let is_taken = is_stdout_taken(&outputs)?;
    let doc = RunDoc::load(&args.result).map_err(|error| no_result(&args.result, error))?;
    if let Some(to) = &args.csv {
        save_csv(&doc, to)?;
    }
    if let Some(to) = &args.markdown {
        write(to, &to_markdown(&doc, None))?;
    }
    if !is_taken {
        if args.details {
            print(&render(&doc))?;
        } else {
            print_coloured(&summary(&doc))?;
        }
    }
    if let Some(path) = &args.csv_iometer {
        save_csv_iometer(&[doc], path)?;
    }
    Ok(Exit::Done)
}

/// Says why a file is no result, and what helps if it is one of a capture.
fn no_result(path: &Path, error: LoadError) -> Failure {
    let written = [SUMMARY_FILE, TRACE_FILE, TREE_FILE, SESSIONS_FILE];
    let name = path.file_name().and_then(|name| name.to_str());
    let folder = path.parent().unwrap_or(path);
    let shown = path.display();
    if name.is_some_and(|name| written.contains(&name)) && folder.join(TRACE_FILE).is_file() {
        let folder = match folder.to_str() {
            Some("") => Path::new("."),
            _ => folder,
        };
        let folder = folder.display();
        return Failure::Usage(format!(
            "{shown} is a file of an imported capture: give its folder {folder}"
        ));
    }
    // A pipe has been read.
    let is_capture = path.is_file()
        && File::open(path).is_ok_and(|file| first_time_ns(&shown.to_string(), file).is_ok());
    if is_capture {
        return Failure::Usage(format!(
            "{shown} is a capture, not a result: `smbench import pcap {shown}` shows it"
        ));
    }
    error.into()
}

/// Shows the folder that an import of a capture wrote.
fn show_capture(args: &ShowArgs) -> Result<Exit, Failure> {
    let points = [
        ("--csv", args.csv.is_some()),
        ("--csv-iometer", args.csv_iometer.is_some()),
    ];
    if let Some((option, _)) = points.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::Usage(format!(
            "{option} is for the load points of a result, and {} is the folder of a capture",
            args.result.display()
        )));
    }
    let blocks = blocks_of_folder(&args.result)?;
    if let Some(to) = &args.markdown {
        let blocks: Vec<_> = blocks.iter().map(Block::to_markdown).collect();
        write(to, &blocks.join("\n"))?;
    }
    if args.markdown != Some(Destination::Stdout) {
        print(&block::to_text(&blocks))?;
    }
    Ok(Exit::Done)
}

fn show_study(args: &ShowArgs) -> Result<Exit, Failure> {
    if args.csv.is_some() {
        return Err(Failure::Usage(format!(
            "--csv is for the load points of one result, and {} is a folder of several",
            args.result.display()
        )));
    }
    let study = Study::load(&args.result)?;
    study::left_out(&study, "").iter().for_each(complain);
    if let Some(to) = &args.markdown {
        write(to, &study::to_markdown(&study))?;
    }
    if args.markdown != Some(Destination::Stdout) {
        print(&study::text(&study))?;
    }
    if let Some(path) = &args.csv_iometer {
        let docs: Vec<_> = study.results.into_iter().map(|result| result.run).collect();
        save_csv_iometer(&docs, path)?;
    }
    Ok(Exit::Done)
}
