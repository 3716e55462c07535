//! Lists whose entries hold the offset of the next entry: directory listings.

use proptest::prelude::*;
use smbench_protocol::command::ioctl::IoctlResponse;
use smbench_protocol::command::query_directory::{DirectoryClass, QueryDirectoryResponse};

use super::Body;

/// Makes a response that consists of its output.
fn output(bytes: &[u8]) -> Vec<u8> {
    Body::new(9)
        .bytes(&[72, 0])
        .u32(bytes.len() as u32)
        .bytes(bytes)
        .0
}

/// Makes one entry: the offset of the next entry, then `fixed`, then the name.
fn entry(next: u32, fixed: &[u8], name: &[u8]) -> Vec<u8> {
    [&next.to_le_bytes(), fixed, name].concat()
}

/// Makes an entry of FileNamesInformation.
fn named(next: u32, name: &[u8]) -> Vec<u8> {
    let fixed = [[0; 4], (name.len() as u32).to_le_bytes()].concat();
    entry(next, &fixed, name)
}

/// Decodes names, and returns an error's offset instead of the error.
fn names(list: &[u8]) -> Vec<Result<Vec<u8>, usize>> {
    let message = output(list);
    let response = QueryDirectoryResponse::decode(&message).expect("a good response");
    response
        .entries(DirectoryClass::Names)
        .map(|entry| {
            entry
                .map(|entry| entry.name.to_vec())
                .map_err(|error| error.offset)
        })
        .collect()
}

proptest! {
    /// Entries with gaps of any size between them are decoded one by one.
    #[test]
    fn names_with_gaps(
        entries in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..20), 0usize..9),
            1..6,
        ),
    ) {
        let mut list = Vec::new();
        for (n, (name, gap)) in entries.iter().enumerate() {
            let next = if n + 1 == entries.len() {
0
} else {
12 + name.len() + gap
};
            list.extend(named(next as u32, name));
            list.resize(list.len() + gap, 0xEE);
        }
        let expected: Vec<_> = entries
            .into_iter()
            .map(|(name, _)| Ok(name))
            .collect();
        prop_assert_eq!(names(&list), expected);
    }

    /// An output of a fixed length holds no more entries than fit, whatever its
    /// bytes are. No error points outside it.
    #[test]
    fn arbitrary_lists_end(
        list in prop::collection::vec(
            prop_oneof![Just(0u8), Just(12u8), Just(16u8), Just(2u8), any::<u8>()],
            0..400,
        ),
    ) {
        let names = names(&list);
        prop_assert!(names.len() <= list.len() / 12 + 1);
        for offset in names.into_iter().filter_map(Result::err) {
            prop_assert!(offset <= list.len());
        }
    }
}

#[test]
fn lists_that_lie() {
    let good = || Ok(b"ab".to_vec());
    // The next entry is at the right place, overlaps this entry, is at the end, which
    // ends the list, is beyond the end, and has the largest offset.
    for (next, expected) in [
        (14, vec![good(), good()]),
        (13, vec![Err(0)]),
        (1, vec![Err(0)]),
        (28, vec![good()]),
        (29, vec![Err(0)]),
        (u32::MAX, vec![Err(0)]),
    ] {
        let list = [named(next, b"ab"), named(0, b"ab")].concat();
        assert_eq!(names(&list), expected, "{next}");
    }
    // A name that ends beyond the output. The entries before it are still returned.
    let mut list = [named(14, b"ab"), named(0, b"ab")].concat();
    list[14 + 8] = 3;
    assert_eq!(names(&list), [good(), Err(14 + 12)]);
    list[14 + 8..14 + 12].fill(0xFF);
    assert_eq!(names(&list), [good(), Err(14 + 12)]);
    assert_eq!(names(&[]), []);
}

#[test]
fn a_file_number_must_lie_inside_its_entry() {
    // FileIdFullDirectoryInformation that ends after the length of the name.
    let message = output(&entry(0, &[0; 60], &[]));
    let response = QueryDirectoryResponse::decode(&message).expect("a good response");
    let mut entries = response.entries(DirectoryClass::IdFullDirectory);
    let error = entries.next().expect("an entry").expect_err("too short");
    assert_eq!((error.what, error.offset), ("file number", 64));
    assert_eq!(entries.next(), None);
    let mut entries = response.entries(DirectoryClass::Directory);
    let entry = entries.next().expect("an entry").expect("long enough");
    assert_eq!((entry.name, entry.file_number), (&[][..], None));
}

#[test]
fn ioctl_outputs_that_lie() {
    for (offset, len, expected) in [
        (112, 4, Ok(4)),
        (111, 4, Err(96)),
        (112, 5, Err(100)),
        (113, 4, Err(100)),
        (u32::MAX, u32::MAX, Err(100)),
        (0, 0, Ok(0)),
    ] {
        let message = Body::new(49)
            .bytes(&[0; 30])
            .u32(offset)
            .u32(len)
            .u64(0)
            .u32(7)
            .0;
        let decoded = IoctlResponse::decode(&message)
            .map(|response| response.output.len())
            .map_err(|error| error.offset);
        assert_eq!(decoded, expected, "{offset} {len}");
    }
}
