//! QUERY_INFO.

use std::io::Cursor;

use binrw::{BinRead, BinWrite};
use proptest::prelude::*;
use smb_fscc::{QueryFileInfoClass, QueryFileSystemInfoClass};
use smb_msg as theirs;
use smb_msg::PlainResponse;
use smbench_protocol::command::query_info::{
    InfoType, QueryInfoRequest, QueryInfoResponse, file_class, file_system_class,
};
use smbench_protocol::header::{Command, Flags, Header};

use super::{read_by_them, their_id};
use crate::support::file_id;

fn info_class() -> impl Strategy<Value = (InfoType, u8, theirs::InfoType, ClassOfTheirs)> {
    let file = |class, their_class| {
        (
            InfoType::File,
            class,
            theirs::InfoType::File,
            ClassOfTheirs::File(their_class),
        )
    };
    let volume = |class, their_class| {
        (
            InfoType::FileSystem,
            class,
            theirs::InfoType::FileSystem,
            ClassOfTheirs::FileSystem(their_class),
        )
    };
    prop::sample::select(vec![
        file(
            file_class::FILE_BASIC_INFORMATION,
            QueryFileInfoClass::BasicInformation,
        ),
        file(
            file_class::FILE_STANDARD_INFORMATION,
            QueryFileInfoClass::StandardInformation,
        ),
        file(
            file_class::FILE_ALL_INFORMATION,
            QueryFileInfoClass::AllInformation,
        ),
        volume(
            file_system_class::FILE_FS_SIZE_INFORMATION,
            QueryFileSystemInfoClass::FsSizeInformation,
        ),
        volume(
            file_system_class::FILE_FS_FULL_SIZE_INFORMATION,
            QueryFileSystemInfoClass::FsFullSizeInformation,
        ),
        (
            InfoType::Security,
            0,
            theirs::InfoType::Security,
            ClassOfTheirs::None,
        ),
    ])
}

/// A copy of `smb_msg::QueryInfoClass`, which cannot be cloned as proptest
/// requires.
#[derive(Clone, Copy, Debug)]
enum ClassOfTheirs {
    File(QueryFileInfoClass),
    FileSystem(QueryFileSystemInfoClass),
    None,
}

impl ClassOfTheirs {
    fn get(self) -> theirs::QueryInfoClass {
        match self {
            Self::File(class) => theirs::QueryInfoClass::File(class),
            Self::FileSystem(class) => theirs::QueryInfoClass::FileSystem(class),
            Self::None => theirs::QueryInfoClass::default(),
        }
    }
}

proptest! {
    #[test]
    fn query_info(
        file_id in file_id(),
        (output_length, additional) in any::<(u32, u32)>(),
        (info_type, class, their_type, their_class) in info_class(),
    ) {
        let request = QueryInfoRequest { info_type, class, output_length, additional, file_id };
        let read = read_by_them(Command::QueryInfo, |out| request.encode(out));
        prop_assert_eq!(read.to_queryinfo().expect("a QUERY_INFO"), theirs::QueryInfoRequest {
            info_type: their_type,
            info_class: their_class.get(),
            output_buffer_length: output_length,
            additional_info: theirs::AdditionalInfo::from_bytes(additional.to_le_bytes()),
            flags: theirs::QueryInfoFlags::new(),
            file_id: their_id(file_id),
            data: theirs::GetInfoRequestData::None(()),
        });
    }

    /// smb-msg keeps the fields of this response private. So it can write only
    /// a response that it has read.
    #[test]
    fn query_info_response(data in prop::collection::vec(any::<u8>(), 1..500)) {
        let mut body = Vec::new();
        body.extend_from_slice(&[9, 0, 72, 0]);
        body.extend_from_slice(&(data.len() as u32).to_le_bytes());
        body.extend_from_slice(&data);
        let mut message = Vec::new();
        let header = Header { flags: Flags::RESPONSE, ..Header::request(Command::QueryInfo, 0) };
        header.encode(&mut message);
        message.extend_from_slice(&body);

        let read = PlainResponse::read(&mut Cursor::new(&message)).expect("smb-msg reads");
        let mut again = Cursor::new(Vec::new());
        read.write(&mut again).expect("smb-msg writes");
        prop_assert_eq!(
            QueryInfoResponse::decode(again.get_ref()),
            Ok(QueryInfoResponse { data: &data })
        );
    }
}
