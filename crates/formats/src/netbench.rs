//! Generates the operations of office clients of a file server: `netbench-like`.
//! They follow the statistics of two NetBench captures that were published with
//! dbench.
//!
//! The result is a [`Trace`], as if it had been read from a loadfile. It consists
//! of episodes. In an episode a client looks around in a directory, and opens,
//! reads and writes some documents in sequence. It saves some data in temporary
//! files and renames one of them. It leaves the directory as it was, so that the
//! episodes may run in any order. All clients share the episodes. The order is each
//! client's own, by seed and number.
//!
//! All episodes together contain exactly as many operations of each kind as the
//! capture. The numbers of bytes are equal to within one request.
//!
//! The sizes and the information classes are those of the capture in Debian's
//! dbench. Their order is made up here.

mod sizes;
mod statistics;

use aws_lc_rs::digest::{SHA256, digest};
use smbench_model::random::finalise;
use smbench_model::trace::{Builder, Handle, InfoLevel, Step, Trace};
use smbench_model::workload::NetbenchCapture;
use smbench_protocol::NtStatus;
use smbench_protocol::command::create::{Disposition, options};
use smbench_protocol::command::query_directory::DirectoryClass;
use smbench_protocol::command::query_info::{file_class, file_system_class};

use sizes::{Random, Sizes};
use statistics::{Counts, statistics};

/// The directories of the documents.
const DIRECTORIES: [&str; 6] = ["word", "sheets", "slides", "drawings", "tables", "mail"];
/// The number of documents in each directory.
const DOCUMENTS: u64 = 4;
/// Bytes of each document. All documents together have about 8 MiB, and a client
/// works on a part of them at a time. Every request fits into a document.
const DOCUMENT_BYTES: [u64; DOCUMENTS as usize] = [128 << 10, 256 << 10, 384 << 10, 640 << 10];

/// Request sizes and their weights. Large requests make up the remaining bytes.
const READ_SIZES: [(u32, u64); 8] = [
    (4096, 50),
    (2048, 12),
    (1024, 10),
    (512, 10),
    (543, 6),
    (184, 6),
    (24, 4),
    (8192, 2),
];
const LARGE_READ: u32 = 61_440;
const WRITE_SIZES: [(u32, u64); 7] = [
    (4096, 50),
    (1, 15),
    (2048, 10),
    (8192, 10),
    (510, 8),
    (15_360, 4),
    (19_584, 3),
];
const LARGE_WRITE: u32 = 65_536;

/// The information class FileAttributeTag (MS-FSCC 2.4).
const ATTRIBUTE_TAG: u8 = 35;
/// SMB_FIND_FILE_BOTH_DIRECTORY_INFO (MS-CIFS 2.2.8.1.7).
const FIND_BOTH_DIRECTORY: u16 = 0x104;
/// The largest number of names that a listing asks for.
const NAMES: u32 = 1366;

/// Generates the trace that follows a capture, from a seed.
#[must_use]
pub fn generate(capture: NetbenchCapture, seed: u64) -> Trace {
    let statistics = statistics(capture);
    let counts = statistics.counts;
    let mut office = OfficeClient {
        builder: Builder::default(),
        random: Random {
            key: finalise(seed) ^ capture as u64,
            drawn: 0,
        },
        reads: Sizes::new(&READ_SIZES, LARGE_READ, statistics.bytes_read, counts.reads),
        writes: Sizes::new(
            &WRITE_SIZES,
            LARGE_WRITE,
            statistics.bytes_written,
            counts.writes,
        ),
        handle: 0,
        steps: 0,
    };
    for directory in DIRECTORIES {
        for document in 0..DOCUMENTS {
            let size = DOCUMENT_BYTES[document as usize];
            office
                .builder
                .expect_file(&path(directory, &name_of(document)), size);
        }
    }
    // Each episode renames one saved document.
    let episodes = counts.renames;
    for at in 0..episodes {
        office.builder.begin_episode();
        office.episode(counts.part(at, episodes));
    }
    let text = format!("netbench-like 1 {capture} {seed}");
    let mut of_text = [0; 32];
    of_text.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    let source = format!("netbench-like ({capture})");
    office.builder.finish(source, office.steps, of_text)
}

