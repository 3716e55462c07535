//! `smbench show`: a stored result again.

use smbench_report::{RunDoc, render};

use crate::args::{Destination, ShowArgs};
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::results::save_csv;

pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let doc = RunDoc::load(&args.result)?;
    if let Some(to) = &args.csv {
        save_csv(&doc, to)?;
    }
    if args.csv != Some(Destination::Stdout) {
        print(&render(&doc))?;
    }
    Ok(Exit::Done)
}
