//! Create contexts as bytes of a CREATE (MS-SMB2 2.2.13.2).

use super::{CreateContext, LEASE_V2_LEN, SERVER_CAPS, SERVER_QUERY, SUPPORTS_READ_DIR_ATTR};

/// SMB2_LEASE_FLAG_PARENT_LEASE_KEY_SET, in a V2 lease request.
const PARENT_KEY_SET: u32 = 0x0000_0004;

/// Length of a context before its name.
const NAME_AT: usize = 16;
/// Length of a context before its data: fixed part, name of four bytes, padding.
const DATA_AT: usize = 24;

/// The name of the context SMB2_CREATE_APP_INSTANCE_ID (2.2.13.2).
const APP_INSTANCE_ID: [u8; 16] = [
    0x45, 0xbc, 0xa6, 0x6a, 0xef, 0xa7, 0xf7, 0x4a, 0x90, 0x08, 0xfa, 0x46, 0x2e, 0x14, 0x4d, 0x74,
];

impl CreateContext {
    /// Appends all contexts, and pads each but the last to 8 bytes. Returns
    /// their total length.
    #[inline(always)]
    pub(in crate::command) fn encode_all(contexts: &[Self], out: &mut Vec<u8>) -> u32 {
        let start = out.len();
        let mut latest = start;
        for (n, context) in contexts.iter().enumerate() {
            if n > 0 {
                let next = (out.len() - latest).next_multiple_of(8);
                out.resize(latest + next, 0);
                out[latest..latest + 4].copy_from_slice(&(next as u32).to_le_bytes());
                latest += next;
            }
            context.encode(out);
        }
        // No context is longer than 80 bytes, and there are eleven kinds.
        (out.len() - start) as u32
    }

    /// Appends one context. Its Next field stays zero.
    #[inline(always)]
    fn encode(&self, out: &mut Vec<u8>) {
        let mut context = [0u8; DATA_AT + LEASE_V2_LEN];
        let (fixed, data) = context.split_at_mut(DATA_AT);
        let (name, len) = self.fill(data);
        let Ok(name) = <&[u8; 4]>::try_from(name) else {
            encode_long_name(name, &data[..len], out);
            return;
        };
        fixed[4..6].copy_from_slice(&(NAME_AT as u16).to_le_bytes());
        fixed[6..8].copy_from_slice(&4u16.to_le_bytes());
        fixed[10..12].copy_from_slice(&(DATA_AT as u16).to_le_bytes());
        fixed[12..16].copy_from_slice(&(len as u32).to_le_bytes());
        fixed[NAME_AT..NAME_AT + 4].copy_from_slice(name);
        out.extend_from_slice(&context[..DATA_AT + len]);
    }

    /// Writes the data into the zeroed buffer. Returns the context's name and the data's length.
    #[inline(always)]
    fn fill(&self, data: &mut [u8]) -> (&'static [u8], usize) {
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            data[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        let name: &[u8] = match self {
            Self::Lease { key, state } => {
                put(&key.0);
                put(&u128::from(state.0).to_le_bytes());
                b"RqLs"
            }
            Self::LeaseV2 {
                key,
                state,
                parent,
                epoch,
            } => {
                put(&key.0);
                put(&state.0.to_le_bytes());
                put(&parent.map_or(0, |_| PARENT_KEY_SET).to_le_bytes());
                put(&[0; 8]);
                put(&parent.unwrap_or_default().0);
                put(&u32::from(*epoch).to_le_bytes());
                b"RqLs"
            }
            Self::Durable => {
                put(&[0; 16]);
                b"DHnQ"
            }
            Self::DurableReconnect(file_id) => {
                put(&file_id.to_bytes());
                b"DHnC"
            }
            Self::DurableV2 {
                timeout_ms,
                flags,
                create_guid,
            } => {
                put(&timeout_ms.to_le_bytes());
                put(&flags.to_le_bytes());
                put(&[0; 8]);
                put(create_guid);
                b"DH2Q"
            }
            Self::DurableReconnectV2 {
                file_id,
                create_guid,
                flags,
            } => {
                put(&file_id.to_bytes());
                put(create_guid);
                put(&flags.to_le_bytes());
                b"DH2C"
            }
            Self::AppInstanceId(id) => {
                // Its length with this field, of which two bytes are reserved.
                put(&20u32.to_le_bytes());
                put(id);
                &APP_INSTANCE_ID
            }
            Self::MaximalAccess { since } => {
                let since = since.map(|since| since.0.to_le_bytes());
                put(since.as_slice().as_flattened());
                b"MxAc"
            }
            Self::QueryOnDiskId => b"QFid",
            Self::AllocationSize(bytes) => {
                put(&bytes.to_le_bytes());
                b"AlSi"
            }
            Self::AppleServerQuery => {
                put(&u64::from(SERVER_QUERY).to_le_bytes());
                put(&SERVER_CAPS.to_le_bytes());
                put(&SUPPORTS_READ_DIR_ATTR.to_le_bytes());
                b"AAPL"
            }
        };
        (name, at)
    }
}

/// Appends a context whose name is a GUID, so that data after it needs no padding.
#[cold]
fn encode_long_name(name: &[u8], data: &[u8], out: &mut Vec<u8>) {
    let data_at = NAME_AT + name.len();
    let mut fixed = [0u8; NAME_AT];
    fixed[4..6].copy_from_slice(&(NAME_AT as u16).to_le_bytes());
    fixed[6..8].copy_from_slice(&(name.len() as u16).to_le_bytes());
    fixed[10..12].copy_from_slice(&(data_at as u16).to_le_bytes());
    fixed[12..16].copy_from_slice(&(data.len() as u32).to_le_bytes());
    out.extend_from_slice(&fixed);
    out.extend_from_slice(name);
    out.extend_from_slice(data);
}
