//! OPLOCK_BREAK for oplocks and for leases.

use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::lease::LeaseState;
use smbench_protocol::command::oplock_break::{
    ACK_REQUIRED, BreakNotification, LeaseBreak, OplockBreak,
};
use smbench_protocol::header::{Command, HEADER_LEN, Header, UNSOLICITED};

use super::create_context::KEY;
use super::{body, id};

#[test]
fn an_oplock_goes_down_to_level_ii() {
    let notification = captured!("3.1.1", "oplock-break");
    let header = Header::decode(&notification).expect("decodes");
    assert_eq!(
        (header.command, header.message_id),
        (Command::OplockBreak, UNSOLICITED)
    );
    let file_id = id(0x4946_69b5, 0xeee2_0761);
    let level = OplockLevel::LevelII;
    let expected = OplockBreak { file_id, level };
    assert_eq!(
        BreakNotification::decode(&notification),
        Ok(BreakNotification::Oplock(expected))
    );
    let acknowledgement = body(|out| expected.acknowledgement().encode(out));
    assert_eq!(
        captured!("3.1.1", "oplock-break-acknowledgement")[HEADER_LEN..],
        acknowledgement
    );
}

#[test]
fn a_lease_loses_its_write_caching() {
    let mut expected = LeaseBreak {
        key: KEY,
        current: LeaseState::RWH,
        new: LeaseState::RH,
        flags: ACK_REQUIRED,
        epoch: 0x13,
    };
    let notification = captured!("3.1.1", "lease-v2-break");
    assert_eq!(
        BreakNotification::decode(&notification),
        Ok(BreakNotification::Lease(expected))
    );
    let acknowledgement = expected.acknowledgement().expect("asked for");
    let acknowledgement = body(|out| acknowledgement.encode(out));
    assert_eq!(
        captured!("3.1.1", "lease-break-acknowledgement")[HEADER_LEN..],
        acknowledgement
    );
    expected.epoch = 0;
    assert_eq!(
        BreakNotification::decode(&captured!("2.1", "lease-v1-break")),
        Ok(BreakNotification::Lease(expected))
    );
}

#[test]
fn a_lease_of_reads_goes_without_being_asked_back() {
    let Ok(BreakNotification::Lease(last)) =
        BreakNotification::decode(&captured!("3.1.1", "lease-v2-break-final"))
    else {
        panic!("a lease break");
    };
    assert_eq!((last.current, last.new), (LeaseState::R, LeaseState::NONE));
    assert_eq!(
        (last.flags, last.epoch, last.acknowledgement()),
        (0, 0x13, None)
    );
}
