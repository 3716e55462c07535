//! Checks a plan against the limits of the server, which were unknown when it was made.

use smbench_model::access::SECTOR_BYTES;
use smbench_model::action::Action;
use smbench_model::generator::DriverKind;
use smbench_model::kind::Direction;
use smbench_model::load::LoadModel;
use smbench_model::plan::Plan;
use smbench_model::record::{ServerFacts, SplitSizes};
use smbench_model::units::Size;
use smbench_protocol::Dialect;
use smbench_protocol::credit::CREDIT_UNIT;

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

/// Returns the sizes of requests in each direction in which the server takes the largest
/// operation only in several.
pub(super) fn split_sizes(
    plan: &Plan,
    endpoint: &Endpoint,
    server: &ServerFacts,
) -> Result<Option<SplitSizes>, SessionError> {
    let kinds = plan.only().workload.kinds();
    let limit = |direction, max: u32| {
        let mut kinds = kinds.iter();
        let occurs = kinds.any(|kind| kind.direction() == Some(direction));
        occurs.then(|| max.min(affordable(plan)))
    };
    let limits = [
        (Direction::Read, "read", server.max_read),
        (Direction::Write, "write", server.max_write),
    ]
    .map(|(direction, kind, max)| {
        let largest = plan.largest_of(direction);
        let exceeded = limit(direction, max).filter(|limit| largest > *limit);
        (direction, kind, exceeded)
    });
    let is_whole = |direction| match plan.generator.driver {
        DriverKind::Native => plan.has_unsplit(direction),
        #[cfg(feature = "smb-rs")]
        DriverKind::SmbRs => true,
    };
    for (direction, kind, limit) in &limits {
        let Some(limit) = *limit else {
            continue;
        };
        if is_whole(*direction) || limit < SECTOR_BYTES {
            return Err(SessionError::TooLarge {
                kind,
                wanted: Size(plan.largest_of(*direction).into()).to_string(),
                at: endpoint.at(),
                limit: Size(limit.into()).to_string(),
                why: match (*kind, server.dialect, server.signing) {
                    ("write", Some(Dialect::Cifs), Some(_)) => " in a signed session of CIFS",
                    _ => "",
                },
            });
        }
    }
    let [read, write] = limits.map(|(.., limit)| {
        // Whole sectors, so that requests stay aligned.
        limit.map(|limit| limit - limit % SECTOR_BYTES)
    });
    Ok((read.is_some() || write.is_some()).then_some(SplitSizes { read, write }))
}

/// Returns the bytes of the largest request that the credits of the plan pay for.
fn affordable(plan: &Plan) -> u32 {
    let credits = plan.sessions.connections.credits;
    credits.map_or(u32::MAX, |credits| u32::from(credits) * CREDIT_UNIT)
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
    if !matches!(plan.only().load, LoadModel::Closed { think: None }) {
        return Ok(());
    }
    let limit = session.connection.negotiated().max_mpx.max(1);
    let sessions = plan.sessions.connections.sessions_per_connection;
    let actions = plan.only().workload.actions();
    // An ECHO follows each NOTIFY_CHANGE.
    let echo = actions
        .iter()
        .any(|action| matches!(action, Action::ChangeNotify { .. }));
    let sessions = u64::from(sessions.min(plan.max_clients_here()));
    let wanted = u64::from(plan.only().outstanding) * sessions + u64::from(echo);
    if wanted > u64::from(limit) {
        Err(SessionError::TooManyInFlight {
            wanted,
            at: endpoint.at(),
            limit,
        })
    } else {
        Ok(())
    }
}
