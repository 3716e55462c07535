//! Requests of a replay, and the frames that contain them.

use smbench_model::action::SetClass;
use smbench_model::trace::{Record, Verb};
use smbench_protocol::FileId;
use smbench_protocol::command::WireName as Name;
use smbench_protocol::command::create::{CreateRequest, Disposition, access, options};
use smbench_protocol::command::query_directory::{
    DirectoryClass, QueryDirectoryRequest, query_directory_flags,
};
use smbench_protocol::command::query_info::{InfoType, QueryInfoRequest};
use smbench_protocol::command::set_info::{Deletion, SetInfo, SetInfoRequest};
use smbench_protocol::connection::NoCredit;
use smbench_protocol::header::Command;

use crate::drivers::deltree::{Deltree, DeltreeRequest};
use crate::drivers::native::encode::To;
use crate::drivers::native::request::info;
use crate::drivers::native::request::info::ANSWER_LEN;

/// Frames of operations by name. Each method returns the number of answers.
impl To<'_> {
    /// Sends CREATE, another request and CLOSE.
    pub(super) fn frame_of(
        self,
        create: &CreateRequest<'_, Name>,
        command: Command,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u8, NoCredit> {
        let tag = self.tag;
        self.frame(create, |chain| chain.request(command, 1, tag, body))?;
        Ok(3)
    }

    /// Sends CREATE and CLOSE.
    pub(super) fn touch(self, create: &CreateRequest<'_, Name>) -> Result<u8, NoCredit> {
        self.frame(create, |chain| chain)?;
        Ok(2)
    }

    /// Sends the next frame of the deletion of a tree.
    pub(super) fn delete_from(self, deltree: &Deltree, name: &mut Name) -> Result<u8, NoCredit> {
        let (DeltreeRequest::Listing(path)
        | DeltreeRequest::File(path)
        | DeltreeRequest::Directory(path)) = deltree.request();
        // `set` cannot fail: each name came from a listing, so it is short enough.
        let _ = name.set(path);
        match deltree.request() {
            DeltreeRequest::File(_) => {
                self.touch(&deletion(name, options::FILE_NON_DIRECTORY_FILE))
            }
            DeltreeRequest::Directory(_) => {
                self.touch(&deletion(name, options::FILE_DIRECTORY_FILE))
            }
            DeltreeRequest::Listing(_) => {
                let every = Name::every();
                let query = info::list(DirectoryClass::Directory, FileId::RELATED, &every);
                self.list_by_name(name, &query)
            }
        }
    }

    /// Sends CREATE, QUERY_DIRECTORY and CLOSE.
    pub(super) fn list_by_name(
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

/// Returns a CREATE that opens an existing name.
pub(super) const fn existing<N: ?Sized>(name: &N, rights: u32) -> CreateRequest<'_, N> {
    CreateRequest::open(name, rights | access::SYNCHRONIZE)
}

/// Returns a CREATE that opens a name to delete it.
pub(super) const fn deletion(name: &Name, kind: u32) -> CreateRequest<'_, Name> {
    let mut request = existing(name, access::DELETE);
    request.options = kind | options::FILE_DELETE_ON_CLOSE;
    request
}

/// Returns the CREATE of a trace. The trace does not record the requested rights.
/// It requests those to read and write, as the clients of dbench do.
pub(crate) fn recorded<'a, N: ?Sized>(record: &Record, name: &'a N) -> CreateRequest<'a, N> {
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

/// Returns the class of a recorded SET_INFO; `None` if it revokes a deletion. Values
/// that were not recorded are chosen so that they change nothing recorded.
pub(crate) const fn set_class(record: &Record) -> Option<SetClass> {
    Some(match record.class {
        13 => return None,
        19 => SetClass::Allocation,
        20 => SetClass::EndOfFile,
        _ => SetClass::Basic,
    })
}

/// Returns the SET_INFO of a trace.
pub(crate) fn set(record: &Record, file_id: FileId) -> SetInfoRequest<'static> {
    match set_class(record) {
        Some(class) => info::set(class, file_id, record.offset, None),
        None => SetInfoRequest {
            file_id,
            info: SetInfo::Disposition(Deletion::Revoked),
        },
    }
}

pub(super) fn listing<'a>(record: &Record, pattern: &'a Name) -> QueryDirectoryRequest<'a> {
    let class = match record.class {
        1 => DirectoryClass::Directory,
        2 => DirectoryClass::FullDirectory,
        12 => DirectoryClass::Names,
        37 => DirectoryClass::IdBothDirectory,
        38 => DirectoryClass::IdFullDirectory,
        _ => DirectoryClass::BothDirectory,
    };
    let mut request = info::list(class, FileId::RELATED, pattern);
    // A limit of 1 is kept. Otherwise the size of the answer limits the number of
    // names.
    if record.length == 1 {
        request.flags |= query_directory_flags::RETURN_SINGLE_ENTRY;
    }
    request
}
