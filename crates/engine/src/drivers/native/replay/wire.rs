//! Requests of a replay, and the frames that contain them.

use smbench_protocol::FileId;
use smbench_protocol::command::WireName as Name;
use smbench_protocol::command::create::{CreateRequest, access, options};
use smbench_protocol::command::query_directory::{
    DirectoryClass, QueryDirectoryRequest, query_directory_flags,
};
use smbench_protocol::command::query_info::{InfoType, QueryInfoRequest};
use smbench_protocol::connection::{Negotiated, NoCredit};
use smbench_protocol::header::Command;

use crate::drivers::deltree::{Deltree, DeltreeRequest};
use crate::drivers::native::encode::To;
use crate::drivers::requests::info::{self, ANSWER_LEN};
use crate::drivers::requests::recorded::existing;

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
                let negotiated = self.connection.negotiated();
                let class = DirectoryClass::Directory;
                let query = info::list(class, FileId::RELATED, &every, negotiated);
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

/// Returns a CREATE that opens a name to delete it.
pub(super) const fn deletion(name: &Name, kind: u32) -> CreateRequest<'_, Name> {
    let mut request = existing(name, access::DELETE);
    request.options = kind | options::FILE_DELETE_ON_CLOSE;
    request
}

/// Returns a query of a trace. A trace does not record how long an answer may be.
pub(super) fn query(
    info_type: InfoType,
    class: u8,
    file_id: FileId,
    negotiated: &Negotiated,
) -> QueryInfoRequest {
    QueryInfoRequest {
        info_type,
        class,
        output_length: negotiated.output_len(ANSWER_LEN),
        additional: 0,
        file_id,
    }
}

pub(super) fn listing<'a>(
    class: u8,
    most: u32,
    pattern: &'a Name,
    negotiated: &Negotiated,
) -> QueryDirectoryRequest<'a> {
    let class = match class {
        1 => DirectoryClass::Directory,
        2 => DirectoryClass::FullDirectory,
        12 => DirectoryClass::Names,
        37 => DirectoryClass::IdBothDirectory,
        38 => DirectoryClass::IdFullDirectory,
        _ => DirectoryClass::BothDirectory,
    };
    let mut request = info::list(class, FileId::RELATED, pattern, negotiated);
    // A limit of 1 is kept. Otherwise the size of the answer limits the number of
    // names.
    if most == 1 {
        request.flags |= query_directory_flags::RETURN_SINGLE_ENTRY;
    }
    request
}
