//! Replays that end early leave no files.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::probe::cleanup;
use smbench_engine::run::{Observer, Progress, execute};
use smbench_formats::profile;
use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::limits::Limits;
use smbench_model::record::{Outcome, RunRecord};
use smbench_model::sessions::SessionOptions;
use smbench_model::spec::{RunOptions, WorkSpec};

use super::{TIDY, is_clean, options, plan, profile_of};
use crate::support::target;

/// Cancels a run once the first operations are measured.
struct Impatient(Cancel);

impl Observer for Impatient {
    fn progress(&mut self, progress: &Progress) {
        if let Progress::Running { .. } = progress {
            self.0.cancel();
        }
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

#[test]
fn an_interrupted_replay_leaves_nothing() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let mut profile = profile_of(TIDY);
    for name in ["my", "netbench-like-oplocks"] {
        if name != "my" {
            profile = profile::load(name).unwrap();
        }
        let options = RunOptions {
            work: WorkSpec {
                loops: None,
                duration: Some(Duration::from_secs(600)),
                ..options("3", 1).work
            },
            ..options("3", 1)
        };
        let cancel = Cancel::default();
        let plan = plan(&profile, &options, &samba);
        let record = execute(&plan, &mut Impatient(cancel.clone()), &cancel).unwrap();
        assert_eq!(record.outcome, Outcome::Interrupted);
        assert_eq!(record.leftover, None);
        assert!(is_clean(&samba));
    }
}

#[test]
fn cleanup_removes_what_a_dead_replay_left() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let run = samba.data_dir().join("smbench-0123456789abcdef");
    let deep = run.join("replay/clients/client7/~dmtmp/WORD");
    std::fs::create_dir_all(&deep).unwrap();
    for path in [
        run.join("smbench.run"),
        deep.join("thesis.doc"),
        run.join("replay/x"),
    ] {
        std::fs::write(path, "x").unwrap();
    }
    let target = target(&samba.url(), samba.password());
    let done = cleanup(&target, SessionOptions::default(), Limits::default()).unwrap();
    assert_eq!(done.removed, ["smbench-0123456789abcdef"]);
    assert!(is_clean(&samba));
}
