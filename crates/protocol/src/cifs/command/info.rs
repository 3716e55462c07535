//! TRANS2 queries and changes of paths, files and file systems (MS-CIFS 2.2.6.4 to 2.2.6.9,
//! MS-SMB 2.2.6.4 to 2.2.6.7).

use super::transaction::{TransactionLimits, encode_transaction2};
use super::{CIFS_HEADER_LEN, FileNumber, push_path};
use crate::command::WireName;

/// Subcommands (MS-CIFS 2.2.2.2).
const QUERY_FS: u16 = 0x0003;
const QUERY_PATH: u16 = 0x0005;
const QUERY_FILE: u16 = 0x0007;
const SET_FILE: u16 = 0x0008;
/// The response to a change has an EaErrorOffset.
const SET_LIMITS: TransactionLimits = TransactionLimits {
    parameters: 2,
    data: 0,
};

/// Levels from here on pass a class of MS-FSCC through to the file system (MS-SMB
/// 2.2.2.3.5).
pub const PASS_THROUGH: u16 = 1000;
/// SMB_QUERY_FS_SIZE_INFO.
pub const QUERY_FS_SIZE_INFO: u16 = 0x0103;

const fn limits(data: u16) -> TransactionLimits {
    TransactionLimits {
        parameters: 2,
        data,
    }
}

/// Appends the body of a query by name.
pub fn encode_query_path(path: &WireName, level: u16, data_max: u16, out: &mut Vec<u8>) {
    let start = out.len() - CIFS_HEADER_LEN;
    let parameters = |out: &mut Vec<u8>| {
        out.extend_from_slice(&level.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        push_path(path, start, out);
    };
    encode_transaction2(QUERY_PATH, limits(data_max), out, parameters, |_| ());
}

/// Appends the body of a query of an open file.
pub fn encode_query_file(file: FileNumber, level: u16, data_max: u16, out: &mut Vec<u8>) {
    let parameters = |out: &mut Vec<u8>| {
        out.extend_from_slice(&file.0.to_le_bytes());
        out.extend_from_slice(&level.to_le_bytes());
    };
    encode_transaction2(QUERY_FILE, limits(data_max), out, parameters, |_| ());
}

/// Appends the body of a query of the share's file system.
pub fn encode_query_fs(level: u16, data_max: u16, out: &mut Vec<u8>) {
    let parameters = |out: &mut Vec<u8>| out.extend_from_slice(&level.to_le_bytes());
    let limits = TransactionLimits {
        parameters: 0,
        data: data_max,
    };
    encode_transaction2(QUERY_FS, limits, out, parameters, |_| ());
}

/// Appends the body of a change of an open file. `data` appends the new values.
pub fn encode_set_file(
    file: FileNumber,
    level: u16,
    out: &mut Vec<u8>,
    data: impl FnOnce(&mut Vec<u8>),
) {
    let parameters = |out: &mut Vec<u8>| {
        out.extend_from_slice(&file.0.to_le_bytes());
        out.extend_from_slice(&level.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
    };
    encode_transaction2(SET_FILE, SET_LIMITS, out, parameters, data);
}
