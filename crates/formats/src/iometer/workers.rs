//! Managers and their workers: the number of clients and their work. All clients of
//! smbench are the same, so each difference from the first worker becomes a
//! [`Note`].

use smbench_model::access::SECTOR_BYTES;
use smbench_model::setting::FILE_SIZE;
use smbench_model::units::Size;

use super::lines::{IcfLines, LineProblem, begins, numbers, small, word};
use super::{FILE_BYTES, Note};

const SECTION: &str = "'MANAGER LIST";
/// The data pattern that is not random. The other patterns are random, and
/// smbench's data too.
const REPEATING_BYTES: u64 = 0;

/// Ignored keys of managers and their workers.
const PASSED_OVER: [&str; 12] = [
    "'Manager network address",
    "'End manager",
    "'Default target settings for worker",
    "'End default target settings",
    "'Local network interface",
    "'VI outstanding IOs",
    "'End assigned access specs",
    "'Target assignments",
    "'End target",
    "'Target type",
    "'Target manager ID",
    "'\t",
];

/// A value and its line.
#[derive(Clone, Debug, Default)]
pub(super) struct LineValue<T> {
    line: usize,
    pub(super) value: T,
}

/// The content of the manager list.
#[derive(Default)]
pub(super) struct Managers {
    /// Names of the managers.
    managers: Vec<LineValue<String>>,
    /// The workers that do I/O to disks.
    pub(super) workers: Vec<Worker>,
}

/// A worker that does I/O to disks. A missing value has the line at which the
/// worker begins.
pub(super) struct Worker {
    outstanding: Option<LineValue<u32>>,
    /// Sectors of each disk; 0 for the whole disk.
    pub(super) sectors: LineValue<u64>,
    pub(super) seed: LineValue<Option<u64>>,
    pub(super) assigned: LineValue<Vec<String>>,
    targets: LineValue<Vec<String>>,
}

impl Worker {
    fn at(line: usize) -> Self {
        fn nothing<T: Default>(line: usize) -> LineValue<T> {
            let value = T::default();
            LineValue { line, value }
        }
        Self {
            outstanding: None,
            sectors: nothing(line),
            seed: nothing(line),
            assigned: nothing(line),
            targets: nothing(line),
        }
    }
}

impl Managers {
    /// Reads the section to its end.
    pub(super) fn read(
        &mut self,
        lines: &mut IcfLines,
        notes: &mut Vec<Note>,
    ) -> Result<(), LineProblem> {
        loop {
            let (at, key) = lines.within(SECTION)?;
            if begins(&key, "'END manager list") {
                return Ok(());
            }
            // The comparison must be exact: `'Worker type` is a key inside a
            // worker.
            if key.eq_ignore_ascii_case("'Worker") {
                self.workers.extend(worker(at, lines, notes)?);
            } else if begins(&key, "'Manager ID") {
                let named = lines.value(&key)?;
                self.managers.extend(named.map(|(line, value)| {
                    let name = value.split_once(',').map_or("", |(_, name)| name);
                    let value = name.to_owned();
                    LineValue { line, value }
                }));
            } else {
                notes.extend(unknown(at, &key));
            }
        }
    }

    /// Returns the outstanding requests of each worker: the value of the first
    /// worker that has one.
    pub(super) fn outstanding(&self) -> Option<u32> {
        let mut given = self.workers.iter().filter_map(|of| of.outstanding.as_ref());
        given.next().map(|first| first.value)
    }

    /// Returns notes on differences between workers or managers, because all
    /// clients are the same. Each kind of difference has one note, with the first
    /// line that shows it.
    pub(super) fn differences(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut tell = |line: usize, text: String| notes.push(Note { line, text });
        if let Some(other) = self.managers.get(1) {
            let name = &other.value;
            tell(
                other.line,
                format!("{name} is a further manager: smbench makes all load from one machine"),
            );
        }
        let depths = self.workers.iter().filter_map(|of| of.outstanding.as_ref());
        if let Some(LineValue { line, value }) = other(depths) {
            tell(
                *line,
                format!(
                    "{value} outstanding I/Os, other than those of the first worker: all clients of \
                     smbench have as many"
                ),
            );
        }
        if let Some(LineValue { line, value }) = other(self.workers.iter().map(|of| &of.sectors)) {
            let size = match value {
                0 => "whole disks".to_owned(),
                sectors => format!(
                    "disks of {}",
                    Size(sectors.saturating_mul(SECTOR_BYTES.into()))
                ),
            };
            tell(
                *line,
                format!(
                    "{size}, other than those of the first worker: all clients of smbench have files \
                     as large"
                ),
            );
        }
        if let Some(LineValue { line, .. }) = other(self.workers.iter().map(|of| &of.seed)) {
            tell(
                *line,
                "a seed other than that of the first worker: smbench makes those of all clients of \
                 one"
                .to_owned(),
            );
        }
        if let Some(LineValue { line, .. }) = other(self.workers.iter().map(|of| &of.assigned)) {
            tell(
                *line,
                "access specifications other than those of the first worker: all clients of smbench \
                 do the same, what that one does"
                    .to_owned(),
            );
        }
        let targets = || self.workers.iter().map(|of| &of.targets);
        if let Some(LineValue { line, .. }) = other(targets()) {
            tell(
                *line,
                "targets other than those of the first worker: all clients of smbench work on the \
                 one share of a run"
                    .to_owned(),
            );
        }
        if let Some(LineValue { line, value }) = targets().find(|of| of.value.len() > 1) {
            let count = value.len();
            tell(
                *line,
                format!(
                    "{count} targets of one worker, each with its outstanding I/Os: a client of \
                     smbench has as many in all"
                ),
            );
        }
        notes
    }
}

