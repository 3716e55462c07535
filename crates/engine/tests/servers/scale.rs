//! Many sessions in one process.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::record::{OpKind, Outcome};
use smbench_engine::run::{Unobserved, execute};
use smbench_engine::spec::RunOptions;
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, Tool, require};

use crate::support::{plan, short, target};

fn many(clients: u32) -> RunOptions {
    RunOptions {
        clients: Some(clients.to_string().parse().unwrap()),
        // Long enough for every client to have its turn several times.
        duration: Some(Duration::from_secs(2)),
        ..short()
    }
}

fn assert_all_took_part(record: &smbench_engine::record::RunRecord, clients: u32) {
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None);
    assert_eq!(point.ops.errors(), 0);
    assert_eq!(point.setup.session.len(), u64::from(clients));
    assert!(point.ops.whole(OpKind::Read).count >= u64::from(clients));
}

#[test]
fn a_thousand_clients_on_the_embedded_server() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let plan = plan(
        "file-server",
        &RunOptions {
            file_size: Some("64KiB".parse().unwrap()),
            ..many(1000)
        },
        target(&server.url(), server.password()),
    );
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_all_took_part(&record, 1000);
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

#[test]
fn five_hundred_clients_on_samba() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let plan = plan(
        "file-server",
        &RunOptions {
            file_size: Some("64KiB".parse().unwrap()),
            ..many(500)
        },
        target(&samba.url(), samba.password()),
    );
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_all_took_part(&record, 500);
    assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}
