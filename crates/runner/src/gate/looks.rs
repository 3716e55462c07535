//! What the looks of a gate at a growing number of passes tell. Looks count from 1.

use smbench_report::compare::Judgement;

use super::{GateAnswer, PASSES_MIN};

/// Passes beyond which nothing is foretold.
const PASSES_FORESEEN: u32 = 1000;
/// Probability that a gate of an unchanged build fails by chance.
const FALSE_FAILURE: f64 = 0.001;

/// Returns the answer after a look, if the passes so far give one. Looks count from 1.
pub(super) fn answer(
    judgements: &[Judgement],
    look: u32,
    passes: u32,
    counts: impl Fn(&Judgement) -> bool,
) -> Option<GateAnswer> {
    let error = error_of_look(look, judgements.len());
    let is_sure = |judged: &&Judgement| judged.failed && judged.is_sure_at(error, passes);
    if judgements.iter().filter(is_sure).any(counts) {
        return Some(GateAnswer::Failed);
    }
    let all_passed = !judgements.is_empty() && judgements.iter().all(Judgement::passed);
    all_passed.then_some(GateAnswer::Passed)
}

/// Returns how many passes of each side may decide a condition, if the change and the noise stay
/// as they are after these passes.
pub(super) fn passes_needed(judged: &Judgement, passes: u32, conditions: usize) -> Option<u32> {
    if !judged.failed {
        return judged.passes_needed(passes);
    }
    let is_sure = |later: &u32| {
        let error = error_of_look(later - PASSES_MIN + 1, conditions);
        judged.is_sure_with(error, passes, *later)
    };
    (passes.max(PASSES_MIN)..PASSES_FORESEEN).find(is_sure)
}

/// Returns the probability that a look at one of some conditions may fail by chance. Looks count
/// from 1.
fn error_of_look(look: u32, conditions: usize) -> f64 {
    let look = f64::from(look);
    // The sum over all looks is below 1.
    let share = 1.0 / (look * (look + 1.0));
    FALSE_FAILURE * share / conditions.max(1) as f64
}
