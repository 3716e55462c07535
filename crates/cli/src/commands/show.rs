//! `smbench show`: a stored result again, or the tables of a study.

use smbench_report::study::Study;
use smbench_report::{RunDoc, render};

use crate::args::{Destination, ShowArgs};
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::results::save_csv;
use crate::study;

pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    if args.result.is_dir() {
        return show_study(args);
    }
    let doc = RunDoc::load(&args.result)?;
    if let Some(to) = &args.csv {
        save_csv(&doc, to)?;
    }
    if args.csv != Some(Destination::Stdout) {
        print(&render(&doc))?;
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
    print(&study::text(&Study::load(&args.result)?))?;
    Ok(Exit::Done)
}
