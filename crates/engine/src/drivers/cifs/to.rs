//! The requests that mixes and replays share.

use smbench_model::operations::Operation;
use smbench_protocol::SessionIndex;
use smbench_protocol::cifs::command::close::{encode_close, encode_flush};
use smbench_protocol::cifs::command::create::encode_create;
use smbench_protocol::cifs::command::info::{PASS_THROUGH, encode_set_file};
use smbench_protocol::cifs::command::lock::{CifsLock, encode_lock};
use smbench_protocol::cifs::command::nt_transact::encode_set_security;
use smbench_protocol::cifs::command::read::CifsRead;
use smbench_protocol::cifs::command::write::{CifsWrite, WriteMode};
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::cifs::{CifsConnection, FileNumber};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::CreateRequest;
use smbench_protocol::command::set_info::{Deletion, Existing, SetInfo};
use smbench_protocol::connection::NoCredit;

/// SMB_SET_FILE_BASIC_INFO, _DISPOSITION_INFO, _ALLOCATION_INFO, _END_OF_FILE_INFO.
const BASIC_INFO: u16 = 0x101;
const DISPOSITION_INFO: u16 = 0x102;
const ALLOCATION_INFO: u16 = 0x103;
const END_OF_FILE_INFO: u16 = 0x104;
/// FileRenameInformation, passed through.
const RENAME_INFORMATION: u16 = PASS_THROUGH + 10;

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

    pub(super) fn lock(
        self,
        file: FileNumber,
        what: CifsLock,
        operation: &Operation,
    ) -> Result<(), NoCredit> {
        let range = (operation.offset, operation.length.into());
        self.request(CifsCommand::LockingAndX, |out| {
            encode_lock(file, what, range, out);
        })
    }

    pub(super) fn create(self, request: &CreateRequest<'_, WireName>) -> Result<(), NoCredit> {
        self.request(CifsCommand::NtCreateAndX, |out| encode_create(request, out))
    }

    pub(super) fn transaction2(self, body: impl FnOnce(&mut Vec<u8>)) -> Result<(), NoCredit> {
        self.request(CifsCommand::Transaction2, body)
    }

    /// Sends a change of an open file. A recorded change has its own `level`.
    pub(super) fn set(
        self,
        file: FileNumber,
        info: &SetInfo<'_>,
        level: Option<u16>,
    ) -> Result<(), NoCredit> {
        if let SetInfo::Security { parts, descriptor } = info {
            return self.request(CifsCommand::NtTransact, |out| {
                encode_set_security(file, *parts, descriptor, out);
            });
        }
        let own = match info {
            SetInfo::Basic { .. } | SetInfo::Security { .. } => BASIC_INFO,
            SetInfo::Allocation(_) => ALLOCATION_INFO,
            SetInfo::EndOfFile(_) => END_OF_FILE_INFO,
            SetInfo::Rename { .. } => RENAME_INFORMATION,
            SetInfo::Disposition(_) => DISPOSITION_INFO,
        };
        self.transaction2(|out| {
            encode_set_file(file, level.unwrap_or(own), out, |out| push(info, out));
        })
    }
}

/// Appends the values of a change (MS-CIFS 2.2.8.4, MS-FSCC 2.4).
fn push(info: &SetInfo<'_>, out: &mut Vec<u8>) {
    match info {
        SetInfo::Basic {
            times,
            file_attributes,
        } => {
            for time in [times.created, times.accessed, times.written, times.changed] {
                out.extend_from_slice(&time.0.to_le_bytes());
            }
            out.extend_from_slice(&file_attributes.to_le_bytes());
            out.extend_from_slice(&[0; 4]);
        }
        SetInfo::Allocation(size) | SetInfo::EndOfFile(size) => {
            out.extend_from_slice(&size.to_le_bytes());
        }
        SetInfo::Rename { to, existing } => {
            // Servers take a name in the same directory only.
            let name = last_part(to.as_bytes());
            out.extend_from_slice(&[u8::from(*existing == Existing::Replace), 0, 0, 0]);
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&(name.len() as u32).to_le_bytes());
            out.extend_from_slice(name);
        }
        SetInfo::Disposition(deletion) => out.push(u8::from(*deletion == Deletion::Pending)),
        SetInfo::Security { .. } => {}
    }
}

/// Returns the part of a path in UTF-16 behind the last backslash.
fn last_part(path: &[u8]) -> &[u8] {
    let (units, _) = path.as_chunks::<2>();
    let at = units.iter().rposition(|unit| *unit == [b'\\', 0]);
    &path[at.map_or(0, |at| 2 * (at + 1))..]
}
