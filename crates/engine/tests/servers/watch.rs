//! Watches that are held until another client changes the directory.

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::kind::OpKind;
use smbench_model::spec::{RunOptions, WorkSpec};

use crate::support::{plan, short, target};

const WATCHED: &str = "[files]\nscope = \"shared\"\nsize = \"4KiB\"\n\
    [[operations]]\nop = \"watch\"\nfilter = [\"file_name\"]\nweight = 50\n\
    [[operations]]\nop = \"copy_in\"\nweight = 50\n";

#[test]
fn all_others_are_told_of_a_change_and_watches_end_with_the_load() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let target = target(&samba.url(), samba.password());
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), WATCHED).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("4".parse().unwrap()),
            ..short().work
        },
        ..short()
    };
    let plan = plan(file.path().to_str().unwrap(), &options, target);
    let mut record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.leftover, None);
    let point = record.load_points.remove(0);
    let failures = point.ops.failures();
    assert!(failures.is_empty(), "{failures:?}");
    assert!(point.dropouts.is_empty(), "{:?}", point.dropouts);
    let watch = point.ops.window(OpKind::Watch);
    assert!(point.ops.whole(OpKind::CopyIn).count > 0);
    assert!(watch.entries >= watch.count() && watch.entries > 0);
    // The three watches that were held at the end.
    assert_eq!(point.ops.whole(OpKind::Cancel).count, 3);
}