/// Returns the first value that differs from the first of all.
fn other<'a, T: PartialEq>(
    mut values: impl Iterator<Item = &'a LineValue<T>>,
) -> Option<&'a LineValue<T>> {
    let first = values.next()?;
    values.find(|other| other.value != first.value)
}

/// Makes a note on an unknown key. A line that is not a key gets none.
fn unknown(line: usize, key: &str) -> Option<Note> {
    let is_known = PASSED_OVER.iter().any(|known| begins(key, known));
    (key.starts_with('\'') && !is_known).then(|| Note {
        line,
        text: format!("{} is not known", key.trim_start_matches('\'')),
    })
}

/// Reads a worker that begins at `line`, to its end. Returns `None` if it does no
/// I/O to disks.
fn worker(
    line: usize,
    lines: &mut IcfLines,
    notes: &mut Vec<Note>,
) -> Result<Option<Worker>, LineProblem> {
    let mut worker = Worker::at(line);
    let mut found = Vec::new();
    let mut is_disk = true;
    loop {
        let (at, key) = lines.within(SECTION)?;
        if begins(&key, "'End worker") {
            // The notes of a worker that is left out do not matter.
            if is_disk {
                notes.extend(found);
            }
            return Ok(is_disk.then_some(worker));
        }
        let is = |name| begins(&key, name);
        if is("'Assigned access specs") {
            worker.assigned.line = at;
            while let Some((_, text)) = lines.peek()
                && !text.starts_with('\'')
            {
                worker.assigned.value.push(text.clone());
                lines.next();
            }
        } else if is("'Worker type") {
            let Some((at, value)) = lines.value(&key)? else {
                continue;
            };
            is_disk = word(&value).eq_ignore_ascii_case("DISK");
            if !is_disk {
                let text = format!("worker type {value} is not supported: the worker is left out");
                notes.push(Note { line: at, text });
            }
        } else if is("'Number of outstanding IOs") || is("'# of outstanding IOs") {
            if let Some((at, value)) = lines.value(&key)? {
                worker.load(at, &value, &mut found)?;
            }
        } else if is("'Disk maximum size") {
            if let Some((at, value)) = lines.value(&key)? {
                // Each note appears only once for all workers.
                let mut texts = worker.disk(at, &value)?;
                texts.retain(|text| notes.iter().all(|note| note.text != *text));
                found.extend(texts.into_iter().map(|text| Note { line: at, text }));
            }
        } else if key.eq_ignore_ascii_case("'Target") {
            if let Some((_, value)) = lines.value(&key)? {
                worker.targets.value.push(value);
                worker.targets.value.sort();
            }
        } else {
            if is("'Target assignments") {
                worker.targets.line = at;
            }
            found.extend(unknown(at, &key));
        }
    }
}

impl Worker {
    /// Reads the line of outstanding I/Os.
    fn load(&mut self, line: usize, text: &str, notes: &mut Vec<Note>) -> Result<(), LineProblem> {
        let fields: Vec<_> = text.split(',').map(str::trim).collect();
        self.outstanding = Some(LineValue {
            line,
            value: small(numbers(line, fields[0], 1)?[0]),
        });
        let is_on = |field: &&str| field.eq_ignore_ascii_case("ENABLED");
        let is_enabled = |at: usize| fields.get(at).is_some_and(is_on);
        if is_enabled(1) {
            notes.push(Note {
                line,
                text: "test connection rate is not supported: sessions stay".to_owned(),
            });
        }
        let seed = fields.get(4).filter(|_| is_enabled(3));
        self.seed = LineValue {
            line,
            value: seed.and_then(|seed| seed.parse().ok()),
        };
        Ok(())
    }

    /// Reads the line of disk sizes. Returns texts on the parts that are not
    /// imported.
    fn disk(&mut self, line: usize, text: &str) -> Result<Vec<String>, LineProblem> {
        let of_disk = numbers(line, text, 2)?;
        self.sectors = LineValue {
            line,
            value: of_disk[0],
        };
        let mut notes = Vec::new();
        if of_disk[0] == 0 {
            notes.push(format!(
                "disks are tested whole: here that is a file of {} for each client; give {FILE_SIZE} \
                 to go beyond the server's memory",
                Size(FILE_BYTES)
            ));
        }
        if of_disk[1] > 0 {
            notes.push(format!(
                "starting sector {}: files are used from their begin",
                of_disk[1]
            ));
        }
        if of_disk.get(2) == Some(&REPEATING_BYTES) {
            notes.push(
                "data of repeating bytes: smbench writes random data, which takes a server that \
                 compresses longer"
                    .to_owned(),
            );
        }
        Ok(notes)
    }
}
