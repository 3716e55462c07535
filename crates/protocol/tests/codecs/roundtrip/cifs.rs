//! CIFS: the layout of requests, and responses with parts at any place.

mod damaged;
mod files;

use proptest::prelude::*;
use smbench_protocol::DecodeError;
use smbench_protocol::cifs::command::decode_empty;
use smbench_protocol::cifs::command::find::{
    FindFirst2Request, FindFirst2Response, FindNext2Request, FoundNames,
};
use smbench_protocol::cifs::command::information::{
    CifsChange, CifsTarget, QueryInformationRequest, SetInformationRequest,
};
use smbench_protocol::cifs::command::names::CifsRenameRequest;
use smbench_protocol::cifs::command::nt_transact::SetSecurityRequest;
use smbench_protocol::cifs::command::transaction::TransactionPart;
use smbench_protocol::command::WireName;
use smbench_protocol::command::query_directory::DirectoryClass;
use smbench_protocol::command::set_info::Existing;

/// Length of a header.
const HEADER_LEN: usize = 32;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Trans2,
    NtTransact,
}

impl Kind {
    fn decode(self, message: &[u8]) -> Result<TransactionPart<'_>, DecodeError> {
        match self {
            Self::Trans2 => TransactionPart::decode_trans2(message),
            Self::NtTransact => TransactionPart::decode_nt_transact(message),
        }
    }

    /// Returns the width of a field, and the length of what is between WordCount and
    /// the first field.
    const fn layout(self) -> (usize, usize) {
        match self {
            Self::Trans2 => (2, 0),
            Self::NtTransact => (4, 3),
        }
    }
}

/// Returns the little-endian number of `width` bytes at `at`.
fn number(message: &[u8], at: usize, width: usize) -> usize {
    let bytes = message[at..at + width].iter().rev();
    bytes.fold(0, |number, &byte| number << 8 | usize::from(byte))
}

/// Checks the lengths of a request at the end of `out`, and that both parts are
/// aligned. Returns parameters and data.
fn parts(kind: Kind, message: &[u8]) -> (&[u8], &[u8]) {
    let (width, before) = kind.layout();
    let words_end = HEADER_LEN + 1 + 2 * usize::from(message[HEADER_LEN]);
    let byte_count = number(message, words_end, 2);
    assert_eq!(words_end + 2 + byte_count, message.len());
    let counts_at = HEADER_LEN
        + 1
        + match kind {
            Kind::Trans2 => 18,
            Kind::NtTransact => before + 4 * width,
        };
    let field = |n: usize| number(message, counts_at + n * width, width);
    let part = |count: usize, offset: usize| {
        assert!(
            offset >= words_end + 2 && offset.is_multiple_of(4),
            "{offset}"
        );
        &message[offset..offset + count]
    };
    let (parameters, data) = (part(field(0), field(1)), part(field(2), field(3)));
    // Totals are those of the only part.
    let total = |n: usize| number(message, HEADER_LEN + 1 + before + n * width, width);
    assert_eq!((total(0), total(1)), (parameters.len(), data.len()));
    (parameters, data)
}

/// Encodes a body after a header, behind other bytes. Returns the message.
fn behind(before: &[u8], encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = before.to_vec();
    out.resize(before.len() + HEADER_LEN, 0);
    encode(&mut out);
    out.split_off(before.len())
}

/// Returns the name as CIFS sends it.
fn path(name: &WireName) -> Vec<u8> {
    [b"\\\0", name.as_bytes(), b"\0\0"].concat()
}

fn wire_name() -> impl Strategy<Value = WireName> {
    "\\PC{0,40}".prop_map(|name| WireName::new(&name).expect("short"))
}

/// A response with one part: setup words, gaps before both parts, totals.
#[derive(Clone, Debug)]
struct Sample {
    setup_words: u8,
    gaps: [usize; 2],
    parameters: Vec<u8>,
    data: Vec<u8>,
    /// Bytes of parameters and of data before and after this part.
    outside: [[usize; 2]; 2],
}

fn sample() -> impl Strategy<Value = Sample> {
    (
        0u8..3,
        [0usize..9, 0..9],
        prop::collection::vec(any::<u8>(), 0..20),
        prop::collection::vec(any::<u8>(), 0..60),
        [[0usize..50, 0..50], [0usize..50, 0..50]],
    )
        .prop_map(|(setup_words, gaps, parameters, data, outside)| Sample {
            setup_words,
            gaps,
            parameters,
            data,
            outside,
        })
}

