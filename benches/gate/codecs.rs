//! Messages without data: requests are encoded and answers decoded, header and
//! body, as in a run. Frames of several requests are here too, and requests of CIFS.
//!
//! Valgrind takes longer to start than all of these cases to run. So they share
//! one process, which dumps its counts each time [`apart`] returns.

use std::hint::black_box;

use smbench_protocol::FileId;
use smbench_protocol::cifs::fuzzing::CifsFuzzProtection;
use smbench_protocol::command::WireName;
use smbench_protocol::command::bodyless::EmptyResponse;
use smbench_protocol::command::close::CloseResponse;
use smbench_protocol::command::create::{
    CreateRequest, CreateResponse, Disposition, OplockLevel, access, attributes, options, share,
};
use smbench_protocol::command::create_context::{CreateContext, GrantedContexts};
use smbench_protocol::command::lease::{LeaseKey, LeaseState};
use smbench_protocol::command::lock::{LockElement, LockRequest, LockResponse, lock_flags};
use smbench_protocol::command::query_directory::{
    DirectoryClass, QueryDirectoryRequest, QueryDirectoryResponse, query_directory_flags,
};
use smbench_protocol::command::query_info::{
    InfoType, QueryInfoRequest, QueryInfoResponse, file_class,
};
use smbench_protocol::command::set_info::{Existing, SetInfo, SetInfoRequest, SetInfoResponse};
use smbench_protocol::command::write::WriteResponse;
use smbench_protocol::header::{Command, Header};

use crate::cifs::{self, CifsAsk};
use crate::compounds::{self, Middle};
use crate::exchange::counted;

/// Number of times that each case runs.
pub(crate) const CALLS: u64 = 1_000;

/// A path of the same length as in real runs.
const PATH: &str = r"smbench-0123456789abcdef\client-00001\file-0001.dat";

/// A hot path.
pub(crate) struct Codec {
    pub(crate) name: &'static str,
    /// Runs the case [`CALLS`] times.
    run: fn(),
}

/// Returns a captured message with its header.
macro_rules! captured {
    ($name:literal) => {
        unhex(include_str!(concat!(
            "../../fixtures/captures/messages/",
            $name,
            ".hex"
        )))
    };
}
pub(crate) use captured;

/// Returns the bytes of a `.hex` file, in which `#` starts a comment line.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .map(|pair| u8::from_str_radix(pair, 16).expect("a hex byte"))
        .collect()
}

