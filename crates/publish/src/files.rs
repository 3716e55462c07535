//! A report as files in a folder.
//!
//! The page is written first and completely. It names the plots beside it, so that a
//! later report replaces and removes only the files of this one.

use std::path::{Path, PathBuf};
use std::{fs, io, process};

use smbench_model::setting::OUT;
use smbench_report::study::Study;
use smbench_report::write_study_csv;

use crate::html::plots_in;
use crate::plot::{PngError, Rasterizer, SvgError};
use crate::{PLOTS, report, to_html, to_markdown};

/// Names of the files next to the plots.
const PAGE: &str = "index.html";
const MARKDOWN: &str = "report.md";
const CSV: &str = "report.csv";

/// Paths of the written report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The page with the whole report.
    pub page: PathBuf,
    /// The same content as Markdown.
    pub markdown: PathBuf,
    /// All load points and operations as rows.
    pub csv: PathBuf,
    /// The folder of the plots.
    pub plots: PathBuf,
    /// Number of plots in it, each as SVG, as PNG and as CSV.
    pub plot_count: usize,
}

/// Reason why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file that is not part of a report has the name of one of the report's
    /// files.
    #[error(
        "write {path}: there is such a file, and of no report of smbench's; use another {OUT}, or \
         move it away"
    )]
    Foreign {
        /// Path of that file.
        path: PathBuf,
    },
    /// A file or a folder could not be written.
    #[error("write {path}: {source}")]
    File {
        /// Path of the file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A plot could not be drawn as SVG.
    #[error(transparent)]
    Svg(#[from] SvgError),
    /// A plot could not be rendered as PNG.
    #[error(transparent)]
    Png(#[from] PngError),
}

/// Writes the report on a study into `folder`, and creates the folder if necessary.
/// The files are `index.html`, `report.md`, `report.csv` and `plots/`. They replace
/// those of an earlier report. All other files stay.
///
/// # Errors
///
/// - [`WriteError::Foreign`] if a file with one of these names is not part of a
///   report. Nothing is written then.
/// - Other errors if a file cannot be written. The files before it have been
///   written.
pub fn save(study: &Study, folder: &Path) -> Result<Written, WriteError> {
    let report = report(study);
    let plots = folder.join(PLOTS);
    let at = |path: &Path| {
        let path = path.to_owned();
        |source| WriteError::File { path, source }
    };
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(at(&path))?;
        Ok::<_, WriteError>(path)
    };
    let page = to_html(&report)?;
    let names: Vec<_> = report.plots().map(|plot| plot.name.as_str()).collect();
    let earlier = Earlier::find(&folder.join(PAGE))?;
    earlier.check(folder, &names)?;
    fs::create_dir_all(&plots).map_err(at(&plots))?;
    earlier.remove_plots(folder, &names)?;
    // Written first and atomically, because it names the other files of the report.
    let whole = folder.join(PAGE);
    let part = folder.join(format!(".{PAGE}.{}.tmp", process::id()));
    let written = fs::write(&part, page).and_then(|()| fs::rename(&part, &whole));
    written.map_err(|error| {
        // If the removal fails as well, nothing more can be done.
        let _ = fs::remove_file(&part);
        at(&whole)(error)
    })?;
    let rasterizer = Rasterizer::new();
    for plot in report.plots() {
        let [svg, png, csv] = files_of(&plot.name);
        write(&svg, plot.to_svg()?.as_bytes())?;
        write(&png, &rasterizer.png(plot)?)?;
        let rows = plot.to_csv();
        let rows = rows.map_err(|error| at(&folder.join(&csv))(io::Error::other(error)))?;
        write(&csv, &rows)?;
    }
    let mut csv = Vec::new();
    write_study_csv(study, &mut csv)
        .map_err(|error| at(&folder.join(CSV))(io::Error::other(error)))?;
    Ok(Written {
        csv: write(CSV, &csv)?,
        markdown: write(MARKDOWN, to_markdown(&report).as_bytes())?,
        page: whole,
        plots,
        plot_count: names.len(),
    })
}

/// An earlier report in a folder.
enum Earlier {
    Nothing,
    /// A complete report with these plots.
    Report(Vec<String>),
}

impl Earlier {
    /// Reads the list of plots from the page at `path`, if it exists.
    fn find(path: &Path) -> Result<Self, WriteError> {
        let foreign = || WriteError::Foreign {
            path: path.to_owned(),
        };
        match fs::read_to_string(path) {
            Ok(page) => {
                let names = plots_in(&page).ok_or_else(foreign)?;
                Ok(Self::Report(names.into_iter().map(str::to_owned).collect()))
            }
            Err(error) => match error.kind() {
                // Creating the folder reports the error.
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(Self::Nothing),
                io::ErrorKind::InvalidData => Err(foreign()),
                _ => Err(WriteError::File {
                    path: path.to_owned(),
                    source: error,
                }),
            },
        }
    }

    fn plots(&self) -> &[String] {
        match self {
            Self::Nothing => &[],
            Self::Report(plots) => plots,
        }
    }

    /// Fails if a file that is not part of the earlier report would be replaced.
    fn check(&self, folder: &Path, plots: &[&str]) -> Result<(), WriteError> {
        let others = match self {
            Self::Nothing => &[MARKDOWN, CSV][..],
            Self::Report(_) => &[],
        };
        let new = plots
            .iter()
            .filter(|&&name| !self.plots().iter().any(|plot| plot == name));
        let others = others.iter().map(|&name| name.to_owned());
        let mut paths = others
            .chain(new.flat_map(|name| files_of(name)))
            .map(|name| folder.join(name));
        match paths.find(|path| path.symlink_metadata().is_ok()) {
            Some(path) => Err(WriteError::Foreign { path }),
            None => Ok(()),
        }
    }

    /// Removes the earlier report's plots, except those that will be replaced.
    fn remove_plots(&self, folder: &Path, but: &[&str]) -> Result<(), WriteError> {
        let old = self.plots().iter();
        for name in old.filter(|name| !but.contains(&name.as_str())) {
            for path in files_of(name).map(|name| folder.join(name)) {
                match fs::remove_file(&path) {
                    Err(source) if source.kind() != io::ErrorKind::NotFound => {
                        return Err(WriteError::File { path, source });
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Returns the files of a plot, relative to the report's folder.
fn files_of(plot: &str) -> [String; 3] {
    ["svg", "png", "csv"].map(|extension| format!("{PLOTS}/{plot}.{extension}"))
}
