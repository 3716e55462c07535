//! Removes items that an earlier invocation of a suite left behind, before the first
//! pass.

use std::thread;
use std::time::{Duration, Instant};

use smbench_engine::probe;
use smbench_lab::ScratchSamba;
use smbench_model::sessions::SessionOptions;
use smbench_model::target::Target;
use smbench_protocol::DialectRange;

use super::folder::{Folder, Remains};
use super::resolve::Suite;
use crate::observer::{LeftShare, RunObserver};

/// Longest time that a server may need to notice that a suite was killed.
const NOTICE_LIMIT: Duration = Duration::from_secs(10);
const NOTICE_INTERVAL: Duration = Duration::from_millis(250);

/// Removes items that a suite left behind because it was killed or lost a server.
/// Items that cannot be removed are reported, and stay noted.
pub(super) fn remove_remains(suite: &Suite, folder: &mut Folder, observer: &dyn RunObserver) {
    let mut stay = Vec::new();
    for remains in folder.remains() {
        let removed = match remains {
            Remains::Samba { folder } => {
                ScratchSamba::remove_remains(folder).map_err(|error| Stay::For(error.to_string()))
            }
            Remains::Share {
                server,
                directory,
                url,
            } => clean(suite, server, directory, url.as_deref()),
        };
        let Err(why) = removed else { continue };
        let message = |reason: &str| format!("what an earlier suite left remains: {reason}");
        match why {
            Stay::For(reason) => observer.note(&message(&reason)),
            Stay::On(url, reason) => {
                let dialects = DialectRange::ALL;
                let url = url.as_str();
                observer.left_behind(&message(&reason), LeftShare { url, dialects });
            }
        }
        stay.push(remains.clone());
    }
    // A write error is reported when the next item is noted.
    let _ = folder.set_remains(stay);
}

/// Reason why an item stays.
enum Stay {
    For(String),
    /// It stays on the share with this URL.
    On(String, String),
}

/// Removes a directory on a server of the suite. `url` was the server's URL when
/// the directory was made.
fn clean(suite: &Suite, server: &str, directory: &str, url: Option<&str>) -> Result<(), Stay> {
    let remedy = |url: &str| Stay::On(url.to_owned(), format!("directory '{directory}'"));
    let mut hosts = suite.hosts.iter();
    let host = hosts.find(|host| host.name == server);
    let target = match (host.and_then(|host| host.given()), url) {
        // The password is for the server's current URL. It must not be sent to
        // another place.
        (Some(target), Some(url)) if !is_place_of(target, url) => return Err(remedy(url)),
        (Some(target), _) => target,
        (None, Some(url)) => return Err(remedy(url)),
        (None, None) => {
            let reason = format!("directory '{directory}' on a server `{server}`");
            return Err(Stay::For(reason));
        }
    };
    let deadline = Instant::now() + NOTICE_LIMIT;
    loop {
        let found =
            probe::remove_remains(target, SessionOptions::default(), suite.limits, directory)
                .map_err(|error| Stay::For(format!("directory '{directory}': {error}")))?;
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

/// Returns whether a URL refers to a target's share. User and path do not matter,
/// because directories are noted from the root of the share.
fn is_place_of(target: &Target, url: &str) -> bool {
    Target::parse(url).is_ok_and(|(noted, _)| {
        (&noted.host, noted.port, &noted.share) == (&target.host, target.port, &target.share)
    })
}
