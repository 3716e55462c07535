//! The calibration that a run is compared with. Not here: how one is measured.

use std::path::{Path, PathBuf};

use smbench_report::LoadError;
use smbench_report::calibration::CALIBRATION_FILE;
use smbench_report::doc::{CalibrationDoc, MachineDoc};

use crate::failure::Failure;

/// Source of a calibration, if not the folder of the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CalibrationSource {
    /// The run is compared with none.
    Off,
    /// The document at this path.
    File(PathBuf),
}

/// The calibration that a run is compared with.
#[derive(Clone, Debug, Default)]
pub struct RunCalibration {
    /// The calibration, if there is one.
    pub calibration: Option<CalibrationDoc>,
    /// Why the folder's calibration is not used, if that needs an explanation.
    pub note: Option<String>,
}

/// Returns the calibration that a run is compared with. It is the given file, or
/// the one in the folder of results if it is of this machine.
pub fn found(source: Option<&CalibrationSource>, folder: &Path) -> Result<RunCalibration, Failure> {
    match source {
        Some(CalibrationSource::Off) => Ok(RunCalibration::default()),
        Some(CalibrationSource::File(path)) => Ok(RunCalibration {
            calibration: Some(CalibrationDoc::load(path)?),
            note: None,
        }),
        None => Ok(match CalibrationDoc::load(&folder.join(CALIBRATION_FILE)) {
            Ok(found) => RunCalibration {
                calibration: Some(found).filter(|found| found.machine.is_same(&MachineDoc::this())),
                note: None,
            },
            Err(LoadError::NotFound { .. }) => RunCalibration::default(),
            // The user did not ask for it, so an error must not stop the run.
            Err(error) => RunCalibration {
                calibration: None,
                note: Some(format!(
                    "not compared with a calibration: failed to {error}"
                )),
            },
        }),
    }
}
