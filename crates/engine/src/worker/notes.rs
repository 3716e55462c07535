//! Hands notes on answered writes and flushes over from workers to the thread that writes
//! them to a file.
//!
//! A worker has one page, which all of its clients fill. It comes here when the page is full
//! or old, to push it and to pop an empty one: that is the only lock. All pages of a worker
//! are made before the load. If the file takes no more, all pages are full. The notes of the
//! current page are then counted as lost, so that memory is bounded and the load does not wait.
//! A lost note never leads to a wrong verdict ([`smbench_model::contents::after`]).

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use smbench_model::contents::notes::{AnswerNote, NoteSource, NoteWords, PAGE_NOTES_MAX};

/// Pages of a worker, including the current one: 5 MiB.
const PAGES: usize = 32;

/// A page that was handed in.
pub(crate) struct FilledPage {
    pub(crate) source: NoteSource,
    /// Notes of all workers that were lost so far.
    pub(crate) lost: u64,
    pub(crate) notes: Vec<NoteWords>,
}

/// The pages of a run, shared by its workers and the thread that writes them.
#[derive(Default)]
pub(crate) struct NoteExchange {
    queues: Mutex<NoteQueues>,
    handed_in: Condvar,
}

#[derive(Default)]
struct NoteQueues {
    filled: VecDeque<FilledPage>,
    empty: Vec<Vec<NoteWords>>,
    /// Number of pages of the workers that there are now.
    pages: usize,
    lost: u64,
    is_over: bool,
}

impl NoteExchange {
    /// Waits for pages and moves them to `taken`. Returns `false` when there are no more.
    pub(crate) fn take(&self, taken: &mut VecDeque<FilledPage>) -> bool {
        let mut queues = self.lock();
        while queues.filled.is_empty() && !queues.is_over {
            let waited = self.handed_in.wait(queues);
            queues = waited.unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut queues.filled, taken);
        !taken.is_empty()
    }

    /// Takes back a page whose notes were written, or counts them as lost.
    pub(crate) fn give_back(&self, mut page: FilledPage, is_written: Appended) {
        let mut queues = self.lock();
        if is_written == Appended::No {
            queues.lost += page.notes.len() as u64;
        }
        if queues.empty.len() < queues.pages {
            page.notes.clear();
            queues.empty.push(page.notes);
        }
    }

    /// Ends the thread that writes, when it has taken all pages.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.handed_in.notify_all();
    }

    /// Returns the number of notes that were lost so far.
    pub(crate) fn lost(&self) -> u64 {
        self.lock().lost
    }

    fn lock(&self) -> MutexGuard<'_, NoteQueues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether notes are in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Appended {
    Yes,
    No,
}

/// Where the workers of a population hand in their notes.
#[derive(Clone)]
pub(crate) struct NoteDesk {
    pub(crate) exchange: Arc<NoteExchange>,
    /// Index of the population.
    pub(crate) population: u32,
}

/// The page of a worker, for all of its clients.
pub(crate) type SharedPad = Rc<RefCell<NotePad>>;

/// A worker's access to the exchange, with the current page. Its notes are handed in at the
/// latest when this is dropped.
pub(crate) struct NotePad {
    exchange: Arc<NoteExchange>,
    source: NoteSource,
    notes: Vec<NoteWords>,
}

impl NotePad {
    /// Makes the pages of a worker. `run` is the number in the stamps of its load point.
    pub(crate) fn new(desk: &NoteDesk, run: u32, worker: usize) -> Self {
        let page = || Vec::with_capacity(PAGE_NOTES_MAX);
        let mut queues = desk.exchange.lock();
        queues.pages += PAGES;
        let pages = queues.pages;
        queues.empty.resize_with(pages - 1, page);
        queues.filled.reserve(pages);
        drop(queues);
        Self {
            exchange: Arc::clone(&desk.exchange),
            source: NoteSource {
                population: desk.population,
                run,
                worker: worker as u32,
            },
            notes: page(),
        }
    }

