//! Values of lost connections in conditions: `blackout max > 15s`, `lost writes > 0`.

use smbench_model::contents::Verify;
use smbench_model::files::Scope;
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::record::DataFaults;
use smbench_model::sessions::HandleDurability;
use smbench_model::setting::Advice;
use smbench_model::work::Population;
use smbench_model::workload::Requests;

use crate::curve::{CurveRow, total};
use crate::doc::{EventDoc, LoadPointDoc};
use crate::latency::{LatencyDoc, pool};
use crate::metric::Metric;
use crate::units::{self, counted};

/// A value of what lost connections cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventValue {
    /// The time that clients were without an answer.
    Blackout(Metric),
    /// Writes whose data reads found wrong.
    Writes(WriteFault),
    /// Handles that the server has not kept.
    LostHandles,
}

/// How the data of writes was found wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteFault {
    /// Acknowledged writes that reads do not find.
    Lost,
    /// Writes without an answer over later acknowledged ones.
    Doubled,
    /// Blocks that no single write made.
    Torn,
}

impl WriteFault {
    /// Returns the value's name, and that of one of them.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Lost => ("lost writes", "lost write"),
            Self::Doubled => ("doubled writes", "doubled write"),
            Self::Torn => ("torn writes", "torn write"),
        }
    }

    const fn of(self, found: &DataFaults) -> u64 {
        match self {
            Self::Lost => found.lost,
            Self::Doubled => found.doubled,
            Self::Torn => found.torn,
        }
    }

    /// Returns whether the clients of a population can find it under load: in verified reads of what
    /// they write. What others write to a file has an unknown age, so that it can only be torn.
    fn is_found_by(self, population: &Population) -> bool {
        let workload = &population.workload;
        let kinds = workload.kinds();
        let is_read = [OpKind::Read, OpKind::CreateReadClose]
            .iter()
            .any(|kind| kinds.contains(kind));
        let is_judged = match workload.files.scope {
            // Where some clients only read, nobody reads what the others write.
            Scope::Private => !matches!(workload.requests, Requests::Divided { .. }),
            Scope::Shared => self == Self::Torn,
        };
        population.verify == Verify::ReadBack && is_read && is_judged
    }
}

impl EventValue {
    /// Returns the value with this name of two words.
    pub(super) fn named(first: &str, second: &str) -> Option<Self> {
        match (first, second) {
            ("blackout", "min" | "us/op" | "server-us/op" | "throughput" | "ops/s") => None,
            ("blackout", metric) => Metric::by_name(metric).map(Self::Blackout),
            ("lost", "writes") => Some(Self::Writes(WriteFault::Lost)),
            ("doubled", "writes") => Some(Self::Writes(WriteFault::Doubled)),
            ("torn", "writes") => Some(Self::Writes(WriteFault::Torn)),
            ("lost", "handles") => Some(Self::LostHandles),
            _ => None,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Blackout(_) => "blackout",
            Self::Writes(fault) => fault.names().0,
            Self::LostHandles => "lost handles",
        }
    }

