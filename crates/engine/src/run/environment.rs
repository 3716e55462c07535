//! The environment of a command that is run around a load point, or at an event of it.

use std::ffi::OsString;

use smbench_model::progress::PointNumber;

use crate::run::context::Context;

/// Returns the facts of a load point for a command.
pub(super) fn environment(
    context: &Context<'_>,
    point: PointNumber,
    when: &str,
    valid: Option<bool>,
) -> Vec<(String, OsString)> {
    let plan = &context.plan;
    let facts = [
        ("WHEN", Some(when.to_owned())),
        ("NUMBER", Some(point.number.to_string())),
        ("OF", Some(point.of.to_string())),
        ("PASS", Some(point.repeat.to_string())),
        ("CLIENTS", Some(point.clients.to_string())),
        ("RATE", point.rate.map(|rate| rate.per_second.to_string())),
        ("PROFILE", Some(plan.work.profile.clone())),
        (
            "SECONDS",
            Some(plan.work.duration.as_secs_f64().to_string()),
        ),
        ("URL", Some(plan.sessions.target.redacted())),
        (
            "VALID",
            valid.map(|valid| if valid { "yes" } else { "no" }.to_owned()),
        ),
    ];
    let given = facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    given
        .map(|(name, value)| (format!("SMBENCH_POINT_{name}"), value.into()))
        .collect()
}
