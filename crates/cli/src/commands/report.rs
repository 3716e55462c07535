//! `smbench report`: writes a study as a page, Markdown, CSV and plots.

use crate::args::ReportArgs;
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::study;

pub(super) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    if args.study.is_file() {
        return Err(Failure::Usage(format!(
            "{} is a file: `report` takes the folder of results, `show` prints one of them",
            args.study.display()
        )));
    }
    let study = study::load(&args.study, "")?;
    let default = || args.study.join("report");
    let folder = args.out.clone().unwrap_or_else(default);
    print(&study::publish(&study, &folder)?)?;
    Ok(Exit::Done)
}
