//! Tests of the share through the traits that `smb-server` calls.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::thread;

use smb_server::{
    FileTimes, Handle, OpenAction, OpenIntent, OpenOptions, ShareBackend, SmbError, SmbPath,
    SmbResult,
};
use tokio::runtime::{Builder, Runtime};

use super::{Fault, MemoryCounts, MemoryOptions, MemoryShare, NOMINAL_CAPACITY_BYTES};
use crate::{ServicePace, ShareAccess};

/// A share and a runtime to call it on.
struct Lab {
    share: MemoryShare,
    runtime: Runtime,
}

const OPEN: OpenOptions = OpenOptions {
    read: true,
    write: false,
    write_attributes: false,
    intent: OpenIntent::Open,
    directory: false,
    non_directory: false,
    delete_on_close: false,
};
const WRITE: OpenOptions = OpenOptions {
    write: true,
    ..OPEN
};
const CREATE: OpenOptions = OpenOptions {
    intent: OpenIntent::Create,
    ..WRITE
};
const MAKE_DIRECTORY: OpenOptions = OpenOptions {
    intent: OpenIntent::Create,
    directory: true,
    ..OPEN
};

fn with(intent: OpenIntent) -> OpenOptions {
    OpenOptions { intent, ..WRITE }
}

fn path(text: &str) -> SmbPath {
    text.parse().unwrap()
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self {
            name: "bench".to_owned(),
            capacity_bytes: None,
            access: ShareAccess::ReadWrite,
            fault: Fault::None,
            pace: ServicePace::Unlimited,
        }
    }
}

impl Lab {
    fn new(options: MemoryOptions) -> Self {
        Self {
            share: MemoryShare::new(options),
            runtime: Builder::new_current_thread().build().unwrap(),
        }
    }

    fn on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    fn open(&self, at: &str, opts: OpenOptions) -> SmbResult<(Box<dyn Handle>, OpenAction)> {
        self.on(self.share.open(&path(at), opts))
    }

    fn file(&self, at: &str) -> Box<dyn Handle> {
        self.open(at, with(OpenIntent::OpenOrCreate)).unwrap().0
    }

    fn mkdir(&self, at: &str) {
        let (_, action) = self.open(at, MAKE_DIRECTORY).unwrap();
        assert_eq!(action, OpenAction::Created);
    }

    fn unlink(&self, at: &str) -> SmbResult<()> {
        self.on(self.share.unlink(&path(at)))
    }

    fn rename(&self, from: &str, to: &str, replace: bool) -> SmbResult<()> {
        self.on(self.share.rename(&path(from), &path(to), replace))
    }

    fn names(&self, at: &str, pattern: Option<&str>) -> Vec<String> {
        let opts = OpenOptions {
            directory: true,
            ..OPEN
        };
        let (handle, _) = self.open(at, opts).unwrap();
        let entries = self.on(handle.list_dir(pattern)).unwrap();
        entries.into_iter().map(|entry| entry.info.name).collect()
    }
}

impl Default for Lab {
    fn default() -> Self {
        Self::new(MemoryOptions::default())
    }
}

/// Asserts that a result is a certain `SmbError`, which does not implement
/// `PartialEq`.
macro_rules! assert_fails {
    ($result:expr, $error:ident) => {
        match $result {
            Err(SmbError::$error) => {}
            Err(other) => panic!("failed with {other:?}"),
            Ok(_) => panic!("succeeded"),
        }
    };
}

mod faults;

#[test]
fn what_is_written_is_read_back() {
    let lab = Lab::default();
    let file = lab.file("f");
    assert_eq!(lab.on(file.write(3, b"data")).unwrap(), 4);
    assert_eq!(lab.on(file.write(100, b"")).unwrap(), 0);
    assert_eq!(lab.on(file.read(0, 100)).unwrap().as_ref(), b"\0\0\0data");
    assert_eq!(lab.on(file.read(4, 2)).unwrap().as_ref(), b"at");
    assert!(lab.on(file.read(7, 10)).unwrap().is_empty());
    lab.on(file.truncate(4)).unwrap();
    assert_eq!(lab.share.contents("F").unwrap(), b"\0\0\0d");
    lab.on(file.flush()).unwrap();
    let expected = MemoryCounts {
        reads: 2,
        writes: 1,
        flushes: 1,
        bytes_read: 9,
        bytes_written: 4,
        opens: 1,
        open_handles: 1,
    };
    assert_eq!(lab.share.counts(), expected);
    lab.on(file.close()).unwrap();
    assert_eq!(lab.share.counts().open_handles, 0);
}

