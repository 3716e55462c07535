//! `smbench report`: a study as a page, Markdown, CSV and plots.

use smbench_report::study::Study;

use crate::args::ReportArgs;
use crate::failure::{Exit, Failure};
use crate::output::print;

pub(super) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    if args.study.is_file() {
        return Err(Failure::Usage(format!(
            "{} is a file: `report` takes the folder of results, `show` prints one of them",
            args.study.display()
        )));
    }
    let study = Study::load(&args.study)?;
    let default = || args.study.join("report");
    let folder = args.out.clone().unwrap_or_else(default);
    let written = smbench_publish::save(&study, &folder)?;
    print(&format!(
        "page      {}\nmarkdown  {}\ncsv       {}\nplots     {}, {} as SVG and PNG\n",
        written.page.display(),
        written.markdown.display(),
        written.csv.display(),
        written.plots.display(),
        written.plot_count
    ))?;
    Ok(Exit::Done)
}
