//! `smbench cleanup`: removes files that killed runs left on a share.

use std::fmt::Write as _;

use smbench_engine::probe::{self, Cleanup};
use smbench_engine::run::Progress;
use smbench_report::units::plain;

use crate::args::ProbeArgs;
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::progress::{ProgressLine, Visibility};
use crate::recycled::{described, judge};
use crate::requests::ServerAccess;
use crate::signals;

pub(super) fn cleanup(args: &ProbeArgs) -> Result<Exit, Failure> {
    let access = ServerAccess::resolve(&args.url)?;
    let line = ProgressLine::new(Visibility::Terminal);
    signals::leave_on_interrupt(&line)?;
    line.show(&Progress::CleaningUp);
    let found = probe::cleanup(
        &access.target,
        args.session.options().session(),
        access.limits,
    );
    line.clear();
    let found = found?;
    print(&describe(&found))?;
    Ok(judge(&found.bins))
}

fn describe(found: &Cleanup) -> String {
    let mut text = String::new();
    for (what, directories) in [
        ("removed", &found.removed),
        ("left alone, a run is using it:", &found.in_use),
        ("left alone, not made by smbench:", &found.foreign),
    ] {
        for directory in directories {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{what} {}", plain(directory));
        }
    }
    text += &described(&found.bins);
    for directory in &found.prepared {
        let what = if directory.ends_with("smbench-tree") {
            "a prepared tree (remove it with smbench tree cleanup)"
        } else {
            "prepared for fileio (remove it with smbench fileio cleanup)"
        };
        let _ = writeln!(text, "left alone, {what}: {}", plain(directory));
    }
    if text.is_empty() {
        "nothing to remove\n".clone_into(&mut text);
    }
    text
}

#[cfg(test)]
mod tests {
    use smbench_model::record::RecycleBin;

    use super::*;

    #[test]
    fn every_directory_is_accounted_for() {
        let found = Cleanup {
            removed: vec!["a".to_owned(), r"x\b".to_owned()],
            in_use: vec!["c".to_owned()],
            foreign: vec!["d".to_owned()],
            prepared: vec!["e".to_owned(), r"f\smbench-tree".to_owned()],
            bins: vec![RecycleBin {
                path: ".recycle".to_owned(),
                files_removed: 2,
                bytes_removed: 4096,
                files_unproven: 1,
                unproven_first: Some(r".recycle\c00000-f000.dat".to_owned()),
                ..RecycleBin::default()
            }],
        };
        assert_eq!(
            describe(&found),
            "removed a\nremoved x\\b\nleft alone, a run is using it: c\n\
             left alone, not made by smbench: d\n\
             removed 2 files (4 KiB) from the recycle bin .recycle\n\
             left alone: 1 file in the recycle bin '.recycle' that smbench may have made, but \
             neither contents nor times prove it: '.recycle\\c00000-f000.dat'\n\
             left alone, prepared for fileio (remove it with smbench fileio cleanup): e\n\
             left alone, a prepared tree (remove it with smbench tree cleanup): f\\smbench-tree\n"
        );
        assert_eq!(describe(&Cleanup::default()), "nothing to remove\n");
    }
}