#[test]
fn dispositions_do_what_they_say() {
    use OpenIntent::{Create, Open, OpenOrCreate, OverwriteOrCreate, Truncate};
    let lab = Lab::default();
    assert_fails!(lab.open("f", with(Open)), NotFound);
    assert_fails!(lab.open("f", with(Truncate)), NotFound);
    assert_fails!(lab.open("no/f", with(Create)), PathNotFound);
    for (intent, expected, left) in [
        (Create, OpenAction::Created, ""),
        (Open, OpenAction::Opened, "x"),
        (OpenOrCreate, OpenAction::Opened, "x"),
        (Truncate, OpenAction::Overwritten, ""),
        (OverwriteOrCreate, OpenAction::Overwritten, ""),
    ] {
        let (file, action) = lab.open("f", with(intent)).unwrap();
        assert_eq!(action, expected, "{intent:?}");
        assert_eq!(lab.share.contents("f").unwrap(), left.as_bytes());
        lab.on(file.write(0, b"x")).unwrap();
    }
    assert_fails!(lab.open("F", with(Create)), Exists);
    for intent in [OpenOrCreate, OverwriteOrCreate] {
        let name = format!("new{intent:?}");
        let (_, action) = lab.open(&name, with(intent)).unwrap();
        assert_eq!(action, OpenAction::Created);
    }
    assert_fails!(lab.open("f/below", with(Create)), PathNotFound);
}

#[test]
fn files_and_directories_are_distinguished() {
    let lab = Lab::default();
    lab.mkdir("d");
    drop(lab.file("f"));
    let non_directory = OpenOptions {
        non_directory: true,
        ..OPEN
    };
    let directory = OpenOptions {
        directory: true,
        ..OPEN
    };
    assert_fails!(lab.open("d", non_directory), IsDirectory);
    assert_fails!(lab.open("f", directory), NotADirectory);
    assert_fails!(lab.open("d", with(OpenIntent::Truncate)), IsDirectory);
    assert_fails!(lab.open("d", MAKE_DIRECTORY), Exists);
    assert_fails!(lab.open("", MAKE_DIRECTORY), Exists);
    let (opened, _) = lab.open("d", OPEN).unwrap();
    assert!(lab.on(opened.stat()).unwrap().is_directory);
    assert_fails!(lab.on(opened.read(0, 1)), IsDirectory);
    assert_fails!(lab.on(opened.write(0, b"x")), IsDirectory);
    assert_fails!(lab.on(opened.truncate(0)), IsDirectory);
    assert_fails!(lab.on(lab.file("f").list_dir(None)), NotADirectory);
}

#[test]
fn listings_apply_the_pattern_and_keep_the_case() {
    let lab = Lab::default();
    lab.mkdir("Dir");
    for name in ["Dir/B.txt", "Dir/a.TXT", "Dir/c"] {
        drop(lab.file(name));
    }
    lab.mkdir("Dir/sub");
    assert_eq!(lab.names("dir", Some("*")), ["a.TXT", "B.txt", "c", "sub"]);
    assert_eq!(lab.names("dir", Some("*.txt")), ["a.TXT", "B.txt"]);
    assert_eq!(lab.names("dir", Some("C")), ["c"]);
    assert_eq!(lab.names("", None), ["Dir"]);
    assert_eq!(
        lab.share.paths(),
        ["Dir/", "Dir/a.TXT", "Dir/B.txt", "Dir/c", "Dir/sub/"]
    );
    let (root, _) = lab.open("", OPEN).unwrap();
    assert_eq!(lab.on(root.stat()).unwrap().name, "bench");
    assert!(!lab.on(root.dir_is_empty()).unwrap());
}

#[test]
fn only_empty_directories_are_removed() {
    let lab = Lab::default();
    lab.mkdir("d");
    let (directory, _) = lab.open("d", OPEN).unwrap();
    drop(lab.file("d/f"));
    assert_fails!(lab.unlink("d"), NotEmpty);
    assert!(!lab.on(directory.dir_is_empty()).unwrap());
    lab.unlink("d/f").unwrap();
    assert!(lab.on(directory.dir_is_empty()).unwrap());
    lab.unlink("D").unwrap();
    assert_fails!(lab.unlink("d"), NotFound);
    assert_fails!(lab.unlink("d/f"), PathNotFound);
    assert_fails!(lab.unlink(""), AccessDenied);
    assert!(lab.on(directory.list_dir(None)).unwrap().is_empty());
    assert_eq!(lab.on(directory.link_count()).unwrap(), 0);
    assert!(lab.share.paths().is_empty());
}

#[test]
fn a_deleted_file_lives_until_its_last_handle_closes() {
    let lab = Lab::default();
    let file = lab.file("f");
    lab.on(file.write(0, &[7; 5000])).unwrap();
    lab.unlink("f").unwrap();
    let again = lab.file("f");
    assert_eq!(lab.on(file.read(4999, 9)).unwrap().as_ref(), [7]);
    assert!(lab.on(again.read(0, 9)).unwrap().is_empty());
    let (old, new) = (lab.on(file.stat()).unwrap(), lab.on(again.stat()).unwrap());
    assert_ne!(old.file_index, new.file_index);
    assert_eq!(lab.share.used_bytes(), 5000);
    lab.on(file.close()).unwrap();
    assert_eq!(lab.share.used_bytes(), 0);
}

