//! Requests of SMB2.

use super::code;
use crate::fields::{Fields, utf16};
use crate::trace::TraceDurable;

/// What a request is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequestTarget {
    #[default]
    None,
    /// An open file, by its id.
    File([u8; 16]),
    /// A name, of a CREATE or the share of a TREE_CONNECT.
    Name(String),
}

/// The fields of a request that a trace has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestFields {
    pub(crate) target: RequestTarget,
    pub(crate) offset: Option<u64>,
    /// Bytes that are asked for or carried.
    pub(crate) length: Option<u64>,
    /// Class of information (with its type in the upper byte), control code of an IOCTL,
    /// filter of a CHANGE_NOTIFY.
    pub(crate) level: Option<u32>,
    /// Of a SET_INFO the size or the attributes that it sets, or whether it deletes or
    /// replaces; MinimumCount of a READ; ranges of a LOCK.
    pub(crate) value: Option<u64>,
    /// The further name: target of a rename, pattern of a listing.
    pub(crate) further: Option<String>,
    pub(crate) create: Option<CreateFields>,
    /// Flags of the command.
    pub(crate) flags: Option<u32>,
}

/// The fields of a CREATE (MS-SMB2 2.2.13).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CreateFields {
    pub(crate) oplock: u8,
    pub(crate) access: u32,
    pub(crate) attributes: u32,
    pub(crate) share: u32,
    pub(crate) disposition: u32,
    pub(crate) options: u32,
    /// Names of the contexts that have four letters.
    pub(crate) contexts: Vec<String>,
    /// The state of the lease that it asks for.
    pub(crate) lease: Option<u32>,
    /// The size in its `AlSi`.
    pub(crate) allocation: Option<u64>,
    /// Timeout and flags of its `DH2Q`.
    pub(crate) durable: Option<TraceDurable>,
}

/// The largest number of contexts of a CREATE that is read.
const CONTEXTS_MAX: usize = 32;
const FILE: u8 = 1;
const SECURITY: u8 = 3;
const FILE_RENAME: u8 = 10;

/// Reads the body of a request.
pub(crate) fn request(command: u16, message: &[u8]) -> RequestFields {
    let fields = Fields(message);
    let file = |at: usize| {
        fields
            .array(at)
            .map_or(RequestTarget::None, RequestTarget::File)
    };
    let mut asked = RequestFields::default();
    match command {
        code::TREE_CONNECT => {
            let path = fields.part(68, 70).map(utf16);
            asked.target = path.map_or(RequestTarget::None, RequestTarget::Name);
        }
        code::CREATE => {
            let name = fields.part(108, 110).map(utf16);
            asked.target = name.map_or(RequestTarget::None, RequestTarget::Name);
            asked.create = create(fields);
        }
        code::CLOSE => {
            asked.target = file(72);
            asked.flags = fields.u16(66).map(u32::from);
        }
        code::FLUSH => asked.target = file(72),
        code::READ | code::WRITE => {
            asked.target = file(80);
            asked.offset = fields.u64(72);
            asked.length = fields.u32(68).map(u64::from);
            asked.flags = fields.u32(108);
            if command == code::READ {
                asked.flags = fields.u8(67).map(u32::from);
                asked.value = fields.u32(96).filter(|&least| least > 0).map(u64::from);
            }
        }
        code::LOCK => {
            asked.target = file(72);
            asked.offset = fields.u64(88);
            asked.length = fields.u64(96);
            asked.flags = fields.u32(104);
            asked.value = fields.u16(66).map(u64::from);
        }
        code::IOCTL => {
            asked.target = file(72);
            asked.level = fields.u32(68);
            asked.length = fields.u32(92).map(u64::from);
        }
        code::QUERY_DIRECTORY => {
            asked.target = file(72);
            asked.level = fields.u8(66).map(u32::from);
            asked.flags = fields.u8(67).map(u32::from);
            asked.length = fields.u32(92).map(u64::from);
            asked.further = fields.part(88, 90).map(utf16);
        }
        code::CHANGE_NOTIFY => {
            asked.target = file(72);
            asked.flags = fields.u16(66).map(u32::from);
            asked.length = fields.u32(68).map(u64::from);
            asked.level = fields.u32(88);
        }
        code::QUERY_INFO => {
            asked.target = file(88);
            asked.level = level(fields);
            asked.length = fields.u32(68).map(u64::from);
            // The parts of a security descriptor.
            asked.flags = fields.u32(80).filter(|_| fields.u8(66) == Some(SECURITY));
        }
        code::SET_INFO => {
            asked.target = file(80);
            asked.level = level(fields);
            asked.length = fields.u32(68).map(u64::from);
            asked.further = renamed(fields);
            asked.value = set_value(fields);
        }
        code::OPLOCK_BREAK if fields.u16(64) == Some(24) => {
            asked.target = file(72);
            asked.level = fields.u8(66).map(u32::from);
        }
        _ => {}
    }
    asked
}

