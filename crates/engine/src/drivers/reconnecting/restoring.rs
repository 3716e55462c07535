//! Attempts to set up a connection in the place of a lost one, while its clients use their others.
//!
//! A connection that cannot be made costs nothing, so that these attempts have the pauses of
//! [`super::attempts`]. Each log-on uses up one of the channels that a session can have.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use smbench_model::Nanos;
use tokio::time::{sleep, timeout};

use super::attempts::{is_final, pause_to_bind, pause_to_connect};
use crate::drivers::driver::{BoundChannel, ChannelSetup, Driver, LostChannel};
use crate::machine::clock;
use crate::machine::tasks::on_tokio;
use crate::smb::session::SessionError;

/// A future that sets up a connection.
type OpeningChannel = Pin<Box<dyn Future<Output = Result<BoundChannel, SessionError>>>>;

/// A lost connection that is being set up again.
pub(super) struct Restoration {
    lost: LostChannel,
    terms: RestorationTerms,
    opening: OpeningChannel,
}

/// The time of the attempts.
#[derive(Clone, Copy)]
pub(super) struct RestorationTerms {
    /// Instant of the loss.
    pub(super) lost_at: Nanos,
    /// Instant of the end of all attempts.
    pub(super) until: Nanos,
}

impl Restoration {
    /// Begins with the first attempt; `None` if the sessions can have no further connection.
    pub(super) fn begin(
        lost: LostChannel,
        terms: RestorationTerms,
        driver: &mut impl Driver,
    ) -> Option<Self> {
        Self::after(Duration::ZERO, lost, terms, driver)
    }

    /// Begins with another attempt after one that failed; `None` if that would not help.
    pub(super) fn again(self, error: &SessionError, driver: &mut impl Driver) -> Option<Self> {
        let Self { lost, terms, .. } = self;
        let pause = pause_to_bind();
        let is_over = clock::now() + Nanos::from(pause) >= terms.until;
        if is_over || is_final(error) {
            return None;
        }
        Self::after(pause, lost, terms, driver)
    }

    fn after(
        pause: Duration,
        lost: LostChannel,
        terms: RestorationTerms,
        driver: &mut impl Driver,
    ) -> Option<Self> {
        let setup = driver.channel_setup(&lost)?;
        let opening = Box::pin(on_tokio(set_up(setup, terms, pause)));
        Some(Self {
            lost,
            terms,
            opening,
        })
    }

    /// Goes on with the attempt.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<BoundChannel, SessionError>> {
        self.opening.as_mut().poll(context)
    }
}

/// Connects after this pause, again until it succeeds or the time is over. Then binds the
/// sessions, once.
async fn set_up(
    setup: ChannelSetup,
    terms: RestorationTerms,
    pause: Duration,
) -> Result<BoundChannel, SessionError> {
    let left = terms.until.since(clock::now()).into();
    let attempt = async {
        sleep(pause).await;
        let stream = loop {
            if let Ok(stream) = setup.connect().await {
                break stream;
            }
            let since_loss = clock::now().since(terms.lost_at);
            sleep(pause_to_connect(since_loss.into())).await;
        };
        setup.bind(stream).await
    };
    let ended = timeout(left, attempt).await;
    ended.unwrap_or_else(|_| Err(SessionError::Other("the time for it is over".to_owned())))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use smbench_model::limits::Limits;
    use smbench_model::sessions::SessionOptions;
    use smbench_model::target::Target;

    use super::*;
    use crate::smb::session::Endpoint;

    /// A server that never comes back is not tried without end.
    #[tokio::test]
    async fn attempts_end_with_their_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let (target, _) = Target::parse(&format!("smb://127.0.0.1:{port}/bench")).unwrap();
        let endpoint = Endpoint::resolve(&target, SessionOptions::default(), Limits::default(), 4);
        let setup = ChannelSetup {
            endpoint: endpoint.await.unwrap(),
            members: Vec::new(),
        };
        let now = clock::now();
        let terms = RestorationTerms {
            lost_at: now,
            until: now + Nanos(100_000_000),
        };
        let ended = set_up(setup, terms, Duration::ZERO).await;
        let error = ended.unwrap_err().to_string();
        assert!(error.ends_with("the time for it is over"), "{error}");
    }
}
