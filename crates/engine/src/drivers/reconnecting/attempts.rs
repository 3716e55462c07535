//! Attempts to set up the sessions of a lost connection anew.

use std::time::Duration;

use smbench_model::Nanos;
use smbench_protocol::NtStatus;
use tokio::time::{sleep, timeout};

use crate::drivers::driver::{Connector, Opened};
use crate::drivers::dropped::{LostLink, NotReconnected};
use crate::drivers::remains::{Reopening, SessionRemains};
use crate::machine::clock;
use crate::machine::tasks::on_tokio;
use crate::smb::session::{SessionError, random_u64};

/// The shortest pause between two attempts.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// A pause is this part of the time since the loss, so that pauses change a blackout by 2 % at
/// most.
const PAUSE_PART: u32 = 50;
/// What a server answers to every further attempt as well: it refuses the account. Other answers
/// are of a server that is not ready yet: it lacks resources, or has not mounted the share.
const FINAL: [NtStatus; 14] = [
    NtStatus::LOGON_FAILURE,
    NtStatus::WRONG_PASSWORD,
    NtStatus::NO_SUCH_USER,
    NtStatus::ACCOUNT_RESTRICTION,
    NtStatus::INVALID_LOGON_HOURS,
    NtStatus::INVALID_WORKSTATION,
    NtStatus::PASSWORD_EXPIRED,
    NtStatus::PASSWORD_MUST_CHANGE,
    NtStatus::ACCOUNT_DISABLED,
    NtStatus::ACCOUNT_EXPIRED,
    NtStatus::ACCOUNT_LOCKED_OUT,
    NtStatus::LOGON_TYPE_NOT_GRANTED,
    NtStatus::AUTHENTICATION_FIREWALL_FAILED,
    NtStatus::NTLM_BLOCKED,
];

/// Opens new sessions of these clients, with pauses between attempts, until the limit
/// has passed since the loss, or an answer of the server is final.
pub(super) async fn replace<C: Connector>(
    connector: C,
    limit: Duration,
    clients: Box<[u32]>,
    lost: LostLink,
    before: SessionRemains,
) -> Result<Opened<C::Driver>, NotReconnected> {
    let until = lost.at + Nanos::from(limit);
    let mut first = None;
    let mut again = Reopening { before, attempt: 0 };
    loop {
        let left = until.since(clock::now()).into();
        let most = time_of_attempt(left, limit, again.attempt, connector.nodes());
        let attempt = on_tokio(timeout(most, connector.reopen(&clients, &again))).await;
        let error = match attempt {
            Ok(Ok(mut opened)) => match opened.refused.take() {
                None => return Ok(opened),
                Some((_, error)) => error,
            },
            Ok(Err(error)) => error,
            Err(_) => SessionError::Other("an attempt was not answered".to_owned()),
        };
        let is_final = is_final(&error);
        let pause = pause_after(clock::now().since(lost.at).into());
        if is_final || clock::now() + Nanos::from(pause) >= until {
            let reason = error.to_string();
            return Err(NotReconnected {
                lost,
                limit: (!is_final).then(|| limit.into()),
                first: first.filter(|first| *first != reason),
                reason,
            });
        }
        first.get_or_insert_with(|| error.to_string());
        again.attempt += 1;
        sleep(with_jitter(pause, random_u64())).await;
    }
}

/// Returns the longest time of an attempt, so that each address is tried before the limit.
/// Later attempts have an equal part of it.
fn time_of_attempt(left: Duration, limit: Duration, attempt: usize, nodes: usize) -> Duration {
    match nodes.saturating_sub(attempt) {
        0 => left.min(limit / nodes.max(1) as u32),
        untried => left / untried as u32,
    }
}

/// Returns whether no further attempt can succeed. Each attempt after a refused log-on could
/// also bring the account nearer to being locked.
pub(super) fn is_final(error: &SessionError) -> bool {
    match error.status() {
        Some(status) => FINAL.contains(&status),
        None => error.is_of_log_on(),
    }
}

/// Returns the pause before the next attempt to connect, this long after the loss.
pub(super) fn pause_to_connect(since_loss: Duration) -> Duration {
    with_jitter(pause_after(since_loss), random_u64())
}

/// Returns the pause before the next attempt to bind another connection. It is long, because a
/// session can have few connections in all, and its clients have others meanwhile.
pub(super) fn pause_to_bind() -> Duration {
    with_jitter(PAUSE_MAX, random_u64())
}

/// Returns the pause before the next attempt, this long after the loss.
fn pause_after(since_loss: Duration) -> Duration {
    (since_loss / PAUSE_PART).clamp(PAUSE_MIN, PAUSE_MAX)
}

