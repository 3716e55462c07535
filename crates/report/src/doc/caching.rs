//! The part of a document about oplocks and leases.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Oplocks and leases of a load point, from the first open to the last operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CachingDoc {
    /// Number of opens by the oplock or lease granted: `none`, `level2`, `batch`,
    /// `lease-rh` and so on.
    pub granted: BTreeMap<String, u64>,
    /// Number of break notifications. `ops.oplock_break` has those that were
    /// acknowledged, timed from the notification to the server's confirmation.
    pub breaks: u64,
    /// Number of acknowledgements that came too late: the file was closed while the
    /// notification was on its way.
    pub moot: u64,
    /// Listings that clients kept under leases of directories; absent without such leases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listings: Option<ListingsDoc>,
}

/// Listings that clients kept under leases of directories, with the ramps. `ops.list_cached`
/// has the answers from them, `ops.list_break` the time from a change of this run to its break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListingsDoc {
    /// Number of listings that were kept.
    pub kept: u64,
    /// Number of them that were still kept, with their leases, at the end of the load.
    pub held: u64,
    /// Number of answers from a kept listing after a change was done that it does not show.
    pub stale: u64,
}
