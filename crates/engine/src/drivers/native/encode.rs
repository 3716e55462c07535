//! The encoders of operations, and the requests that they share.

use smbench_model::operations::Operation;
use smbench_protocol::command::WireName;
use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::create::{CreateRequest, OplockLevel};
use smbench_protocol::command::flush::FlushRequest;
use smbench_protocol::command::lock::{LockElement, LockRequest};
use smbench_protocol::command::query_directory::QueryDirectoryRequest;
use smbench_protocol::command::query_info::QueryInfoRequest;
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::command::set_info::SetInfoRequest;
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::connection::{Chain, NoCredit};
use smbench_protocol::header::Command;
use smbench_protocol::{Completion, Connection, FileId, SessionIndex};

use super::state::{ClientSession, GroupState, SlotObjects};
use crate::drivers::driver::{Answer, Busy, Call, Scratch};
use crate::drivers::dropped::Dropped;
use crate::drivers::links::Links;
use crate::drivers::site::Site;
use crate::smb::session::{Session, SessionError};

/// Encodes the operations of one source as requests, and follows their answers.
pub(crate) trait Encode: Sized + 'static {
    /// Whether the operations are those of a recording, which depend on each other.
    const IS_RECORDING: bool = false;

    /// Makes the encoder of a group of clients.
    fn new(site: &Site) -> Result<Self, SessionError>;

    /// Prepares the share for a client, and makes a place for each of its slots.
    /// Adds to `held` what it opens in the client's session.
    async fn prepare(
        &mut self,
        site: &Site,
        client: u32,
        session: &mut Session,
        held: &mut ClientSession,
    ) -> Result<Vec<SlotObjects>, SessionError>;

    /// Appends the request of a call, or its frame of several requests.
    fn encode(
        group: &mut GroupState<Self>,
        links: &mut Links,
        call: &Call,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy>;

    /// Processes an answer, or a part of one, and sends the requests that follow
    /// from it. Returns the answer for the loop, if there is one yet.
    fn answered<'a>(
        group: &mut GroupState<Self>,
        answer: Answer<'a>,
        done: &Completion<'_>,
        connection: &mut Connection,
        out: &mut Vec<u8>,
    ) -> Result<Option<Answer<'a>>, Dropped>;

    /// Sends what was held back.
    #[inline]
    fn flush(_: &mut GroupState<Self>, _: &mut Links, _: &mut Scratch) {}

    /// Returns the slot for which a file was opened under load, and its oplock.
    fn holder<'a>(
        &'a mut self,
        open: FileId,
        held: &[ClientSession],
        places: &'a mut [SlotObjects],
    ) -> Option<(usize, &'a mut OplockLevel)>;
}

/// The connection, session and tag of a request, and the buffer for its bytes.
pub(super) struct To<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) session: SessionIndex,
    pub(super) tag: u32,
    pub(super) out: &'a mut Vec<u8>,
}

impl<'a> To<'a> {
    /// Sends a READ of the range of an operation.
    #[inline]
    pub(super) fn read(
        self,
        file_id: FileId,
        operation: &Operation,
        flags: u8,
    ) -> Result<(), NoCredit> {
        let request = read(file_id, operation, flags);
        self.connection
            .read(self.session, self.tag, &request, self.out)
    }

    /// Sends a WRITE of the range of an operation.
    #[inline]
    pub(super) fn write(
        self,
        file_id: FileId,
        operation: &Operation,
        flags: u32,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        let request = WriteRequest {
            file_id,
            offset: operation.offset,
            length: operation.length,
            flags,
        };
        self.connection
            .write(self.session, self.tag, &request, self.out, data)
    }

    pub(super) fn flush(self, file_id: FileId) -> Result<(), NoCredit> {
        let request = FlushRequest { file_id };
        self.request(Command::Flush, |out| request.encode(out))
    }

    pub(super) fn close(self, file_id: FileId) -> Result<(), NoCredit> {
        let request = close(file_id);
        self.request(Command::Close, |out| request.encode(out))
    }

    /// Sends a LOCK of the range of an operation.
    pub(super) fn lock(
        self,
        file_id: FileId,
        operation: &Operation,
        flags: u32,
    ) -> Result<(), NoCredit> {
        let locks = [LockElement {
            offset: operation.offset,
            length: operation.length.into(),
            flags,
        }];
        let request = LockRequest {
            file_id,
            sequence: 0,
            locks: &locks,
        };
        self.request(Command::Lock, |out| {
            // Encoding a single range cannot fail.
            let _ = request.encode(out);
        })
    }

    pub(super) fn create(self, request: &CreateRequest<'_, WireName>) -> Result<(), NoCredit> {
        self.request(Command::Create, |out| request.encode(out))
    }

    pub(super) fn query(self, request: &QueryInfoRequest) -> Result<(), NoCredit> {
        self.request(Command::QueryInfo, |out| request.encode(out))
    }

    pub(super) fn set(self, request: &SetInfoRequest<'_>) -> Result<(), NoCredit> {
        self.request(Command::SetInfo, |out| request.encode(out))
    }

    pub(super) fn list(self, request: &QueryDirectoryRequest<'_>) -> Result<(), NoCredit> {
        self.request(Command::QueryDirectory, |out| request.encode(out))
    }

    /// Sends a request that costs one credit.
    pub(super) fn request(
        self,
        command: Command,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        self.connection
            .request(self.session, command, 1, self.tag, self.out, body)
    }

    /// Sends CREATE, the requests `between`, and CLOSE in one frame. All of them
    /// refer to the open that the CREATE makes.
    pub(super) fn frame(
        self,
        create: &CreateRequest<'_, WireName>,
        between: impl FnOnce(Chain<'a>) -> Chain<'a>,
    ) -> Result<(), NoCredit> {
        let close = close(FileId::RELATED);
        let chain = self.connection.chain(self.session, self.out);
        between(chain.request(Command::Create, 1, self.tag, |out| create.encode(out)))
            .request(Command::Close, 1, self.tag, |out| close.encode(out))
            .finish()
    }
}

/// Returns a READ of the range of an operation.
pub(super) const fn read(file_id: FileId, operation: &Operation, flags: u8) -> ReadRequest {
    ReadRequest {
        file_id,
        offset: operation.offset,
        length: operation.length,
        minimum_count: 0,
        flags,
    }
}

const fn close(file_id: FileId) -> CloseRequest {
    CloseRequest { file_id, flags: 0 }
}
