//! Calls of smb-rs. Each is one request, so that a kind measures the same with both
//! drivers. If a call of smb-rs takes several requests, the plan refuses it for this
//! driver.
//!
//! The CREATE of smb-rs always requests the maximal access and the number on disk.

use std::sync::Arc;

use smb::{
    AdditionalInfo, CreateDisposition, CreateOptions, File, FileAccessMask, FileAllInformation,
    FileAllocationInformation, FileAttributeTagInformation, FileAttributes, FileBasicInformation,
    FileCreateArgs, FileDispositionInformation, FileEaInformation, FileEndOfFileInformation,
    FileFsAttributeInformation, FileFsDeviceInformation, FileFsFullSizeInformation,
    FileFsSectorSizeInformation, FileFsSizeInformation, FileFsVolumeInformation,
    FileInternalInformation, FileNetworkOpenInformation, FileRenameInformation,
    FileStandardInformation, FileStreamInformation, ResourceHandle,
};
use smbench_model::action::{QueryClass, SetClass};
use smbench_model::operations::Operation;
use smbench_protocol::command::create::{CreateRequest, Disposition};
use smbench_protocol::command::read::read_flags;

use super::link::Link;
use super::{Done, Made, Running, ended, guarded};
use crate::drivers::driver::Call;
use crate::drivers::requests::info::TIME_SET;

/// Result of an answer.
#[derive(Default)]
pub(super) struct CallOutcome {
    moved: u32,
    made: Made,
}

impl CallOutcome {
    pub(super) fn made(made: Made) -> Self {
        Self { moved: 0, made }
    }

    pub(super) fn moved(moved: u32) -> Self {
        let made = Made::Nothing;
        Self { moved, made }
    }
}

/// Result of a call of smb-rs.
pub(super) type Ended = smb::Result<CallOutcome>;

/// Wraps a call of smb-rs that answers for a slot.
pub(super) fn running(slot: u32, call: impl Future<Output = Ended> + 'static) -> Running {
    guarded(async move {
        let outcome = call.await.map_err(std::io::Error::other);
        let (outcome, made) = match outcome {
            Ok(CallOutcome { moved, made }) => (Ok(moved as usize), made),
            Err(error) => (Err(error), Made::Nothing),
        };
        ended(slot, outcome, None).map(|done| Done { made, ..done })
    })
}

/// Reads the range of a call into one of the `buffers`.
pub(super) fn read(call: &Call, file: Arc<File>, flags: u8, buffers: &mut Vec<Vec<u8>>) -> Running {
    let (slot, Operation { offset, length, .. }) = (call.slot, call.operation);
    let mut buffer = buffers.pop().unwrap_or_default();
    buffer.resize(length as usize, 0);
    let unbuffered = flags & read_flags::UNBUFFERED != 0;
    guarded(async move {
        let read = file.read_block(&mut buffer, offset, None, unbuffered).await;
        ended(slot, read, Some(buffer))
    })
}

/// Writes the bytes that `data` appends to the range of a call.
pub(super) fn write(call: &Call, file: Arc<File>, data: impl FnOnce(&mut Vec<u8>)) -> Running {
    let (slot, Operation { offset, length, .. }) = (call.slot, call.operation);
    let mut written = Vec::with_capacity(length as usize);
    data(&mut written);
    let data: Arc<[u8]> = written.into();
    guarded(async move {
        let written = file.write_block_zc(data, offset, None).await;
        ended(slot, written, None)
    })
}

pub(super) fn flush(slot: u32, file: Arc<File>) -> Running {
    guarded(async move {
        let flushed = file.flush().await;
        ended(slot, flushed.map(|()| 0), None)
    })
}

pub(super) fn create(
    slot: u32,
    link: &Arc<Link>,
    name: Arc<str>,
    arguments: FileCreateArgs,
) -> Running {
    let link = Arc::clone(link);
    running(slot, async move {
        let resource = link.tree.create(&name, &arguments).await?;
        Ok(CallOutcome::made(Made::Resource(resource)))
    })
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

/// Sends a query. The answer is decoded and dropped, as in the native driver.
pub(super) async fn query(handle: &ResourceHandle, class: QueryClass) -> Ended {
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
    Ok(CallOutcome::default())
}

/// Changes a file of `size` bytes in the same way as the native driver. `renamed`
/// is the new name, if the change is a rename.
pub(super) async fn set(
    handle: &ResourceHandle,
    class: SetClass,
    size: u64,
    renamed: &str,
) -> Ended {
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
    Ok(CallOutcome::default())
}
