//! A target of bare sockets in place of a server.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use smbench_engine::loopback::{self, Loopback};
use smbench_engine::plan::{Limits, Plan};
use smbench_engine::profile::{self, Profile};
use smbench_engine::record::OpKind;
use smbench_engine::spec::RunOptions;
use smbench_engine::stream::{Drawn, Mix};
use smbench_engine::target::Target;

use super::run;
use crate::support::short;

/// Bare sockets move as many bytes as SMB would, small and large, in both
/// directions.
#[test]
fn bare_sockets_move_every_byte() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    thread::spawn(move || loopback::serve(&listener));
    for (read_percent, size) in [
        (100.0, "512"),
        (100.0, "64KiB"),
        (0.0, "64KiB"),
        (50.0, "1MiB"),
    ] {
        let toml = format!(
            "read_percent = {read_percent}\n[files]\nsize = \"1MiB\"\n[[sizes]]\nsize = \"{size}\"\nweight = 100\n"
        );
        let profile = Profile::parse("loopback", &toml).unwrap();
        let options = RunOptions {
            outstanding: Some(2),
            ..short()
        };
        let plan = Plan::resolve(&profile, &options, Target::none(), Limits::default(), 2).unwrap();
        let drawn = Drawn {
            mix: Mix::new(&plan.work.workload),
            seed: 1,
        };
        let record = run(&plan, Loopback { server }, drawn);
        let point = &record.load_points[0];
        assert_eq!(point.invalid, None, "{size}");
        assert_eq!(point.setup.connections, u64::from(point.clients));
        for (kind, share) in [
            (OpKind::Read, read_percent),
            (OpKind::Write, 100.0 - read_percent),
        ] {
            let moved = point.ops.window(kind);
            assert_eq!(moved.count() > 0, share > 0.0, "{size} {kind:?}");
            assert_eq!(
                moved.bytes,
                moved.count() * u64::from(plan.largest_request())
            );
        }
    }
}

#[test]
fn an_end_that_says_too_much_or_goes_away_drops_the_client() {
    let plan = Plan::of(
        &Profile::from_spec("loopback", profile::load("read-4k").unwrap().spec),
        Target::none(),
    );
    let mut plan = plan.unwrap();
    plan.work.load_points = vec![1];
    plan.work.duration = Duration::from_millis(100);
    plan.work.ramp_up = Duration::ZERO;
    for (answer, words) in [
        (&[0; 8192][..], "more than was asked for"),
        (&[], "closed the connection"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let peer = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 117];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(answer).unwrap();
        });
        let drawn = Drawn {
            mix: Mix::new(&plan.work.workload),
            seed: 1,
        };
        let record = run(&plan, Loopback { server }, drawn);
        peer.join().unwrap();
        let dropouts = &record.load_points[0].dropouts;
        assert!(dropouts[0].reason.contains(words), "{dropouts:?}");
    }
}
