//! Histories of writes and reads.

use super::*;

/// A step of a random history. Indices choose among the requests in flight.
#[derive(Clone, Debug)]
enum Step {
    Write(Span),
    Read(Span),
    /// The server lets a request take effect.
    Apply(prop::sample::Index),
    /// The server answers a read in the middle of a write. In blocks that both
    /// touch, the write is visible from some byte on, or up to it.
    Tear(prop::sample::Index, prop::sample::Index, usize, bool),
    /// The answer arrives; a write may be answered with an error.
    Answer(prop::sample::Index, bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = any::<prop::sample::Index>;
    let step = prop_oneof![
        2 => spans().prop_map(Step::Write),
        2 => spans().prop_map(Step::Read),
        3 => index().prop_map(Step::Apply),
        2 => (index(), index(), 0..=BLOCK_BYTES, any::<bool>())
            .prop_map(|(read, write, tear, is_behind)| Step::Tear(read, write, tear, is_behind)),
        4 => (index(), proptest::bool::weighted(0.1)).prop_map(|(at, fails)| Step::Answer(at, fails)),
    ];
    proptest::collection::vec(step, 0..120)
}

enum Request {
    Write {
        span: Span,
        stamp: Stamp,
        applied: bool,
    },
    Read {
        span: Span,
        epoch: Epoch,
        seen: Option<Vec<u8>>,
    },
}

/// A ledger, a model of a server, and the requests in flight between them.
struct History {
    ledger: Ledger,
    model: Model,
    flying: Vec<Request>,
}

impl History {
    fn new() -> Self {
        Self {
            ledger: ledger(),
            model: Model::prepared(0),
            flying: Vec::new(),
        }
    }

    fn apply(&mut self, at: usize) {
        match &mut self.flying[at] {
            Request::Write {
                span,
                stamp,
                applied,
            } => {
                if !*applied {
                    self.model.write(*span, *stamp);
                    *applied = true;
                }
            }
            Request::Read { span, seen, .. } => {
                if seen.is_none() {
                    *seen = Some(self.model.read(*span));
                }
            }
        }
    }

    fn tear(&mut self, read: usize, write: usize, tear: usize, is_behind: bool) {
        let Request::Write {
            span,
            stamp,
            applied: false,
        } = self.flying[write]
        else {
            return;
        };
        let Request::Read {
            span: wanted,
            seen: seen @ None,
            ..
        } = &mut self.flying[read]
        else {
            return;
        };
        let mut after = Model(self.model.0.clone());
        after.write(span, stamp);
        let (mut data, after) = (self.model.read(*wanted), after.read(*wanted));
        let blocks = data.chunks_mut(BLOCK_BYTES).zip(after.chunks(BLOCK_BYTES));
        for (block, after) in blocks {
            let part = if is_behind {
                tear..BLOCK_BYTES
            } else {
                0..tear
            };
            block[part.clone()].copy_from_slice(&after[part]);
        }
        *seen = Some(data);
    }

    /// Answers a request. A successful one has taken effect before.
    fn answer(&mut self, at: usize, fails: bool) -> Result<(), Mismatch> {
        let is_write = matches!(self.flying[at], Request::Write { .. });
        if !(fails && is_write) {
            self.apply(at);
        }
        match self.flying.swap_remove(at) {
            Request::Write { span, .. } => {
                if fails {
                    failed(&mut self.ledger, span);
                } else {
                    done(&mut self.ledger, span);
                }
                Ok(())
            }
            Request::Read { span, epoch, seen } => {
                let seen = seen.unwrap();
                let judged = self.ledger.read_done(0, span.offset(), &seen, epoch);
                judged.map(|_| ())
            }
        }
    }

