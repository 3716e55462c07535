use std::task::Waker;

use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_model::record::Reclaimed;
use smbench_model::sessions::Caching;
use smbench_protocol::NtStatus;
use smbench_protocol::command::WireName;

use super::*;
use crate::drivers::driver::{Answer, Extent, ListingEvent};
use crate::drivers::dropped::LinkCause;
use crate::machine::poller::Poller;
use crate::smb::session::caching::Acknowledged;

/// Sets up drivers whose connection is lost at once.
#[derive(Clone)]
struct Lost;

struct LostDriver;

impl Connector for Lost {
    type Driver = LostDriver;

    async fn open(&self, _: &[u32]) -> Result<Opened<LostDriver>, SessionError> {
        Ok(Opened::new(LostDriver, 1, vec![Nanos(0)]))
    }
}

impl Driver for LostDriver {
    fn submit(
        &mut self,
        _: &Call,
        _: &mut Scratch,
        _: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        Ok(())
    }

    fn poll_receive(
        &mut self,
        _: &mut Context<'_>,
        _: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        Poll::Ready(Err(LinkCause::Closed.of_connection(0)))
    }

    fn take_answers(
        &mut self,
        _: usize,
        _: Nanos,
        _: &mut Scratch,
        _: &mut impl Sink,
    ) -> Result<(), Dropped> {
        Ok(())
    }
}

#[tokio::test]
async fn a_connection_lost_before_or_after_the_load_is_not_replaced() {
    let connector = ReconnectingConnector {
        connector: Lost,
        policy: ReconnectPolicy::Within(Duration::from_secs(60)),
        limit: Duration::from_secs(60),
        churn: ChurnPlan::NONE,
        stops: PlannedStops::default(),
        per_group: 1,
    };
    let mut driver = connector.open(&[0]).await.unwrap().driver;
    let context = &mut Context::from_waker(Waker::noop());
    let scratch = &mut Scratch {
        input: Box::new([]),
        output: Vec::new(),
    };
    let is_lost = |error: &Dropped| matches!(error, Dropped::Link(_));
    let before = driver.poll_receive(context, scratch);
    assert!(matches!(before, Poll::Ready(Err(error)) if is_lost(&error)));

    let sockets = LoadSockets::new(Poller::new().unwrap());
    driver.begin_load(&sockets).unwrap();
    let during = driver.poll_receive(context, scratch);
    assert!(matches!(during, Poll::Ready(Ok(0))));
    assert!(driver.holds_group());

    driver.end_load();
    let after = driver.flush(context, scratch);
    assert!(after.is_err_and(|error| is_lost(&error)));
}

/// Refuses each answer, because the server has ended the session.
struct Ended;

impl Sink for Ended {
    fn refused(&mut self, _: &WireName, _: NtStatus) {}

    fn answer(&mut self, _: &Answer<'_>) -> Result<(), Dropped> {
        Err(Dropped::SessionEnded(NtStatus::USER_SESSION_DELETED))
    }
    fn granted(&mut self, _: Caching) {}
    fn broken(&mut self) {}
    fn listing(&mut self, _: ListingEvent) {}
    fn acknowledged(&mut self, _: Nanos, _: Acknowledged) {}
    fn reauthenticated(&mut self, _: Nanos) {}
    fn link_lost(&mut self, _: &LostLink, _: Nanos, _: u64) {}
    fn channel_lost(&mut self, _: &LostLink, _: Nanos) {}
    fn channel_back(&mut self) {}
    fn cut_off(&mut self, _: Nanos, _: u32) {}
    fn link_back(&mut self, _: &Reclaimed) {}
    fn came_back(&mut self, _: Nanos, _: Nanos) {}
    fn stayed_away(&mut self, _: Nanos, _: Nanos) {}
    fn churned(&mut self, _: ChurnEvent<'_>) {}
    fn parts(&mut self, _: u32, _: impl Iterator<Item = (OpKind, Nanos)>) {}
}

#[test]
fn a_call_whose_answer_ends_the_session_is_lost_with_it() {
    let mut calls = ClientCalls::new(1);
    calls.sent(&Call {
        slot: 0,
        member: 0,
        operation: Operation {
            kind: OpKind::Read,
            action: 0,
            file: 0,
            offset: 0,
            length: 0,
        },
    });
    let mut answers = Answers {
        sink: &mut Ended,
        calls: &mut calls,
        now: Nanos(1),
    };
    let status = NtStatus::USER_SESSION_DELETED;
    let error = answers.answer(&Answer::bare(0, Extent::Final, status));
    let lost = error.unwrap_err().mendable().unwrap();
    assert!(matches!(lost.cause, LinkCause::SessionEnded(found) if found == status));
    assert_eq!(calls.take_in_flight(), [(0, OpKind::Read)]);
    // Other errors are of the client, or of the protocol.
    assert!(Dropped::NoCredits.mendable().is_err());
}
