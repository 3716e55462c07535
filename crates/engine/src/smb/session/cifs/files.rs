//! The calls on files and directories in CIFS.

use smbench_protocol::FileId;
use smbench_protocol::cifs::FileNumber;
use smbench_protocol::cifs::command::close::{encode_close, encode_flush};
use smbench_protocol::cifs::command::create::{CifsCreated, encode_create};
use smbench_protocol::cifs::command::find::{
    CifsFind, CifsFound, FIND_BOTH_DIRECTORY_INFO, decode_entries, encode_find_close, find_flags,
};
use smbench_protocol::cifs::command::info::{QUERY_FS_SIZE_INFO, encode_query_fs};
use smbench_protocol::cifs::command::read::{CifsRead, decode_read};
use smbench_protocol::cifs::command::write::{CifsWrite, WriteMode, decode_write};
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::CreateRequest;
use smbench_protocol::directory::Entry;

use super::CifsSession;
use crate::smb::calls::{FileCalls, LISTING_ANSWERS_MAX, LISTING_NAMES_MAX};
use crate::smb::session::{SessionError, StepFailure};

/// Names and bytes of one answer to a listing.
const LISTING: CifsFind = CifsFind {
    count: 1000,
    flags: find_flags::CLOSE_AT_EOS,
    level: FIND_BOTH_DIRECTORY_INFO,
    data_max: 60_000,
};

/// Returns a file's number as an id of the common calls.
pub(crate) const fn id_of(file: FileNumber) -> FileId {
    FileId {
        persistent: 0,
        volatile: file.0 as u64,
    }
}

/// Returns the number of the file with this id.
pub(crate) const fn number_of(file: FileId) -> FileNumber {
    FileNumber(file.volatile as u16)
}

impl CifsSession {
    fn path_error(doing: &str) -> SessionError {
        SessionError::Path {
            doing: doing.to_owned(),
        }
    }

    /// Sends an NT_CREATE_ANDX and returns its answer.
    pub(crate) async fn create(
        &mut self,
        doing: &str,
        request: &CreateRequest<'_>,
    ) -> Result<CifsCreated, SessionError> {
        let name = WireName::new(request.name).map_err(|_| Self::path_error(doing))?;
        let request = CreateRequest {
            name: &name,
            desired_access: request.desired_access,
            file_attributes: request.file_attributes,
            share_access: request.share_access,
            disposition: request.disposition,
            options: request.options,
            oplock: request.oplock,
            contexts: &[],
        };
        let reply = self
            .expect(doing, CifsCommand::NtCreateAndX, |out| {
                encode_create(&request, out);
            })
            .await?;
        CifsCreated::decode(&reply.message).map_err(|error| self.malformed(doing, error))
    }
}

impl FileCalls for CifsSession {
    async fn open_file(
        &mut self,
        doing: &str,
        request: &CreateRequest<'_>,
    ) -> Result<FileId, SessionError> {
        Ok(id_of(self.create(doing, request).await?.file))
    }

    async fn close_file(&mut self, doing: &str, file: FileId) -> Result<(), SessionError> {
        let body = |out: &mut Vec<u8>| encode_close(number_of(file), out);
        self.expect(doing, CifsCommand::Close, body)
            .await
            .map(|_| ())
    }

    async fn read_start(
        &mut self,
        doing: &str,
        file: FileId,
        length: u32,
    ) -> Result<Vec<u8>, SessionError> {
        let request = CifsRead {
            file: number_of(file),
            offset: 0,
            length,
        };
        let reply = self
            .expect(doing, CifsCommand::ReadAndX, |out| request.encode(out))
            .await?;
        let read = decode_read(&reply.message, reply.message.len())
            .map_err(|error| self.malformed(doing, error))?;
        Ok(read.data.unwrap_or_default().to_vec())
    }

    fn write_limit(&self) -> u32 {
        self.connection.max_write()
    }

    async fn write_at(
        &mut self,
        doing: &str,
        file: FileId,
        (offset, length): (u64, u32),
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u32, SessionError> {
        let request = CifsWrite {
            file: number_of(file),
            offset,
            length,
            mode: WriteMode::Buffered,
        };
        let reply = self
            .expect(doing, CifsCommand::WriteAndX, |out| {
                request.encode_with(out, data);
            })
            .await?;
        decode_write(&reply.message).map_err(|error| self.malformed(doing, error))
    }

    async fn flush(&mut self, doing: &str, file: FileId) -> Result<(), SessionError> {
        let body = |out: &mut Vec<u8>| encode_flush(number_of(file), out);
        self.expect(doing, CifsCommand::Flush, body)
            .await
            .map(|_| ())
    }

    async fn list(&mut self, doing: &str, path: &str) -> Result<Vec<Entry>, SessionError> {
        let pattern = match path {
            "" => "*".to_owned(),
            path => format!(r"{path}\*"),
        };
        let pattern = WireName::new(&pattern).map_err(|_| Self::path_error(doing))?;
        let reply = self
            .expect(doing, CifsCommand::Transaction2, |out| {
                LISTING.encode_first(&pattern, out);
            })
            .await?;
        let bad = |session: &Self, error| session.malformed(doing, error);
        let mut state =
            CifsFound::decode_first(&reply.parameters).map_err(|error| bad(self, error))?;
        let (mut entries, mut last) =
            decode_entries(&reply.data).map_err(|error| bad(self, error))?;
        let next = CifsFind {
            flags: LISTING.flags | find_flags::CONTINUE_FROM_LAST,
            ..LISTING
        };
        for _ in 0..LISTING_ANSWERS_MAX {
            let Some(from) = last.filter(|_| !state.is_end) else {
                return Ok(entries);
            };
            if entries.len() > LISTING_NAMES_MAX {
                break;
            }
            let from = WireName::new(&from).map_err(|_| Self::path_error(doing))?;
            let reply = self
                .expect(doing, CifsCommand::Transaction2, |out| {
                    next.encode_next(state.search, &from, out);
                })
                .await?;
            state = CifsFound::decode_next(state.search, &reply.parameters)
                .map_err(|error| bad(self, error))?;
            let (more, of_more) = decode_entries(&reply.data).map_err(|error| bad(self, error))?;
            entries.extend(more);
            last = of_more;
        }
        let body = |out: &mut Vec<u8>| encode_find_close(state.search, out);
        self.expect(doing, CifsCommand::FindClose2, body).await?;
        Err(self.failed_call(doing, StepFailure::EndlessListing))
    }

    async fn free_bytes(&mut self, doing: &str, _: &str) -> Result<Option<u64>, SessionError> {
        let reply = self
            .call(doing, CifsCommand::Transaction2, |out| {
                encode_query_fs(QUERY_FS_SIZE_INFO, 1024, out);
            })
            .await?;
        // TotalFreeAllocationUnits, then the sectors of a unit and the bytes of a sector
        // (MS-CIFS 2.2.8.2.3).
        let data = &reply.data;
        let u64_at = |at: usize| Some(u64::from_le_bytes(*data.get(at..)?.first_chunk()?));
        let u32_at = |at: usize| Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?));
        let free = || {
            let unit = u64::from(u32_at(16)?) * u64::from(u32_at(20)?);
            u64_at(8)?.checked_mul(unit)
        };
        Ok(free())
    }

    fn failed_call(&self, doing: &str, source: StepFailure) -> SessionError {
        self.endpoint.failed_on_share(doing, source)
    }
}
