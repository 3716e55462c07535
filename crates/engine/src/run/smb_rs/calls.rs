//! Operations of smb-rs other than READ, WRITE and FLUSH. Each is one request, so
//! that a kind measures the same with both drivers. If a call of smb-rs takes
//! several requests, the plan refuses it for this driver.
//!
//! The CREATE of smb-rs always requests the maximal access and the number on disk.

use std::sync::Arc;

use smb::{
    AdditionalInfo, CreateDisposition, CreateOptions, FileAccessMask, FileAllInformation,
    FileAllocationInformation, FileAttributeTagInformation, FileAttributes, FileBasicInformation,
    FileCreateArgs, FileDispositionInformation, FileEaInformation, FileEndOfFileInformation,
    FileFsAttributeInformation, FileFsDeviceInformation, FileFsFullSizeInformation,
    FileFsSectorSizeInformation, FileFsSizeInformation, FileFsVolumeInformation,
    FileInternalInformation, FileNetworkOpenInformation, FileRenameInformation,
    FileStandardInformation, FileStreamInformation, Resource, ResourceHandle, SrvCopychunkCopy,
    SrvCopychunkItem, Tree,
};
use smbench_model::action::{Action, QueryClass, SetClass};
use smbench_model::files::ScratchName;
use smbench_model::kind::OpKind;
use smbench_protocol::command::create::{CreateRequest, Disposition};

use super::{Client, Done, Made, Place, Running, SmbRs, ended, guarded};
use crate::run::driver::Call;
use crate::run::native::request::create::Name;
use crate::run::native::request::info::TIME_SET;
use crate::run::native::request::{copied_chunks, create};

/// Result of an answer.
#[derive(Default)]
struct Outcome {
    moved: u32,
    made: Made,
}

impl Outcome {
    fn made(made: Made) -> Self {
        Self { moved: 0, made }
    }

    fn moved(moved: u32) -> Self {
        let made = Made::Nothing;
        Self { moved, made }
    }
}

/// Result of a call of smb-rs.
type Ended = smb::Result<Outcome>;

/// Wraps a call of smb-rs that answers for a slot.
fn running(slot: u32, call: impl Future<Output = Ended> + 'static) -> Running {
    guarded(async move {
        let outcome = call.await.map_err(std::io::Error::other);
        let (outcome, made) = match outcome {
            Ok(Outcome { moved, made }) => (Ok(moved as usize), made),
            Err(error) => (Err(error), Made::Nothing),
        };
        ended(slot, outcome, None).map(|done| Done { made, ..done })
    })
}

impl SmbRs {
    /// Begins a call that moves no data of the client.
    pub(super) fn begin(&mut self, call: &Call) -> Running {
        let slot = call.slot;
        let client = &self.clients[call.member];
        let action = self.mix.action(&call.operation);
        match call.operation.kind {
            OpKind::Create => {
                let name = match create::name(action) {
                    Name::File => &client.paths[call.operation.file as usize],
                    Name::Scratch(name) => &self.places[slot as usize].paths[name as usize],
                };
                let arguments = arguments(&create::request(action, "", &[]));
                let (link, name) = (Arc::clone(&client.link), Arc::clone(name));
                running(slot, async move {
                    let resource = link.tree.create(&name, &arguments).await?;
                    Ok(Outcome::made(Made::Resource(Arc::new(resource))))
                })
            }
            OpKind::Close => {
                let resource = self.places[slot as usize].resource.take();
                running(slot, async move {
                    handle(&opened(resource)).close().await?;
                    Ok(Outcome::default())
                })
            }
            OpKind::QueryFile | OpKind::QueryFs | OpKind::QuerySecurity => {
                let file = Arc::clone(&client.files[call.operation.file as usize]);
                let Action::QueryInfo { class } = *action else {
                    unreachable!("{action:?} asks nothing");
                };
                running(slot, async move { query(file.handle(), class).await })
            }
            OpKind::SetFile => {
                let file = Arc::clone(&client.files[call.operation.file as usize]);
                let (size, class) = (self.file_size, set_class(action));
                running(
                    slot,
                    async move { set(file.handle(), class, size, "").await },
                )
            }
            OpKind::Rename | OpKind::Delete => {
                let Place {
                    resource, paths, ..
                } = &self.places[slot as usize];
                let (resource, class) = (resource.clone(), set_class(action));
                let renamed = Arc::clone(&paths[ScratchName::Renamed as usize]);
                running(slot, async move {
                    set(handle(&opened(resource)), class, 0, &renamed).await
                })
            }
            OpKind::CopyChunk => {
                let resource = self.places[slot as usize].resource.clone();
                let request = copy(client, call);
                running(slot, async move {
                    let copied = handle(&opened(resource)).fsctl(request).await?;
                    Ok(Outcome::moved(copied.total_bytes_written))
                })
            }
            OpKind::TreeConnect => {
                let (link, share) = (Arc::clone(&client.link), Arc::clone(&self.share));
                running(slot, async move {
                    let tree = link.session.tree_connect(&share).await?;
                    Ok(Outcome::made(Made::Tree(tree)))
                })
            }
            OpKind::TreeDisconnect => {
                let tree = self.places[slot as usize].tree.take();
                running(slot, async move { disconnect(tree).await })
            }
            // A plan for this driver has no other kinds.
            kind => unreachable!("smb-rs is not asked to {}", kind.name()),
        }
    }
}