pub(crate) const ALL: &[Codec] = &[
    Codec {
        name: "encode a CREATE request",
        run: || encode_create(OplockLevel::None, &[]),
    },
    Codec {
        name: "encode a CREATE request for a lease",
        run: || {
            let lease = CreateContext::LeaseV2 {
                key: LeaseKey([7; 16]),
                state: LeaseState::RWH,
                parent: None,
                epoch: 0,
            };
            encode_create(OplockLevel::Lease, &[lease]);
        },
    },
    Codec {
        name: "decode a CREATE response",
        run: || {
            let message = captured!("2.1/create-response");
            decode(&message, |message| {
                black_box(CreateResponse::decode(message)).is_ok()
            });
        },
    },
    Codec {
        name: "decode a CREATE response with a lease",
        run: || {
            let message = captured!("3.1.1/lease-v2-response");
            decode(&message, |message| {
                black_box(CreateResponse::decode(message)).is_ok()
                    && black_box(GrantedContexts::decode(message))
                        .is_ok_and(|granted| granted.lease.is_some())
            });
        },
    },
    Codec {
        name: "decode a CLOSE response",
        run: || {
            let message = captured!("2.1/close-response");
            decode(&message, |message| {
                black_box(CloseResponse::decode(message)).is_ok()
            });
        },
    },
    Codec {
        name: "decode a WRITE response",
        run: || {
            let message = captured!("2.1/write-response");
            decode(&message, |message| {
                black_box(WriteResponse::decode(message)).is_ok()
            });
        },
    },
    Codec {
        name: "decode a FLUSH response",
        run: || {
            let message = captured!("2.1/flush-response");
            decode(&message, |message| {
                black_box(EmptyResponse::decode(message)).is_ok()
            });
        },
    },
    Codec {
        name: "encode a LOCK request",
        run: encode_lock,
    },
    Codec {
        name: "decode a LOCK response",
        run: || {
            let message = captured!("2.1/lock-response");
            decode(&message, |message| {
                black_box(LockResponse::decode(message)).is_ok()
            });
        },
    },
    Codec {
        name: "encode a QUERY_INFO request",
        run: || {
            let request = query_info(FileId::default());
            encode(Command::QueryInfo, |out| black_box(&request).encode(out));
        },
    },
    Codec {
        name: "decode a QUERY_INFO response",
        run: || {
            let message = captured!("2.1/query-info-response");
            decode(&message, |message| {
                black_box(QueryInfoResponse::decode(message)).is_ok()
            });
        },
    },
    Codec {
        name: "encode a SET_INFO request of a size",
        run: || {
            let request = set_info(FileId::default());
            encode(Command::SetInfo, |out| black_box(&request).encode(out));
        },
    },
    Codec {
        name: "encode a SET_INFO request of a name",
        run: encode_rename,
    },
    Codec {
        name: "decode a SET_INFO response",
        run: || {
            let message = captured!("3.1.1/set-info-response");
            decode(&message, |message| {
                black_box(SetInfoResponse::decode(message)).is_ok()
            });
        },
    },
    Codec {
        name: "encode a QUERY_DIRECTORY request",
        run: encode_query_directory,
    },
    Codec {
        name: "decode a QUERY_DIRECTORY response",
        run: || {
            let message = captured!("2.1/query-directory-response");
            decode(&message, |message| {
                black_box(QueryDirectoryResponse::decode(message)).is_ok()
            });
        },
    },
    Codec {
        name: "CREATE, READ and CLOSE in one frame and their answers",
        run: || compounds::run(Middle::Read),
    },
    Codec {
        name: "CREATE, QUERY_INFO and CLOSE in one frame and their answers",
        run: || compounds::run(Middle::QueryInfo),
    },
    Codec {
        name: "CREATE, SET_INFO and CLOSE in one frame and their answers",
        run: || compounds::run(Middle::SetInfo),
    },
    Codec {
        name: "READ_ANDX of 4 KiB and its answer",
        run: || cifs::run(CifsAsk::Read, CifsFuzzProtection::None),
    },
    Codec {
        name: "WRITE_ANDX of 4 KiB and its answer",
        run: || cifs::run(CifsAsk::Write, CifsFuzzProtection::None),
    },
    Codec {
        name: "READ_ANDX of 4 KiB and its answer, signed",
        run: || cifs::run(CifsAsk::Read, CifsFuzzProtection::Signed),
    },
    Codec {
        name: "WRITE_ANDX of 4 KiB and its answer, signed",
        run: || cifs::run(CifsAsk::Write, CifsFuzzProtection::Signed),
    },
    Codec {
        name: "NT_CREATE_ANDX and its answer",
        run: || cifs::run(CifsAsk::Create, CifsFuzzProtection::None),
    },
    Codec {
        name: "SMB_COM_CLOSE and its answer",
        run: || cifs::run(CifsAsk::Close, CifsFuzzProtection::None),
    },
    Codec {
        name: "QUERY_PATH_INFORMATION and its answer",
        run: || cifs::run(CifsAsk::QueryPath, CifsFuzzProtection::None),
    },
    Codec {
        name: "FIND_FIRST2 and its answer",
        run: || cifs::run(CifsAsk::FindFirst, CifsFuzzProtection::None),
    },
    Codec {
        name: "SMB_COM_DELETE and its answer",
        run: || cifs::run(CifsAsk::Delete, CifsFuzzProtection::None),
    },
    Codec {
        name: "SMB_COM_RENAME and its answer",
        run: || cifs::run(CifsAsk::Rename, CifsFuzzProtection::None),
    },
];

