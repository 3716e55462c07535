//! What happened to clients during a load point.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::record::LoadEvent;

/// Something that happened to clients at an instant of a load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventDoc {
    /// What happened: `link-lost` if a connection was lost, `link-back` if its clients have
    /// sessions again.
    pub kind: String,
    /// Seconds from the start of the load, ramps included.
    pub at_s: f64,
    /// Number of clients to which it happened.
    pub clients: u32,
}

impl From<&LoadEvent> for EventDoc {
    fn from(event: &LoadEvent) -> Self {
        Self {
            kind: event.kind.name().to_owned(),
            at_s: event.at.as_secs_f64(),
            clients: event.clients,
        }
    }
}
