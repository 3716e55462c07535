//! Checks a plan against the limits of the server, which were unknown when it was made.

use smbench_model::action::Action;
use smbench_model::kind::Direction;
use smbench_model::load::LoadModel;
use smbench_model::plan::Plan;
use smbench_model::record::ServerFacts;
use smbench_model::units::Size;
use smbench_protocol::Dialect;

use crate::smb::session::{Endpoint, SessionError};
use crate::smb::share::ShareSession;

/// Checks whether sessions can have the planned number of connections.
pub(super) fn check_channels(
    plan: &Plan,
    endpoint: &Endpoint,
    session: &ShareSession,
) -> Result<(), SessionError> {
    if plan.sessions.connections.connections_per_session == 1 {
        return Ok(());
    }
    let ShareSession::Smb2(session) = session else {
        let (at, dialect) = (endpoint.at(), Dialect::Cifs);
        return Err(SessionError::OneChannel { at, dialect });
    };
    let at = endpoint.at();
    let negotiated = session.connection.negotiated();
    if !negotiated.multi_channel() {
        let dialect = negotiated.dialect;
        return Err(SessionError::OneChannel { at, dialect });
    }
    if !session.terms().logon.has_key() {
        return Err(SessionError::NoChannelKey { at });
    }
    Ok(())
}

/// Checks the sizes of requests.
pub(super) fn check_sizes(
    plan: &Plan,
    endpoint: &Endpoint,
    server: &ServerFacts,
) -> Result<(), SessionError> {
    let workload = &plan.work.workload;
    let kinds = workload.kinds();
    let mut limits = [
        ("read", Direction::Read, server.max_read),
        ("write", Direction::Write, server.max_write),
    ]
    .into_iter()
    .filter(|(_, direction, _)| {
        let mut kinds = kinds.iter();
        kinds.any(|kind| kind.direction() == Some(*direction))
    })
    .map(|(kind, _, limit)| (kind, limit));
    if let Some(test) = workload.fileio() {
        return Ok(test.check_requests(limits, &endpoint.share())?);
    }
    let largest = plan.largest_request();
    match limits.find(|(_, limit)| largest > *limit) {
        Some((kind, limit)) => Err(SessionError::TooLarge {
            kind,
            wanted: Size(largest.into()).to_string(),
            at: endpoint.at(),
            limit: Size(limit.into()).to_string(),
            why: match (kind, server.dialect, server.signing) {
                ("write", Some(Dialect::Cifs), Some(_)) => " in a signed session of CIFS",
                _ => "",
            },
        }),
        None => Ok(()),
    }
}

/// Checks the requests in flight against the limit of a server of CIFS. Credits of SMB2 grow.
pub(super) fn check_in_flight(
    plan: &Plan,
    endpoint: &Endpoint,
    session: &ShareSession,
) -> Result<(), SessionError> {
    let ShareSession::Cifs(session) = session else {
        return Ok(());
    };
    // Clients that wait for the clock or think are seldom all busy at the same time.
    if !matches!(plan.work.load, LoadModel::Closed { think: None }) {
        return Ok(());
    }
    let limit = session.connection.negotiated().max_mpx.max(1);
    let sessions = plan.sessions.connections.sessions_per_connection;
    let actions = plan.work.workload.actions();
    // An ECHO follows each NOTIFY_CHANGE.
    let echo = actions
        .iter()
        .any(|action| matches!(action, Action::ChangeNotify { .. }));
    let sessions = u64::from(sessions.min(plan.max_clients_here()));
    let wanted = u64::from(plan.work.outstanding) * sessions + u64::from(echo);
    match wanted > u64::from(limit) {
        true => Err(SessionError::TooManyInFlight {
            wanted,
            at: endpoint.at(),
            limit,
        }),
        false => Ok(()),
    }
}
