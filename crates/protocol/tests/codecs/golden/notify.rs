//! CHANGE_NOTIFY and its cancellation.

use smbench_protocol::NtStatus;
use smbench_protocol::command::bodyless::{EMPTY_BODY, EmptyResponse};
use smbench_protocol::command::change_notify::{
    ChangeNotifyRequest, ChangeNotifyResponse, completion_filter,
};
use smbench_protocol::header::{Command, Flags, HEADER_LEN, Header};

use super::{body, id};

#[test]
fn a_change_is_reported_late() {
    let request = ChangeNotifyRequest {
        directory: id(0x2d90_98aa, 0xd03b_eaff),
        flags: 0,
        completion_filter: completion_filter::ALL,
        output_length: 0x0080_0000,
    };
    assert_eq!(
        captured!("3.1.1", "notify-request")[HEADER_LEN..],
        body(|out| request.encode(out))
    );
    let pending = captured!("3.1.1", "notify-pending");
    assert_eq!(
        Header::decode(&pending).map(|it| it.status),
        Ok(NtStatus::PENDING)
    );

    let response = captured!("3.1.1", "notify-response");
    assert!(Header::decode(&response).is_ok_and(|it| it.flags.contains(Flags::ASYNC)));
    let response = ChangeNotifyResponse::decode(&response).expect("decodes");
    let name: Vec<u8> = b"smb2-notify01.dat"
        .iter()
        .flat_map(|&byte| [byte, 0])
        .collect();
    // The only change: a file was added. The server pads the last name too.
    let fixed = [0, 0, 0, 0, 1, 0, 0, 0, name.len() as u8, 0, 0, 0];
    assert_eq!(response.data, [&fixed[..], &name, &[0, 0]].concat());
}

#[test]
fn changes_that_do_not_fit_are_not_reported() {
    let response = captured!("3.1.1", "notify-enum-dir");
    let status = Header::decode(&response).map(|it| it.status);
    assert_eq!(status, Ok(NtStatus::NOTIFY_ENUM_DIR));
    let response = ChangeNotifyResponse::decode(&response).expect("decodes");
    assert_eq!(response.data, []);
}

#[test]
fn a_cancel_has_the_message_id_of_what_it_cancels() {
    let cancel = captured!("3.1.1", "cancel-request");
    let header = Header::decode(&cancel).expect("decodes");
    assert_eq!((header.command, header.message_id), (Command::Cancel, 7));
    assert_eq!((header.credit_charge, header.credits), (0, 0));
    assert_eq!(cancel[HEADER_LEN..], EMPTY_BODY);
    let answer = captured!("3.1.1", "notify-cancelled");
    let header = Header::decode(&answer).expect("decodes");
    assert_eq!((header.message_id, header.status), (7, NtStatus::CANCELLED));
}

#[test]
fn echo_tree_disconnect_and_logoff_say_nothing() {
    for (request, response) in [
        (
            captured!("3.1.1", "echo-request"),
            captured!("3.1.1", "echo-response"),
        ),
        (
            captured!("3.1.1", "tree-disconnect-request"),
            captured!("3.1.1", "tree-disconnect-response"),
        ),
        (
            captured!("3.1.1", "logoff-request"),
            captured!("3.1.1", "logoff-response"),
        ),
    ] {
        assert_eq!(request[HEADER_LEN..], EMPTY_BODY);
        assert_eq!(EmptyResponse::decode(&response), Ok(EmptyResponse));
    }
}
