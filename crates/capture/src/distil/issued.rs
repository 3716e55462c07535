//! What a profile issues, drawn as a run draws it, and its distance from the capture.

use std::collections::{BTreeMap, BTreeSet};

use smbench_model::kind::OpKind;
use smbench_model::load::LoadModel;
use smbench_model::operations::{Mix, OpStream, RequestResult};
use smbench_model::plan::Plan;

/// Requests of a capture, or of a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DistilledCounts {
    /// Requests by command.
    pub commands: BTreeMap<String, u64>,
    /// READs and WRITEs by command and bytes.
    pub sizes: BTreeMap<(String, u64), u64>,
    /// Time in nanoseconds that a client pauses for each of its actions. Pauses side by side
    /// count once.
    pub think_ns: f64,
}

impl DistilledCounts {
    pub(super) fn add(&mut self, command: &str, bytes: Option<u64>) {
        *self.commands.entry(command.to_owned()).or_default() += 1;
        if let Some(bytes) = bytes {
            let key = (command.to_owned(), bytes);
            *self.sizes.entry(key).or_default() += 1;
        }
    }

    /// Takes a request back: it is a part of the set-up.
    pub(super) fn take_back(&mut self, command: &str) {
        if let Some(count) = self.commands.get_mut(command) {
            *count = count.saturating_sub(1);
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        for (command, count) in &other.commands {
            *self.commands.entry(command.clone()).or_default() += count;
        }
        for (size, count) in &other.sizes {
            *self.sizes.entry(size.clone()).or_default() += count;
        }
    }
}

/// Returns the total variation distance of two sets of counts: half of the sum of the
/// differences of their shares. It is 0 for equal shares, and 1 if they have nothing in
/// common. `None` if one is empty.
#[must_use]
pub fn distance<K: Ord>(one: &BTreeMap<K, u64>, other: &BTreeMap<K, u64>) -> Option<f64> {
    let [of_one, of_other] = [one, other].map(|counts| counts.values().sum::<u64>() as f64);
    if of_one == 0.0 || of_other == 0.0 {
        return None;
    }
    let keys: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let share =
        |counts: &BTreeMap<K, u64>, key, of| counts.get(key).map_or(0.0, |&n| n as f64 / of);
    let differences = keys.into_iter().map(|key| {
        let difference: f64 = share(one, key, of_one) - share(other, key, of_other);
        difference.abs()
    });
    Some(differences.sum::<f64>() / 2.0)
}

/// Draws this many actions of the first client of a plan, and returns their requests.
#[must_use]
pub fn issued(plan: &Plan, actions: u64) -> DistilledCounts {
    let population = plan.only();
    let mix = Mix::new(&population.workload);
    let mut stream = OpStream::new(&mix, plan.work.drawing_seed(), 0);
    let mut counts = DistilledCounts::default();
    if let LoadModel::Closed { think: Some(think) } = population.load {
        // Requests in flight pause side by side.
        counts.think_ns = think.mean.as_nanos() as f64 / f64::from(population.outstanding);
    }
    for _ in 0..actions {
        let mut next = Some(stream.next());
        while let Some(operation) = next {
            let sized = |command: &str| matches!(command, "read" | "write");
            for command in commands_of(operation.kind) {
                let bytes = sized(command).then_some(u64::from(operation.length));
                counts.add(command, bytes);
            }
            next = mix.after(&operation, went(operation.kind));
        }
    }
    counts
}

/// Returns how a request of this kind ends.
const fn went(kind: OpKind) -> RequestResult {
    match kind {
        OpKind::ListNext => RequestResult::Exhausted,
        OpKind::ChangeNotify => RequestResult::Pending,
        _ => RequestResult::Well,
    }
}

/// Returns the commands of a request; those of one frame are several.
const fn commands_of(kind: OpKind) -> &'static [&'static str] {
    match kind {
        OpKind::Create | OpKind::LookupMissing | OpKind::ListOpen => &["create"],
        OpKind::Close | OpKind::ListClose => &["close"],
        OpKind::Read => &["read"],
        OpKind::Write => &["write"],
        OpKind::Flush => &["flush"],
        OpKind::Lock | OpKind::Unlock => &["lock"],
        OpKind::QueryFile | OpKind::QueryFs | OpKind::QuerySecurity => &["query_info"],
        OpKind::SetFile | OpKind::SetSecurity | OpKind::Rename | OpKind::Delete => &["set_info"],
        OpKind::QueryDirectory | OpKind::ListFirst | OpKind::ListNext => &["query_directory"],
        OpKind::ChangeNotify => &["change_notify"],
        OpKind::CopyChunk | OpKind::QueryInterfaces | OpKind::ValidateNegotiate => &["ioctl"],
        OpKind::CreateReadClose => &["create", "read", "close"],
        OpKind::CreateQueryClose | OpKind::Stat => &["create", "query_info", "close"],
        OpKind::CreateSetClose => &["create", "set_info", "close"],
        OpKind::Echo => &["echo"],
        // No distilled profile has the others.
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_0_for_equal_shares_and_1_for_nothing_in_common() {
        let of =
            |counts: &[(&'static str, u64)]| counts.iter().copied().collect::<BTreeMap<_, _>>();
        let one = of(&[("read", 3), ("write", 1)]);
        assert_eq!(
            distance(&one, &of(&[("read", 30), ("write", 10)])),
            Some(0.0)
        );
        assert_eq!(distance(&one, &of(&[("flush", 9)])), Some(1.0));
        assert_eq!(
            distance(&one, &of(&[("read", 1), ("write", 1)])),
            Some(0.25)
        );
        assert_eq!(distance(&one, &of(&[])), None);
    }
}
