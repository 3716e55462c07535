//! Security descriptors and changes in directories:
//! NT_TRANSACT_QUERY_SECURITY_DESC, NT_TRANSACT_SET_SECURITY_DESC and
//! NT_TRANSACT_NOTIFY_CHANGE (MS-CIFS 2.2.7.6, 2.2.7.3, 2.2.7.4).
//!
//! The answer to a query is the transaction's data. Changes are the transaction's
//! parameters, in the layout of MS-FSCC 2.7.1. If they do not fit, the status is
//! STATUS_NOTIFY_ENUM_DIR and the parameters are empty.

use super::transaction::NtTransact;

/// A query about the security descriptor of an open file (MS-CIFS 2.2.7.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuerySecurityRequest {
    /// The FID of the open to query.
    pub fid: u16,
    /// The parts to return:
    /// [`security`](crate::command::query_info::security) bits.
    pub parts: u32,
    /// Largest length of the descriptor in bytes.
    pub max_data: u32,
}

impl QuerySecurityRequest {
    /// Appends the body to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let frame = NtTransact {
            function: 6,
            setup: &[],
            // LengthNeeded.
            max_parameters: 4,
            max_data: self.max_data,
        };
        frame.encode(out, write_parts(self.fid, self.parts), |_| ());
    }
}

/// A request to set the security descriptor of an open file (MS-CIFS 2.2.7.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetSecurityRequest<'a> {
    /// The FID of the open to change.
    pub fid: u16,
    /// The parts to set: [`security`](crate::command::query_info::security) bits.
    pub parts: u32,
    /// The descriptor, self-relative.
    pub descriptor: &'a [u8],
}

impl SetSecurityRequest<'_> {
    /// Appends the body to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let frame = NtTransact {
            function: 3,
            setup: &[],
            max_parameters: 0,
            max_data: 0,
        };
        let descriptor = |out: &mut Vec<u8>| out.extend_from_slice(self.descriptor);
        frame.encode(out, write_parts(self.fid, self.parts), descriptor);
    }
}

/// Writes the parameters of both requests: FID, a reserved field, and
/// SecurityInformation.
fn write_parts(fid: u16, parts: u32) -> impl FnOnce(&mut Vec<u8>) {
    move |out| {
        out.extend_from_slice(&u32::from(fid).to_le_bytes());
        out.extend_from_slice(&parts.to_le_bytes());
    }
}

/// The directories that a [`NotifyChangeRequest`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchScope {
    /// The open directory.
    Directory = 0,
    /// The open directory and everything below it.
    Tree = 1,
}

/// A request to report the next changes in an open directory (MS-CIFS
/// 2.2.7.4.1). The server answers once, when something changes or when the request
/// is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotifyChangeRequest {
    /// The FID of the open directory.
    pub fid: u16,
    /// The changes to report:
    /// [`completion_filter`](crate::command::change_notify::completion_filter)
    /// bits.
    pub completion_filter: u32,
    /// The directories to watch.
    pub watched: WatchScope,
    /// Largest length of the changes in bytes.
    pub max_parameters: u32,
}

impl NotifyChangeRequest {
    /// Appends the body to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut setup = [0; 8];
        setup[0..4].copy_from_slice(&self.completion_filter.to_le_bytes());
        setup[4..6].copy_from_slice(&self.fid.to_le_bytes());
        setup[6] = self.watched as u8;
        let frame = NtTransact {
            function: 4,
            setup: &setup,
            max_parameters: self.max_parameters,
            max_data: 0,
        };
        frame.encode(out, |_| (), |_| ());
    }
}