#[test]
fn renames_keep_the_file_and_its_open_handles() {
    let lab = Lab::default();
    lab.mkdir("a");
    lab.mkdir("b");
    let file = lab.file("a/old");
    let index = lab.on(file.stat()).unwrap().file_index;
    lab.rename("a/old", "B/New", false).unwrap();
    lab.on(file.write(0, b"still here")).unwrap();
    assert_eq!(lab.share.contents("b/new").unwrap(), b"still here");
    let info = lab.on(file.stat()).unwrap();
    assert_eq!((info.name.as_str(), info.file_index), ("New", index));
    lab.rename("b/New", "b/NEW", false).unwrap();
    lab.rename("b", "c", false).unwrap();
    assert_eq!(lab.share.paths(), ["a/", "c/", "c/NEW"]);
}

#[test]
fn a_rename_replaces_files_only_and_only_when_asked() {
    let lab = Lab::default();
    lab.mkdir("d");
    lab.share.put("one", b"1").unwrap();
    lab.share.put("two", b"22").unwrap();
    assert_fails!(lab.rename("one", "two", false), Exists);
    assert_fails!(lab.rename("one", "d", true), AccessDenied);
    assert_fails!(lab.rename("one", "no/x", true), PathNotFound);
    assert_fails!(lab.rename("no", "x", true), NotFound);
    assert_fails!(lab.rename("d", "d/below", false), AccessDenied);
    assert_fails!(lab.rename("", "x", false), AccessDenied);
    let (replaced, _) = lab.open("two", OPEN).unwrap();
    lab.rename("one", "TWO", true).unwrap();
    assert_eq!(lab.share.paths(), ["d/", "TWO"]);
    assert_eq!(lab.share.contents("two").unwrap(), b"1");
    assert_eq!(lab.on(replaced.link_count()).unwrap(), 0);
    drop(replaced);
    assert_eq!(lab.share.used_bytes(), 1);
}

#[test]
fn times_and_attributes_are_kept() {
    let lab = Lab::default();
    let file = lab.file("f");
    let before = lab.on(file.stat()).unwrap();
    assert_eq!(before.creation_time, before.last_write_time);
    let times = FileTimes {
        creation_time: Some(10),
        last_access_time: Some(20),
        last_write_time: None,
        change_time: Some(40),
    };
    lab.on(file.set_times(times)).unwrap();
    let info = lab.on(file.stat()).unwrap();
    assert_eq!(
        [info.creation_time, info.last_access_time, info.change_time],
        [10, 20, 40]
    );
    assert_eq!(info.last_write_time, before.last_write_time);
    lab.on(file.write(0, b"x")).unwrap();
    let written = lab.on(file.stat()).unwrap();
    assert!(written.change_time > 40, "a write stamps the file");
    assert_eq!(written.allocation_size, 4096);
    const READONLY_AND_ARCHIVE: u32 = 0x21;
    const HIDDEN: u32 = 0x2;
    lab.on(file.set_attributes(READONLY_AND_ARCHIVE)).unwrap();
    assert_fails!(lab.on(file.set_attributes(HIDDEN)), NotSupported);
    let (listed, _) = lab.open("", OPEN).unwrap();
    assert!(
        lab.on(listed.list_dir(Some("f"))).unwrap()[0]
            .info
            .read_only
    );
}

#[test]
fn a_read_only_file_is_read_but_not_written() {
    let lab = Lab::default();
    const READONLY: u32 = 0x1;
    lab.share.put("f", b"kept").unwrap();
    lab.on(lab.file("f").set_attributes(READONLY)).unwrap();
    assert_fails!(lab.open("f", WRITE), AccessDenied);
    assert_fails!(lab.open("f", with(OpenIntent::Truncate)), AccessDenied);
    assert_eq!(lab.share.contents("f").unwrap(), b"kept");
    let attributes = OpenOptions {
        write_attributes: true,
        ..OPEN
    };
    let (file, _) = lab.open("f", attributes).unwrap();
    lab.on(file.set_attributes(0)).unwrap();
    lab.open("f", WRITE).unwrap();
}

#[test]
fn put_makes_folders_and_refuses_nonsense() {
    let lab = Lab::default();
    lab.share.put("a/b\\c", b"1").unwrap();
    lab.share.put("A/B/C", b"22").unwrap();
    assert_eq!(lab.share.paths(), ["a/", "a/b/", "a/b/c"]);
    assert_eq!(lab.share.contents("a/b/c").unwrap(), b"22");
    assert_eq!(lab.share.contents("a/b"), None);
    assert_eq!(lab.share.contents("a/x"), None);
    assert_fails!(lab.share.put("a/b/c/d", b""), PathNotFound);
    assert_fails!(lab.share.put("a/b", b""), IsDirectory);
    assert_fails!(lab.share.put("a/../b", b""), NameInvalid);
    assert_eq!(lab.share.counts(), MemoryCounts::default());
}
