//! `smbench report`: writes a study as a page, Markdown, CSV and plots.

use std::path::PathBuf;

use smbench_report::Study;

use crate::args::ReportArgs;
use crate::failure::{Exit, Failure};
use crate::output::{complain, print};
use crate::study;

pub(super) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let (study, default) = match &args.results[..] {
        [folder] if !folder.is_file() => {
            let study = Study::load(folder)?;
            study::left_out(&study, "").iter().for_each(complain);
            (study, folder.join("report"))
        }
        files => match files.iter().find(|path| path.is_dir()) {
            Some(folder) => {
                return Err(Failure::Usage(format!(
                    "{} is a folder: `report` takes one folder, or result documents",
                    folder.display()
                )));
            }
            None => (Study::of_files(files)?, PathBuf::from("smbench-report")),
        },
    };
    let folder = args.out.clone().unwrap_or(default);
    print(&study::publish(&study, &folder)?)?;
    Ok(Exit::Done)
}
