//! Parts of studies. The tests of reports and of pages share this file.

use smbench_report::RunDoc;
use smbench_report::doc::{SCHEMA_VERSION, ToolDoc};
use smbench_report::study::{
    ComparisonDoc, ComparisonKind, StudyDoc, StudyResult, StudyServerDoc, TransferDoc, TransferMode,
};

pub(crate) fn server(name: &str) -> StudyServerDoc {
    StudyServerDoc {
        name: name.to_owned(),
        url: None,
        notes: vec!["the note of the study".to_owned()],
        settings: vec!["strict sync = yes".to_owned()],
        smbd: None,
        client: Vec::new(),
    }
}

pub(crate) fn comparison(title: &str, kind: ComparisonKind, servers: &[&str]) -> ComparisonDoc {
    ComparisonDoc {
        title: title.to_owned(),
        kind,
        baseline: None,
        servers: servers.iter().copied().map(str::to_owned).collect(),
    }
}

/// Returns a study of these servers with one pass of one profile.
pub(crate) fn study_doc(servers: &[&str]) -> StudyDoc {
    StudyDoc {
        schema_version: SCHEMA_VERSION,
        tool: ToolDoc::this(),
        name: "sample".to_owned(),
        title: "A sample study".to_owned(),
        started: "2026-01-31T12:00:00Z".to_owned(),
        command: ["smbench", "suite", "my suite.toml"]
            .map(str::to_owned)
            .into(),
        profiles: vec!["file-server".to_owned()],
        load_points: Vec::new(),
        passes: 1,
        servers: servers.iter().copied().map(server).collect(),
        transfers: Vec::new(),
        searches: Vec::new(),
        comparisons: Vec::new(),
    }
}

pub(crate) fn transfer(mode: TransferMode, bytes: u32) -> TransferDoc {
    TransferDoc {
        profile: format!("{}-{bytes}", mode.name()),
        mode,
        bytes,
        generators_per_client: if mode == TransferMode::Duplex { 2 } else { 1 },
    }
}

pub(crate) fn result(server: usize, profile: usize, run: RunDoc) -> StudyResult {
    StudyResult {
        server,
        profile,
        run,
    }
}
