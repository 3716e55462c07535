//! `smbench show`: prints a saved result, the tables of a study, or the summary of a capture.

use smbench_capture::TRACE_FILE;
use smbench_report::block::{self, Block};
use smbench_report::text::{summary, to_markdown};
use smbench_report::{RunDoc, Study, render};

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
    let doc = RunDoc::load(&args.result)?;
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
