//! The calls on files and directories in CIFS.

use smbench_protocol::cifs::command::close::{encode_close, encode_flush};
use smbench_protocol::cifs::command::create::{CifsCreated, encode_create};
use smbench_protocol::cifs::command::find::{
    FindClose2Request, FindFirst2Request, FindFirst2Response, FindNext2Request, FoundNames,
    find_flags, find_level,
};
use smbench_protocol::cifs::command::information::{QueryFsInformationRequest, level};
use smbench_protocol::cifs::command::names::{CifsDeleteRequest, DirectoryPathRequest};
use smbench_protocol::cifs::command::read::{CifsRead, decode_read};
use smbench_protocol::cifs::command::write::{CifsWrite, WriteMode, decode_write};
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::cifs::{FileNumber, TRANSACTION_DATA_MAX};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::CreateRequest;
use smbench_protocol::command::query_directory::DirectoryClass;
use smbench_protocol::directory::Entry;
use smbench_protocol::{FileId, NtStatus};

use super::CifsSession;
use crate::smb::calls::{EntryKind, FileCalls, Listing, ListingBounds, ListingEnd, NameFilter};
use crate::smb::session::{SessionError, StepFailure};

/// Hidden and system files, and directories, are listed as well.
pub(crate) const SEARCH_ATTRIBUTES: u16 = 0x0016;
/// Names of one answer to a listing.
const NAMES: u16 = 1000;
const LEVEL: u16 = find_level::SMB_FIND_FILE_BOTH_DIRECTORY_INFO;
const CLASS: DirectoryClass = DirectoryClass::BothDirectory;

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

/// Returns the last name of an answer in UTF-16, after which the next answer begins.
fn last_name(found: &FoundNames<'_>) -> Option<Vec<u8>> {
    let last = found.entries(CLASS).last()?.ok()?;
    Some(last.name.to_vec())
}

impl CifsSession {
    fn path_error(doing: &str) -> SessionError {
        SessionError::Path {
            doing: doing.to_owned(),
        }
    }