fn path(directory: &str, name: &str) -> String {
    format!(r"clients\client1\{directory}\{name}")
}

fn name_of(document: u64) -> String {
    format!("document{document}.doc")
}

/// How many times one session on a file asks for information, by request.
#[derive(Clone, Copy)]
struct Questions {
    query_paths: u64,
    query_files: u64,
    query_fs: u64,
}

/// Records the operations of a client.
struct OfficeClient {
    builder: Builder,
    random: Random,
    reads: Sizes,
    writes: Sizes,
    handle: Handle,
    steps: u64,
}

impl OfficeClient {
    fn push(&mut self, step: &Step<'_>, status: NtStatus) {
        let pushed = self.builder.push(step, status, None);
        debug_assert_eq!(pushed, Ok(()));
        self.steps += 1;
    }

    fn done(&mut self, step: &Step<'_>) {
        self.push(step, NtStatus::SUCCESS);
    }

    /// Adds the work of one episode in one directory.
    fn episode(&mut self, counts: Counts) {
        let directory = DIRECTORIES[self.random.below(DIRECTORIES.len() as u64) as usize];
        let mut left = counts;
        let temporary = left.unlinks.min(left.closes);
        let mut documents = left.closes - temporary;
        let mut temporaries = temporary;
        let mut missed = left.creates - left.closes;
        // Most writes go to new files.
        let mut edits = left.writes / 4;
        let mut saves = left.writes - edits;
        let mut saved = Vec::new();
        while documents + temporaries > 0 {
            let sessions = documents + temporaries;
            let finds = self.random.part(&mut left.finds, sessions);
            self.look_around(directory, finds);
            let query_paths = self.random.part(&mut left.query_paths, sessions);
            let misses = self.random.part(&mut missed, sessions);
            let asked = Questions {
                query_paths,
                query_files: self.random.part(&mut left.query_files, sessions),
                query_fs: self.random.part(&mut left.query_fs, sessions),
            };
            self.miss(directory, misses);
            if self.random.below(sessions) < documents {
                let reads = self.random.part(&mut left.reads, documents);
                let writes = self.random.part(&mut edits, documents);
                documents -= 1;
                self.work_on_document(directory, asked, reads, writes);
            } else {
                let writes = self.random.part(&mut saves, temporaries);
                // The remaining flushes go where most is written.
                let flushes = self.random.part(&mut left.flushes, temporaries);
                temporaries -= 1;
                let path = path(directory, &format!("~save{}.tmp", saved.len()));
                self.save(directory, &path, asked, writes, flushes);
                saved.push(path);
            }
        }
        self.tidy_up(directory, saved, left.renames);
    }

    fn look_around(&mut self, directory: &str, finds: u64) {
        for _ in 0..finds {
            // About half of the searches find a name.
            let (name, status) = match self.random.below(2) {
                0 => ("*", NtStatus::SUCCESS),
                _ => ("<.JNK", NtStatus::NO_SUCH_FILE),
            };
            let step = Step::Find {
                pattern: &path(directory, name),
                level: InfoLevel {
                    level: FIND_BOTH_DIRECTORY,
                    class: DirectoryClass::BothDirectory as u8,
                },
                most: NAMES,
            };
            self.push(&step, status);
        }
    }

    /// Adds opens of missing names.
    fn miss(&mut self, directory: &str, misses: u64) {
        for _ in 0..misses {
            let name = format!("document{}.lnk", self.random.below(DOCUMENTS));
            let step = Step::Create {
                path: &path(directory, &name),
                options: options::FILE_NON_DIRECTORY_FILE,
                disposition: Disposition::Open as u8,
                handle: -1,
            };
            self.push(&step, NtStatus::OBJECT_NAME_NOT_FOUND);
        }
    }

