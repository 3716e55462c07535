use std::task::Waker;

use super::*;
use crate::drivers::dropped::LinkCause;
use crate::machine::poller::Poller;

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
