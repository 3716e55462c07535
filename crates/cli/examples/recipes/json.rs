//! A plan from JSON, and a result as JSON.

use smbench::report::LoadError;
use smbench::{Error, Run, RunDoc};

pub const PLAN: &str = r#"{
    "server": "smb://alice@nas/bench",
    "workload": {
        "read_percent": 70,
        "sizes": [{"size": "4KiB", "weight": 100}]
    },
    "run": {"clients": "1,2", "duration": "500ms", "ramp_up": "100ms"},
    "label": "from another language"
}"#;

pub fn json(plan: &str, password: &str) -> Result<String, Error> {
    let finished = Run::from_json(plan)?.password(password).execute()?;
    Ok(finished.doc.to_json())
}

/// Reads what `json` returned. Documents of older releases can be read, too.
pub fn highest_rate(result: &str) -> Result<f64, LoadError> {
    let doc: RunDoc = result.parse()?;
    let rates = doc.load_points.iter().map(|point| point.ops_per_s);
    Ok(rates.fold(0.0, f64::max))
}
