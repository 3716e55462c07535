//! Receive buffers that all sockets of a ring share: a ring of provided buffers.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

use crate::GROUP;

/// The entries begin on a page.
const PAGE: usize = 4096;

/// Buffers that the kernel may fill, and the list in which it finds them.
pub(crate) struct Buffers {
    entries: NonNull<BufRingEntry>,
    /// The buffer that has each number, while the kernel may fill it.
    provided: Box<[Option<NonNull<[u8]>>]>,
    /// Numbers without a buffer.
    free: Vec<u16>,
    tail: u16,
}

impl Buffers {
    /// Makes `count` buffers, a power of two, of `len` bytes, and provides them.
    pub(crate) fn new(submitter: &Submitter<'_>, count: u16, len: usize) -> io::Result<Self> {
        if !count.is_power_of_two() || len == 0 || i32::try_from(len).is_err() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the length is not zero, because the count is not.
        let memory = unsafe { alloc_zeroed(layout(count)) };
        let Some(entries) = NonNull::new(memory.cast()) else {
            handle_alloc_error(layout(count));
        };
        let mut buffers = Self {
            entries,
            provided: vec![None; count.into()].into_boxed_slice(),
            free: (0..count).collect(),
            tail: 0,
        };
        let address = entries.as_ptr() as u64;
        // SAFETY: the entries are freed only by `Drop`, which the ring calls only after the
        // kernel has let go of them.
        unsafe { submitter.register_buf_ring_with_flags(address, count, GROUP, 0)? };
        for _ in 0..count {
            buffers.provide(vec![0; len].into_boxed_slice());
        }
        Ok(buffers)
    }

    /// Returns whether the kernel has a buffer left.
    pub(crate) fn is_any_provided(&self) -> bool {
        self.free.len() < self.provided.len()
    }

    /// Takes the buffer that the kernel has filled.
    pub(crate) fn take(&mut self, number: u16) -> Option<Box<[u8]>> {
        let buffer = self.provided.get_mut(usize::from(number))?.take()?;
        self.free.push(number);
        // SAFETY: it was made from a box, is no longer in the list, and the kernel has
        // reported that it is done with it.
        Some(unsafe { Box::from_raw(buffer.as_ptr()) })
    }

    /// Provides a buffer to the kernel. Where all numbers are in use, or the buffer has no
    /// bytes, it is freed.
    pub(crate) fn provide(&mut self, buffer: Box<[u8]>) {
        let Ok(len @ 1..) = u32::try_from(buffer.len()) else {
            return;
        };
        let Some(number) = self.free.pop() else {
            return;
        };
        let buffer = NonNull::from(Box::leak(buffer));
        self.provided[usize::from(number)] = Some(buffer);
        let place = usize::from(self.tail) & (self.provided.len() - 1);
        // SAFETY: the place is one of the entries, and the kernel does not read it before the
        // tail has passed it. There is only one thread, so nobody else writes to it.
        unsafe {
            let entry = self.entries.add(place).as_mut();
            entry.set_addr(buffer.cast::<u8>().as_ptr() as u64);
            entry.set_len(len);
            entry.set_bid(number);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail is a part of the first entry that the kernel reads atomically.
        unsafe {
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}

fn layout(count: u16) -> Layout {
    let entries = Layout::array::<BufRingEntry>(count.into());
    let Ok(layout) = entries.and_then(|entries| entries.align_to(PAGE)) else {
        unreachable!("65,536 entries of 16 bytes are no more than a megabyte");
    };
    layout
}

impl Drop for Buffers {
    fn drop(&mut self) {
        for buffer in self.provided.iter_mut().filter_map(Option::take) {
            // SAFETY: it was made from a box. The ring drops this only after the kernel has
            // let go of all buffers.
            drop(unsafe { Box::from_raw(buffer.as_ptr()) });
        }
        // SAFETY: allocated by `new` with the same layout, and the ring has ended.
        unsafe {
            dealloc(
                self.entries.as_ptr().cast(),
                layout(self.provided.len() as u16),
            );
        }
    }
}
