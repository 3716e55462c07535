//! The committed counts, and what they were counted with.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/baselines.toml");

/// The content of `baselines.toml`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baselines {
    /// What `rustc --version` said.
    pub(crate) compiler: String,
    /// Instructions per call, by case.
    instructions: BTreeMap<String, f64>,
}

impl Baselines {
    pub(crate) fn empty() -> Result<Self, String> {
        Ok(Self {
            compiler: compiler()?,
            instructions: BTreeMap::new(),
        })
    }

    pub(crate) fn load() -> Result<Self, String> {
        let text = std::fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        toml::from_str(&text).map_err(|error| format!("{FILE}: {error}"))
    }

    pub(crate) fn save(&self) -> Result<(), String> {
        let text = toml::to_string(self).map_err(|error| error.to_string())?;
        std::fs::write(Path::new(FILE), text).map_err(|error| format!("{FILE}: {error}"))
    }

    pub(crate) fn of(&self, case: &str) -> Result<f64, String> {
        let missing = || format!("{FILE} has no count for `{case}`: run `smbench-gate update`");
        self.instructions.get(case).copied().ok_or_else(missing)
    }

    pub(crate) fn set(&mut self, case: &str, instructions: f64) {
        let rounded = (instructions * 10.0).round() / 10.0;
        self.instructions.insert(case.to_owned(), rounded);
    }
}

/// Another compiler may count differently; whoever reads a failure must know.
pub(crate) fn compiler() -> Result<String, String> {
    let said = Command::new("rustc").arg("--version").output();
    let said = said.map_err(|error| format!("rustc: {error}"))?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}
