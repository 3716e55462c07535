//! Examines a server without putting load on it: the protocol features that it
//! agrees to, and how it treats a file that the probe creates.

mod after;
mod cifs;
mod disk_watch;
mod trial;

use smbench_model::limits::Limits;
use smbench_model::sessions::{Mode, SessionOptions};
use smbench_model::target::Target;
use smbench_protocol::connection::{Negotiated, SessionTerms};
use smbench_protocol::{Cipher, CipherList, Dialect, SessionIndex, SigningAlgorithm};

use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::machine::runtime::blocking;
use crate::run::error::RunError;
use crate::smb::session::{Endpoint, Session, SessionError, unless};
pub use crate::smb::share::Cleanup;
use crate::smb::share::{self, ShareSession};
pub use after::{AfterError, verify_after};
pub use cifs::CifsProbe;
pub use disk_watch::{FlushPolicy, PolicyFinding, WritePolicy};
pub use trial::{Attempt, TimeSpread, Trials};

/// Number of sessions set up one after the other, to measure how long a set-up
/// takes.
const SETUPS: usize = 8;
/// Credits requested while probing, to find out how many the server grants.
const CREDITS_ASKED: u16 = 512;

/// What a probe found out about a server, in the protocol that the server speaks.
#[derive(Clone, Debug)]
pub enum Probed {
    /// A server of SMB2 or SMB3.
    Smb2(Box<Probe>),
    /// A server of CIFS, if nothing newer was offered or accepted.
    Cifs(Box<CifsProbe>),
}

impl Probed {
    /// Returns what was found in SMB2 or SMB3.
    #[must_use]
    pub fn smb2(self) -> Option<Probe> {
        match self {
            Self::Smb2(probe) => Some(*probe),
            Self::Cifs(_) => None,
        }
    }
}

/// Everything that a probe found out about a server of SMB2 or SMB3.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The session that was opened with the given options.
    pub session: SessionFacts,
    /// Each dialect of this build, and whether the server accepted it when only
    /// that one was offered.
    pub dialects: Vec<(Dialect, Result<(), String>)>,
    /// Each signing algorithm, and whether the server set up a session signed with it. The
    /// dialect is that of `session` if it has only this algorithm, else 3.1.1.
    pub signing: Vec<(SigningAlgorithm, Result<(), String>)>,
    /// Each cipher, and whether the server set up a session encrypted with it when
    /// only that one was offered.
    pub ciphers: Vec<(Cipher, Result<(), String>)>,
    /// Whether the server allowed a session on two connections (MS-SMB2 3.2.4.1.7);
    /// otherwise the reason.
    pub channels: Result<(), String>,
    /// Results of the trials on a file in a directory that the probe created;
    /// otherwise the reason why none was possible.
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
    /// Terms that client and server negotiated.
    pub negotiated: Negotiated,
    /// Result of the log-on.
    pub terms: SessionTerms,
    /// Credits available after set-up, of [`SessionFacts::credits_asked`].
    pub credits_granted: u32,
    /// Credits requested.
    pub credits_asked: u16,
    /// Set-up times of several sessions, one after the other. Each counts from the
    /// first SYN to the tree connect.
    pub setup: TimeSpread,
}

/// Gets the name of a step of a probe.
pub type ShowStep<'a> = &'a dyn Fn(&str);

/// Connects to `target` and finds out which features it offers, blocking the
/// thread.
///
/// A server that does not negotiate SMB2 or SMB3 is examined in CIFS.
///
/// A cancel ends the probe as soon as the files that it created on the share are
/// removed.
///
/// # Errors
/// If no session with `options` can be set up, and [`SessionError::Interrupted`]
/// after a cancel. The error is in [`RunError::Leftover`] if something remains on
/// the share.
pub fn probe(
    target: &Target,
    options: SessionOptions,
    limits: Limits,
    cancel: &Cancel,
) -> Result<Probed, RunError> {
    probe_in_steps(target, options, limits, cancel, &|_| ())
}

/// Does the same as [`probe()`], and tells each step before it begins.
///
/// # Errors
/// As of [`probe()`].
pub fn probe_in_steps(
    target: &Target,
    options: SessionOptions,
    limits: Limits,
    cancel: &Cancel,
    show_step: ShowStep<'_>,
) -> Result<Probed, RunError> {
    let refused = |error| SessionError::System(error).into();
    blocking(refused, async {
        let looking = async {
            let endpoint = Endpoint::resolve(target, options, limits, CREDITS_ASKED).await?;
            let (mut session, setup) = set_up(&endpoint, show_step).await?;
            let free_bytes = share::free_bytes_at_root(&mut session).await?;
            Ok((endpoint, session, setup, free_bytes))
        };
        let (endpoint, session, setup, free_bytes) = unless(cancel, looking).await?;
        let session = match session {
            ShareSession::Smb2(session) => *session,
            ShareSession::Cifs(session) => {
                let found = cifs::examine(*session, setup, free_bytes, &endpoint, show_step);
                return Ok(Probed::Cifs(Box::new(unless(cancel, found).await?)));
            }
        };
        let facts = SessionFacts {
            negotiated: *session.connection.negotiated(),
            terms: *session.terms(),
            credits_granted: session.connection.credits(),
            credits_asked: CREDITS_ASKED,
            setup,
        };
        show_step("writes, flushes, oplocks and leases");
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
        let found = unless(cancel, with_offers(found, &endpoint, show_step)).await;
        let found = found.map_err(|error| RunError::from(error).with_leftover(leftover))?;
        Ok(Probed::Smb2(Box::new(found)))
    })
}

