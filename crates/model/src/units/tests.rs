//! Units are read as users write them.

use proptest::prelude::*;

use super::*;

#[test]
fn sizes_are_read_in_powers_of_1024() {
    for (text, bytes) in [
        ("0", 0),
        ("512", 512),
        ("512B", 512),
        ("64k", 65_536),
        ("64K", 65_536),
        ("4KB", 4096),
        ("4KiB", 4096),
        (" 4 kib ", 4096),
        ("1MiB", 1 << 20),
        ("1mb", 1 << 20),
        ("10g", 10 << 30),
        ("1.5GiB", 3 << 29),
        ("0.5 k", 512),
        ("2TiB", 2 << 40),
        ("18446744073709551615", u64::MAX),
    ] {
        assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
    }
}

#[test]
fn what_is_no_size_is_named() {
    for text in [
        "", "k", "-1", "+1", ".5k", "1.k", "1.5.2k", "4 Kib b", "4x", "0x10", "4KiB4", "1_000",
        "1e3",
    ] {
        assert_eq!(
            text.parse::<Size>(),
            Err(SizeError::Malformed(text.to_owned())),
            "{text}"
        );
    }
    for (text, bytes) in [("0.3KiB", 307), ("0.5", 0)] {
        let error = SizeError::Fraction(text.to_owned(), bytes);
        assert_eq!(text.parse::<Size>(), Err(error));
    }
    for text in ["18446744073709551616", "16777216T", "16777216.5T"] {
        assert_eq!(
            text.parse::<Size>(),
            Err(SizeError::TooLarge(text.to_owned()))
        );
    }
}

#[test]
fn sizes_print_in_the_largest_unit_that_fits() {
    for (bytes, text) in [
        (0, "0 B"),
        (512, "512 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1_536, "1.5 KiB"),
        (1 << 20, "1 MiB"),
        ((1 << 20) - 1, "1 MiB"),
        (3 << 29, "1.5 GiB"),
        (1 << 40, "1 TiB"),
        (1 << 60, "1048576 TiB"),
        (u64::MAX, "16777216 TiB"),
    ] {
        assert_eq!(Size(bytes).to_string(), text);
    }
}

#[test]
fn three_digits_are_exact_where_they_can_be() {
    let cases = [
        (0, "0 B"),
        (1023, "1023 B"),
        (65_536, "64 KiB"),
        (1_048_576, "1 MiB"),
        (1_610_612_736, "1.50 GiB"),
        (u64::MAX, "16777216 TiB"),
    ];
    for (bytes, text) in cases {
        assert_eq!(Size(bytes).three_digits(), text);
    }
}

#[test]
fn exact_sizes_are_not_rounded() {
    for (bytes, text) in [
        (0, "0 B"),
        (512, "512 B"),
        (4096, "4 KiB"),
        (1_048_577, "1048577 B"),
        (3 << 29, "1536 MiB"),
        (1 << 63, "8388608 TiB"),
    ] {
        assert_eq!(format!("{:#}", Size(bytes)), text);
    }
}

#[test]
fn counts_may_have_thousands_and_millions() {
    for (text, count) in [
        ("5000", 5000.0),
        ("5k", 5000.0),
        (" 1.5 K", 1500.0),
        ("2M", 2e6),
    ] {
        assert_eq!(parse_count(text), Some(count));
    }
    for text in ["", "k", "-1", "5kk", "1 G", "inf"] {
        assert_eq!(parse_count(text), None, "{text}");
    }
}

#[test]
fn whole_numbers_may_have_thousands() {
    for (text, number) in [
        ("5k", 5000),
        (" 12 ", 12),
        ("1.5K", 1500),
        ("2M", 2_000_000),
        ("1e3", 1000),
    ] {
        assert_eq!(parse_whole(text), Ok(number), "{text}");
    }
    assert_eq!(parse_whole("18446744073709551615"), Ok(u64::MAX));
    for text in ["", "k", "-1", "0.5", "1_000", "1,000", "5%", "4KiB", "inf"] {
        let error = WholeError::Malformed(text.to_owned());
        assert_eq!(parse_whole::<u64>(text), Err(error));
    }
    for text in ["70000", "99999999999999999999", "1e30"] {
        let error = WholeError::TooLarge(text.to_owned());
        assert_eq!(parse_whole::<u16>(text), Err(error));
    }
}

#[test]
fn durations_are_read_and_written() {
    for (text, millis) in [
        ("500ms", 500),
        ("30s", 30_000),
        ("10m", 600_000),
        ("1h 30m", 5_400_000),
        ("1.5m", 90_000),
        ("0.25 s", 250),
        ("0", 0),
    ] {
        assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)));
    }
    for (text, meant) in [("90S", "90s"), ("10M", "10m"), ("1,5s", "1.5s")] {
        let error = DurationError::Meant(text.to_owned(), meant.to_owned());
        assert_eq!(parse_duration(text), Err(error));
    }
    for text in [
        "",
        "s",
        "-3s",
        "3 parsecs",
        "1e300h",
        "nans",
        "99999999999999999999",
    ] {
        let error = DurationError::Malformed(text.to_owned());
        assert_eq!(parse_duration(text), Err(error));
    }
    let error = parse_duration("90").unwrap_err().to_string();
    assert!(error.starts_with("`90` has no unit: write 90s"), "{error}");
    assert_eq!(format_duration(Duration::from_secs(30)), "30s");
}

proptest! {
    #[test]
    fn a_printed_size_is_within_its_rounding(bytes: u64) {
        let text = Size(bytes).to_string();
        let (number, unit) = text.split_once(' ').unwrap();
        let exponent = UNITS.iter().position(|name| *name == unit).unwrap();
        let scale = 1024_f64.powi(i32::try_from(exponent).unwrap());
        let printed = number.parse::<f64>().unwrap() * scale;
        prop_assert!((printed - bytes as f64).abs() <= 0.0501 * scale);
    }

    #[test]
    fn an_exact_size_reads_back(bytes: u64) {
        prop_assert_eq!(format!("{:#}", Size(bytes)).parse(), Ok(Size(bytes)));
    }

    #[test]
    fn a_printed_duration_reads_back(millis in 0..u64::from(u32::MAX)) {
        let duration = Duration::from_millis(millis);
        prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
    }
}
