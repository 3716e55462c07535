//! Unpredictable bytes. A log-on needs some of them ten times.

use std::cell::RefCell;

/// Bytes that are drawn at once, because drawing few costs nearly as much.
const DRAWN_LEN: usize = 512;

thread_local! {
    static DRAWN: RefCell<RandomPool> = const {
        RefCell::new(RandomPool {
            bytes: [0; DRAWN_LEN],
            left: 0,
        })
    };
}

/// A pool. The first `left` bytes are unused.
struct RandomPool {
    bytes: [u8; DRAWN_LEN],
    left: usize,
}

/// Returns unpredictable bytes, at most 512.
#[must_use]
pub fn random<const N: usize>() -> [u8; N] {
    DRAWN.with_borrow_mut(RandomPool::take)
}

impl RandomPool {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        const { assert!(N <= DRAWN_LEN, "more bytes than are drawn at once") };
        if self.left < N {
            aws_lc_rs::rand::fill(&mut self.bytes)
                .unwrap_or_else(|_| unreachable!("the system's random source does not fail"));
            self.left = DRAWN_LEN;
        }
        self.left -= N;
        let taken = &mut self.bytes[self.left..self.left + N];
        let mut bytes = [0; N];
        bytes.copy_from_slice(taken);
        // They may become a key, so no copy stays.
        taken.fill(0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_bytes_are_given_twice() {
        let mut seen = HashSet::new();
        for _ in 0..1000 {
            assert!(seen.insert(random::<16>()));
            assert!(seen.insert(random::<16>()));
            let other: [u8; 7] = random();
            assert_ne!(other, [0; 7]);
        }
        assert_ne!(random::<DRAWN_LEN>(), random::<DRAWN_LEN>());
    }
}
