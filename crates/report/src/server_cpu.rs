//! The kinds of CPU time that a server may have been measured by.

use std::collections::BTreeSet;

use smbench_model::cpu::CpuScope;

use crate::doc::{LoadPointDoc, Named, ServerCpuDoc};

/// Scope of a measured CPU time. A whole machine uses more than its serving
/// processes, so indices of the two cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CpuOf {
    /// The serving processes only.
    Processes,
    /// The server's whole machine.
    Machine,
    /// Processes in some passes, the machine in others: no figure can be computed.
    Both,
}

impl CpuOf {
    /// Returns `processes`, `machine` or `both`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Machine => "machine",
            Self::Both => "both",
        }
    }

    pub(crate) fn of(doc: &ServerCpuDoc) -> Option<Self> {
        match doc.scope.as_ref()? {
            Named::Known(CpuScope::Machine) => Some(Self::Machine),
            _ => Some(Self::Processes),
        }
    }

    /// Returns the value for all passes together; `None` if none was measured.
    pub(crate) fn over<'a>(passes: impl IntoIterator<Item = &'a LoadPointDoc>) -> Option<Self> {
        let docs = passes
            .into_iter()
            .filter_map(|pass| pass.server_cpu.as_ref());
        let kinds: BTreeSet<_> = docs.filter_map(Self::of).collect();
        match kinds.len() {
            0 | 1 => kinds.first().copied(),
            _ => Some(Self::Both),
        }
    }
}