/// Returns the type and the class of an information.
fn level(fields: Fields<'_>) -> Option<u32> {
    let kind = u32::from(fields.u8(66)?);
    Some(kind << 8 | u32::from(fields.u8(67)?))
}

/// Returns the size or the attributes that a SET_INFO sets, or whether it deletes the file,
/// or a rename replaces its target (MS-FSCC 2.4).
fn set_value(fields: Fields<'_>) -> Option<u64> {
    const BASIC: u8 = 4;
    const DISPOSITION: u8 = 13;
    const ALLOCATION: u8 = 19;
    const END_OF_FILE: u8 = 20;
    const DISPOSITION_EX: u8 = 64;
    let buffer = Fields(fields.0.get(usize::from(fields.u16(72)?)..)?);
    match (fields.u8(66)?, fields.u8(67)?) {
        (FILE, FILE_RENAME | DISPOSITION) => buffer.u8(0).map(u64::from),
        (FILE, BASIC) => buffer.u32(32).map(u64::from),
        (FILE, ALLOCATION | END_OF_FILE) => buffer.u64(0),
        (FILE, DISPOSITION_EX) => buffer.u32(0).map(u64::from),
        _ => None,
    }
}

/// Returns the target of a rename (MS-FSCC 2.4.42.2).
fn renamed(fields: Fields<'_>) -> Option<String> {
    if (fields.u8(66)?, fields.u8(67)?) != (FILE, FILE_RENAME) {
        return None;
    }
    let buffer = Fields(fields.0.get(usize::from(fields.u16(72)?)..)?);
    let len = buffer.u32(16)? as usize;
    buffer.slice(20, len).map(utf16)
}

impl CreateFields {
    /// Takes what a context says (2.2.13.2.6, 2.2.13.2.8, 2.2.13.2.11).
    fn take(&mut self, name: &str, context: Fields<'_>) {
        let data = context.u16(10).zip(context.u32(12));
        let data = data.and_then(|(at, len)| context.slice(at.into(), len as usize));
        let data = Fields(data.unwrap_or_default());
        match name {
            "RqLs" => self.lease = data.u32(16),
            "AlSi" => self.allocation = data.u64(0),
            "DH2Q" => {
                let asked = data.u32(0).zip(data.u32(4));
                self.durable = asked.map(|(timeout_ms, flags)| TraceDurable { timeout_ms, flags });
            }
            _ => {}
        }
    }
}

fn create(fields: Fields<'_>) -> Option<CreateFields> {
    let mut create = CreateFields {
        oplock: fields.u8(67)?,
        access: fields.u32(88)?,
        attributes: fields.u32(92)?,
        share: fields.u32(96)?,
        disposition: fields.u32(100)?,
        options: fields.u32(104)?,
        ..CreateFields::default()
    };
    for (name, context) in contexts(fields, 112) {
        create.contexts.push(name.to_owned());
        create.take(name, context);
    }
    Some(create)
}

/// Returns the contexts of a CREATE that have names of four letters. `field` is where the
/// message says how far they begin, and how long they are (MS-SMB2 2.2.13, 2.2.14).
pub(super) fn contexts<'a>(fields: Fields<'a>, field: usize) -> Vec<(&'a str, Fields<'a>)> {
    let mut contexts = Vec::new();
    let place = fields.u32(field).zip(fields.u32(field + 4));
    let Some((begin, 1..)) = place else {
        return contexts;
    };
    let mut at = begin as usize;
    // Each context begins with the distance to the next.
    for _ in 0..CONTEXTS_MAX {
        let Some(context) = fields.0.get(at..).map(Fields) else {
            break;
        };
        let Some(name) = context.part(4, 6) else {
            break;
        };
        // The names of others are GUIDs.
        let is_text = name.len() == 4 && name.iter().all(u8::is_ascii_alphanumeric);
        if is_text && let Ok(name) = str::from_utf8(name) {
            contexts.push((name, context));
        }
        match context.u32(0) {
            Some(next) if next >= 16 => at += next as usize,
            _ => break,
        }
    }
    contexts
}

#[cfg(test)]
mod tests {
    use smbench_protocol::command::create::CreateRequest;
    use smbench_protocol::command::create_context::CreateContext;
    use smbench_protocol::header::HEADER_LEN;

    use super::*;

    #[test]
    fn contexts_after_one_with_a_long_name_are_read() {
        let asked = [
            CreateContext::QueryOnDiskId,
            CreateContext::AppInstanceId([b'a'; 16]),
            CreateContext::AllocationSize(7),
        ];
        let mut message = vec![0; HEADER_LEN];
        let request = CreateRequest {
            contexts: &asked,
            ..CreateRequest::open("f", 0)
        };
        request.encode(&mut message).unwrap();
        let read = create(Fields(&message)).unwrap();
        assert_eq!(read.contexts, ["QFid", "AlSi"]);
        assert_eq!(read.allocation, Some(7));
    }
}
