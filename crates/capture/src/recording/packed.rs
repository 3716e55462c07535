//! The lines of a trace, packed: all of them are read before the first one is replayed.
//!
//! A line of a READ has about 30 bytes, and 16 for its place. Numbers have as many bytes as they
//! need, and what a line lacks has none. Each text is there once.

use std::array::from_fn;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::trace::{TraceCreate, TraceDurable, TraceLine};

/// Bytes of a piece of memory. Pieces do not move when further lines come.
const PIECE_BYTES: usize = 1 << 18;
/// Lines begin at multiples of this. So 32 bits are enough for where all begin: a line has less
/// than 300 bytes, and is packed twice at most.
const UNIT: usize = 4;

/// Where a line is, and what it is sorted by.
#[derive(Clone, Copy)]
struct LinePlace {
    number: u64,
    /// 0 without a session.
    session: u32,
    /// In units.
    at: u32,
}

/// The lines of a trace, without the numbers of their connections.
#[derive(Default)]
pub(super) struct PackedLines {
    places: Vec<LinePlace>,
    pieces: Vec<Vec<u8>>,
    texts: NumberedTexts,
    /// The first time of a session in the trace.
    first_ns: Option<u64>,
    /// What times count from.
    begin_ns: u64,
    /// Memory for a line while it is packed.
    spare: Vec<u8>,
}

impl PackedLines {
    /// Adds a line.
    pub(super) fn push(&mut self, line: &TraceLine) {
        if line.session.is_some() {
            let first_ns = self.first_ns.unwrap_or(line.at_ns);
            self.first_ns = Some(first_ns.min(line.at_ns));
        }
        let place = LinePlace {
            number: line.number,
            session: line.session.unwrap_or(0),
            at: self.pack(line),
        };
        self.places.push(place);
    }

    /// Counts times from the first line of a session: a slice may begin long after the capture.
    pub(super) fn begin_at_zero(&mut self) {
        self.begin_ns = self.first_ns.unwrap_or(0);
    }

    /// Returns the number of a line in the capture.
    pub(super) fn number(&self, line: u32) -> u64 {
        self.places[line as usize].number
    }

    /// Reads a line into the memory of another one.
    pub(super) fn read(&self, line: u32, into: &mut TraceLine) {
        let place = self.places[line as usize];
        let begin = place.at as usize * UNIT;
        let mut rest = &self.pieces[begin / PIECE_BYTES][begin % PIECE_BYTES..];
        let bytes = &mut rest;
        into.number = place.number;
        into.at_ns = take(bytes).saturating_sub(self.begin_ns);
        self.texts.get(take(bytes)).clone_into(&mut into.command);
        let [
            took_ns,
            session,
            status,
            path,
            handle,
            length,
            moved,
            offset,
            flags,
            level,
            value,
            group,
            to,
            pattern,
            pending,
            access,
        ] = take_numbers::<16>(bytes);
        let word = |number: Option<u64>| number.map(|number| number as u32);
        into.took_ns = took_ns;
        into.session = word(session);
        self.texts.set(&mut into.status, status);
        into.path = word(path);
        into.handle = handle;
        into.length = length;
        into.moved = moved;
        into.offset = offset;
        into.flags = word(flags);
        into.level = word(level);
        into.value = value;
        into.group = group;
        into.to = word(to);
        self.texts.set(&mut into.pattern, pattern);
        into.pending = pending.is_some();
        into.create = access.map(|access| Box::new(self.take_create(access, bytes)));
    }

    /// Reads lines in a row into the memory of others.
    pub(super) fn read_all(&self, lines: Range<u32>, into: &mut Vec<TraceLine>) {
        into.resize_with(lines.len(), TraceLine::default);
        for (line, into) in lines.zip(into) {
            self.read(line, into);
        }
    }

    /// Hands out the lines in the order of sending, and puts those of each session together.
    ///
    /// `follow` may change the times of a line, returns whether the line stays, and may add lines
    /// of the same session and number.
    pub(super) fn follow(
        &mut self,
        mut follow: impl FnMut(&mut TraceLine, &mut Vec<TraceLine>) -> bool,
    ) {
        self.places
            .sort_unstable_by_key(|place| (place.number, place.at));
        let (read, mut kept) = (self.places.len(), 0);
        let (mut line, mut added) = (TraceLine::default(), Vec::new());
        for at in 0..read {
            // The cast is safe: there are fewer lines than units.
            self.read(at as u32, &mut line);
            let times = (line.at_ns, line.took_ns);
            if follow(&mut line, &mut added) {
                if (line.at_ns, line.took_ns) != times {
                    self.places[at].at = self.pack(&line);
                }
                self.places[kept] = self.places[at];
                kept += 1;
            }
            for line in added.drain(..) {
                self.push(&line);
            }
        }
        self.places.drain(kept..read);
        self.places.shrink_to_fit();
        self.places
            .sort_unstable_by_key(|place| (place.session, place.number, place.at));
    }

    /// Returns each session with its lines.
    pub(super) fn sessions(&self) -> impl Iterator<Item = (u32, Range<u32>)> {
        let is_same = |one: &LinePlace, other: &LinePlace| one.session == other.session;
        let mut from = 0;
        self.places.chunk_by(is_same).map(move |of_session| {
            let lines = from..from + of_session.len() as u32;
            from = lines.end;
            (of_session[0].session, lines)
        })
    }

