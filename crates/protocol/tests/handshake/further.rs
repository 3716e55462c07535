//! Further sessions of a connection.

use super::*;

/// Tag of the requests that set up another session, and of other requests.
const OPENING: u32 = 7;
const OTHER: u32 = 8;

/// A connection with one session, and a server that the test simulates.
struct Further {
    connection: Connection,
    /// Header of the last request.
    asked: Header,
    out: Vec<u8>,
}

impl Further {
    fn new() -> Self {
        let mut pair = Pair::new(config());
        pair.log_on();
        let Ok(HandshakeProgress::Ready(connection)) = pair.answer(|_| {}, &TREE_CONNECT) else {
            panic!("the session stands");
        };
        let (asked, out) = (pair.asked, Vec::new());
        Self {
            connection,
            asked,
            out,
        }
    }

    /// Reads the client's request, if it sent one. Returns whether it did.
    fn sent(&mut self) -> bool {
        let is_sent = !self.out.is_empty();
        if is_sent {
            self.asked = Header::decode(&self.out[PREFIX_LEN..]).expect("a request");
        }
        self.out.clear();
        is_sent
    }

    fn open(&mut self) -> SessionSetup {
        let Self {
            connection, out, ..
        } = self;
        let opening = SessionSetup::start(config(), None, connection, OPENING, out)
            .expect("there is a credit");
        assert!(self.sent());
        opening
    }

    /// Spends all credits but one. Returns the header of one request in flight.
    fn spend(&mut self) -> Header {
        while self.connection.credits() > 1 {
            let Self {
                connection, out, ..
            } = self;
            let body = |out: &mut Vec<u8>| out.extend_from_slice(&EMPTY_BODY);
            connection
                .request(SessionIndex::FIRST, Command::Echo, 1, OTHER, out, body)
                .expect("there is a credit");
            assert!(self.sent());
        }
        self.asked
    }

    /// Answers a request. Returns the result if the request belongs to `opening`.
    fn answer(
        &mut self,
        opening: &mut SessionSetup,
        header: Header,
        body: &[u8],
    ) -> Result<SetupProgress, HandshakeError> {
        let mut message = Vec::new();
        header.encode(&mut message);
        message.extend_from_slice(body);
        let mut frame = (message.len() as u32).to_be_bytes().to_vec();
        frame.extend_from_slice(&message);
        let mut inbound = Inbound::default();
        let mut input = frame.as_mut_slice();
        let frame = inbound.next(&mut input, Payload::Keep);
        let frame = frame.expect("a frame").expect("a whole frame");
        let mut messages = self.connection.open(frame)?;
        let message = messages.next_message()?.expect("a message");
        let event = self.connection.receive(message)?;
        let Event::Completed(done) = event else {
            panic!("{event:?} is no answer");
        };
        if done.tag == OTHER {
            return Ok(SetupProgress::NotYet);
        }
        let opened = opening.receive(&mut self.connection, &done, &mut self.out);
        self.sent();
        opened
    }

    /// Makes the header of an answer to the last request, with this status.
    fn header(&self, status: NtStatus) -> Header {
        Header {
            status,
            flags: Flags::RESPONSE,
            session_id: 0x52,
            ..self.asked
        }
    }
}

#[test]
fn a_session_without_its_share_is_logged_off_where_the_connection_continues() {
    let error_body = [9, 0, 0, 0, 0, 0, 0, 0, 0];
    for is_to_be_logged_off in [false, true] {
        let mut further = Further::new();
        let mut opening = further.open();
        if is_to_be_logged_off {
            opening = opening.or_logged_off();
        }
        let (taken, refused) = (
            further.header(NtStatus::SUCCESS),
            NtStatus::BAD_NETWORK_NAME,
        );
        let opened = further.answer(&mut opening, taken, &session_setup(IS_GUEST));
        assert!(matches!(opened, Ok(SetupProgress::NotYet)), "{opened:?}");
        let header = further.header(refused);
        let mut opened = further.answer(&mut opening, header, &error_body);
        if is_to_be_logged_off {
            assert!(matches!(opened, Ok(SetupProgress::NotYet)), "{opened:?}");
            assert_eq!(further.asked.command, Command::Logoff);
            assert_eq!(further.asked.session_id, 0x52);
            let header = further.header(NtStatus::SUCCESS);
            opened = further.answer(&mut opening, header, &EMPTY_BODY);
        }
        assert!(
            matches!(
                opened,
                Err(HandshakeError::Refused { command: Command::TreeConnect, status }) if status == refused
            ),
            "{opened:?}"
        );
        assert_eq!(further.connection.in_flight(), 0);
        // Another session can use its index.
        assert_eq!(further.open().session(), opening.session());
    }
}

#[test]
fn a_further_session_waits_for_a_credit_and_continues() {
    let mut further = Further::new();
    let other = further.spend();
    let mut opening = further.open();
    let starved = Header {
        credits: 0,
        ..further.header(NtStatus::SUCCESS)
    };
    let opened = further.answer(&mut opening, starved, &session_setup(IS_GUEST));
    assert!(
        matches!(opened, Ok(SetupProgress::Unfinished)),
        "{opened:?}"
    );
    let Further {
        connection, out, ..
    } = &mut further;
    assert_eq!(opening.resume(connection, out), SetupProgress::Unfinished);
    assert_eq!(out.len(), 0);
    let granting = Header {
        flags: Flags::RESPONSE,
        credits: 1,
        ..other
    };
    let answered = further.answer(&mut opening, granting, &EMPTY_BODY);
    assert!(answered.is_ok(), "{answered:?}");
    let Further {
        connection, out, ..
    } = &mut further;
    assert_eq!(opening.resume(connection, out), SetupProgress::NotYet);
    assert!(further.sent());
    assert_eq!(further.asked.command, Command::TreeConnect);
    assert_eq!(further.asked.session_id, 0x52);
    let header = further.header(NtStatus::SUCCESS);
    let opened = further.answer(&mut opening, header, &TREE_CONNECT);
    assert!(
        matches!(opened, Ok(SetupProgress::Ready(session)) if session == opening.session()),
        "{opened:?}"
    );
}

#[test]
fn a_further_session_for_which_no_credit_comes_is_given_up() {
    let mut further = Further::new();
    further.spend();
    let mut opening = further.open();
    let starved = Header {
        credits: 0,
        ..further.header(NtStatus::SUCCESS)
    };
    let opened = further.answer(&mut opening, starved, &session_setup(IS_GUEST));
    assert!(
        matches!(opened, Ok(SetupProgress::Unfinished)),
        "{opened:?}"
    );
    let error = opening.give_up(&mut further.connection);
    assert_eq!(
        error.to_string(),
        "the server granted no credit for the TREE_CONNECT"
    );
}
