//! Tests of the ledger's invariants, with generous and with stingy servers.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

#[test]
fn one_credit_per_started_64_kib() {
    for (len, charge) in [
        (0, 1),
        (1, 1),
        (65_536, 1),
        (65_537, 2),
        (1 << 20, 16),
        (8 << 20, 128),
        (u32::MAX - 65_535, 65_535),
        (u32::MAX, 65_535),
    ] {
        assert_eq!(charge_for(len), charge, "{len} bytes");
    }
}

#[test]
fn a_request_that_cannot_be_paid_changes_nothing() {
    let mut ledger = CreditLedger::new(64);
    let before = ledger;
    assert_eq!(ledger.reserve(2), None);
    assert_eq!(ledger, before);
}

#[test]
fn a_cap_holds_however_much_the_server_grants() {
    let mut ledger = CreditLedger::new(512).capped(2);
    let first = ledger.reserve(1).unwrap();
    // The cap limits the target.
    assert_eq!(first.payment.asked, 2);
    ledger.answered(first.payment, 500);
    assert_eq!((ledger.available(), ledger.in_use()), (2, 0));
    let pair = [ledger.reserve(1).unwrap(), ledger.reserve(1).unwrap()];
    assert_eq!((ledger.available(), ledger.in_use()), (0, 2));
    assert_eq!(ledger.reserve(1), None);
    ledger.answered(pair[0].payment, 0);
    assert_eq!((ledger.available(), ledger.in_use()), (1, 1));
    assert_eq!(ledger.reserve(2), None);
}

#[test]
fn an_interim_answer_returns_the_credit_and_the_final_one_nothing_more() {
    let mut ledger = CreditLedger::new(1).capped(1);
    let waiting = ledger.reserve(1).unwrap();
    ledger.answered(waiting.payment, 1);
    let other = ledger.reserve(1).unwrap();
    ledger.answered(Payment::default(), 0);
    assert_eq!((ledger.available(), ledger.in_use()), (0, 1));
    ledger.answered(other.payment, 1);
    assert_eq!((ledger.available(), ledger.in_use()), (1, 0));
}

/// One event in the life of a ledger.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The client wants to send a request of this charge.
    Send(u16),
    /// The server answers the request at this index of those in flight, and
    /// grants this number of credits.
    Answer(usize, u16),
}

fn steps(charge_max: u16) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1..=charge_max).prop_map(Step::Send),
        (0usize..64, 0u16..600).prop_map(|(at, granted)| Step::Answer(at, granted)),
    ];
    proptest::collection::vec(step, 0..400)
}

proptest! {
    /// The server grants any number of credits and answers in any order.
    #[test]
    fn nothing_is_overspent_and_no_id_comes_twice(
        target in 1u16..600,
        cap in proptest::option::of(1u16..300),
        steps in steps(130),
    ) {
        let mut ledger = CreditLedger::new(target);
        if let Some(cap) = cap {
            ledger = ledger.capped(cap);
        }
        let (mut granted_total, mut paid_total) = (1u64, 0u64);
        let mut in_flight: Vec<Payment> = Vec::new();
        for step in steps {
            let in_use: u32 = in_flight.iter().map(|paid| u32::from(paid.charge)).sum();
            match step {
                Step::Send(charge) => {
                    let affordable = u64::from(charge) <= granted_total - paid_total
                        && cap.is_none_or(|cap| in_use + u32::from(charge) <= u32::from(cap));
                    let paid = ledger.reserve(charge);
                    prop_assert_eq!(paid.is_some(), affordable);
                    if let Some(paid) = paid {
                        // Ids follow each other: no id is skipped or used twice.
                        prop_assert_eq!(paid.message_id, paid_total);
                        prop_assert_eq!(paid.payment.charge, charge);
                        prop_assert!(paid.payment.asked >= 1);
                        paid_total += u64::from(charge);
                        in_flight.push(paid.payment);
                    }
                }
                Step::Answer(at, granted) if !in_flight.is_empty() => {
                    let at = at % in_flight.len();
                    ledger.answered(in_flight.swap_remove(at), granted);
                    granted_total += u64::from(granted);
                }
                Step::Answer(..) => {}
            }
            let in_use: u32 = in_flight.iter().map(|paid| u32::from(paid.charge)).sum();
            prop_assert_eq!(ledger.in_use(), in_use);
            prop_assert!(paid_total <= granted_total);
            prop_assert!(u64::from(ledger.available()) <= granted_total - paid_total);
            if let Some(cap) = cap {
                prop_assert!(ledger.available() + ledger.in_use() <= u32::from(cap));
            }
        }
    }

    /// If the server grants what it is asked for, the credits settle at the target.
    /// They exceed it by at most one, the minimum that each request asks for.
    #[test]
    fn a_generous_server_brings_the_ledger_to_its_target(
        target in 1u16..600,
        charges in proptest::collection::vec(1u16..20, 1..200),
    ) {
        let mut ledger = CreditLedger::new(target);
        for charge in charges {
            if let Some(paid) = ledger.reserve(charge) {
                ledger.answered(paid.payment, paid.payment.asked);
            }
            prop_assert!(ledger.available() <= u32::from(target) + 1);
        }
        let paid = ledger.reserve(1).unwrap().payment;
        ledger.answered(paid, paid.asked);
        prop_assert!(ledger.available() >= u32::from(target));
    }

    /// Every request that the cap and the target allow is sent in the end, for
    /// any window, cap and charges. The server must return the cost of each
    /// request, and one credit more while the client asks for more.
    #[test]
    fn all_requests_are_sent_in_the_end(
        cap in 1u16..200,
        window in 1usize..20,
        charges in proptest::collection::vec(1u16..130, 1..100),
    ) {
        let mut ledger = CreditLedger::new(MAX_CREDIT_TARGET).capped(cap);
        let mut waiting: VecDeque<u16> =
            charges.into_iter().map(|charge| charge.min(cap)).collect();
        let mut in_flight = VecDeque::new();
        let mut rounds = 0u32;
        while let Some(&next) = waiting.front() {
            rounds += 1;
            prop_assert!(rounds < 100_000, "stuck with {:?}", ledger);
            let charge = if in_flight.len() < window && u32::from(next) <= ledger.available() {
                waiting.pop_front();
                next
            } else if in_flight.is_empty() {
                // A request of charge 1 earns the credits that a large request
                // needs.
                1
            } else {
                let paid: Payment = in_flight.pop_front().unwrap();
                ledger.answered(paid, paid.asked.min(paid.charge + 1));
                continue;
            };
            in_flight.push_back(ledger.reserve(charge).unwrap().payment);
        }
    }
}
