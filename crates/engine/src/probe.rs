//! Looks at a server without putting load on it: what it agrees to, and what
//! it does with a file of our own.

mod trial;
mod witness;

use smbench_protocol::{
    Cipher, CipherList, Dialect, Negotiated, SessionIndex, SessionTerms, SigningAlgorithm,
};

use crate::cancel::Cancel;
use crate::clock;
use crate::plan::{Limits, Mode, SessionOptions};
use crate::run::RunError;
use crate::session::{Endpoint, Session, SessionError};
use crate::share;
use crate::target::Target;

pub use trial::{Attempt, Spread, Trials};
pub use witness::{FlushFinding, FlushPolicy};

/// Sessions set up one after the other to see how long that takes.
const SETUPS: usize = 8;
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
    /// Each signing algorithm, and whether a 3.1.1 session signed with it
    /// came about when it was offered alone.
    pub signing: Vec<(SigningAlgorithm, Result<(), String>)>,
    /// Each cipher, and whether a session encrypted with it came about when
    /// it was offered alone.
    pub ciphers: Vec<(Cipher, Result<(), String>)>,
    /// Whether a session could be had on two connections (MS-SMB2 3.2.4.1.7);
    /// if not, why.
    pub channels: Result<(), String>,
    /// What was tried on a file in a directory of our own; or why nothing
    /// could be.
    pub trials: Result<Trials, String>,
    /// The directory that remains on the share, and why, in words.
    pub leftover: Option<String>,
    /// Free bytes on the share for this user; `None` when the server does not
    /// tell.
    pub free_bytes: Option<u64>,
}

/// One session's negotiated values.
#[derive(Clone, Copy, Debug)]
pub struct SessionFacts {
    /// What was agreed.
    pub negotiated: Negotiated,
    /// What came of the log-on.
    pub terms: SessionTerms,
    /// Credits at hand after set-up, of [`SessionFacts::credits_asked`].
    pub credits_granted: u32,
    /// Credits asked for.
    pub credits_asked: u16,
    /// From the first SYN to the tree connect, of several sessions one after
    /// the other.
    pub setup: Spread,
}

/// Connects to `target` and finds out what it offers, blocking the thread.
///
/// A cancel ends it as soon as what it has made on the share is removed.
///
/// # Errors
/// When no session with `options` can be had, and [`SessionError::Interrupted`]
/// after a cancel; in [`RunError::Leftover`] where something remains on the share.
pub fn probe(
    target: &Target,
    options: SessionOptions,
    limits: Limits,
    cancel: &Cancel,
) -> Result<Probe, RunError> {
    block_on(async {
        let looking = async {
            let endpoint = Endpoint::resolve(target, options, limits, CREDITS_ASKED).await?;
            let (mut session, setup) = set_up(&endpoint).await?;
            let free_bytes = share::free_bytes_at_root(&mut session).await?;
            Ok((endpoint, session, setup, free_bytes))
        };
        let (endpoint, session, setup, free_bytes) = unless(cancel, looking).await?;
        let facts = SessionFacts {
            negotiated: *session.connection.negotiated(),
            terms: *session.terms(),
            credits_granted: session.connection.credits(),
            credits_asked: CREDITS_ASKED,
            setup,
        };
        let (trials, leftover) = trial::try_out(&endpoint, session, cancel).await?;
        let found = Probe {
            session: facts,
            channels: Ok(()),
            trials,
            leftover: leftover.clone(),
            dialects: Vec::new(),
            signing: Vec::new(),
            ciphers: Vec::new(),
            free_bytes,
        };
        let found = unless(cancel, with_offers(found, &endpoint)).await;
        found.map_err(|error| RunError::from(error).with_leftover(leftover))
    })
}

/// Does the work unless it is to stop, and then leaves it where it is.
async fn unless<T>(
    cancel: &Cancel,
    work: impl Future<Output = Result<T, SessionError>>,
) -> Result<T, SessionError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(SessionError::Interrupted),
        done = work => done,
    }
}

/// What was found, and what comes of everything that can be offered, alone.
async fn with_offers(mut found: Probe, endpoint: &Endpoint) -> Result<Probe, SessionError> {
    let channels = two_channels(endpoint).await;
    found.channels = channels.map_err(|error| error.to_string());
    let options = SessionOptions::default();
    for dialect in Dialect::ALL {
        let options = SessionOptions {
            dialects: dialect.into(),
            ..options
        };
        let accepted = accepts(&endpoint.with_options(options)).await;
        found.dialects.push((dialect, accepted));
    }
    for algorithm in SigningAlgorithm::ALL {
        let options = SessionOptions {
            dialects: Dialect::Smb311.into(),
            signing: Mode::Required,
            signing_algorithm: Some(algorithm),
            ..options
        };
        let accepted = accepts(&endpoint.with_options(options)).await;
        found.signing.push((algorithm, accepted));
    }
    for cipher in Cipher::ALL {
        let options = SessionOptions {
            encryption: Mode::Required,
            ciphers: CipherList::only(cipher),
            ..options
        };
        let accepted = accepts(&endpoint.with_options(options)).await;
        found.ciphers.push((cipher, accepted));
    }
    Ok(found)
}

/// A session, and how long it and others took.
async fn set_up(endpoint: &Endpoint) -> Result<(Session, Spread), SessionError> {
    let mut times = Vec::with_capacity(SETUPS);
    loop {
        let begin = clock::now();
        let session = Session::open(endpoint).await?;
        times.push(clock::now().since(begin));
        if times.len() == SETUPS {
            return Ok((session, Spread::of(times)));
        }
        session.log_off().await;
    }
}

/// A session on two connections.
async fn two_channels(endpoint: &Endpoint) -> Result<(), SessionError> {
    let endpoint = endpoint.clone().with_connections_per_session(2);
    let mut first = Session::open(&endpoint.of_one_client()).await?;
    let negotiated = first.connection.negotiated();
    if !negotiated.multi_channel() {
        let dialect = negotiated.dialect;
        first.log_off().await;
        let at = endpoint.at();
        return Err(SessionError::OneChannel { at, dialect });
    }
    let binding = first.connection.binding(SessionIndex::FIRST);
    let binding = binding.ok_or_else(|| SessionError::NoChannelKey { at: endpoint.at() })?;
    let second = Session::open_channel(&first.beside()?, binding).await?;
    // The session ends on both with the log-off on one.
    first.log_off().await;
    drop(second);
    Ok(())
}

/// Whether a session as the endpoint asks can be had; if not, why.
async fn accepts(endpoint: &Endpoint) -> Result<(), String> {
    match Session::open(endpoint).await {
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
    let options = SessionOptions::default();
    block_on(async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS_ASKED).await?;
        share::cleanup(&endpoint).await
    })
}

/// Removes the directory that one dead run left, given from the share's root,
/// blocking the thread. As in [`cleanup`] it is left alone, and reported, where
/// a run is using it or it is none of ours; one that is gone is not reported.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub fn remove_remains(
    target: &Target,
    limits: Limits,
    directory: &str,
) -> Result<share::Cleanup, SessionError> {
    let options = SessionOptions::default();
    block_on(async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS_ASKED).await?;
        share::remove_remains(&endpoint, directory).await
    })
}

pub(crate) fn block_on<T, E: From<SessionError>>(
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| SessionError::System { source })?;
    let outcome = runtime.block_on(work);
    // A name look-up that timed out may still be stuck in the resolver.
    runtime.shutdown_background();
    outcome
}