/// Runs all cases, one after the other.
pub(crate) fn run() {
    for codec in ALL {
        apart(codec);
    }
}

/// Runs one case. After this function valgrind dumps the counts of [`counted`]
/// since the previous dump; see `--dump-after`.
#[inline(never)]
fn apart(codec: &Codec) {
    (codec.run)();
    // Code after the call keeps the compiler from turning it into a jump.
    black_box(());
}

/// The function [`apart`], as valgrind names it.
pub(crate) const APART: &str = "*codecs*apart*";

fn encode(command: Command, body: impl Fn(&mut Vec<u8>)) {
    let mut out = Vec::with_capacity(1024);
    counted(|| {
        for id in 0..CALLS {
            out.clear();
            black_box(Header::request(command, black_box(id))).encode(&mut out);
            body(&mut out);
            black_box(&out);
        }
    });
}

/// Decodes a message. `body` decodes the part after the header, and returns
/// whether it succeeded.
fn decode(message: &[u8], body: impl Fn(&[u8]) -> bool) {
    counted(|| {
        for _ in 0..CALLS {
            let message = black_box(message);
            assert!(black_box(Header::decode(message)).is_ok());
            assert!(body(message));
        }
    });
}

/// Makes a request that opens the file.
pub(crate) const fn open<'a>(
    path: &'a WireName,
    oplock: OplockLevel,
    contexts: &'a [CreateContext],
) -> CreateRequest<'a, WireName> {
    CreateRequest {
        name: path,
        desired_access: access::FILE_READ_DATA | access::SYNCHRONIZE,
        file_attributes: attributes::FILE_ATTRIBUTE_NORMAL,
        share_access: share::ALL,
        disposition: Disposition::Open,
        options: options::FILE_NON_DIRECTORY_FILE,
        oplock,
        contexts,
    }
}

/// Returns the path of the file.
pub(crate) fn path() -> WireName {
    WireName::new(PATH).expect("it is short")
}

/// Makes a request for the times of the file.
pub(crate) const fn query_info(file_id: FileId) -> QueryInfoRequest {
    QueryInfoRequest {
        info_type: InfoType::File,
        class: file_class::FILE_BASIC_INFORMATION,
        output_length: 4096,
        additional: 0,
        file_id,
    }
}

/// Makes a request that sets the file's size.
pub(crate) const fn set_info(file_id: FileId) -> SetInfoRequest<'static> {
    SetInfoRequest {
        file_id,
        info: SetInfo::EndOfFile(1 << 20),
    }
}

fn encode_create(oplock: OplockLevel, contexts: &[CreateContext]) {
    let path = path();
    let request = open(&path, oplock, contexts);
    encode(Command::Create, |out| black_box(&request).encode(out));
}

fn encode_rename() {
    let path = path();
    let request = SetInfoRequest {
        file_id: FileId::default(),
        info: SetInfo::Rename {
            to: &path,
            existing: Existing::Replace,
        },
    };
    encode(Command::SetInfo, |out| black_box(&request).encode(out));
}

fn encode_lock() {
    let locks = [LockElement {
        offset: 4096,
        length: 4096,
        flags: lock_flags::EXCLUSIVE | lock_flags::FAIL_IMMEDIATELY,
    }];
    let request = LockRequest {
        file_id: FileId::default(),
        sequence: 0,
        locks: &locks,
    };
    encode(Command::Lock, |out| {
        black_box(&request)
            .encode(out)
            .expect("one range is not too many");
    });
}

fn encode_query_directory() {
    let pattern = WireName::every();
    let request = QueryDirectoryRequest {
        directory: FileId::default(),
        class: DirectoryClass::IdBothDirectory,
        flags: query_directory_flags::RESTART_SCANS,
        pattern: &pattern,
        output_length: 65_536,
    };
    encode(Command::QueryDirectory, |out| {
        black_box(&request).encode(out);
    });
}
