//! Watches that are held until another client changes the directory.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::kind::OpKind;
use smbench_model::spec::{RunOptions, WorkSpec};

use crate::support::{plan, short, target};

const WATCHED: &str = "[files]\nscope = \"shared\"\nsize = \"4KiB\"\n\
    [[operations]]\nop = \"watch\"\nfilter = [\"file_name\"]\nweight = 50\n\
    [[operations]]\nop = \"copy_in\"\nweight = 50\n";
/// Clients that watch, while another one copies.
const WATCHERS: u64 = 3;
/// Most runs for one whose last change is not under way at the end of the load.
const RUNS_MAX: u32 = 5;

#[test]
fn all_others_are_told_of_a_change_and_watches_end_with_the_load() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), WATCHED).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("4".parse().unwrap()),
            duration: Some(Duration::from_secs(1)),
            think_time: Some(Duration::from_millis(200)),
            ..short().work
        },
        ..short()
    };
    let mut cancelled = (0..RUNS_MAX).map(|_| {
        let target = target(&samba.url(), samba.password());
        let plan = plan(file.path().to_str().unwrap(), &options, target);
        let mut record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
        assert_eq!(record.leftover, None);
        let point = record.load_points.remove(0);
        let failures = point.ops.failures();
        assert!(failures.is_empty(), "{failures:?}");
        assert!(point.dropouts.is_empty(), "{:?}", point.dropouts);
        let (watch, copies) = (
            point.ops.window(OpKind::Watch),
            point.ops.whole(OpKind::CopyIn).count,
        );
        assert!(copies > 0);
        assert!(watch.entries >= watch.count() && watch.entries >= WATCHERS);
        let cancelled = point.ops.whole(OpKind::Cancel).count;
        assert!(cancelled <= WATCHERS, "{cancelled}");
        cancelled
    });
    // The watches that were held at the end.
    assert!(cancelled.any(|count| count == WATCHERS));
}
