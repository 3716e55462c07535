//! Reads and writes the manifest on the share.

use smbench_model::fileio::{Contents, Fileio, FileioError, MANIFEST_BYTES_MAX, Manifest};
use smbench_protocol::FileId;
use smbench_protocol::command::create::{CreateRequest, Disposition, access, options, share};

use super::FileSizes;
use crate::smb::calls::FileCalls;
use crate::smb::session::SessionError;
use crate::smb::share::ShareSession;
use crate::smb::share::files::to_write;
use crate::smb::share::names::{MANIFEST, MARKER};
use crate::smb::share::{Workspace, join};

/// Opens the marker of a prepared tree, so that others may use the tree, but not change it.
pub(in crate::smb::share) async fn hold_tree(
    session: &mut ShareSession,
    directory: &str,
) -> Result<FileId, SessionError> {
    let marker = join(directory, MARKER);
    let doing = format!("use directory '{directory}'");
    let request = CreateRequest {
        share_access: share::FILE_SHARE_READ,
        ..CreateRequest::open(marker.as_str(), access::FILE_READ_DATA)
    };
    session.open_file(&doing, &request).await
}

/// Reads the manifest. Fails if it is missing, or if it describes other files than
/// those of `test`. A directory without any written file has no manifest.
pub(super) async fn manifest(
    session: &mut ShareSession,
    directory: &str,
    found: &FileSizes,
    test: &Fileio,
) -> Result<Manifest, SessionError> {
    let at = session.share();
    let path = join(directory, MANIFEST);
    if !found.contains_key(MANIFEST) {
        return if found.keys().all(|name| name == MARKER) {
            Err(FileioError::NotPrepared {
                directory: directory.to_owned(),
                at,
            }
            .into())
        } else {
            Err(FileioError::Manifest { path, at }.into())
        };
    }
    let json = read_start(session, &path, MANIFEST_BYTES_MAX).await?;
    match Manifest::parse(&json) {
        None => Err(FileioError::Manifest { path, at }.into()),
        Some(manifest) if manifest.fits(test) => Ok(manifest),
        Some(manifest) => Err(FileioError::other(directory, at, &manifest, test).into()),
    }
}

/// Returns the start of a file.
pub(super) async fn read_start(
    session: &mut ShareSession,
    path: &str,
    bytes: u32,
) -> Result<Vec<u8>, SessionError> {
    let doing = format!("read file '{path}'");
    let request = CreateRequest {
        options: options::FILE_NON_DIRECTORY_FILE,
        ..CreateRequest::open(path, access::FILE_READ_DATA)
    };
    let id = session.open_file(&doing, &request).await?;
    let data = session.read_start(&doing, id, bytes).await?;
    session.close_file(&doing, id).await?;
    Ok(data)
}

pub(super) async fn write_manifest(
    workspace: &mut Workspace,
    test: &Fileio,
    contents: Contents,
) -> Result<(), SessionError> {
    let manifest = Manifest::of(test, workspace.salt, contents);
    write_text(workspace, MANIFEST, &manifest.to_json()).await
}

/// Writes a file of one request in the directory of a workspace.
pub(super) async fn write_text(
    workspace: &mut Workspace,
    name: &str,
    text: &str,
) -> Result<(), SessionError> {
    let path = join(&workspace.directory, name);
    let doing = format!("write file '{path}'");
    let session = &mut workspace.session;
    let request = to_write(&path, Disposition::OverwriteIf);
    let id = session.open_file(&doing, &request).await?;
    session
        .write_at(&doing, id, 0, text.len() as u32, |out| {
            out.extend_from_slice(text.as_bytes());
        })
        .await?;
    session.close_file(&doing, id).await
}