impl Sample {
    fn message(&self, kind: Kind) -> Vec<u8> {
        let (width, before) = kind.layout();
        let fixed = match kind {
            Kind::Trans2 => 10,
            Kind::NtTransact => 18,
        };
        let words = fixed + usize::from(self.setup_words);
        let parameters_at = HEADER_LEN + 1 + 2 * words + 2 + self.gaps[0];
        let data_at = parameters_at + self.parameters.len() + self.gaps[1];
        let [(parameters, total_parameters), (data, total_data)] = [
            (&self.parameters, self.outside[0]),
            (&self.data, self.outside[1]),
        ]
        .map(|(part, [head, tail])| (part, head + part.len() + tail));
        let mut fields = vec![total_parameters, total_data];
        if let Kind::Trans2 = kind {
            fields.push(0);
        }
        fields.extend([parameters.len(), parameters_at, self.outside[0][0]]);
        fields.extend([data.len(), data_at, self.outside[1][0]]);
        let mut message = vec![0; HEADER_LEN];
        message.push(words as u8);
        message.resize(message.len() + before, 0xEE);
        for field in fields {
            message.extend_from_slice(&field.to_le_bytes()[..width]);
        }
        message.push(self.setup_words);
        message.resize(HEADER_LEN + 1 + 2 * words, 0xEE);
        message.extend_from_slice(&[0xEE; 2]);
        message.resize(parameters_at, 0xEE);
        message.extend_from_slice(parameters);
        message.resize(data_at, 0xEE);
        message.extend_from_slice(data);
        message
    }

    fn part(&self) -> TransactionPart<'_> {
        let total = |part: &[u8], [head, tail]: [usize; 2]| head + part.len() + tail;
        TransactionPart {
            total_parameters: total(&self.parameters, self.outside[0]),
            total_data: total(&self.data, self.outside[1]),
            parameters: &self.parameters,
            parameter_displacement: self.outside[0][0],
            data: &self.data,
            data_displacement: self.outside[1][0],
        }
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Trans2, Kind::NtTransact])
}

proptest! {
    #[test]
    fn listing_requests(
        name in wire_name(),
        (attributes, count, flags, level, max_data) in any::<(u16, u16, u16, u16, u16)>(),
        before in any::<Vec<u8>>(),
    ) {
        let first = FindFirst2Request {
            search_attributes: attributes,
            search_count: count,
            flags,
            level,
            pattern: &name,
            max_data,
        };
        let message = behind(&before, |out| first.encode(out));
        let fixed = [attributes, count, flags, level, 0, 0];
        let expected = [&fixed.map(u16::to_le_bytes).concat()[..], &path(&name)].concat();
        prop_assert_eq!(parts(Kind::Trans2, &message), (&expected[..], &[][..]));

        let next = FindNext2Request {
            sid: attributes,
            search_count: count,
            level,
            flags,
            resume_name: name.as_bytes(),
            max_data,
        };
        let message = behind(&before, |out| next.encode(out));
        let fixed = [attributes, count, level, 0, 0, flags].map(u16::to_le_bytes).concat();
        let expected = [&fixed[..], name.as_bytes(), b"\0\0"].concat();
        prop_assert_eq!(parts(Kind::Trans2, &message), (&expected[..], &[][..]));
    }

    #[test]
    fn information_requests(
        (name, to) in (wire_name(), wire_name()),
        (fid, level, max_data) in any::<(u16, u16, u16)>(),
        before in any::<Vec<u8>>(),
    ) {
        let by_path = [&level.to_le_bytes()[..], &[0; 4], &path(&name)].concat();
        let by_fid = [fid, level].map(u16::to_le_bytes).concat();
        let to_set = [&by_fid[..], &[0, 0]].concat();
        let rename = CifsChange::Rename { to: &to, existing: Existing::Replace };
        let info = [
            &[1, 0, 0, 0, 0, 0, 0, 0],
            &(to.as_bytes().len() as u32).to_le_bytes()[..],
            to.as_bytes(),
            &[0, 0],
        ]
        .concat();
        for (target, parameters, to_set) in [
            (CifsTarget::Path(&name), &by_path, &by_path),
            (CifsTarget::Fid(fid), &by_fid, &to_set),
        ] {
            let query = QueryInformationRequest { target, level, max_data };
            let message = behind(&before, |out| query.encode(out));
            prop_assert_eq!(parts(Kind::Trans2, &message), (&parameters[..], &[][..]));
            let set = SetInformationRequest { target, level, change: rename };
            let message = behind(&before, |out| set.encode(out));
            prop_assert_eq!(parts(Kind::Trans2, &message), (&to_set[..], &info[..]));
        }
    }

    #[test]
    fn security_request(
        (fid, wanted) in any::<(u16, u32)>(),
        (descriptor, before) in any::<(Vec<u8>, Vec<u8>)>(),
    ) {
        let request = SetSecurityRequest { fid, parts: wanted, descriptor: &descriptor };
        let message = behind(&before, |out| request.encode(out));
        let parameters = [u32::from(fid), wanted].map(u32::to_le_bytes).concat();
        prop_assert_eq!(parts(Kind::NtTransact, &message), (&parameters[..], &descriptor[..]));
    }

    /// Both names start at even offsets, at any place of the message.
    #[test]
    fn rename_request(from in wire_name(), to in wire_name(), before in any::<Vec<u8>>()) {
        let request = CifsRenameRequest { search_attributes: 0x1234, from: &from, to: &to };
        let message = behind(&before, |out| request.encode(out));
        let (from, to) = (path(&from), path(&to));
        let bytes = [&[4], &from[..], &[4, 0], &to].concat();
        let byte_count = (bytes.len() as u16).to_le_bytes();
        let expected = [&[1, 0x34, 0x12], &byte_count[..], &bytes].concat();
        prop_assert_eq!(&message[HEADER_LEN..], &expected[..]);
    }

    /// Parts of a response come back, whatever lies between them.
    #[test]
    fn response_parts(kind in kind(), sample in sample()) {
        let message = sample.message(kind);
        prop_assert_eq!(kind.decode(&message), Ok(sample.part()));
        let whole = sample.outside.as_flattened().iter().all(|&bytes| bytes == 0);
        prop_assert_eq!(sample.part().is_whole(), whole);
        // A response that is cut has all its bytes or is refused.
        for len in 0..message.len() {
            match kind.decode(&message[..len]) {
                Ok(part) => prop_assert_eq!(part, sample.part()),
                Err(error) => prop_assert!(error.offset <= len, "{}", error),
            }
        }
    }

    /// No byte that is changed makes a part exceed its total or the message.
    #[test]
    fn changed_response_parts(
        kind in kind(),
        sample in sample(),
        changes in prop::collection::vec((0usize..80, any::<u8>()), 1..4),
    ) {
        let mut message = sample.message(kind);
        for (at, byte) in changes {
            if let Some(changed) = message.get_mut(HEADER_LEN + at) {
                *changed = byte;
            }
        }
        match kind.decode(&message) {
            Ok(part) => {
                prop_assert!(part.parameter_displacement + part.parameters.len() <= part.total_parameters);
                prop_assert!(part.data_displacement + part.data.len() <= part.total_data);
            }
            Err(error) => prop_assert!(error.offset <= message.len(), "{}", error),
        }
    }

    #[test]
    fn arbitrary_listings(
        parameters in prop::collection::vec(any::<u8>(), 0..12),
        data in prop::collection::vec(prop_oneof![Just(0u8), Just(16u8), any::<u8>()], 0..300),
    ) {
        let first = FindFirst2Response::decode(&parameters, &data).map(|first| first.found);
        prop_assert_eq!(first.is_ok(), parameters.len() >= 10);
        let next = FoundNames::decode(&parameters, &data);
        prop_assert_eq!(next.is_ok(), parameters.len() >= 8);
        for found in [first, next].into_iter().flatten() {
            let count = found.entries(DirectoryClass::Names).count();
            prop_assert!(count <= usize::from(found.search_count));
            prop_assert!(count <= data.len() / 12 + 1);
            let _ = found.names(DirectoryClass::BothDirectory);
        }
    }
}

