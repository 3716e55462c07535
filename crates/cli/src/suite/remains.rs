//! What an earlier sitting of a suite left behind: removed before the first pass.

use std::thread;
use std::time::{Duration, Instant};

use smbench_engine::probe;
use smbench_engine::target::Target;
use smbench_lab::ScratchSamba;

use super::folder::{Folder, Remains};
use super::resolve::Suite;
use crate::output::complain;
use crate::progress::Line;
use crate::signals::cleanup_command;

/// How long a server may take to notice that a suite was killed.
const NOTICE_LIMIT: Duration = Duration::from_secs(10);
const NOTICE_INTERVAL: Duration = Duration::from_millis(250);

/// Removes what a suite left behind that was killed here, or lost a server. What
/// stays is told, and stays noted.
pub(super) fn remove_remains(suite: &Suite, folder: &mut Folder, line: &Line) {
    let mut stay = Vec::new();
    for remains in folder.remains() {
        let removed = match remains {
            Remains::Samba { folder } => {
                ScratchSamba::remove_remains(folder).map_err(|error| error.to_string())
            }
            Remains::Share {
                server,
                directory,
                url,
            } => clean(suite, server, directory, url.as_deref()),
        };
        if let Err(reason) = removed {
            let told = format!("what an earlier suite left remains: {reason}");
            line.suspended(|| complain(told));
            stay.push(remains.clone());
        }
    }
    // What cannot be written now is told when the next is noted.
    let _ = folder.set_remains(stay);
}

/// Removes a directory on a server of the suite, which was at `url` when it was
/// made.
fn clean(suite: &Suite, server: &str, directory: &str, url: Option<&str>) -> Result<(), String> {
    let remedy = |url: &str| {
        format!(
            "directory '{directory}'; remove it with: {}",
            cleanup_command(url)
        )
    };
    let mut hosts = suite.hosts.iter();
    let host = hosts.find(|host| host.name == server);
    let target = match (host.and_then(|host| host.given()), url) {
        // Nobody has said that the password is for another place than this.
        (Some(target), Some(url)) if !is_place_of(target, url) => return Err(remedy(url)),
        (Some(target), _) => target,
        (None, Some(url)) => return Err(remedy(url)),
        (None, None) => {
            return Err(format!("directory '{directory}' on a server `{server}`"));
        }
    };
    let deadline = Instant::now() + NOTICE_LIMIT;
    loop {
        let found = probe::remove_remains(target, suite.limits, directory)
            .map_err(|error| format!("directory '{directory}': {error}"))?;
        let is_left = !found.in_use.is_empty() || !found.foreign.is_empty();
        if !is_left {
            return Ok(());
        }
        if found.in_use.is_empty() || Instant::now() >= deadline {
            return Err(remedy(&target.redacted()));
        }
        thread::sleep(NOTICE_INTERVAL);
    }
}

/// Whether a URL is that of a target's share, whoever logs on and wherever on it:
/// directories are noted from its root.
fn is_place_of(target: &Target, url: &str) -> bool {
    Target::parse(url).is_ok_and(|(noted, _)| {
        (&noted.host, noted.port, &noted.share) == (&target.host, target.port, &target.share)
    })
}
