//! Servers that lose acknowledged writes, or apply an old one again.

use std::time::Duration;

use smbench_engine::{Cancel, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::spec::SessionsSpec;

use super::faulty::{Fault, FaultyRelay};
use super::options;
use crate::support::target;

/// A client writes and reads places of one size.
const PROFILE: &str = "name = \"places\"\n\
    files = { count = 1, size = \"32KiB\" }\n\
    sizes = [{ size = \"4KiB\", weight = 100 }]\n\
    operations = [{ op = \"write\", weight = 50 }, { op = \"read\", weight = 50 }]\n";

/// The server loses some writes and repeats older ones. The first READ of such a place is named
/// with its file and its offset, and no other READ is. Each fault counts once.
#[test]
fn each_write_that_is_lost_or_repeated_is_named_when_it_is_read() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    for fault in [Fault::Drop, Fault::Repeat] {
        let relay = FaultyRelay::start(server.address(), fault, 50);
        let mut target = target(&server.url(), server.password());
        target.port = relay.port;
        let mut options = options(1, Duration::from_secs(2), SessionsSpec::default());
        options.work.file_size = None;
        options.sessions.reconnect = None;
        let profile = Profile::parse("places", PROFILE).unwrap();
        let plan = Plan::resolve(&profile, &options, target, Limits::default(), 1).unwrap();
        let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
        let ops = &record.load_points[0].ops;
        let wrong_reads = relay.wrong_reads();
        // Most places are read before they are written again.
        assert!(
            !relay.faults().is_empty() && !wrong_reads.is_empty(),
            "{fault:?}"
        );
        let faults = ops.faults();
        assert_eq!(faults.lost, wrong_reads.len() as u64, "{fault:?}");
        assert_eq!((faults.doubled, faults.torn), (0, 0), "{fault:?}");
        let named = ops.wrong_places();
        let offsets: Vec<_> = named.iter().map(|place| place.offset).collect();
        let kept = wrong_reads
            .len()
            .min(smbench_model::record::WrongPlace::KEPT_MAX);
        assert_eq!(offsets, wrong_reads[..kept], "{fault:?}");
        for place in named {
            assert_eq!((place.client, place.file), (0, 0));
            let found = format!("the block at {} holds generation ", place.offset);
            assert!(place.found.starts_with(&found), "{place}");
        }
        let reason = record.load_points[0].invalid.as_ref().unwrap();
        let first = format!("wrong data first at {}", named[0]);
        assert!(reason.contains(&first), "{reason}");
    }
}
