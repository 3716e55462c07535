use smbench_protocol::cifs::FileNumber;
use smbench_protocol::cifs::command::lock::{CifsLock, WITHOUT_END, encode_lock};

use super::*;

/// Places in a LOCKING_ANDX with its header.
const KIND: usize = 32 + 7;
const LOCKS: usize = 32 + 15;

/// Returns what a LOCKING_ANDX asks for, after a change of its bytes.
fn lock(what: CifsLock, timeout_ms: u32, change: impl Fn(&mut [u8])) -> CifsRequestFields {
    let mut message = vec![0; 32];
    message[..4].copy_from_slice(b"\xFFSMB");
    message[4] = cifs_code::LOCKING_ANDX;
    encode_lock(FileNumber(7), what, 5 << 32, 9, timeout_ms, &mut message);
    change(&mut message);
    let header = ForeignCifsHeader::read(&message).unwrap();
    cifs_request(&header, header.parts(&message)[0], &message)
}

#[test]
fn a_lock_has_the_flags_of_smb2_and_its_ranges() {
    for (what, timeout_ms, flags) in [
        (CifsLock::Exclusive, 0, 0x12),
        (CifsLock::Shared, 0, 0x11),
        (CifsLock::Exclusive, WITHOUT_END, 0x02),
        (CifsLock::Shared, 250, 0x01),
        (CifsLock::Unlock, 0, 0x04),
        (CifsLock::Unlock, 250, 0x04),
    ] {
        let asked = lock(what, timeout_ms, |_| {});
        let range = (asked.file, asked.offset, asked.length);
        assert_eq!(range, (Some(7), Some(5 << 32), Some(9)), "{what:?}");
        assert_eq!(
            (asked.flags, asked.value),
            (Some(flags), Some(1)),
            "{what:?}"
        );
    }
    let several = lock(CifsLock::Unlock, 0, |message| message[LOCKS] = 2);
    assert_eq!((several.flags, several.value), (Some(0x04), Some(3)));
    // It cancels a lock that waits.
    let cancels = lock(CifsLock::Exclusive, 0, |message| message[KIND] |= 8);
    assert_eq!((cancels.flags, cancels.value), (None, None));
}

#[test]
fn a_lock_may_have_any_number_of_ranges() {
    let locked = |unlocks: u16, locks: u16| {
        let mut message = vec![0; 64];
        message[12..14].copy_from_slice(&unlocks.to_le_bytes());
        message[14..16].copy_from_slice(&locks.to_le_bytes());
        let mut asked = CifsRequestFields::default();
        locking(Fields(&message), 0, 18, &mut asked);
        asked.value
    };
    assert_eq!(locked(0, 0), None);
    assert_eq!(locked(u16::MAX, 1), Some(0x1_0000));
}
