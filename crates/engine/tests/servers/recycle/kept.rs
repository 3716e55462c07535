//! What a server with a bin keeps, and what smbench says of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use smbench_engine::Cancel;
use smbench_engine::probe::cleanup;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::limits::Limits;
use smbench_model::record::RunRecord;
use smbench_model::sessions::SessionOptions;
use smbench_model::spec::{RunOptions, WorkSpec};

use crate::support::{plan, short, target};

/// Runs on a Samba whose users may not list the bin.
fn run_without_listing(layout: &str) -> Option<(RunRecord, ScratchSamba)> {
    let mut options = SambaOptions::default();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if is_root {
        // Root may list all. Another user does not own what it creates.
        options.extra_share.extend(
            [
                "force user = nobody",
                "force directory mode = 0777",
                "force create mode = 0666",
                "recycle:directory_mode = 0777",
            ]
            .map(str::to_owned),
        );
    }
    let samba = ScratchSamba::with_recycle_bin_or_skip(&[layout], options)?;
    let data = samba.data_dir();
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    samba.open_to_all("bench").unwrap();
    let bin = data.join(".recycle");
    fs::create_dir(&bin).unwrap();
    mode(&bin, 0o333);
    let target = target(&samba.url(), samba.password());
    let plan = plan("metadata", &short(), target);
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    mode(&bin, 0o755);
    assert!(fs::read_dir(&bin).unwrap().next().is_some());
    Some((record, samba))
}

#[test]
fn a_bin_that_may_not_be_listed_is_reported() {
    let Some((record, _samba)) = run_without_listing("recycle:keeptree = no") else {
        return;
    };
    // Nothing shows that our files are there.
    assert_eq!(record.leftover, None);
    let [bin] = &record.recycle_bins[..] else {
        panic!("{:?}", record.recycle_bins);
    };
    let told = bin.refusal().unwrap();
    let begin = "the recycle bin '.recycle' could not be searched: failed to list directory";
    assert!(told.starts_with(begin), "{told}");
    assert!(told.contains("STATUS_ACCESS_DENIED"), "{told}");
}

#[test]
fn our_directory_in_a_bin_that_may_not_be_listed_is_left_over() {
    let Some((record, _samba)) = run_without_listing("recycle:keeptree = yes") else {
        return;
    };
    let told = record.leftover.unwrap();
    let begin = "the recycle bin '.recycle' was not searched to its end: failed to list directory";
    assert!(told.starts_with(begin), "{told}");
}

/// The server deletes files and reports the space of before.
#[test]
fn space_that_does_not_come_back_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (script, flag) = (folder.path().join("free"), folder.path().join("written"));
    let options = SambaOptions {
        extra_share: vec![format!("dfree command = {}", script.display())],
        ..SambaOptions::default()
    };
    let Some(samba) = ScratchSamba::or_skip(options) else {
        return;
    };
    let (flag, data) = (flag.display(), samba.data_dir());
    // In KiB: 100 GiB, of which 90 are free, and 89 as soon as there are files.
    let text = format!(
        "#!/bin/sh\nls {}/smbench-*/*.dat >/dev/null 2>&1 && : >{flag}\n\
         if [ -e {flag} ]; then echo 104857600 93323264; else echo 104857600 94371840; fi\n",
        data.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("1".parse().unwrap()),
            file_size: Some("256MiB".parse().unwrap()),
            ..short().work
        },
        ..short()
    };
    let plan = plan("read-4k", &options, target(&samba.url(), samba.password()));
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.leftover, None);
    assert_eq!(record.space_unchecked, None);
    let told = record.space_kept.unwrap();
    let begin = "the space of the deleted files did not come back: 256 MiB were deleted; the share \
                 had 89 GiB free before that and 89 GiB free ";
    assert!(told.starts_with(begin), "{told}");
}

#[test]
fn a_file_of_somebody_else_whose_name_differs_in_case_stays_in_a_bin() {
    let lines = ["recycle:keeptree = yes", "case sensitive = yes"];
    let options = SambaOptions::default();
    let Some(samba) = ScratchSamba::with_recycle_bin_or_skip(&lines, options) else {
        return;
    };
    let left = samba.data_dir().join(".recycle/smbench-fedcba9876543210");
    fs::create_dir_all(&left).unwrap();
    for name in ["smbench.run", "c00000-f000.dat"] {
        fs::write(left.join(name), "").unwrap();
    }
    let theirs = left.join("C00000-F000.DAT");
    fs::write(&theirs, "a thesis").unwrap();
    let target = target(&samba.url(), samba.password());
    let done = cleanup(&target, SessionOptions::default(), Limits::default()).unwrap();
    let [bin] = &done.bins[..] else {
        panic!("{done:?}");
    };
    assert_eq!((bin.files_removed, bin.files_left), (2, 0), "{bin:?}");
    let told = "1 file in the recycle bin '.recycle' that smbench may have made, but neither \
                contents nor times prove it: \
                '.recycle\\smbench-fedcba9876543210\\C00000-F000.DAT'";
    assert_eq!(bin.unproven().as_deref(), Some(told));
    assert_eq!(fs::read(&theirs).unwrap(), b"a thesis");
    assert_eq!(fs::read_dir(&left).unwrap().count(), 1);
}
