//! A report as files in a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use smbench_report::study::Study;
use smbench_report::write_study_csv;

use crate::plot::{PngError, Rasterizer, SvgError};
use crate::{PLOTS, report, to_html, to_markdown};

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The page that has everything.
    pub page: PathBuf,
    /// The same as Markdown.
    pub markdown: PathBuf,
    /// All load points and operations as rows.
    pub csv: PathBuf,
    /// The folder of the plots.
    pub plots: PathBuf,
    /// How many plots are in it, each as SVG and as PNG.
    pub plot_count: usize,
}

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file or a folder.
    #[error("write {path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A plot as SVG.
    #[error(transparent)]
    Svg(#[from] SvgError),
    /// A plot as PNG.
    #[error(transparent)]
    Png(#[from] PngError),
}

/// Writes the report on a study into `folder`, which is made where it is missing:
/// `index.html`, `report.md`, `report.csv` and `plots/`. Files of those names are
/// replaced, others left alone.
///
/// # Errors
///
/// When anything cannot be written; the files before it have been.
pub fn save(study: &Study, folder: &Path) -> Result<Written, WriteError> {
    let report = report(study);
    let plots = folder.join(PLOTS);
    let at = |path: &Path| {
        let path = path.to_owned();
        |source| WriteError::File { path, source }
    };
    fs::create_dir_all(&plots).map_err(at(&plots))?;
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(at(&path))?;
        Ok::<_, WriteError>(path)
    };
    remove_plots(&plots).map_err(at(&plots))?;
    let rasterizer = Rasterizer::new();
    let mut plot_count = 0;
    for plot in report.plots() {
        write(
            &format!("{PLOTS}/{}.svg", plot.name),
            plot.to_svg()?.as_bytes(),
        )?;
        write(
            &format!("{PLOTS}/{}.png", plot.name),
            &rasterizer.png(plot)?,
        )?;
        plot_count += 1;
    }
    let mut csv = Vec::new();
    let path = folder.join("report.csv");
    write_study_csv(study, &mut csv).map_err(|error| at(&path)(io::Error::other(error)))?;
    Ok(Written {
        csv: write("report.csv", &csv)?,
        markdown: write("report.md", to_markdown(&report).as_bytes())?,
        // Last, since it is the one that people open.
        page: write("index.html", to_html(&report)?.as_bytes())?,
        plots,
        plot_count,
    })
}

/// Removes the plots of an earlier report, whose names may be others, and
/// nothing else.
fn remove_plots(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_numbered = name.as_bytes().first().is_some_and(u8::is_ascii_digit);
        let is_picture = path
            .extension()
            .is_some_and(|extension| extension == "svg" || extension == "png");
        if is_numbered && is_picture {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
