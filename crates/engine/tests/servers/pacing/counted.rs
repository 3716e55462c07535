//! Mixes that end after a number of actions of each client.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::kind::OpKind;
use smbench_model::record::Outcome;
use smbench_model::spec::{RunOptions, WorkSpec};

use crate::pacing::{HANG, options};
use crate::support::{plan, target};

/// More than a client has in flight, and no multiple of it.
const COUNT: u64 = 101;

#[test]
fn each_client_ends_after_its_count_in_closed_loops_and_at_rates() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    for (rate, outstanding) in [(None, 1), (None, 8), (Some("4000"), 1), (Some("4000"), 8)] {
        let options = RunOptions {
            work: WorkSpec {
                clients: Some("1,3".parse().unwrap()),
                outstanding: Some(outstanding),
                rate: rate.map(|rate| rate.parse().unwrap()),
                ramp_up: Some(Duration::ZERO),
                ramp_down: Some(Duration::ZERO),
                duration: Some(HANG),
                ..options().work
            },
            ..options()
        };
        let target = target(&server.url(), server.password());
        let mut plan = plan("read-4k", &options, target);
        plan.only_mut().count = Some(COUNT);
        let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
        assert_eq!(record.outcome, Outcome::Complete);
        let points = record.load_points.iter();
        let counts = points.map(|point| {
            assert_eq!(point.invalid, None, "{rate:?} {outstanding}");
            assert!(point.window < HANG);
            point.ops.window(OpKind::Read).count()
        });
        assert_eq!(counts.collect::<Vec<_>>(), [COUNT, 3 * COUNT]);
    }
}