    /// Packs a line, and returns where it begins.
    fn pack(&mut self, line: &TraceLine) -> u32 {
        let mut bytes = std::mem::take(&mut self.spare);
        bytes.clear();
        put(&mut bytes, line.at_ns.saturating_add(self.begin_ns));
        put(&mut bytes, self.texts.number(&line.command));
        let status = line.status.as_deref();
        let pattern = line.pattern.as_deref();
        // What most lines have comes first.
        let numbers = [
            line.took_ns,
            line.session.map(u64::from),
            status.map(|status| self.texts.number(status)),
            line.path.map(u64::from),
            line.handle,
            line.length,
            line.moved,
            line.offset,
            line.flags.map(u64::from),
            line.level.map(u64::from),
            line.value,
            line.group,
            line.to.map(u64::from),
            pattern.map(|pattern| self.texts.number(pattern)),
            line.pending.then_some(1),
            line.create.as_ref().map(|create| create.access.into()),
        ];
        put_numbers(&mut bytes, &numbers);
        if let Some(create) = &line.create {
            self.put_create(create, &mut bytes);
        }
        bytes.resize(bytes.len().next_multiple_of(UNIT), 0);
        let has_room = |piece: &Vec<u8>| piece.len() + bytes.len() <= PIECE_BYTES;
        if !self.pieces.last().is_some_and(has_room) {
            self.pieces.push(Vec::with_capacity(PIECE_BYTES));
        }
        let last = self.pieces.len() - 1;
        let piece = &mut self.pieces[last];
        let begin = (last * PIECE_BYTES + piece.len()) / UNIT;
        piece.extend_from_slice(&bytes);
        self.spare = bytes;
        begin as u32
    }

    /// Packs what a CREATE has, but for the access.
    fn put_create(&mut self, create: &TraceCreate, bytes: &mut Vec<u8>) {
        let words = [
            create.attributes,
            create.share,
            create.disposition,
            create.options,
            create.oplock.into(),
        ];
        for word in words {
            put(bytes, word.into());
        }
        let contexts = (!create.contexts.is_empty()).then(|| {
            // Texts are always valid JSON.
            let list = serde_json::to_string(&create.contexts).unwrap_or_default();
            self.texts.number(&list)
        });
        let durable = create.durable.map(|durable| {
            let TraceDurable { timeout_ms, flags } = durable;
            u64::from(timeout_ms) << 32 | u64::from(flags)
        });
        let numbers = [
            contexts,
            create.lease.map(u64::from),
            create.allocation,
            durable,
            create.granted.map(u64::from),
            create.action.map(u64::from),
            create.size,
            create.kept.then_some(1),
        ];
        put_numbers(bytes, &numbers);
    }

    fn take_create(&self, access: u64, bytes: &mut &[u8]) -> TraceCreate {
        let [attributes, share, disposition, options, oplock]: [u32; 5] =
            from_fn(|_| take(bytes) as u32);
        let [
            contexts,
            lease,
            allocation,
            durable,
            granted,
            action,
            size,
            kept,
        ] = take_numbers::<8>(bytes);
        let contexts = contexts.map(|list| serde_json::from_str(self.texts.get(list)));
        TraceCreate {
            access: access as u32,
            attributes,
            share,
            disposition,
            options,
            oplock: oplock as u8,
            contexts: contexts.and_then(Result::ok).unwrap_or_default(),
            lease: lease.map(|lease| lease as u32),
            allocation,
            durable: durable.map(|both| TraceDurable {
                timeout_ms: (both >> 32) as u32,
                flags: both as u32,
            }),
            granted: granted.map(|granted| granted as u8),
            kept: kept.is_some(),
            action: action.map(|action| action as u32),
            size,
        }
    }
}

/// Texts by their numbers, from 0.
#[derive(Default)]
struct NumberedTexts {
    numbers: HashMap<Rc<str>, u32>,
    texts: Vec<Rc<str>>,
}

impl NumberedTexts {
    /// Returns the number of a text.
    fn number(&mut self, text: &str) -> u64 {
        if let Some(&known) = self.numbers.get(text) {
            return known.into();
        }
        // The cast is safe: a line has four texts at most.
        let number = self.texts.len() as u32;
        let text = Rc::<str>::from(text);
        self.texts.push(Rc::clone(&text));
        self.numbers.insert(text, number);
        number.into()
    }

    fn get(&self, number: u64) -> &str {
        &self.texts[number as usize]
    }

    /// Sets a text that may be missing. It keeps its memory.
    fn set(&self, text: &mut Option<String>, number: Option<u64>) {
        match number {
            Some(number) => self.get(number).clone_into(text.get_or_insert_default()),
            None => *text = None,
        }
    }
}

/// Appends a number, 7 bits in a byte. The upper bit tells that there are more.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number from the begin of bytes.
fn take(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let Some((&byte, rest)) = bytes.split_first() else {
            break;
        };
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte <= 0x7f {
            break;
        }
    }
    number
}

/// Appends numbers that may be missing. Before them, a bit for each tells whether it is there.
fn put_numbers(bytes: &mut Vec<u8>, numbers: &[Option<u64>]) {
    let there = numbers.iter().rev().map(Option::is_some);
    put(bytes, there.fold(0, |there, is| there << 1 | u64::from(is)));
    for number in numbers.iter().flatten() {
        put(bytes, *number);
    }
}

/// Takes numbers that may be missing.
fn take_numbers<const N: usize>(bytes: &mut &[u8]) -> [Option<u64>; N] {
    let there = take(bytes);
    from_fn(|at| (there >> at & 1 == 1).then(|| take(bytes)))
}

#[cfg(test)]
pub(super) mod tests;
