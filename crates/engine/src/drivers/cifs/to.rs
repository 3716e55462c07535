//! The requests that mixes and replays share.

use smbench_model::operations::Operation;
use smbench_protocol::SessionIndex;
use smbench_protocol::cifs::command::close::{encode_close, encode_flush};
use smbench_protocol::cifs::command::create::encode_create;
use smbench_protocol::cifs::command::information::{
    CifsChange, CifsTarget, QueryFsInformationRequest, QueryInformationRequest,
    SetInformationRequest, level,
};
use smbench_protocol::cifs::command::lock::{CifsLock, WITHOUT_END, encode_lock};
use smbench_protocol::cifs::command::nt_transact::SetSecurityRequest;
use smbench_protocol::cifs::command::read::CifsRead;
use smbench_protocol::cifs::command::write::{CifsWrite, WriteMode};
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::cifs::{CifsConnection, FileNumber};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::CreateRequest;
use smbench_protocol::command::lock::lock_flags;
use smbench_protocol::command::set_info::SetInfo;
use smbench_protocol::connection::NoCredit;

/// FileRenameInformation, passed through.
const RENAME_INFORMATION: u16 = level::SMB_INFO_PASSTHROUGH + 10;

/// The connection, session and tag of a request, and the buffer for its bytes.
pub(super) struct CifsTo<'a> {
    pub(super) connection: &'a mut CifsConnection,
    pub(super) session: SessionIndex,
    pub(super) tag: u32,
    pub(super) out: &'a mut Vec<u8>,
}

impl CifsTo<'_> {
    pub(super) fn request(
        self,
        command: CifsCommand,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        self.connection
            .request(self.session, command, self.tag, self.out, body)
    }

    #[inline]
    pub(super) fn read(self, file: FileNumber, operation: &Operation) -> Result<(), NoCredit> {
        let request = CifsRead {
            file,
            offset: operation.offset,
            length: operation.length,
        };
        self.connection
            .read(self.session, self.tag, &request, self.out)
    }

    #[inline]
    pub(super) fn write(
        self,
        file: FileNumber,
        operation: &Operation,
        mode: WriteMode,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        let request = CifsWrite {
            file,
            offset: operation.offset,
            length: operation.length,
            mode,
        };
        self.connection
            .write(self.session, self.tag, &request, self.out, data)
    }

    pub(super) fn flush(self, file: FileNumber) -> Result<(), NoCredit> {
        self.request(CifsCommand::Flush, |out| encode_flush(file, out))
    }

    pub(super) fn close(self, file: FileNumber) -> Result<(), NoCredit> {
        self.request(CifsCommand::Close, |out| encode_close(file, out))
    }

    /// Sends a lock of the range of an operation, with flags of SMB2.
    pub(super) fn lock(
        self,
        file: FileNumber,
        flags: u32,
        operation: &Operation,
    ) -> Result<(), NoCredit> {
        let what = if flags & lock_flags::UNLOCK != 0 {
            CifsLock::Unlock
        } else if flags & lock_flags::EXCLUSIVE != 0 {
            CifsLock::Exclusive
        } else {
            CifsLock::Shared
        };
        let waits = flags & (lock_flags::UNLOCK | lock_flags::FAIL_IMMEDIATELY) == 0;
        let timeout_ms = if waits { WITHOUT_END } else { 0 };
        let (offset, length) = (operation.offset, operation.length.into());
        self.request(CifsCommand::LockingAndX, |out| {
            encode_lock(file, what, offset, length, timeout_ms, out);
        })
    }

    pub(super) fn create(self, request: &CreateRequest<'_, WireName>) -> Result<(), NoCredit> {
        self.request(CifsCommand::NtCreateAndX, |out| encode_create(request, out))
    }

    pub(super) fn transaction2(self, body: impl FnOnce(&mut Vec<u8>)) -> Result<(), NoCredit> {
        self.request(CifsCommand::Transaction2, body)
    }

    pub(super) fn query(
        self,
        target: CifsTarget<'_>,
        level: u16,
        max_data: u16,
    ) -> Result<(), NoCredit> {
        let request = QueryInformationRequest {
            target,
            level,
            max_data,
        };
        self.transaction2(|out| request.encode(out))
    }

    pub(super) fn query_fs(self, level: u16, max_data: u16) -> Result<(), NoCredit> {
        let request = QueryFsInformationRequest { level, max_data };
        self.transaction2(|out| request.encode(out))
    }

    /// Sends a change of an open file. A recorded change has its own level.
    pub(super) fn set(
        self,
        file: FileNumber,
        info: &SetInfo<'_>,
        recorded: Option<u16>,
    ) -> Result<(), NoCredit> {
        let (own, change) = match *info {
            SetInfo::Security { parts, descriptor } => {
                let request = SetSecurityRequest {
                    fid: file.0,
                    parts,
                    descriptor,
                };
                return self.request(CifsCommand::NtTransact, |out| request.encode(out));
            }
            SetInfo::Basic {
                times,
                file_attributes,
            } => (
                level::SMB_SET_FILE_BASIC_INFO,
                CifsChange::Basic {
                    times,
                    file_attributes,
                },
            ),
            SetInfo::Allocation(size) => (
                level::SMB_SET_FILE_ALLOCATION_INFO,
                CifsChange::Allocation(size),
            ),
            SetInfo::EndOfFile(size) => (
                level::SMB_SET_FILE_END_OF_FILE_INFO,
                CifsChange::EndOfFile(size),
            ),
            SetInfo::Disposition(deletion) => (
                level::SMB_SET_FILE_DISPOSITION_INFO,
                CifsChange::Disposition(deletion),
            ),
            SetInfo::Rename { to, existing } => {
                (RENAME_INFORMATION, CifsChange::Rename { to, existing })
            }
        };
        let request = SetInformationRequest {
            target: CifsTarget::Fid(file.0),
            level: recorded.unwrap_or(own),
            change,
        };
        self.transaction2(|out| request.encode(out))
    }
}
