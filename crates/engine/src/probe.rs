//! Looks at a server without putting load on it.

use std::time::Duration;

use smbench_protocol::{Dialect, Negotiated};

use crate::clock;
use crate::plan::{Limits, Mode, SessionOptions};
use crate::session::{Endpoint, Session, SessionError};
use crate::share;
use crate::target::Target;

/// Credits asked for while probing, to see how many the server grants.
const CREDITS_ASKED: u16 = 512;

/// What a server said of itself.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The session opened as the options ask.
    pub session: SessionFacts,
    /// Each dialect this build speaks, and whether the server accepted it
    /// when offered alone.
    pub dialects: Vec<(Dialect, Result<(), String>)>,
    /// Free bytes on the share for this user; `None` when the server does not
    /// tell.
    pub free_bytes: Option<u64>,
}

/// One session's negotiated values.
#[derive(Clone, Copy, Debug)]
pub struct SessionFacts {
    /// What was agreed.
    pub negotiated: Negotiated,
    /// Credits at hand after set-up, of [`SessionFacts::credits_asked`].
    pub credits_granted: u32,
    /// Credits asked for.
    pub credits_asked: u16,
    /// From the first SYN to the tree connect.
    pub setup: Duration,
}

/// Connects to `target` and finds out what it offers, blocking the thread.
///
/// # Errors
/// When no session with `options` can be had.
pub fn probe(
    target: &Target,
    options: SessionOptions,
    limits: Limits,
) -> Result<Probe, SessionError> {
    block_on(async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS_ASKED).await?;
        let begin = clock::now();
        let mut session = Session::open(&endpoint).await?;
        let setup = clock::now().since(begin).into();
        let facts = SessionFacts {
            negotiated: *session.connection.negotiated(),
            credits_granted: session.connection.credits(),
            credits_asked: CREDITS_ASKED,
            setup,
        };
        let free_bytes = share::free_bytes_at_root(&mut session).await?;
        session.log_off().await;
        let mut dialects = Vec::new();
        for dialect in Dialect::ALL {
            dialects.push((dialect, accepts(target, dialect, limits).await));
        }
        Ok(Probe {
            session: facts,
            dialects,
            free_bytes,
        })
    })
}

async fn accepts(target: &Target, dialect: Dialect, limits: Limits) -> Result<(), String> {
    let options = SessionOptions {
        dialect: Some(dialect),
        signing: Mode::Auto,
    };
    let opened = async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS_ASKED).await?;
        Session::open(&endpoint).await
    };
    match opened.await {
        Ok(session) => {
            session.log_off().await;
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Removes what dead runs left below the target's path, blocking the thread.
/// Directories of living runs, and directories that only look like ours, are
/// left alone and reported.
///
/// # Errors
/// When the server cannot be reached or refuses; what was removed before stays
/// removed.
pub fn cleanup(target: &Target, limits: Limits) -> Result<share::Cleanup, SessionError> {
    let options = SessionOptions {
        dialect: None,
        signing: Mode::Auto,
    };
    block_on(async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS_ASKED).await?;
        share::cleanup(&endpoint).await
    })
}

fn block_on<T>(work: impl Future<Output = Result<T, SessionError>>) -> Result<T, SessionError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| SessionError::System { source })?;
    let outcome = runtime.block_on(work);
    // A name look-up that timed out may still be stuck in the resolver.
    runtime.shutdown_background();
    outcome
}
