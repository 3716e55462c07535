//! Whole runs against real servers: the embedded one and a scratch Samba.

use crate::support::{plan, short, target};
use smbench_engine::plan::Verify;
use smbench_engine::record::{OpKind, Outcome};
use smbench_engine::run::{Unobserved, execute};
use smbench_engine::spec::RunOptions;
use smbench_engine::{Cancel, record};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, Tool, require};

fn assert_clean(record: &record::RunRecord, points: usize) {
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    assert_eq!(record.load_points.len(), points);
    for point in &record.load_points {
        assert_eq!(point.invalid, None, "{} clients", point.clients);
        assert_eq!(point.ops.errors(), 0);
        assert!(point.ops.window_all().count > 0);
        assert_eq!(point.window, record.plan.duration);
        assert_eq!(point.setup.session.len(), u64::from(point.clients));
    }
}

#[test]
fn the_file_server_profile_runs_on_the_embedded_server() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = RunOptions {
        clients: Some("1,3".parse().unwrap()),
        outstanding: Some(4),
        verify: Some(Verify::ReadBack),
        ..short()
    };
    let plan = plan(
        "file-server",
        &options,
        target(&server.url(), server.password()),
    );
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_clean(&record, 2);
    for point in &record.load_points {
        assert!(point.ops.whole(OpKind::Read).count > point.ops.whole(OpKind::Write).count);
    }
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

#[test]
fn the_file_server_profile_runs_on_samba() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let options = RunOptions {
        clients: Some("1,4".parse().unwrap()),
        outstanding: Some(2),
        verify: Some(Verify::ReadBack),
        ..short()
    };
    let plan = plan(
        "file-server",
        &options,
        target(&samba.url(), samba.password()),
    );
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_clean(&record, 2);
    assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}
