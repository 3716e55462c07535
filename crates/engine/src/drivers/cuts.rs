//! Cuts connections under load, where an event asks for it.
//!
//! A group that can come back has a switch. An event turns the switches of its share of the
//! groups on, and wakes these groups, which then reset their connections themselves.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::task::{Context, Waker};

/// The groups of a worker whose connections can be cut.
#[derive(Debug, Default)]
pub(crate) struct Cuts(RefCell<Vec<Weak<CutSwitch>>>);

/// The switch of a group.
#[derive(Debug)]
pub(crate) struct CutSwitch {
    /// Number of the group in its population.
    number: u32,
    is_on: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Cuts {
    /// Adds a group.
    pub(crate) fn add(&self, switch: &Rc<CutSwitch>) {
        self.0.borrow_mut().push(Rc::downgrade(switch));
    }

    /// Leaves all groups alone from now on.
    pub(crate) fn end(&self) {
        self.0.borrow_mut().clear();
    }

    /// Cuts this share of the groups, in percent. Of all workers together it is that share,
    /// rounded up. `before` is the number of groups in the populations before this one.
    pub(crate) fn cut(&self, before: u32, percent: f64) {
        let mut groups = self.0.borrow_mut();
        groups.retain(|group| group.strong_count() > 0);
        for group in groups.iter().filter_map(Weak::upgrade) {
            if is_among(before + group.number, percent) {
                group.turn_on();
            }
        }
    }
}

/// Returns whether a group is among this share of all, which is spread evenly.
fn is_among(number: u32, percent: f64) -> bool {
    let until = |number: f64| (number * percent / 100.0).ceil();
    until(f64::from(number) + 1.0) > until(f64::from(number))
}

impl CutSwitch {
    pub(crate) const fn new(number: u32) -> Self {
        Self {
            number,
            is_on: Cell::new(false),
            waker: RefCell::new(None),
        }
    }

    fn turn_on(&self) {
        self.is_on.set(true);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Returns whether the connections are to be cut now, once for each event.
    pub(crate) fn take(&self) -> bool {
        self.is_on.replace(false)
    }

    /// Wakes the current task at the next event.
    pub(crate) fn listen(&self, context: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        match &*waker {
            Some(kept) if kept.will_wake(context.waker()) => {}
            _ => *waker = Some(context.waker().clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_exact_and_spread_over_the_groups() {
        for (percent, of, expected) in [
            (100.0, 7, 7),
            (50.0, 8, 4),
            (50.0, 7, 4),
            (25.0, 8, 2),
            (1.0, 10, 1),
            (12.5, 16, 2),
        ] {
            let cut = (0..of).filter(|&number| is_among(number, percent)).count();
            assert_eq!(cut, expected, "{percent}% of {of}");
        }
        let half: Vec<_> = (0..6).filter(|&number| is_among(number, 50.0)).collect();
        assert_eq!(half, [0, 2, 4]);
    }

    /// Four populations of two groups each: a quarter of all, and not of each rounded up.
    #[test]
    fn a_share_is_of_all_populations_together() {
        let mut cut = 0;
        for population in 0..4 {
            let cuts = Cuts::default();
            let switches = [0, 1].map(|number| Rc::new(CutSwitch::new(number)));
            switches.iter().for_each(|switch| cuts.add(switch));
            cuts.cut(2 * population, 25.0);
            cut += switches.iter().filter(|switch| switch.take()).count();
        }
        assert_eq!(cut, 2);
    }

    #[test]
    fn a_group_is_cut_once_for_each_event_and_not_after_its_end() {
        let cuts = Cuts::default();
        let (one, other) = (Rc::new(CutSwitch::new(0)), Rc::new(CutSwitch::new(1)));
        cuts.add(&one);
        cuts.add(&other);
        drop(other);
        cuts.cut(0, 100.0);
        assert!(one.take());
        assert!(!one.take());
        assert_eq!(cuts.0.borrow().len(), 1);
    }
}