    /// Ends a search before its last name.
    async fn end_search(&mut self, doing: &str, sid: u16) -> Result<(), SessionError> {
        let close = FindClose2Request { sid };
        self.expect(doing, CifsCommand::FindClose2, |out| close.encode(out))
            .await
            .map(|_| ())
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
        CifsCreated::decode(&reply.message).map_err(|error| self.stream.malformed(doing, error))
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

    async fn delete_entry(
        &mut self,
        doing: &str,
        path: &str,
        kind: EntryKind,
    ) -> Result<(), SessionError> {
        let path = &WireName::new(path).map_err(|_| Self::path_error(doing))?;
        let deleted = match kind {
            EntryKind::File => {
                let request = CifsDeleteRequest {
                    search_attributes: SEARCH_ATTRIBUTES,
                    path,
                };
                self.expect(doing, CifsCommand::Delete, |out| request.encode(out))
                    .await
            }
            EntryKind::Directory => {
                let request = DirectoryPathRequest { path };
                let command = CifsCommand::DeleteDirectory;
                self.expect(doing, command, |out| request.encode(out)).await
            }
        };
        deleted.map(|_| ())
    }

    fn read_limit(&self) -> u32 {
        self.connection.max_read()
    }

    async fn read_at(
        &mut self,
        doing: &str,
        file: FileId,
        offset: u64,
        length: u32,
    ) -> Result<Vec<u8>, SessionError> {
        let request = CifsRead {
            file: number_of(file),
            offset,
            length,
        };
        let reply = self
            .expect(doing, CifsCommand::ReadAndX, |out| request.encode(out))
            .await?;
        let read = decode_read(&reply.message, reply.message.len())
            .map_err(|error| self.stream.malformed(doing, error))?;
        Ok(read.data.unwrap_or_default().to_vec())
    }

    fn write_limit(&self) -> u32 {
        self.connection.max_write()
    }

    async fn write_at(
        &mut self,
        doing: &str,
        file: FileId,
        offset: u64,
        length: u32,
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
        decode_write(&reply.message).map_err(|error| self.stream.malformed(doing, error))
    }

    async fn flush(&mut self, doing: &str, file: FileId) -> Result<(), SessionError> {
        let body = |out: &mut Vec<u8>| encode_flush(number_of(file), out);
        self.expect(doing, CifsCommand::Flush, body)
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
        let pattern = match path {
            "" => "*".to_owned(),
            path => format!(r"{path}\*"),
        };
        let pattern = WireName::new(&pattern).map_err(|_| Self::path_error(doing))?;
        let first = FindFirst2Request {
            search_attributes: SEARCH_ATTRIBUTES,
            search_count: NAMES,
            flags: find_flags::SMB_FIND_CLOSE_AT_EOS,
            level: LEVEL,
            pattern: &pattern,
            max_data: TRANSACTION_DATA_MAX,
        };
        let reply = self
            .call(doing, CifsCommand::Transaction2, |out| first.encode(out))
            .await?;
        match reply.status {
            NtStatus::SUCCESS => {}
            // Only the root may have no entry at all.
            NtStatus::NO_SUCH_FILE if path.is_empty() => {
                return Ok(Listing::whole(Vec::new()));
            }
            status => return Err(self.stream.refused(doing, status)),
        }
        let answer = FindFirst2Response::decode(&reply.parameters, &reply.data);
        let FindFirst2Response { sid, found } =
            answer.map_err(|error| self.stream.malformed(doing, error))?;
        let names = found.names(CLASS);
        let mut entries = names.map_err(|error| self.stream.malformed(doing, error))?;
        let mut filter = NameFilter::new(wanted, bounds);
        entries.retain(|entry| filter.takes(entry));
        let (mut is_over, mut last) = (found.end_of_search, last_name(&found));
        for _ in 0..bounds.answers() {
            let Some(resume_name) = last.filter(|_| !is_over) else {
                return Ok(Listing::whole(entries));
            };
            if entries.len() > bounds.most {
                self.end_search(doing, sid).await?;
                let end = ListingEnd::Cut;
                return Ok(Listing { entries, end });
            }
            let next = FindNext2Request {
                sid,
                search_count: NAMES,
                level: LEVEL,
                flags: first.flags | find_flags::SMB_FIND_CONTINUE_FROM_LAST,
                resume_name: &resume_name,
                max_data: TRANSACTION_DATA_MAX,
            };
            let reply = self
                .call(doing, CifsCommand::Transaction2, |out| next.encode(out))
                .await?;
            match reply.status {
                NtStatus::SUCCESS => {}
                NtStatus::NO_MORE_FILES => return Ok(Listing::whole(entries)),
                status => return Err(self.stream.refused(doing, status)),
            }
            let found = FoundNames::decode(&reply.parameters, &reply.data)
                .map_err(|error| self.stream.malformed(doing, error))?;
            let names = found.names(CLASS);
            let names = names.map_err(|error| self.stream.malformed(doing, error))?;
            entries.extend(names.into_iter().filter(|entry| filter.takes(entry)));
            (is_over, last) = (found.end_of_search, last_name(&found));
            if filter.is_exhausted() {
                break;
            }
        }
        self.end_search(doing, sid).await?;
        Err(self.failed_call(doing, StepFailure::EndlessListing))
    }

    async fn free_bytes(&mut self, doing: &str, _: &str) -> Result<Option<u64>, SessionError> {
        let request = QueryFsInformationRequest {
            level: level::SMB_QUERY_FS_SIZE_INFO,
            max_data: 1024,
        };
        let reply = self
            .call(doing, CifsCommand::Transaction2, |out| request.encode(out))
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
        self.stream.endpoint.failed_on_share(doing, source)
    }
}