    fn take(&mut self, step: &Step) -> Result<(), Mismatch> {
        match step {
            Step::Write(span) => {
                let stamp = issue(&mut self.ledger, *span);
                self.flying.push(Request::Write {
                    span: *span,
                    stamp,
                    applied: false,
                });
            }
            Step::Read(span) => self.flying.push(Request::Read {
                span: *span,
                epoch: self.ledger.read_issued(),
                seen: None,
            }),
            Step::Apply(_) | Step::Tear(..) | Step::Answer(..) if self.flying.is_empty() => {}
            Step::Apply(index) => self.apply(index.index(self.flying.len())),
            Step::Tear(read, write, tear, is_behind) => {
                let flying = self.flying.len();
                self.tear(read.index(flying), write.index(flying), *tear, *is_behind);
            }
            Step::Answer(index, fails) => {
                return self.answer(index.index(self.flying.len()), *fails);
            }
        }
        Ok(())
    }

    /// Runs all steps and answers the remaining requests.
    fn run(steps: &[Step]) -> Result<Self, Mismatch> {
        let mut history = Self::new();
        for step in steps {
            history.take(step)?;
        }
        while !history.flying.is_empty() {
            history.answer(0, false)?;
        }
        Ok(history)
    }

    fn read_all(&self, data: &[u8]) -> Result<ReadVerdict, Mismatch> {
        self.ledger.read_done(0, 0, data, self.ledger.read_issued())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_sound_server_is_never_accused(steps in steps()) {
        let history = History::run(&steps);
        prop_assert!(history.is_ok(), "{:?}", history.err());
    }

    #[test]
    fn a_lost_write_is_found_after_any_history(steps in steps(), lost in spans()) {
        let mut history = History::run(&steps).unwrap();
        let before = history.model.read(Span::ALL);
        prop_assert_eq!(history.read_all(&before), FINE);
        issue(&mut history.ledger, lost);
        done(&mut history.ledger, lost);
        let mismatch = history.read_all(&before).unwrap_err();
        prop_assert_eq!(mismatch.offset(), lost.offset());
    }

    #[test]
    fn a_flipped_bit_is_found_after_any_history(
        steps in steps(), bit in 0..(BLOCKS * BLOCK * 8) as usize,
    ) {
        let history = History::run(&steps).unwrap();
        let mut data = history.model.read(Span::ALL);
        data[bit / 8] ^= 1 << (bit % 8);
        let (block, within) = (bit / 8 / BLOCK_BYTES, bit / 8 % BLOCK_BYTES);
        match history.read_all(&data) {
            Err(mismatch) => prop_assert_eq!(mismatch.offset() / BLOCK, block as u64),
            // A damaged stamp looks as if a write that was not stored had begun or ended there.
            Ok(verdict) => {
                let state = history.ledger.blocks[block];
                prop_assert!(state.latest > state.floor);
                prop_assert!(!(40..488).contains(&within));
                prop_assert_eq!(verdict, ReadVerdict::Unjudged);
            }
        }
    }

    #[test]
    fn exchanged_blocks_are_found_after_any_history(
        steps in steps(), one in 0..BLOCKS, other in 0..BLOCKS,
    ) {
        prop_assume!(one != other);
        let history = History::run(&steps).unwrap();
        let mut data = history.model.read(Span::ALL);
        let source = Span { first: one, count: 1 }.range();
        data.copy_within(source, (other * BLOCK) as usize);
        let mismatch = history.read_all(&data).unwrap_err();
        prop_assert_eq!(mismatch.offset() / BLOCK, other);
    }

    #[test]
    fn another_clients_data_is_found_after_any_history(steps in steps(), block in 0..BLOCKS) {
        let history = History::run(&steps).unwrap();
        let mut data = history.model.read(Span::ALL);
        let span = Span { first: block, count: 1 };
        fill(&mut data[span.range()], span.offset(), Stamp { client: CLIENT + 1, ..PREPARED });
        let mismatch = history.read_all(&data).unwrap_err();
        prop_assert!(matches!(mismatch, Mismatch::Foreign { .. }), "{mismatch}");
    }
}
