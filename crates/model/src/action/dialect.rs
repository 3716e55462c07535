//! Actions and parameters that only some dialects support.

use smbench_protocol::Dialect;

use super::Action;

/// A restriction of an action to some dialects.
#[derive(Clone, Copy, Debug)]
pub struct DialectNeed {
    /// The operation or parameter that is restricted.
    pub what: &'static str,
    /// The dialects that support it, in words.
    pub needs: &'static str,
    /// Returns whether a dialect supports it.
    pub has: fn(Dialect) -> bool,
}

/// Returns the restriction of an action to some dialects, if it has one.
#[must_use]
pub fn dialect_needed(action: &Action) -> Option<DialectNeed> {
    let (what, needs, has): (_, _, fn(Dialect) -> bool) = match action {
        // A server of 3.1.1 ends the connection when it gets this request (MS-SMB2
        // 3.3.5.15.12).
        Action::ValidateNegotiate => ("operation validate_negotiate", "3.0 or 3.0.2", |dialect| {
            matches!(dialect, Dialect::Smb30 | Dialect::Smb302)
        }),
        Action::QueryInterfaces => ("operation query_interfaces", "3.0 or later", |dialect| {
            dialect >= Dialect::Smb30
        }),
        // MS-SMB2 2.2.19, 2.2.21.
        Action::Read { unbuffered: true }
        | Action::Write {
            unbuffered: true, ..
        } => ("unbuffered", "3.0.2 or later", |dialect| {
            dialect >= Dialect::Smb302
        }),
        // CIFS has WritethroughMode (MS-CIFS 2.2.4.43.1).
        Action::Write {
            write_through: true,
            ..
        } => ("write_through", "2.1 or later", |dialect| {
            dialect >= Dialect::Smb21 || dialect == Dialect::Cifs
        }),
        Action::List { aapl: true, .. } => ("aapl", "2.0.2 or later", is_smb2),
        Action::Stat { .. } => ("operation stat", "2.0.2 or later", is_smb2),
        Action::LookupMissing { .. } => ("operation lookup_missing", "2.0.2 or later", is_smb2),
        Action::Neighbour { .. } => ("operation neighbour", "2.0.2 or later", is_smb2),
        Action::Watch { .. } => ("operation watch", "2.0.2 or later", is_smb2),
        Action::CopyIn => ("operation copy_in", "2.0.2 or later", is_smb2),
        Action::CopyOut => ("operation copy_out", "2.0.2 or later", is_smb2),
        Action::SaveOffice => ("operation save_office", "2.0.2 or later", is_smb2),
        Action::CopyChunk => ("operation copy_chunk", "2.0.2 or later", is_smb2),
        // A frame of related requests (MS-SMB2 3.2.4.1.4).
        Action::CreateReadClose
        | Action::CreateQueryClose { .. }
        | Action::CreateSetClose { .. } => {
            ("a frame of several requests", "2.0.2 or later", is_smb2)
        }
        Action::Create(opening) if opening.durable => ("durable", "2.0.2 or later", is_smb2),
        Action::Create(opening) if opening.query_on_disk_id => {
            ("query_on_disk_id", "2.0.2 or later", is_smb2)
        }
        _ => return None,
    };
    Some(DialectNeed { what, needs, has })
}

fn is_smb2(dialect: Dialect) -> bool {
    dialect >= Dialect::Smb202
}
