//! What the server and TCP count under a load, beside what was sent.

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::cpu::CounterSource;
use smbench_model::generator::TcpCounters;
use smbench_model::kind::OpKind;
use smbench_model::record::{LoadPointRecord, Outcome};
use smbench_model::spec::{GeneratorSpec, RunOptions, WorkSpec};
use smbench_model::target::Target;

use crate::support::{plan, short, target};

/// Runs a profile with three clients, and reads all counters.
fn counted(profile: &str, source: CounterSource, server: Target) -> LoadPointRecord {
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("3".parse().unwrap()),
            outstanding: Some(4),
            ..short().work
        },
        generator: GeneratorSpec {
            tcp: Some(TcpCounters::Read),
            server_counters: Some(source),
            ..short().generator
        },
        ..short()
    };
    let plan = plan(profile, &options, server);
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    record.load_points[0].clone()
}

#[test]
fn smbd_counts_every_request_of_the_load_and_no_other() {
    let options = SambaOptions {
        extra_global: vec!["smbd profiling level = on".to_owned()],
        ..SambaOptions::default()
    };
    let Some(samba) = ScratchSamba::or_skip(options) else {
        return;
    };
    let server = target(&samba.url(), samba.password());
    for source in [CounterSource::Profile, CounterSource::Auto] {
        let point = counted("read-4k", source, server.clone());
        let record = point.counters.as_ref().unwrap();
        if samba.user() != "root" {
            assert!(record.counted.as_ref().unwrap_err().contains("root"));
            continue;
        }
        let counters = record.counted.as_ref().unwrap();
        let whole = point.ops.whole(OpKind::Read);
        let read = counters.commands["read"];
        assert_eq!(read.count, whole.count + whole.errors);
        assert!(read.time.unwrap().as_nanos() > 0);
        assert_eq!(counters.commands.len(), 1, "{:?}", counters.commands);
        assert!(!counters.calls.is_empty());
        assert!(record.memory.unwrap().after > 0);
    }
}

#[test]
fn a_server_that_is_not_smbd_has_a_reason_and_tcp_counts_its_connections() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let server = target(&server.url(), server.password());
    let point = counted("read-4k", CounterSource::Auto, server);
    let record = point.counters.as_ref().unwrap();
    let reason = record.counted.as_ref().unwrap_err();
    assert!(reason.contains("is the server and smbench"), "{reason}");
    let tcp = point.tcp.as_ref().unwrap().as_ref().unwrap();
    assert_eq!((tcp.connections, tcp.ended), (3, 0));
    let window = point.ops.window(OpKind::Read);
    // The dump is a little after the window opens, and operations are in flight then.
    assert!(tcp.bytes_received > 0 && window.bytes > 0);
    assert!(tcp.segments_sent > 0 && tcp.rtt.is_some());
}