#[test]
fn parts_that_lie() {
    let sample = Sample {
        setup_words: 0,
        gaps: [1, 2],
        parameters: vec![1; 10],
        data: vec![2; 30],
        outside: [[0, 0]; 2],
    };
    let good = sample.message(Kind::Trans2);
    let decode = |at: usize, value: u16| {
        let mut message = good.clone();
        message[at..at + 2].copy_from_slice(&value.to_le_bytes());
        TransactionPart::decode_trans2(&message)
            .map(|part| (part.parameters.len(), part.data.len()))
            .map_err(|error| error.what)
    };
    let words = HEADER_LEN + 1;
    let bytes_at = words + 20 + 2;
    for (at, value, expected) in [
        // Totals that are smaller than the part.
        (words, 9, Err("transaction parameters")),
        (words + 2, 29, Err("transaction data")),
        // Offsets before the bytes, at their start, and beyond the end.
        (
            words + 8,
            bytes_at as u16 - 1,
            Err("transaction parameters"),
        ),
        (words + 8, bytes_at as u16, Ok((10, 30))),
        (words + 14, good.len() as u16 - 29, Err("transaction data")),
        (words + 14, u16::MAX, Err("transaction data")),
        // Displacements that exceed the total.
        (words + 10, 1, Err("transaction parameters")),
        (words + 16, u16::MAX, Err("transaction data")),
        // Parts that are empty need no offset.
        (words + 6, 0, Ok((0, 30))),
        // Setup words that WordCount does not count.
        (words + 18, 1, Err("transaction word count")),
    ] {
        assert_eq!(decode(at, value), expected, "{at} {value}");
    }
}

#[test]
fn a_count_ends_a_listing() {
    let response = captured!("cifs", "find-first-response");
    let part = TransactionPart::decode_trans2(&response).expect("decodes");
    for count in 0..5u8 {
        let mut parameters = part.parameters.to_vec();
        parameters[2] = count;
        let response = FindFirst2Response::decode(&parameters, part.data).expect("decodes");
        let entries = response.found.entries(DirectoryClass::BothDirectory);
        assert_eq!(entries.flatten().count(), usize::from(count.min(3)));
    }
}

#[test]
fn an_empty_response_has_its_counts() {
    let good = captured!("cifs", "create-directory-response");
    for len in 0..good.len() {
        let error = decode_empty(&good[..len]).expect_err("too short");
        assert!(error.offset <= len, "{error}");
    }
    let mut words = good;
    words[HEADER_LEN] = 1;
    decode_empty(&words).expect_err("the word is missing");
}
