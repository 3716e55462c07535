//! Requests of a replay, and the frames that contain them.

use smbench_model::trace::{Record, Verb};
use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::create::{
    CreateRequest, Disposition, OplockLevel, access, attributes, options, share,
};
use smbench_protocol::command::query_directory::{
    DirectoryClass, QueryDirectoryRequest, query_directory_flags,
};
use smbench_protocol::command::query_info::{InfoType, QueryInfoRequest};
use smbench_protocol::command::set_info::{Deletion, SetInfo, SetInfoRequest};
use smbench_protocol::command::{FileTimes, WireName as Name};
use smbench_protocol::connection::{Chain, NoCredit};
use smbench_protocol::header::Command;
use smbench_protocol::{Connection, FileId, SessionIndex};

use crate::run::native::request::info::{ANSWER_LEN, LISTING_LEN, TIME_SET};

/// The connection, session and tag of a request, and the buffer for its bytes.
pub(super) struct To<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) session: SessionIndex,
    pub(super) tag: u32,
    pub(super) out: &'a mut Vec<u8>,
}

impl<'a> To<'a> {
    pub(super) fn request(
        self,
        command: Command,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        let Self {
            connection,
            session,
            tag,
            out,
        } = self;
        connection.request(session, command, 1, tag, out, body)
    }

    /// Sends CREATE, another request and CLOSE; returns the number of answers.
    pub(super) fn frame_of(
        self,
        create: &CreateRequest<'_, Name>,
        command: Command,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u8, NoCredit> {
        let tag = self.tag;
        self.framed(create, |chain| chain.request(command, 1, tag, body))?;
        Ok(3)
    }

    /// Sends CREATE and CLOSE; returns the number of answers.
    pub(super) fn touch(self, create: &CreateRequest<'_, Name>) -> Result<u8, NoCredit> {
        self.framed(create, |chain| chain)?;
        Ok(2)
    }

    /// Sends CREATE, the requests `between`, and CLOSE.
    fn framed(
        self,
        create: &CreateRequest<'_, Name>,
        between: impl FnOnce(Chain<'a>) -> Chain<'a>,
    ) -> Result<(), NoCredit> {
        let Self {
            connection,
            session,
            tag,
            out,
        } = self;
        let close = close(FileId::RELATED);
        let chain = connection.chain(session, out);
        between(chain.request(Command::Create, 1, tag, |out| create.encode(out)))
            .request(Command::Close, 1, tag, |out| close.encode(out))
            .finish()
    }

    /// Sends CREATE, QUERY_DIRECTORY and CLOSE; returns the number of answers.
    pub(super) fn list(
        self,
        directory: &Name,
        query: &QueryDirectoryRequest<'_>,
    ) -> Result<u8, NoCredit> {
        let rights = access::FILE_LIST_DIRECTORY | access::FILE_READ_ATTRIBUTES;
        let create = CreateRequest {
            options: options::FILE_DIRECTORY_FILE,
            ..existing(directory, rights)
        };
        self.frame_of(&create, Command::QueryDirectory, |out| query.encode(out))
    }
}

pub(super) const fn close(file_id: FileId) -> CloseRequest {
    CloseRequest { file_id, flags: 0 }
}

/// Returns a CREATE that opens an existing name.
pub(super) const fn existing(name: &Name, rights: u32) -> CreateRequest<'_, Name> {
    CreateRequest {
        name,
        desired_access: rights | access::SYNCHRONIZE,
        file_attributes: attributes::FILE_ATTRIBUTE_NORMAL,
        share_access: share::ALL,
        disposition: Disposition::Open,
        options: 0,
        oplock: OplockLevel::None,
        contexts: &[],
    }
}

/// Returns a CREATE that opens a name to delete it.
pub(super) const fn deletion(name: &Name, kind: u32) -> CreateRequest<'_, Name> {
    let mut request = existing(name, access::DELETE);
    request.options = kind | options::FILE_DELETE_ON_CLOSE;
    request
}

/// Returns the CREATE of a trace. The trace does not record the requested rights.
/// It requests those to read and write, as the clients of dbench do.
pub(super) fn recorded<'a>(record: &Record, name: &'a Name) -> CreateRequest<'a, Name> {
    /// FILE_OPEN_BY_FILE_ID, with which the server would read the name as a number.
    const BY_ID: u32 = 0x2000;
    let mut rights = access::FILE_READ_DATA | access::FILE_READ_ATTRIBUTES;
    if record.length & options::FILE_DIRECTORY_FILE == 0 {
        rights |=
            access::FILE_WRITE_DATA | access::FILE_APPEND_DATA | access::FILE_WRITE_ATTRIBUTES;
    }
    if record.length & options::FILE_DELETE_ON_CLOSE != 0 {
        rights |= access::DELETE;
    }
    CreateRequest {
        disposition: match record.class {
            0 => Disposition::Supersede,
            1 => Disposition::Open,
            2 => Disposition::Create,
            3 => Disposition::OpenIf,
            4 => Disposition::Overwrite,
            _ => Disposition::OverwriteIf,
        },
        options: record.length & !BY_ID,
        ..existing(name, rights)
    }
}

pub(super) const fn query(record: &Record, file_id: FileId) -> QueryInfoRequest {
    QueryInfoRequest {
        info_type: match record.verb {
            Verb::QueryFs => InfoType::FileSystem,
            _ => InfoType::File,
        },
        class: record.class,
        output_length: ANSWER_LEN,
        additional: 0,
        file_id,
    }
}

/// Returns the SET_INFO of a trace. Values that were not recorded are chosen so
/// that they change nothing recorded.
pub(super) fn set(record: &Record, file_id: FileId) -> SetInfoRequest<'static> {
    let info = match record.class {
        13 => SetInfo::Disposition(Deletion::Revoked),
        19 => SetInfo::Allocation(record.offset),
        20 => SetInfo::EndOfFile(record.offset),
        _ => SetInfo::Basic {
            times: FileTimes {
                written: TIME_SET,
                ..FileTimes::default()
            },
            file_attributes: 0,
        },
    };
    SetInfoRequest { file_id, info }
}

pub(super) fn listing<'a>(record: &Record, pattern: &'a Name) -> QueryDirectoryRequest<'a> {
    use query_directory_flags::{RESTART_SCANS, RETURN_SINGLE_ENTRY};
    QueryDirectoryRequest {
        directory: FileId::RELATED,
        class: match record.class {
            1 => DirectoryClass::Directory,
            2 => DirectoryClass::FullDirectory,
            12 => DirectoryClass::Names,
            37 => DirectoryClass::IdBothDirectory,
            38 => DirectoryClass::IdFullDirectory,
            _ => DirectoryClass::BothDirectory,
        },
        // A limit of 1 is kept. Otherwise the size of the answer limits the number
        // of names.
        flags: match record.length {
            1 => RESTART_SCANS | RETURN_SINGLE_ENTRY,
            _ => RESTART_SCANS,
        },
        pattern,
        output_length: LISTING_LEN,
    }
}
