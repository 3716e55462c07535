//! Many sessions in one process, and whether that process is the bottleneck.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::contents::Verify;
use smbench_model::generator::Pinning;
use smbench_model::kind::OpKind;
use smbench_model::record::Outcome;
use smbench_model::spec::{GeneratorSpec, RunOptions, WorkSpec};

use crate::support::{plan, short, target};

fn many(clients: u32) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some(clients.to_string().parse().unwrap()),
            // Long enough for every client to be served several times.
            duration: Some(Duration::from_secs(2)),
            ..short().work
        },
        ..short()
    }
}

fn assert_all_took_part(record: &smbench_model::record::RunRecord, clients: u32) {
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None);
    assert_eq!(point.ops.errors(), 0);
    assert_eq!(point.setup.session.len(), u64::from(clients));
    assert!(point.ops.whole(OpKind::Read).count >= u64::from(clients));
    assert_eq!(point.clients_served, clients, "all had their turn");
}

#[test]
fn a_thousand_clients_on_the_embedded_server() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let plan = plan(
        "file-server",
        &RunOptions {
            work: WorkSpec {
                file_size: Some("64KiB".parse().unwrap()),
                ..many(1000).work
            },
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
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let plan = plan(
        "file-server",
        &RunOptions {
            work: WorkSpec {
                file_size: Some("64KiB".parse().unwrap()),
                ..many(500).work
            },
            ..many(500)
        },
        target(&samba.url(), samba.password()),
    );
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_all_took_part(&record, 500);
    assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}

/// Never faster than requested; a slow server may make it slower.
#[test]
fn sessions_are_set_up_at_the_rate_asked_for() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("201".parse().unwrap()),
            ..short().work
        },
        generator: GeneratorSpec {
            setup_rate: Some(500),
            pin_threads: Some(Pinning::Pinned),
            ..short().generator
        },
        ..short()
    };
    let target = target(&server.url(), server.password());
    let plan = plan("read-4k", &options, target);
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    let point = &record.load_points[0];
    assert_eq!(point.setup.session.len(), 201);
    // 200 intervals of 2 ms, minus 10 ms that may be compensated at each end.
    assert!(
        point.setup.elapsed >= Duration::from_millis(380),
        "{:?}",
        point.setup.elapsed
    );
    let workers = &point.generator.workers;
    assert_eq!(workers.len(), 2);
    assert!(workers.iter().all(|worker| worker.cpu.is_some()));
    assert!(workers.iter().all(|worker| !worker.lateness.is_empty()));
}

/// A single thread compares every byte of many large answers, which wait for it. It
/// limits the load, and the result says so.
#[test]
fn a_generator_that_cannot_keep_up_says_so() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("4".parse().unwrap()),
            outstanding: Some(16),
            duration: Some(Duration::from_secs(1)),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        generator: GeneratorSpec {
            threads: Some(1),
            ..short().generator
        },
        ..short()
    };
    let target = target(&server.url(), server.password());
    let mut plan = plan("file-server", &options, target);
    plan.only_mut().workload.sizes.truncate(1);
    plan.only_mut().workload.sizes[0].size = 1 << 20;
    plan.only_mut().workload.sizes[0].weight = 100.0;
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None);
    let generator = &point.generator;
    // The server is a thread of this test, so that other tests may have the CPU as well.
    let reason = generator
        .limited
        .as_ref()
        .or(generator.shared_cpus.as_ref());
    let reason = reason.map_or("", |reason| reason);
    assert!(reason.starts_with("thread 0 "), "{generator:?}");
    let worker = &generator.workers[0];
    assert!(worker.cpu_share + worker.waiting_share.unwrap_or(0.0) > 0.9);
}
