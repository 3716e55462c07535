//! Statuses as texts.

use smbench_protocol::NtStatus;

/// The upper byte of a status of DOS, which is no NTSTATUS: facility bits that Windows
/// never sets.
const DOS: u32 = 0x3d;

/// Returns a DOS error (MS-CIFS 2.2.2.4) as one number.
pub(crate) const fn dos_status(class: u8, code: u16) -> u32 {
    DOS << 24 | (class as u32) << 16 | code as u32
}

/// Returns the name of a status, or its number.
pub(crate) fn status_text(status: u32) -> String {
    if status >> 24 == DOS {
        return format!("DOS_{}/{}", status >> 16 & 0xff, status & 0xffff);
    }
    match NtStatus(status).name() {
        Some(name) => name.to_owned(),
        None => format!("0x{status:08X}"),
    }
}
