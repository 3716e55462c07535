//! Buffers for large frames that arrive in parts. The connections of a thread share them:
//! thousands of connections would otherwise each keep a buffer for their largest answer.

use std::cell::RefCell;
use std::hint;
use std::mem;

/// A connection keeps its buffer up to this capacity in bytes.
const OWN_CAPACITY: usize = 1024;
/// Buffers of each size that a thread keeps while no connection uses them.
const MAX_KEPT: usize = 8;
/// The largest capacity in bytes of a buffer that a thread keeps. READs of 1 MiB are usual, and a
/// buffer that grows by doubling has up to twice the length of their frames.
const MAX_CAPACITY: usize = 2 * 1024 * 1024;
/// The most bytes for which a buffer has room before they arrive.
const MAX_AHEAD: usize = 256 * 1024;

thread_local! {
    static SPARE: RefCell<Spare> = const { RefCell::new(Spare { large: Vec::new(), small: Vec::new() }) };
}

/// The buffers that a thread keeps, all empty.
struct Spare {
    large: Vec<Vec<u8>>,
    /// Those of connections that have a large one for now.
    small: Vec<Vec<u8>>,
}

/// Moves the bytes of `buffer` to one with room for `len` bytes. A huge buffer grows only
/// with the bytes that arrive, because a server may announce what it does not send.
pub(super) fn enlarge(buffer: &mut Vec<u8>, len: usize) {
    if len > OWN_CAPACITY && buffer.capacity() <= OWN_CAPACITY {
        // Nothing is kept while the thread ends.
        let _ = SPARE.try_with(|spare| {
            let spare = &mut spare.borrow_mut();
            let mut larger = spare.large.pop().unwrap_or_default();
            larger.extend_from_slice(buffer);
            keep(&mut spare.small, mem::replace(buffer, larger));
        });
    }
    let room = len.min(MAX_AHEAD);
    // Exact, because a buffer of twice the room would no longer be small.
    buffer.reserve_exact(room.saturating_sub(buffer.len()));
}

/// Empties `buffer`. The thread keeps a large one for its other connections.
pub(super) fn give_back(buffer: &mut Vec<u8>) {
    if buffer.capacity() <= OWN_CAPACITY {
        buffer.clear();
        return;
    }
    hint::cold_path();
    let large = mem::take(buffer);
    let _ = SPARE.try_with(|spare| {
        let spare = &mut spare.borrow_mut();
        *buffer = spare.small.pop().unwrap_or_default();
        if large.capacity() <= MAX_CAPACITY {
            keep(&mut spare.large, large);
        }
    });
}

fn keep(all: &mut Vec<Vec<u8>>, mut buffer: Vec<u8>) {
    if all.len() < MAX_KEPT {
        buffer.clear();
        all.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_large_buffers_and_keep_small_ones() {
        let mut first = b"head".to_vec();
        enlarge(&mut first, 65_536);
        assert_eq!(first, b"head");
        assert!(first.capacity() >= 65_536);
        let address = first.as_ptr();
        give_back(&mut first);
        assert!(first.is_empty() && first.capacity() <= OWN_CAPACITY);

        let mut small = b"head".to_vec();
        enlarge(&mut small, 100);
        give_back(&mut small);
        assert!(small.is_empty() && (100..=OWN_CAPACITY).contains(&small.capacity()));

        let mut second = b"next".to_vec();
        enlarge(&mut second, 40_000);
        assert_eq!((second.as_ptr(), &second[..]), (address, &b"next"[..]));
    }

    /// Otherwise each frame of a signed READ of 1 MiB would allocate several times.
    #[test]
    fn the_buffer_of_a_large_read_is_kept() {
        const LEN: usize = 1024 * 1024 + 84;
        const PART: usize = 60_000;
        let mut first = Vec::new();
        while first.len() < LEN {
            if LEN > first.capacity() {
                enlarge(&mut first, LEN);
            }
            first.resize(LEN.min(first.len() + PART), 0);
        }
        let address = first.as_ptr();
        give_back(&mut first);
        let mut second = b"next".to_vec();
        enlarge(&mut second, LEN);
        assert_eq!((second.as_ptr(), &second[..]), (address, &b"next"[..]));
        assert!(second.capacity() >= LEN);
    }

    /// A thread would otherwise keep buffers that are hardly larger than those of connections.
    #[test]
    fn a_small_buffer_that_grows_stays_small() {
        let mut small = Vec::new();
        for len in [600, 700, OWN_CAPACITY] {
            enlarge(&mut small, len);
            assert!((len..=OWN_CAPACITY).contains(&small.capacity()), "{len}");
        }
    }

    #[test]
    fn a_thread_keeps_few_buffers_and_no_huge_one() {
        let mut many: Vec<Vec<u8>> = vec![Vec::new(); 3 * MAX_KEPT];
        for buffer in &mut many {
            enlarge(buffer, 2_000);
        }
        let mut huge = Vec::new();
        enlarge(&mut huge, 2 * MAX_CAPACITY);
        assert!(huge.capacity() < 2 * MAX_CAPACITY);
        huge.reserve(2 * MAX_CAPACITY);
        give_back(&mut huge);
        for buffer in &mut many {
            give_back(buffer);
        }
        let kept = SPARE.with(|spare| {
            let large = &spare.borrow().large;
            large.iter().map(Vec::capacity).collect::<Vec<_>>()
        });
        assert_eq!(kept.len(), MAX_KEPT);
        assert!(kept.iter().all(|&capacity| capacity <= MAX_CAPACITY));
    }
}
