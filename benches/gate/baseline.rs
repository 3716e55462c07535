//! The committed counts, with the compiler and the processor of their measurement.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::count;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/baselines.toml");

/// The content of `baselines.toml`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baselines {
    /// Output of `rustc --version`.
    pub(crate) compiler: String,
    /// The processor that valgrind emulated.
    pub(crate) processor: String,
    /// Instructions per call, by case.
    instructions: BTreeMap<String, f64>,
}

impl Baselines {
    pub(crate) fn empty() -> Result<Self, String> {
        Ok(Self {
            compiler: compiler()?,
            processor: count::processor()?,
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

/// Returns the compiler's version. Another compiler may give other counts, so a
/// failure must show it.
pub(crate) fn compiler() -> Result<String, String> {
    let said = Command::new("rustc").arg("--version").output();
    let said = said.map_err(|error| format!("rustc: {error}"))?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// Returns the processor features that this program detects, usually under
/// valgrind. Cryptography and copying choose their code by these features.
#[cfg(target_arch = "x86_64")]
pub(crate) fn features() -> String {
    macro_rules! found {
        ($($name:tt),+) => {
            [$(($name, is_x86_feature_detected!($name))),+]
        };
    }
    let all = found![
        "sse4.1",
        "sse4.2",
        "aes",
        "pclmulqdq",
        "sha",
        "avx",
        "avx2",
        "bmi1",
        "bmi2",
        "adx",
        "vaes",
        "vpclmulqdq",
        "avx512f"
    ];
    let has = all.iter().filter(|(_, found)| *found);
    let names: Vec<&str> = has.map(|(name, _)| *name).collect();
    format!("x86_64 {}", names.join(" "))
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn features() -> String {
    std::env::consts::ARCH.to_owned()
}
