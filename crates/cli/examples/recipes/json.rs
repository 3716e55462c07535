//! A plan from JSON, and a result as JSON.

use smbench::{Error, Run};

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
