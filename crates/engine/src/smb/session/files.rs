//! The calls on files and directories in SMB2.

use smbench_protocol::command::create::{CreateRequest, access, options};
use smbench_protocol::command::flush::FlushRequest;
use smbench_protocol::command::query_info::{
    InfoType, QueryInfoRequest, QueryInfoResponse, file_system_class,
};
use smbench_protocol::command::read::{ReadRequest, ReadResponse};
use smbench_protocol::command::write::{WriteRequest, WriteResponse};
use smbench_protocol::credit::CREDIT_UNIT;
use smbench_protocol::directory::{self, Entry};
use smbench_protocol::header::Command;
use smbench_protocol::{FileId, NtStatus};

use super::{Session, SessionError, StepFailure};
use crate::smb::calls::{EntryKind, FileCalls, Listing, ListingBounds, ListingEnd, NameFilter};

const LISTING_LEN: u32 = 64 * 1024;
const ASKING: &str = "ask how much space is free";
impl FileCalls for Session {
    async fn open_file(
        &mut self,
        doing: &str,
        request: &CreateRequest<'_>,
    ) -> Result<FileId, SessionError> {
        let (created, _) = self.create_with(doing, request).await?;
        Ok(created.file_id)
    }

    async fn close_file(&mut self, doing: &str, file: FileId) -> Result<(), SessionError> {
        self.close(doing, file).await
    }

    async fn delete_entry(
        &mut self,
        doing: &str,
        path: &str,
        kind: EntryKind,
    ) -> Result<(), SessionError> {
        let kind = match kind {
            EntryKind::File => options::FILE_NON_DIRECTORY_FILE,
            EntryKind::Directory => options::FILE_DIRECTORY_FILE,
        };
        let request = CreateRequest {
            options: kind | options::FILE_DELETE_ON_CLOSE,
            ..CreateRequest::open(path, access::DELETE)
        };
        let opened = self.open_file(doing, &request).await?;
        self.close_file(doing, opened).await
    }

    fn read_limit(&self) -> u32 {
        let paid_for = self.connection.credits().saturating_mul(CREDIT_UNIT);
        self.connection.negotiated().max_read.min(paid_for)
    }

    async fn read_at(
        &mut self,
        doing: &str,
        file_id: FileId,
        offset: u64,
        length: u32,
    ) -> Result<Vec<u8>, SessionError> {
        let request = ReadRequest {
            file_id,
            offset,
            length,
            minimum_count: 0,
            flags: 0,
        };
        let reply = self
            .call(doing, Command::Read, length, |out| request.encode(out))
            .await?;
        match reply.status {
            NtStatus::SUCCESS => {
                let answer = ReadResponse::decode(&reply.message, reply.message.len())
                    .map_err(|error| self.malformed(doing, error))?;
                Ok(answer.data.unwrap_or_default().to_vec())
            }
            NtStatus::END_OF_FILE => Ok(Vec::new()),
            status => Err(self.refused(doing, status)),
        }
    }

    fn write_limit(&self) -> u32 {
        let paid_for = self.connection.credits().saturating_mul(CREDIT_UNIT);
        self.connection.negotiated().max_write.min(paid_for)
    }

    async fn write_at(
        &mut self,
        doing: &str,
        file_id: FileId,
        offset: u64,
        length: u32,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u32, SessionError> {
        let request = WriteRequest {
            file_id,
            offset,
            length,
            flags: 0,
        };
        let message = self
            .expect(doing, Command::Write, length, |out| {
                request.encode(out);
                data(out);
            })
            .await?;
        let answer = WriteResponse::decode(&message);
        let answer = answer.map_err(|error| self.malformed(doing, error))?;
        Ok(answer.count)
    }

    async fn flush(&mut self, doing: &str, file_id: FileId) -> Result<(), SessionError> {
        let request = FlushRequest { file_id };
        self.expect(doing, Command::Flush, 0, |out| request.encode(out))
            .await
            .map(|_| ())
    }

    async fn list_wanted(
        &mut self,
        doing: &str,
        path: &str,
        bounds: ListingBounds,
        wanted: &mut dyn FnMut(&Entry) -> bool,
    ) -> Result<Listing, SessionError> {
        let request = CreateRequest {
            options: options::FILE_DIRECTORY_FILE,
            ..CreateRequest::open(path, access::FILE_LIST_DIRECTORY | access::SYNCHRONIZE)
        };
        let id = self.open_file(doing, &request).await?;
        let len = self.connection.negotiated().output_len(LISTING_LEN);
        let (mut entries, mut filter) = (Vec::new(), NameFilter::new(wanted, bounds));
        for _ in 0..bounds.answers() {
            let reply = self
                .call(doing, Command::QueryDirectory, len, |out| {
                    directory::encode_request(id, len, out);
                })
                .await?;
            let end = match reply.status {
                NtStatus::SUCCESS => {
                    let some = directory::decode_response(&reply.message)
                        .map_err(|error| self.malformed(doing, error))?;
                    entries.extend(some.into_iter().filter(|entry| filter.takes(entry)));
                    (entries.len() > bounds.most).then_some(ListingEnd::Cut)
                }
                NtStatus::NO_MORE_FILES | NtStatus::NO_SUCH_FILE => Some(ListingEnd::Whole),
                status => return Err(self.refused(doing, status)),
            };
            if let Some(end) = end {
                self.close(doing, id).await?;
                return Ok(Listing { entries, end });
            }
            if filter.is_exhausted() {
                break;
            }
        }
        Err(self.failed_on_share(doing, StepFailure::EndlessListing))
    }

    async fn free_bytes(&mut self, doing: &str, path: &str) -> Result<Option<u64>, SessionError> {
        let request = CreateRequest {
            options: options::FILE_DIRECTORY_FILE,
            ..CreateRequest::open(path, access::FILE_READ_ATTRIBUTES)
        };
        let directory = self.open_file(doing, &request).await?;
        let query = QueryInfoRequest {
            info_type: InfoType::FileSystem,
            class: file_system_class::FILE_FS_FULL_SIZE_INFORMATION,
            output_length: 32,
            additional: 0,
            file_id: directory,
        };
        let reply = self
            .call(ASKING, Command::QueryInfo, 0, |out| query.encode(out))
            .await?;
        let free = match reply.status {
            NtStatus::SUCCESS => {
                let answer = QueryInfoResponse::decode(&reply.message)
                    .map_err(|error| self.malformed(ASKING, error))?;
                caller_available(answer.data)
            }
            _ => None,
        };
        self.close(doing, directory).await?;
        Ok(free)
    }

    fn failed_call(&self, doing: &str, source: StepFailure) -> SessionError {
        self.failed_on_share(doing, source)
    }
}

/// Returns CallerAvailableAllocationUnits times the unit (MS-FSCC 2.5.4), in bytes.
pub(crate) fn caller_available(data: &[u8]) -> Option<u64> {
    let u64_at = |at: usize| Some(u64::from_le_bytes(*data.get(at..)?.first_chunk()?));
    let u32_at = |at: usize| Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?));
    let unit = u64::from(u32_at(24)?) * u64::from(u32_at(28)?);
    u64_at(8)?.checked_mul(unit)
}