/// Adds the result of two channels to `found`, and the result of offering each
/// dialect, signing algorithm and cipher alone.
async fn with_offers(
    mut found: Probe,
    endpoint: &Endpoint,
    show_step: ShowStep<'_>,
) -> Result<Probe, SessionError> {
    show_step("a session on two connections");
    let channels = two_channels(endpoint).await;
    found.channels = channels.map_err(|error| error.to_string());
    found.dialects = dialects(endpoint, show_step).await;
    let options = SessionOptions::default();
    for algorithm in SigningAlgorithm::ALL {
        show_step(&format!("signing with {algorithm}"));
        // A dialect before 3.1.1 has one algorithm, and cannot name it.
        let settled = found.session.negotiated.dialect;
        let has_it = settled.fixed_signing() == Some(algorithm);
        let dialect = if has_it { settled } else { Dialect::Smb311 };
        let options = SessionOptions {
            dialects: dialect.into(),
            signing: Mode::Required,
            signing_algorithm: Some(algorithm),
            ..options
        };
        let accepted = accepts(&endpoint.with_options(options)).await;
        found.signing.push((algorithm, accepted));
    }
    for cipher in Cipher::ALL {
        show_step(&format!("encryption with {cipher}"));
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

/// Offers each dialect alone.
async fn dialects(
    endpoint: &Endpoint,
    show_step: ShowStep<'_>,
) -> Vec<(Dialect, Result<(), String>)> {
    let mut all = Vec::new();
    for dialect in [Dialect::Cifs].into_iter().chain(Dialect::SMB2) {
        show_step(&format!("dialect {dialect}"));
        let options = SessionOptions {
            dialects: dialect.into(),
            ..SessionOptions::default()
        };
        all.push((dialect, accepts(&endpoint.with_options(options)).await));
    }
    all
}

/// Sets up several sessions; returns the last one and the set-up times of all.
async fn set_up(
    endpoint: &Endpoint,
    show_step: ShowStep<'_>,
) -> Result<(ShareSession, TimeSpread), SessionError> {
    let mut endpoint = endpoint.clone();
    let mut times = Vec::with_capacity(SETUPS);
    loop {
        show_step(&format!("session {} of {SETUPS}", times.len() + 1));
        let begin = clock::now();
        let session = match ShareSession::open(&endpoint).await {
            Ok(session) => session,
            Err(error) if times.is_empty() && error.lacks_smb2() => {
                let cifs = endpoint.with_dialects(Dialect::Cifs.into());
                let opened = ShareSession::open(&cifs).await;
                opened.map_err(|of_cifs| error.or_of_cifs(of_cifs))?
            }
            Err(error) => return Err(error),
        };
        // The time of a server that first refused SMB2 is not that of one set-up.
        let settled = session.settle(&endpoint);
        if settled.options.dialects != endpoint.options.dialects {
            endpoint = settled;
            session.log_off().await;
            continue;
        }
        times.push(clock::now().since(begin));
        if times.len() == SETUPS {
            return Ok((session, TimeSpread::of(times)));
        }
        session.log_off().await;
    }
}

/// Tries to open a session on two connections.
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
    // A log-off on one connection ends the session on both.
    first.log_off().await;
    drop(second);
    Ok(())
}

/// Tries to open a session with the endpoint's options; returns the reason if that
/// fails.
async fn accepts(endpoint: &Endpoint) -> Result<(), String> {
    match ShareSession::open(endpoint).await {
        Ok(session) => {
            session.log_off().await;
            Ok(())
        }
        Err(error) => Err(error.cause()),
    }
}

/// Removes the files that killed runs left below the target's path, blocking the
/// thread. Directories of living runs are left in place and reported. So are
/// directories that only look like those of a run.
///
/// # Errors
/// If the server cannot be reached or refuses. Files removed before that stay
/// removed.
pub fn cleanup(
    target: &Target,
    options: SessionOptions,
    limits: Limits,
) -> Result<Cleanup, SessionError> {
    blocking(SessionError::System, async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS_ASKED).await?;
        share::cleanup(&endpoint).await
    })
}

/// Removes the directory that one killed run left, blocking the thread. `directory`
/// is a path from the share's root. As in [`cleanup`], a directory that a run uses,
/// or that no run created, is left in place and reported. A missing directory is
/// not reported.
///
/// # Errors
/// If the server cannot be reached or refuses.
pub fn remove_remains(
    target: &Target,
    options: SessionOptions,
    limits: Limits,
    directory: &str,
) -> Result<Cleanup, SessionError> {
    blocking(SessionError::System, async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS_ASKED).await?;
        share::remove_remains(&endpoint, directory).await
    })
}