    /// Adds queries of a name that exists, and of missing names.
    fn ask_about(&mut self, directory: &str, there: &str, queries: u64) {
        for at in 0..queries {
            let class = match at % 2 {
                0 => file_class::FILE_BASIC_INFORMATION,
                _ => ATTRIBUTE_TAG,
            };
            let missing = path(directory, &format!("missing{}.tmp", self.random.below(10)));
            let (path, status) = match self.random.below(3) {
                0 => (missing.as_str(), NtStatus::OBJECT_NAME_NOT_FOUND),
                _ => (there, NtStatus::SUCCESS),
            };
            self.push(
                &Step::QueryPath {
                    path,
                    level: InfoLevel::of_class(class),
                },
                status,
            );
        }
    }

    fn open(&mut self, path: &str, disposition: Disposition) -> Handle {
        self.handle += 1;
        let handle = self.handle;
        self.done(&Step::Create {
            path,
            options: options::FILE_NON_DIRECTORY_FILE,
            disposition: disposition as u8,
            handle,
        });
        handle
    }

    /// Adds queries of an open file and of the file system.
    fn ask(&mut self, handle: Handle, asked: u64, space: u64) {
        for at in 0..asked {
            let class = match at % 3 {
                2 => file_class::FILE_BASIC_INFORMATION,
                _ => file_class::FILE_STANDARD_INFORMATION,
            };
            self.done(&Step::QueryFile {
                handle,
                level: InfoLevel::of_class(class),
            });
        }
        for _ in 0..space {
            let class = file_system_class::FILE_FS_SIZE_INFORMATION;
            self.done(&Step::QueryFs {
                level: InfoLevel::of_class(class),
            });
        }
    }

    /// Adds work on a document: opens it, reads it and changes it in place.
    fn work_on_document(&mut self, directory: &str, asked: Questions, reads: u64, writes: u64) {
        let document = self.random.below(DOCUMENTS);
        let size = DOCUMENT_BYTES[document as usize];
        let path = path(directory, &name_of(document));
        self.ask_about(directory, &path, asked.query_paths);
        let handle = self.open(&path, Disposition::Open);
        self.ask(handle, asked.query_files, asked.query_fs);
        let mut offset = 0;
        for _ in 0..reads {
            let length = self.reads.next(&mut self.random);
            offset = fitting(offset, length, size);
            self.done(&Step::Read {
                handle,
                offset,
                length,
                returned: length,
            });
            offset += u64::from(length);
        }
        // Data that was read is written back, from a random offset.
        let mut offset = self.random.below(size / 4096) * 4096;
        for _ in 0..writes {
            let length = self.writes.next(&mut self.random);
            offset = fitting(offset, length, size);
            self.write(handle, offset, length);
            offset += u64::from(length);
        }
        self.done(&Step::Close(handle));
    }

    /// Adds work on a temporary file: makes it and writes it.
    fn save(&mut self, directory: &str, path: &str, asked: Questions, writes: u64, flushes: u64) {
        let there = self::path(directory, &name_of(0));
        self.ask_about(directory, &there, asked.query_paths);
        let handle = self.open(path, Disposition::Create);
        self.ask(handle, 0, asked.query_fs);
        let mut offset = 0;
        for _ in 0..writes {
            let length = self.writes.next(&mut self.random);
            self.write(handle, offset, length);
            offset += u64::from(length);
        }
        self.ask(handle, asked.query_files, 0);
        for _ in 0..flushes {
            self.done(&Step::Flush(handle));
        }
        self.done(&Step::Close(handle));
    }

    fn write(&mut self, handle: Handle, offset: u64, length: u32) {
        self.done(&Step::Write {
            handle,
            offset,
            length,
            written: length,
        });
    }

    /// Renames some of the saved files and deletes all of them.
    fn tidy_up(&mut self, directory: &str, mut saved: Vec<String>, renames: u64) {
        for (at, file) in (0..renames).zip(&mut saved) {
            let to = path(directory, &format!("saved{at}.bak"));
            self.done(&Step::Rename {
                from: file,
                to: &to,
            });
            *file = to;
        }
        for file in saved {
            self.done(&Step::Unlink(&file));
        }
    }
}

/// Returns where a request starts that follows another one. It is the beginning of
/// the file if the request would not fit before the end.
const fn fitting(offset: u64, length: u32, size: u64) -> u64 {
    if offset + length as u64 <= size {
        offset
    } else {
        0
    }
}

#[cfg(test)]
mod tests;
