//! The directory for replays, inside that of the run. Everything below it was made
//! by replays, under any name.

use std::ops::ControlFlow;

use smbench_model::contents::block::{Salt, Stamp};
use smbench_model::trace::{PreparedName, Trace};
use smbench_protocol::command::create::{CreateRequest, Disposition, access, options};

use super::files::{join, to_write};
use super::parts::delete_tree;
use super::prepare::write_some;
use crate::smb::calls::FileCalls;
use crate::smb::session::SessionError;

/// Prepares the files of `client` in `root` for a replay of its trace. Deletes what
/// an earlier replay of this client left, then makes the files that the trace
/// expects.
pub(crate) async fn populate(
    session: &mut impl FileCalls,
    root: &str,
    client: u32,
    trace: &Trace,
    salt: Salt,
) -> Result<(), SessionError> {
    make_directory(session, root).await?;
    let path = |path| join(root, &trace.path(path).display(client));
    for &own in &trace.prepared.own {
        delete_tree(session, &path(own), &mut |_| ControlFlow::Continue(())).await?;
    }
    for (file, &(name, made)) in (0..).zip(&trace.prepared.made) {
        let path = path(name);
        match made {
            PreparedName::Directory => make_directory(session, &path).await?,
            PreparedName::File(size) => {
                let stamp = Stamp {
                    client,
                    file,
                    generation: 0,
                    run: 0,
                };
                make_file(session, &path, size, stamp, salt).await?;
            }
        }
    }
    Ok(())
}

/// Creates a directory if it does not exist yet.
pub(super) async fn make_directory(
    session: &mut impl FileCalls,
    path: &str,
) -> Result<(), SessionError> {
    let doing = format!("create directory '{path}'");
    let request = CreateRequest {
        disposition: Disposition::OpenIf,
        options: options::FILE_DIRECTORY_FILE,
        ..CreateRequest::open(path, access::FILE_READ_ATTRIBUTES)
    };
    let made = session.open_file(&doing, &request).await?;
    session.close_file(&doing, made).await
}

pub(super) async fn make_file(
    session: &mut impl FileCalls,
    path: &str,
    size: u64,
    stamp: Stamp,
    salt: Salt,
) -> Result<(), SessionError> {
    let doing = format!("write file '{path}'");
    let request = to_write(path, Disposition::OverwriteIf);
    let made = session.open_file(&doing, &request).await?;
    let mut offset = 0;
    while offset < size {
        let written = write_some(session, &doing, made, offset..size, stamp, salt).await?;
        offset += u64::from(written);
    }
    session.close_file(&doing, made).await
}