async fn disconnect(tree: Option<Tree>) -> Ended {
    let Some(tree) = tree else {
        unreachable!("only what was connected is disconnected");
    };
    tree.disconnect().await?;
    Ok(Outcome::default())
}

fn opened(resource: Option<Arc<Resource>>) -> Arc<Resource> {
    resource.unwrap_or_else(|| unreachable!("only what was opened is worked on"))
}

fn handle(resource: &Resource) -> &ResourceHandle {
    match resource {
        Resource::File(file) => file.handle(),
        Resource::Directory(directory) => &directory.handle,
        Resource::Pipe(pipe) => pipe.handle(),
    }
}

/// Translates a CREATE into the terms of smb-rs. The plan refuses create contexts
/// for this driver.
pub(super) fn arguments<N: ?Sized>(request: &CreateRequest<'_, N>) -> FileCreateArgs {
    FileCreateArgs {
        disposition: match request.disposition {
            Disposition::Supersede => CreateDisposition::Superseded,
            Disposition::Open => CreateDisposition::Open,
            Disposition::Create => CreateDisposition::Create,
            Disposition::OpenIf => CreateDisposition::OpenIf,
            Disposition::Overwrite => CreateDisposition::Overwrite,
            Disposition::OverwriteIf => CreateDisposition::OverwriteIf,
        },
        attributes: FileAttributes::from_bytes(request.file_attributes.to_le_bytes()),
        options: CreateOptions::from_bytes(request.options.to_le_bytes()),
        desired_access: FileAccessMask::from_bytes(request.desired_access.to_le_bytes()),
    }
}

fn set_class(action: &Action) -> SetClass {
    match action {
        Action::SetInfo { class } => *class,
        other => unreachable!("{other:?} sets nothing"),
    }
}

/// Sends a query. The answer is decoded and dropped, as in the native driver.
async fn query(handle: &ResourceHandle, class: QueryClass) -> Ended {
    macro_rules! ask {
        ($call:ident::<$info:ty>) => {
            handle.$call::<$info>().await.map(drop)
        };
    }
    match class {
        QueryClass::Basic => ask!(query_info::<FileBasicInformation>),
        QueryClass::Standard => ask!(query_info::<FileStandardInformation>),
        QueryClass::Internal => ask!(query_info::<FileInternalInformation>),
        QueryClass::Ea => ask!(query_info::<FileEaInformation>),
        QueryClass::All => ask!(query_info::<FileAllInformation>),
        QueryClass::Stream => ask!(query_info::<FileStreamInformation>),
        QueryClass::NetworkOpen => ask!(query_info::<FileNetworkOpenInformation>),
        QueryClass::AttributeTag => ask!(query_info::<FileAttributeTagInformation>),
        QueryClass::FsVolume => ask!(query_fs_info::<FileFsVolumeInformation>),
        QueryClass::FsSize => ask!(query_fs_info::<FileFsSizeInformation>),
        QueryClass::FsDevice => ask!(query_fs_info::<FileFsDeviceInformation>),
        QueryClass::FsAttribute => ask!(query_fs_info::<FileFsAttributeInformation>),
        QueryClass::FsFullSize => ask!(query_fs_info::<FileFsFullSizeInformation>),
        QueryClass::FsSectorSize => ask!(query_fs_info::<FileFsSectorSizeInformation>),
        QueryClass::Security => {
            let parts = AdditionalInfo::new()
                .with_owner_security_information(true)
                .with_group_security_information(true)
                .with_dacl_security_information(true);
            handle.query_security_info(parts).await.map(drop)
        }
    }?;
    Ok(Outcome::default())
}

/// Changes a file of `size` bytes in the same way as the native driver. `renamed`
/// is the new name, if the change is a rename.
async fn set(handle: &ResourceHandle, class: SetClass, size: u64, renamed: &str) -> Ended {
    match class {
        SetClass::Basic => {
            let basic = FileBasicInformation {
                creation_time: 0.into(),
                last_access_time: 0.into(),
                last_write_time: TIME_SET.0.into(),
                change_time: 0.into(),
                file_attributes: FileAttributes::new(),
            };
            handle.set_info(basic).await
        }
        SetClass::Allocation => {
            let allocation_size = size;
            let allocation = FileAllocationInformation { allocation_size };
            handle.set_info(allocation).await
        }
        SetClass::EndOfFile => {
            let end_of_file = size;
            handle
                .set_info(FileEndOfFileInformation { end_of_file })
                .await
        }
        SetClass::Rename => {
            let rename = FileRenameInformation {
                replace_if_exists: true.into(),
                root_directory: 0,
                file_name: renamed.into(),
            };
            handle.set_info(rename).await
        }
        SetClass::Delete => handle.set_info(FileDispositionInformation::default()).await,
        SetClass::Security => unreachable!("smb-rs is not asked to set_security"),
    }?;
    Ok(Outcome::default())
}

fn copy(client: &Client, call: &Call) -> SrvCopychunkCopy {
    let chunks = copied_chunks(&call.operation).map(|chunk| SrvCopychunkItem {
        source_offset: chunk.source,
        target_offset: chunk.target,
        length: chunk.length,
    });
    SrvCopychunkCopy {
        source_key: client.resume_keys[call.operation.file as usize],
        chunks: chunks.collect(),
    }
}
