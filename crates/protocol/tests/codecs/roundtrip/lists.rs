//! Lists whose entries hold the offset of the next entry: directory listings,
//! changes, network interfaces.

use proptest::prelude::*;
use smbench_protocol::command::change_notify::{ChangeNotifyResponse, NotifiedChange};
use smbench_protocol::command::ioctl::IoctlResponse;
use smbench_protocol::command::ioctl::interfaces::NetworkInterfaces;
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

fn change(next: u32, action: u32, name: &[u8]) -> Vec<u8> {
    let fixed = [action.to_le_bytes(), (name.len() as u32).to_le_bytes()].concat();
    entry(next, &fixed, name)
}

/// Decodes changes, and returns an error's offset instead of the error.
fn changes(list: &[u8]) -> Vec<Result<(u32, Vec<u8>), usize>> {
    let message = output(list);
    let response = ChangeNotifyResponse::decode(&message).expect("a good response");
    response
        .changes()
        .map(|change| {
            change
                .map(|NotifiedChange { action, name }| (action, name.to_vec()))
                .map_err(|error| error.offset)
        })
        .collect()
}

proptest! {
    /// Entries with gaps of any size between them are decoded one by one.
    #[test]
    fn changes_with_gaps(
        entries in prop::collection::vec(
            (any::<u32>(), prop::collection::vec(any::<u8>(), 0..20), 0usize..9),
            1..6,
        ),
    ) {
        let mut list = Vec::new();
        for (n, (action, name, gap)) in entries.iter().enumerate() {
            let next = match n + 1 == entries.len() {
                true => 0,
                false => 12 + name.len() + gap,
            };
            list.extend(change(next as u32, *action, name));
            list.resize(list.len() + gap, 0xEE);
        }
        let expected: Vec<_> = entries
            .into_iter()
            .map(|(action, name, _)| Ok((action, name)))
            .collect();
        prop_assert_eq!(changes(&list), expected);
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
        let changes = changes(&list);
        prop_assert!(changes.len() <= list.len() / 12 + 1);
        for offset in changes.into_iter().filter_map(Result::err) {
            prop_assert!(offset <= list.len());
        }
        let message = output(&list);
        let response = QueryDirectoryResponse::decode(&message).expect("a good response");
        let entries: Vec<_> = response.entries(DirectoryClass::Names).collect();
        prop_assert!(entries.len() <= list.len() / 12 + 1);
        let interfaces: Vec<_> = NetworkInterfaces::new(&list).collect();
        prop_assert!(interfaces.len() <= list.len() / 24 + 1);
    }
}

#[test]
fn lists_that_lie() {
    let good = || Ok((1, b"ab".to_vec()));
    // The next entry is at the right place, overlaps this entry, is at the end,
    // is beyond the end, and has the largest offset.
    for (next, expected) in [
        (14, vec![good(), good()]),
        (13, vec![Err(0)]),
        (1, vec![Err(0)]),
        (28, vec![Err(0)]),
        (29, vec![Err(0)]),
        (u32::MAX, vec![Err(0)]),
    ] {
        let list = [change(next, 1, b"ab"), change(0, 1, b"ab")].concat();
        assert_eq!(changes(&list), expected, "{next}");
    }
    // A name that ends beyond the output. The entries before it are still returned.
    let mut list = [change(14, 1, b"ab"), change(0, 1, b"ab")].concat();
    list[14 + 8] = 3;
    assert_eq!(changes(&list), [good(), Err(14 + 12)]);
    list[14 + 8..14 + 12].fill(0xFF);
    assert_eq!(changes(&list), [good(), Err(14 + 12)]);
    assert_eq!(changes(&[]), []);
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
fn addresses_of_other_families_are_passed_over() {
    let interface = |next: u32, family: u8| {
        let mut fixed = [0; 148];
        fixed[20] = family;
        fixed[24] = 10;
        entry(next, &fixed, &[])
    };
    let output = [interface(152, 2), interface(152, 99), interface(0, 2)].concat();
    let message = Body::new(49)
        .bytes(&[0; 30])
        .u32(112)
        .u32(output.len() as u32)
        .u64(0)
        .bytes(&output)
        .0;
    let response = IoctlResponse::decode(&message).expect("a good response");
    let addresses: Vec<_> = NetworkInterfaces::new(response.output)
        .map(|interface| interface.map(|interface| interface.address.to_string()))
        .collect();
    assert_eq!(
        addresses,
        [Ok("10.0.0.0".to_owned()), Ok("10.0.0.0".to_owned())]
    );
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
