//! Recycle bins: what must stay in them, and what cannot be removed.

mod ends;
mod kept;

use smbench_engine::Cancel;
use smbench_engine::probe::{Cleanup, cleanup};
use smbench_engine::run::{Observer, Progress, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, ShareAccess};
use smbench_model::limits::Limits;
use smbench_model::record::{RecycleBin, RunRecord};
use smbench_model::sessions::SessionOptions;
use smbench_model::target::Target;

use crate::support::{plan, short, target};

#[test]
fn files_that_the_server_keeps_are_counted_with_the_reason() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        access: ShareAccess::ReadOnly,
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let memory = server.memory();
    let directory = "@Recycle/smbench-0123456789abcdef";
    for (name, contents) in [("smbench.run", ""), ("c00000-f000.dat", "12345")] {
        let path = format!("{directory}/{name}");
        memory.put(&path, contents.as_bytes()).unwrap();
    }
    let target = target(&server.url(), server.password());
    let done = cleanup(&target, SessionOptions::default(), Limits::default()).unwrap();
    let [bin] = &done.bins[..] else {
        panic!("{done:?}");
    };
    assert_eq!(
        (bin.files_removed, bin.files_left, bin.bytes_left),
        (0, 2, 5)
    );
    let message = bin.leftover().unwrap();
    assert!(
        message.starts_with("2 files remain in the recycle bin '@Recycle' (5 B): "),
        "{message}"
    );
}

#[test]
fn a_share_without_a_bin_has_none_in_the_record() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let plan = plan(
        "file-server",
        &short(),
        target(&server.url(), server.password()),
    );
    let record = execute(
        &plan,
        &mut smbench_engine::run::Unobserved,
        &Cancel::default(),
    )
    .unwrap();
    assert_eq!(record.recycle_bins, Vec::<RecycleBin>::new());
    assert_eq!(record.space_kept, None);
}

/// Tries a clean-up while its run is on.
struct CleanUpInBetween {
    target: Target,
    seen: Option<Cleanup>,
}

impl Observer for CleanUpInBetween {
    fn progress(&mut self, _: &Progress) {}

    fn load_point_ended(&mut self, _: &RunRecord) {
        let target = self.target.clone();
        // The engine's runtime is on this thread, so the clean-up needs another.
        let done = std::thread::spawn(move || {
            cleanup(&target, SessionOptions::default(), Limits::default()).unwrap()
        });
        self.seen = Some(done.join().unwrap());
    }
}

#[test]
fn a_clean_up_does_not_disturb_a_living_run() {
    for lines in [&["recycle:keeptree = yes"][..], &["recycle:versions = yes"]] {
        let options = SambaOptions::default();
        let Some(samba) = ScratchSamba::with_recycle_bin_or_skip(lines, options) else {
            return;
        };
        let target = target(&samba.url(), samba.password());
        let mut observer = CleanUpInBetween {
            target: target.clone(),
            seen: None,
        };
        let plan = plan("metadata", &short(), target);
        let record = execute(&plan, &mut observer, &Cancel::default()).unwrap();
        assert_eq!(observer.seen.unwrap().in_use.len(), 1);
        assert_eq!(record.leftover, None);
        for point in &record.load_points {
            assert_eq!(point.dropouts, []);
        }
        assert!(record.recycle_bins[0].files_removed > 0, "{record:?}");
        let bin = samba.data_dir().join(".recycle");
        assert_eq!(std::fs::read_dir(bin).unwrap().count(), 0);
    }
}
