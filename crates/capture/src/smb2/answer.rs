//! Answers of SMB2.

use super::code;
use super::request::contexts;
use crate::fields::Fields;

/// The fields of an answer that a trace needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerFields {
    /// The open that a CREATE made.
    pub(crate) file: Option<[u8; 16]>,
    /// Bytes read or written.
    pub(crate) moved: Option<u64>,
    /// Of a CREATE: what the server granted and found.
    pub(crate) opened: Option<CreateAnswer>,
}

/// What a CREATE found (MS-SMB2 2.2.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CreateAnswer {
    pub(crate) oplock: u8,
    /// Whether the file was opened, made or replaced.
    pub(crate) action: u32,
    /// EndofFile.
    pub(crate) size: u64,
    pub(crate) attributes: u32,
    /// A durable handle was granted (MS-SMB2 2.2.14.2.3, 2.2.14.2.12).
    pub(crate) is_durable: bool,
}

/// Reads the body of an answer that succeeded.
pub(crate) fn answer(command: u16, message: &[u8]) -> AnswerFields {
    let fields = Fields(message);
    let mut answered = AnswerFields::default();
    match command {
        code::CREATE if fields.u16(64) == Some(89) => {
            answered.file = fields.array(128);
            answered.opened = create_answer(fields);
        }
        code::READ if fields.u16(64) == Some(17) => {
            answered.moved = fields.u32(68).map(u64::from);
        }
        code::WRITE if fields.u16(64) == Some(17) => {
            answered.moved = fields.u32(68).map(u64::from);
        }
        code::IOCTL if fields.u16(64) == Some(49) => {
            answered.moved = fields.u32(100).map(u64::from);
        }
        code::QUERY_DIRECTORY | code::QUERY_INFO | code::CHANGE_NOTIFY
            if fields.u16(64) == Some(9) =>
        {
            answered.moved = fields.u32(68).map(u64::from);
        }
        _ => {}
    }
    answered
}

fn create_answer(fields: Fields<'_>) -> Option<CreateAnswer> {
    Some(CreateAnswer {
        oplock: fields.u8(66)?,
        action: fields.u32(68)?,
        size: fields.u64(112)?,
        attributes: fields.u32(120)?,
        is_durable: contexts(fields, 144)
            .iter()
            .any(|(name, _)| matches!(*name, "DHnQ" | "DH2Q")),
    })
}