    pub(super) const fn unit(self) -> &'static str {
        match self {
            Self::Blackout(_) => "ns",
            Self::Writes(_) => "writes",
            Self::LostHandles => "handles",
        }
    }

    pub(super) const fn is_time(self) -> bool {
        matches!(self, Self::Blackout(_))
    }

    pub(super) fn print(self, value: f64) -> String {
        match self {
            Self::Blackout(_) => units::latency(value),
            Self::Writes(fault) => counted(value as u64, fault.names().1),
            Self::LostHandles => counted(value as u64, "lost handle"),
        }
    }

    /// Returns whether a load point without operations has the value too.
    pub(super) const fn is_always_there(self) -> bool {
        !matches!(self, Self::Writes(_))
    }

    /// Whether the value of a load point can only grow while it runs.
    pub(super) const fn grows(self) -> bool {
        match self {
            Self::Writes(_) | Self::LostHandles => true,
            Self::Blackout(_) => false,
        }
    }

    /// Returns why a plan does not have the value, if it does not.
    pub(super) fn missing(self, plan: &Plan) -> Option<String> {
        let failover = &plan.sessions.failover;
        let mut populations = plan.work.populations.iter();
        let why = match self {
            _ if failover.reconnect.is_none() => {
                "clients that lose their connection drop out; give @reconnect"
            }
            Self::LostHandles if failover.handles == HandleDurability::None => {
                "no client asks the server to keep its handles; give @handles"
            }
            Self::Writes(_) if populations.clone().all(|one| one.verify == Verify::Off) => {
                "the data is not verified; give @verify"
            }
            Self::Writes(fault) if populations.any(|one| fault.is_found_by(one)) => return None,
            // Clients read back what they have written after the load.
            Self::Writes(_) if plan.reads_finally() => return None,
            Self::Writes(WriteFault::Torn) => {
                "only clients that read what is written find torn writes, and there are none"
            }
            Self::Writes(_) => {
                "only clients that read back what is in private files find such writes, and \
                 there are none"
            }
            _ => return None,
        };
        Some(Advice(why).to_string())
    }

    /// Returns the value of a row. Passes that are not valid count as well.
    pub(super) fn of(self, row: &CurveRow<'_>) -> Option<f64> {
        match self {
            // Nobody knows how long the blackout of a client is that did not come back.
            Self::Blackout(_) if open_blackouts(row) > 0 || is_untouched(row) => None,
            Self::Blackout(metric) => {
                let times = events(row).filter_map(|event| event.blackout_hdr.as_ref());
                match LatencyDoc::of(&pool(times)) {
                    Some(times) => metric.latency(&times),
                    // Nobody was without an answer.
                    None => Some(0.0),
                }
            }
            Self::Writes(fault) => {
                let found = |pass: &LoadPointDoc| pass.verify.map(|found| fault.of(&found));
                let found: Option<Vec<_>> = row.all_passes().map(found).collect();
                let found = total(found?.into_iter());
                // Where nothing was read, nothing can be found.
                let is_known = found > 0 || row.all_passes().all(LoadPointDoc::has_verified);
                is_known.then_some(found as f64)
            }
            Self::LostHandles => Some(total(events(row).map(|event| event.handles_lost)) as f64),
        }
    }

    /// Returns a bound below the value of a row, if there is one.
    pub(super) fn at_least(self, row: &CurveRow<'_>) -> Option<f64> {
        let Self::Blackout(Metric::Max) = self else {
            return None;
        };
        let longest = |event: &EventDoc| {
            let of_back = event.blackout_ns.map(|times| times.max);
            event.away_ns_max.max(of_back)
        };
        let longest = events(row).filter_map(longest).max();
        longest.map(|longest| longest as f64)
    }

    /// Returns why the value of a row is not known, as a clause without a place; `None` if there
    /// is no such reason.
    pub(super) fn why_unknown(self, row: &CurveRow<'_>) -> Option<String> {
        match (self, open_blackouts(row)) {
            (Self::Blackout(_), 0) => {
                is_untouched(row).then(|| "no event interrupted a client".to_owned())
            }
            (Self::Blackout(_), open) => {
                Some(format!("{} did not come back", counted(open, "client")))
            }
            _ => None,
        }
    }
}

/// The kind of an event that runs a command.
const EXEC: &str = "exec";

fn events<'a>(row: &CurveRow<'a>) -> impl Iterator<Item = &'a EventDoc> {
    row.all_passes().flat_map(|pass| &pass.events)
}

/// Returns whether events were to interrupt clients, and none did. A blackout of 0 would then say
/// that clients came back at once. A command may have another purpose.
fn is_untouched(row: &CurveRow<'_>) -> bool {
    let mut planned = events(row).filter(|event| event.event.is_some());
    let is_planned = planned.any(|event| event.kind != EXEC);
    let has_lost = row.all_passes().any(|pass| !pass.links.is_empty());
    is_planned && !has_lost && events(row).all(|event| event.clients == 0)
}

/// Returns the number of clients that did not come back.
fn open_blackouts(row: &CurveRow<'_>) -> u64 {
    let away = total(events(row).map(|event| event.clients_away));
    let dropouts = row.all_passes().map(|pass| pass.dropouts.len() as u64);
    away.max(total(dropouts))
}
