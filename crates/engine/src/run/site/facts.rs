//! The facts of a server for the record, in either protocol.

use smbench_model::plan::Plan;
use smbench_model::record::ServerFacts;
use smbench_protocol::{Dialect, SigningAlgorithm};

use crate::smb::session::cifs::CifsSession;
use crate::smb::session::{Endpoint, LogoffScope};
use crate::smb::share::ShareSession;

/// Returns what the server and the first session have agreed to.
pub(super) fn of(plan: &Plan, endpoint: &Endpoint, session: &ShareSession) -> ServerFacts {
    let session = match session {
        ShareSession::Smb2(session) => session,
        ShareSession::Cifs(session) => return cifs_facts(plan, endpoint, session),
    };
    let negotiated = session.connection.negotiated();
    let terms = session.terms();
    ServerFacts {
        url: plan.sessions.target.redacted(),
        is_here: endpoint.here().is_some(),
        logon: Some(terms.logon),
        dialect: Some(negotiated.dialect),
        signing: terms.signing.map(SigningAlgorithm::name),
        encryption: terms.encryption,
        max_read: negotiated.max_read,
        max_write: negotiated.max_write,
        max_transact: negotiated.max_transact,
        logoff_ends_all: endpoint.logoff == LogoffScope::Connection,
        split: None,
        tree: None,
        populations: Vec::new(),
    }
}

fn cifs_facts(plan: &Plan, endpoint: &Endpoint, session: &CifsSession) -> ServerFacts {
    let connection = &session.connection;
    ServerFacts {
        url: plan.sessions.target.redacted(),
        is_here: endpoint.here().is_some(),
        logon: Some(connection.logon(session.current)),
        dialect: Some(Dialect::Cifs),
        signing: connection.is_signed().then_some("md5"),
        encryption: None,
        max_read: connection.max_read(),
        max_write: connection.max_write(),
        // Parameters and data of a TRANSACTION2 have 16-bit lengths.
        max_transact: u16::MAX.into(),
        logoff_ends_all: false,
        split: None,
        tree: None,
        populations: Vec::new(),
    }
}
