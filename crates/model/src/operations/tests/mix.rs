//! Mixes of any actions: their shares, chains and offsets.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{drawn_operation, plan, take, workload};
use crate::access::Access;
use crate::action::{Action, WeightedAction};
use crate::files::Scope;
use crate::kind::OpKind;
use crate::operations::{Mix, OpStream, Operation, RequestResult};
use crate::workload::{Requests, Workload};

/// Returns a mix of these actions, all equally frequent.
fn mixed(actions: &[Action], files: u32) -> Workload {
    let weight = 100.0 / actions.len() as f64;
    let weighted = |action: &Action| WeightedAction {
        action: action.clone(),
        weight,
    };
    Workload {
        requests: Requests::Mix(actions.iter().map(weighted).collect()),
        ..workload(Access::Random, Scope::Private, files)
    }
}

fn every_action() -> Vec<Action> {
    let Requests::Mix(mix) = plan("all-commands").only().workload.requests.clone() else {
        panic!("all-commands is a mix");
    };
    mix.into_iter().map(|entry| entry.action).collect()
}

#[test]
fn the_first_clients_change_what_all_others_watch() {
    let watch = Action::Watch {
        filter: Vec::new(),
        recursive: false,
        changers: 2,
    };
    let mix = Mix::new(&mixed(
        &[watch.clone(), Action::CopyIn, Action::Echo, Action::CopyOut],
        1,
    ));
    for client in 0..5 {
        let mut stream = OpStream::new(&mix, 1, client);
        let kinds: HashSet<_> = take(&mut stream, 1000).iter().map(|op| op.kind).collect();
        let others = [OpKind::CopyInCreate, OpKind::Echo, OpKind::CopyOutOpen];
        let expected: &[OpKind] = if client < 2 {
            &others
        } else {
            &[OpKind::Watch]
        };
        assert_eq!(kinds, expected.iter().copied().collect(), "client {client}");
    }
    // Without other operations, all watch.
    let mix = Mix::new(&mixed(&[watch], 1));
    assert_eq!(OpStream::new(&mix, 1, 0).next().kind, OpKind::Watch);
}

#[test]
fn actions_hit_their_shares() {
    const ACTIONS: u32 = 100_000;
    let workload = plan("all-commands").only().workload.clone();
    let Requests::Mix(mix) = &workload.requests else {
        panic!("all-commands is a mix");
    };
    let mut stream = OpStream::new(&Mix::new(&workload), 5, 6);
    let mut counts = vec![0u32; mix.len()];
    for operation in take(&mut stream, ACTIONS as usize) {
        let action = &mix[operation.action as usize].action;
        assert_eq!(operation.kind, action.kinds()[0]);
        counts[operation.action as usize] += 1;
    }
    for (entry, count) in mix.iter().zip(counts) {
        let share = 100.0 * f64::from(count) / f64::from(ACTIONS);
        assert!((share - entry.weight).abs() < 0.5, "{entry:?}: {share}");
    }
}

/// Returns the kinds of an action's requests, if the requests have these results.
fn steps(action: &Action, went: impl Fn(OpKind) -> RequestResult) -> Vec<OpKind> {
    let mix = Mix::new(&mixed(std::slice::from_ref(action), 1));
    let mut operation = OpStream::new(&mix, 1, 1).next();
    let first = operation;
    let mut kinds = vec![operation.kind];
    while let Some(next) = mix.after(&operation, went(operation.kind)) {
        assert_eq!(mix.after(&operation, went(operation.kind)), Some(next));
        let expected = Operation {
            kind: next.kind,
            ..first
        };
        assert_eq!(next, expected);
        kinds.push(next.kind);
        assert!(kinds.len() < 10, "{action:?} does not end");
        operation = next;
    }
    kinds
}

#[test]
fn what_is_opened_is_closed_whatever_fails_in_between() {
    for action in every_action() {
        let all = action.kinds();
        let as_it_should = |kind| match kind {
            OpKind::ChangeNotify => RequestResult::Pending,
            _ => RequestResult::Well,
        };
        assert_eq!(steps(&action, as_it_should), all);
        for failing in all {
            let seen = steps(&action, |kind| {
                if kind == *failing {
                    RequestResult::Wrong
                } else {
                    as_it_should(kind)
                }
            });
            assert_eq!(seen[0], all[0]);
            let opened = seen[0] == OpKind::Create && *failing != OpKind::Create;
            let closed = seen.last() == Some(&OpKind::Close);
            assert_eq!(opened, closed, "{action:?} with a failing {failing:?}");
            if matches!(
                failing,
                OpKind::Create | OpKind::Lock | OpKind::ChangeNotify
            ) {
                assert_eq!(seen, [*failing], "nothing is to be undone");
            }
        }
    }
}

#[test]
fn a_notification_that_comes_at_once_is_not_cancelled() {
    let notify = every_action()
        .into_iter()
        .find(|action| action.first() == OpKind::ChangeNotify)
        .unwrap();
    assert_eq!(
        steps(&notify, |_| RequestResult::Well),
        [OpKind::ChangeNotify]
    );
}

#[test]
fn locks_behind_the_data_never_meet_and_others_lie_in_it() {
    let lock = |past_end| Action::Lock {
        exclusive: true,
        past_end,
    };
    let mix = Mix::new(&mixed(&[lock(true)], 3));
    let mut offsets = HashSet::new();
    for client in 0..10 {
        for operation in take(&mut OpStream::new(&mix, 1, client), 1000) {
            assert_eq!(operation.length, 1);
            assert!((1 << 62..i64::MAX as u64).contains(&operation.offset));
            assert!(offsets.insert(operation.offset));
        }
    }
    let workload = mixed(&[lock(false)], 3);
    for operation in take(&mut OpStream::new(&Mix::new(&workload), 1, 0), 1000) {
        assert_eq!(operation.length, 4096);
        assert!(operation.offset + 4096 <= workload.files.size);
    }
}

#[test]
fn sequential_ranges_follow_each_other_whatever_comes_between() {
    let actions = [
        Action::Read { unbuffered: false },
        Action::Echo,
        Action::Flush,
    ];
    let mut workload = mixed(&actions, 2);
    workload.access = Access::Sequential;
    let mut stream = OpStream::new(&Mix::new(&workload), 1, 0);
    let mut expected = 0;
    for operation in take(&mut stream, 1000) {
        if operation.kind == OpKind::Read {
            assert_eq!(
                (operation.file, operation.offset),
                (expected / 4, 4096 * u64::from(expected % 4))
            );
            expected = (expected + 1) % 8;
        }
    }
}

#[test]
fn an_operation_is_as_small_as_ever() {
    assert_eq!(size_of::<Operation>(), 24);
}

proptest! {
    #[test]
    fn any_action_of_a_mix_can_be_reproduced_alone(
        seed: u64, client in 0..100_000_u32, index in 0..300_u64,
        access in prop_oneof![Just(Access::Random), Just(Access::Sequential)],
    ) {
        let workload = Workload { access, ..mixed(&every_action(), 3) };
        let mix = Mix::new(&workload);
        let mut walk = OpStream::new(&mix, seed, client);
        let operations = take(&mut walk, 301);
        let operation = operations[index as usize];
        prop_assert_eq!(drawn_operation(&mix, seed, client, index), operation);
        prop_assert_eq!(OpStream::at(&mix, seed, client, index).next(), operation);
        prop_assert!(operation.file < 3);
    }
}
