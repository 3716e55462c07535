use proptest::prelude::*;

use super::*;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn integers_are_as_short_as_their_sign_allows() {
    for (value, encoded) in [
        (0, &[2, 1, 0][..]),
        (127, &[2, 1, 0x7f]),
        (128, &[2, 2, 0, 0x80]),
        (-1, &[2, 1, 0xff]),
        (-128, &[2, 1, 0x80]),
        (-129, &[2, 2, 0xff, 0x7f]),
        (0xffff_ffff, &[2, 5, 0, 0xff, 0xff, 0xff, 0xff]),
    ] {
        assert_eq!(integer(value), encoded);
    }
}

#[test]
fn times_are_written_as_the_calendar_has_them() {
    for (seconds, text) in [
        (0, "19700101000000Z"),
        (951_782_400, "20000229000000Z"),
        (1_000_000_000, "20010909014640Z"),
        (4_107_542_399, "21000228235959Z"),
        (4_107_542_400, "21000301000000Z"),
        (SECONDS_MAX, "99991231235959Z"),
    ] {
        assert_eq!(&time(at(seconds))[2..], text.as_bytes());
    }
    let before = SystemTime::UNIX_EPOCH - Duration::from_secs(5);
    assert_eq!(&time(before)[2..], b"19700101000000Z");
}

#[test]
fn what_is_no_time_is_an_error() {
    for text in [
        "",
        "20260101000000",
        "20261301000000Z",
        "20260100000000Z",
        "20260101240000Z",
        "2026010100000xZ",
        "20260101000000.5Z",
        "19691231235959Z",
    ] {
        let bytes = element(GENERALIZED_TIME, text.as_bytes());
        assert!(Der::new(&bytes).time("time").is_err(), "{text}");
    }
}

#[test]
fn lengths_that_lie_are_errors_with_their_place() {
    for bytes in [
        &[][..],
        &[0x30],
        &[0x30, 1],
        &[0x30, 0x80],
        &[0x30, 0x81],
        &[0x30, 0x85, 0, 0, 0, 0, 0],
        &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
        &[0x30, 0xff],
    ] {
        let error = Der::new(bytes).sequence("field").map(|_| ()).unwrap_err();
        assert_eq!((error.what, error.offset), ("field", 0), "{bytes:x?}");
    }
    // The inner element claims more bytes than the outer one has.
    let bytes = [0x30, 3, 0x04, 2, 7, 9];
    let mut inner = Der::new(&bytes).sequence("outer").unwrap();
    assert_eq!(inner.octets("inner").unwrap_err().offset, 2);
}

#[test]
fn optional_fields_are_there_or_not() {
    let bytes = sequence(&[context(1, &integer(5)), context(3, &octets(b"x"))]);
    let mut fields = Der::new(&bytes).sequence("s").unwrap();
    assert_eq!(fields.optional_field(0, "a", Der::integer), Ok(None));
    assert_eq!(fields.optional_field(1, "b", Der::integer), Ok(Some(5)));
    fields.skip_field(2, "c").unwrap();
    assert!({ fields }.field(2, "c").is_err());
    assert!(fields.optional_field(3, "d", Der::integer).is_err());
}

proptest! {
    #[test]
    fn elements_of_any_length_are_read_back(len in 0usize..70_000) {
        let content = vec![7; len];
        let bytes = octets(&content);
        let mut der = Der::new(&bytes);
        prop_assert_eq!(der.octets("octets").unwrap(), content);
        prop_assert!(der.is_empty());
    }

    #[test]
    fn integers_and_times_are_read_back(value: i64, seconds in 0..SECONDS_MAX) {
        prop_assert_eq!(Der::new(&integer(value)).integer("integer").unwrap(), value);
        prop_assert_eq!(Der::new(&time(at(seconds))).time("time").unwrap(), at(seconds));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let mut der = Der::new(&bytes);
        while let Ok((_, mut inner)) = der.next("element") {
            let _ = inner.integer("integer");
            let _ = inner.time("time");
            let _ = inner.string("string");
        }
    }
}