    /// Adds a note.
    #[inline]
    pub(crate) fn add(&mut self, note: &AnswerNote) {
        self.notes.push(note.words());
        if self.notes.len() == PAGE_NOTES_MAX {
            self.hand_in();
        }
    }

    /// Hands in the page, unless it is empty.
    #[cold]
    #[inline(never)]
    pub(crate) fn hand_in(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        let mut queues = self.exchange.lock();
        let Some(empty) = queues.empty.pop() else {
            queues.lost += self.notes.len() as u64;
            self.notes.clear();
            return;
        };
        let page = FilledPage {
            source: self.source,
            lost: queues.lost,
            notes: std::mem::replace(&mut self.notes, empty),
        };
        queues.filled.push_back(page);
        drop(queues);
        self.exchange.handed_in.notify_one();
    }
}

impl Drop for NotePad {
    fn drop(&mut self) {
        self.hand_in();
        let mut queues = self.exchange.lock();
        queues.pages -= PAGES;
        let pages = queues.pages;
        queues.empty.truncate(pages);
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::Nanos;
    use smbench_model::contents::notes::NoteOutcome;

    use super::*;

    fn desk() -> NoteDesk {
        NoteDesk {
            exchange: Arc::default(),
            population: 4,
        }
    }

    fn note(number: usize) -> AnswerNote {
        AnswerNote {
            client: 0,
            file: 0,
            generation: number as u32,
            outcome: NoteOutcome::Stored,
            offset: 0,
            length: 512,
            sent: Nanos(0),
            done: Nanos(1),
        }
    }

    fn take(desk: &NoteDesk) -> Vec<FilledPage> {
        desk.exchange.end();
        let mut taken = VecDeque::new();
        desk.exchange.take(&mut taken);
        taken.into()
    }

    #[test]
    fn a_page_is_handed_in_when_it_is_full_and_when_the_load_ends() {
        let desk = desk();
        let mut pad = NotePad::new(&desk, 9, 1);
        for number in 0..=PAGE_NOTES_MAX {
            pad.add(&note(number));
        }
        pad.hand_in();
        pad.hand_in();
        pad.add(&note(0));
        drop(pad);
        let pages = take(&desk);
        let lengths: Vec<_> = pages.iter().map(|page| page.notes.len()).collect();
        assert_eq!(lengths, [PAGE_NOTES_MAX, 1, 1]);
        let source = NoteSource {
            population: 4,
            run: 9,
            worker: 1,
        };
        assert!(pages.iter().all(|page| page.source == source));
    }

    /// Nobody takes the pages, as if the disk had stopped.
    #[test]
    fn notes_without_room_are_lost_and_counted() {
        let desk = desk();
        let mut pad = NotePad::new(&desk, 1, 0);
        for number in 0..(PAGES + 3) * PAGE_NOTES_MAX {
            pad.add(&note(number));
        }
        let lost = 4 * PAGE_NOTES_MAX as u64;
        assert_eq!(desk.exchange.lost(), lost);
        let mut pages = take(&desk);
        assert_eq!(pages.len(), PAGES - 1);
        let page = pages.remove(0);
        desk.exchange.give_back(page, Appended::Yes);
        (0..PAGE_NOTES_MAX).for_each(|number| pad.add(&note(number)));
        assert_eq!(desk.exchange.lost(), lost);
        assert_eq!(take(&desk)[0].lost, lost);
    }

    #[test]
    fn the_pages_of_a_load_point_are_freed_with_it() {
        let desk = desk();
        for _ in 0..3 {
            let mut pad = NotePad::new(&desk, 1, 0);
            pad.add(&note(0));
            drop(pad);
            for page in take(&desk) {
                desk.exchange.give_back(page, Appended::Yes);
            }
        }
        let queues = desk.exchange.lock();
        assert_eq!((queues.pages, queues.empty.len()), (0, 0));
    }
}
