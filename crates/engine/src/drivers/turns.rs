//! Round-robin order.

/// Returns the index after `at`, of `of` indices in turn. A remainder would cost a
/// division for each wake-up of a client.
pub(crate) const fn after(at: usize, of: usize) -> usize {
    let next = at + 1;
    if next < of { next } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_has_a_turn_and_then_the_first_again() {
        let turns: Vec<_> = std::iter::successors(Some(0), |&at| Some(after(at, 3)))
            .take(5)
            .collect();
        assert_eq!(turns, [0, 1, 2, 0, 1]);
        assert_eq!(after(0, 1), 0);
    }
}