/// Returns a pause between half of this one and all of it, so that clients that lost their
/// connections at the same time do not come back at the same time.
fn with_jitter(pause: Duration, random: u64) -> Duration {
    let share = (random >> 32) as f64 / f64::from(u32::MAX);
    pause.mul_f64(0.5 + share / 2.0)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use smbench_protocol::HandshakeError;
    use smbench_protocol::header::Command;

    use super::*;
    use crate::drivers::dropped::{Dropped, LinkCause};
    use crate::drivers::null::{Null, NullDriver};
    use crate::smb::session::LogonIdentity;

    /// Fails with these errors in turn, and then succeeds.
    #[derive(Clone)]
    struct Refusing(Arc<Mutex<VecDeque<SessionError>>>);

    impl Connector for Refusing {
        type Driver = NullDriver;

        async fn open(&self, clients: &[u32]) -> Result<Opened<NullDriver>, SessionError> {
            let error = self.0.lock().unwrap().pop_front();
            match error {
                Some(error) => Err(error),
                None => Null.open(clients).await,
            }
        }
    }

    fn refused(command: Command, status: NtStatus) -> SessionError {
        SessionError::Handshake {
            at: "files".into(),
            who: LogonIdentity::Anonymous,
            share: "bench".into(),
            password_note: "".into(),
            source: HandshakeError::Refused { command, status },
        }
    }

    /// Returns the error of these attempts, if there is one, and how many are left.
    async fn replaced(errors: Vec<SessionError>) -> (Option<NotReconnected>, usize) {
        let Dropped::Link(lost) = LinkCause::Closed.of_connection(0) else {
            unreachable!("it is the loss of a link");
        };
        let errors = Arc::new(Mutex::new(VecDeque::from(errors)));
        let connector = Refusing(Arc::clone(&errors));
        let opened = replace(
            connector,
            Duration::from_secs(60),
            [0].into(),
            *lost,
            SessionRemains::default(),
        )
        .await;
        let left = errors.lock().unwrap().len();
        (opened.err(), left)
    }

    #[tokio::test]
    async fn an_account_that_is_refused_gets_no_further_attempt() {
        for (command, status) in [
            (Command::SessionSetup, NtStatus::LOGON_FAILURE),
            (Command::SessionSetup, NtStatus::ACCOUNT_DISABLED),
            (Command::SessionSetup, NtStatus::PASSWORD_EXPIRED),
            (Command::SessionSetup, NtStatus::ACCOUNT_LOCKED_OUT),
        ] {
            let busy = refused(command, NtStatus::INSUFFICIENT_RESOURCES);
            let is_final = refused(command, status);
            let never = SessionError::Other("an attempt too many".to_owned());
            let (error, left) = replaced(vec![busy, is_final, never]).await;
            assert_eq!(left, 1, "{status}");
            let error = error.unwrap();
            assert_eq!(error.limit, None);
            assert!(error.reason.contains(&status.to_string()), "{error}");
            let first = error.first.as_ref().unwrap();
            assert!(first.contains("INSUFFICIENT_RESOURCES"), "{error}");
            let text = error.to_string();
            assert!(text.ends_with(&format!("; the first attempt: {first}")));
        }
    }

    #[tokio::test]
    async fn a_server_that_is_not_ready_gets_another_attempt() {
        let busy = refused(Command::SessionSetup, NtStatus::REQUEST_NOT_ACCEPTED);
        let shares = [
            NtStatus::BAD_NETWORK_NAME,
            NtStatus::ACCESS_DENIED,
            NtStatus::PATH_NOT_COVERED,
        ];
        let not_there = shares.map(|status| refused(Command::TreeConnect, status));
        let (error, left) = replaced(std::iter::once(busy).chain(not_there).collect()).await;
        assert!(error.is_none());
        assert_eq!(left, 0);
    }

    #[test]
    fn each_address_is_tried_before_the_limit() {
        let limit = Duration::from_secs(10);
        for nodes in 1..5 {
            // No attempt is answered.
            let mut left = limit;
            for attempt in 0..nodes {
                assert!(left > limit / 10, "{nodes} nodes, attempt {attempt}");
                left -= time_of_attempt(left, limit, attempt, nodes);
                left = left.saturating_sub(pause_after(limit - left));
            }
        }
        let left = Duration::from_secs(9);
        assert_eq!(time_of_attempt(left, limit, 0, 3), left / 3);
        assert_eq!(time_of_attempt(left, limit, 3, 3), limit / 3);
        assert_eq!(time_of_attempt(left, limit, 7, 1), left);
    }

    #[test]
    fn pauses_grow_with_the_time_since_the_loss() {
        for (since_ms, pause_ms) in [(0, 20), (1_000, 20), (2_000, 40), (90_000, 1_000)] {
            let pause = pause_after(Duration::from_millis(since_ms));
            assert_eq!(pause.as_millis(), pause_ms, "{since_ms} ms");
        }
    }

    #[test]
    fn pauses_differ_by_up_to_half() {
        let pause = Duration::from_millis(20);
        assert_eq!(with_jitter(pause, 0), pause / 2);
        assert_eq!(with_jitter(pause, u64::MAX), pause);
    }
}
