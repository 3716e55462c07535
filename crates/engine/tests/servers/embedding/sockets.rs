//! A target of bare sockets in place of a server.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use smbench_engine::driver::{Busy, Call, Connector, Driver, Dropped, Opened, Scratch, Sink};
use smbench_engine::loopback::{self, Loopback, LoopbackDriver};
use smbench_engine::run::SessionError;
use smbench_formats::profile;
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::operations::{Drawn, Mix};
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::spec::{GeneratorSpec, RunOptions, WorkSpec};
use smbench_model::target::Target;

use super::{drawn, plan, run};
use crate::support::{assert_undisturbed, short};

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
            work: WorkSpec {
                outstanding: Some(2),
                ..short().work
            },
            ..short()
        };
        let plan = Plan::resolve(&profile, &options, Target::none(), Limits::default(), 2).unwrap();
        let drawn = Drawn {
            mix: Mix::new(&plan.only().workload),
            seed: 1,
        };
        let record = run(&plan, Loopback { server }, drawn);
        let point = &record.load_points[0];
        assert_undisturbed(point);
        assert_eq!(point.setup.connections, u64::from(point.clients));
        for (kind, share) in [
            (OpKind::Read, read_percent),
            (OpKind::Write, 100.0 - read_percent),
        ] {
            let moved = point.ops.whole(kind);
            assert_eq!(moved.count > 0, share > 0.0, "{size} {kind:?}");
            assert_eq!(moved.bytes, moved.count * u64::from(plan.largest_request()));
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
    plan.only_mut().clients = vec![1];
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
            mix: Mix::new(&plan.only().workload),
            seed: 1,
        };
        let record = run(&plan, Loopback { server }, drawn);
        peer.join().unwrap();
        let dropouts = &record.load_points[0].dropouts;
        assert!(dropouts[0].reason.contains(words), "{dropouts:?}");
    }
}

/// A target whose sockets stay tokio's under load, as those of any embedding program.
#[derive(Clone)]
struct OnTokio(Loopback);

struct OnTokioDriver(LoopbackDriver);

impl Connector for OnTokio {
    type Driver = OnTokioDriver;

    async fn open(&self, clients: &[u32]) -> Result<Opened<OnTokioDriver>, SessionError> {
        let opened = self.0.open(clients).await?;
        let driver = OnTokioDriver(opened.driver);
        Ok(Opened::new(
            driver,
            opened.connections,
            opened.session_setup,
        ))
    }
}

impl Driver for OnTokioDriver {
    fn has_room(&self, scratch: &Scratch) -> bool {
        self.0.has_room(scratch)
    }

    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        self.0.submit(call, scratch, data)
    }

    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> Result<(), Dropped> {
        self.0.flush(context, scratch)
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        self.0.poll_receive(context, scratch)
    }

    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        self.0.take_answers(received, now, scratch, sink)
    }
}

/// Tokio gives all groups of a worker one budget. It suffices for some of them at a time.
#[test]
fn many_sockets_of_tokio_have_their_turns() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    thread::spawn(move || loopback::serve(&listener));
    for rate in [None, Some("10/client")] {
        let plan = plan(
            "read-4k",
            RunOptions {
                work: WorkSpec {
                    clients: Some("300".parse().unwrap()),
                    rate: rate.map(|rate| rate.parse().unwrap()),
                    duration: Some(Duration::from_secs(2)),
                    ..short().work
                },
                generator: GeneratorSpec {
                    threads: Some(1),
                    ..short().generator
                },
                ..short()
            },
        );
        let record = run(&plan, OnTokio(Loopback { server }), drawn(&plan));
        let point = &record.load_points[0];
        assert_eq!(point.invalid, None);
        assert!(point.fairness.min() > 0);
        // The timer of the load is noticed although drivers use up the budget.
        assert!(point.generator.workers[0].lateness.len() > 50);
        if rate.is_none() {
            assert!(point.fairness.min() * 10 > point.fairness.max());
        }
    }
}
