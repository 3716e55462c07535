use proptest::prelude::*;

use super::*;

fn histogram(latencies: &[u64]) -> Histogram<u64> {
    let mut histogram = latency_histogram();
    for latency in latencies {
        histogram.saturating_record(*latency);
    }
    histogram
}

/// Encodes arbitrary plain V2 bytes.
fn wrap(plain: &[u8]) -> String {
    use std::io::Write as _;
    let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    deflate.write_all(plain).unwrap();
    let deflated = deflate.finish().unwrap();
    let mut encoded = COMPRESSED_COOKIE.to_be_bytes().to_vec();
    encoded.extend((deflated.len() as u32).to_be_bytes());
    encoded.extend(deflated);
    BASE64.encode(encoded)
}

/// Returns a plain V2 encoding with smbench's bounds and this payload.
fn plain(payload: &[u8]) -> Vec<u8> {
    let mut plain = 0x1c84_9313_u32.to_be_bytes().to_vec();
    plain.extend((payload.len() as u32).to_be_bytes());
    plain.extend(0_u32.to_be_bytes());
    plain.extend(u32::from(LATENCY_DIGITS).to_be_bytes());
    plain.extend(1_u64.to_be_bytes());
    plain.extend(HIGHEST_LATENCY_NS.to_be_bytes());
    plain.extend(1.0_f64.to_be_bytes());
    plain.extend(payload);
    plain
}

#[test]
fn quantiles_are_not_rounded_to_the_next_operation() {
    for count in [1, 7, 100, 999, 1000, 2000] {
        let latencies: Vec<u64> = (1..=count).collect();
        let latencies = histogram(&latencies);
        for permille in 1..=1000 {
            let rank = (permille * count).div_ceil(1000);
            let percent = permille as f64 / 10.0;
            let found = quantile(&latencies, percent, 100.0);
            assert_eq!(found, rank, "{percent} % of {count}");
        }
    }
    assert_eq!(quantile(&latency_histogram(), 99.9, 100.0), 0);
}

#[test]
fn no_operation_has_no_latency() {
    assert_eq!(LatencyDoc::of(&latency_histogram()), None);
    let empty = Hdr::default();
    assert_eq!(Hdr::decode(&empty.encode()), Ok(empty));
}

#[test]
fn other_languages_recognise_the_encoding() {
    // Every HdrHistogram log in V2 + DEFLATE begins with these characters.
    assert!(Hdr::default().encode().starts_with("HISTFAAAA"));
}

proptest! {
    #[test]
    fn encoding_keeps_every_bucket(latencies in prop::collection::vec(1..u64::MAX, 0..200)) {
        let hdr = Hdr::from(&histogram(&latencies));
        prop_assert_eq!(hdr.count(), latencies.len() as u64);
        prop_assert_eq!(Hdr::decode(&hdr.encode()), Ok(hdr));
    }

    #[test]
    fn pooled_parts_equal_the_whole(
        first in prop::collection::vec(1..HIGHEST_LATENCY_NS, 1..200),
        second in prop::collection::vec(1..HIGHEST_LATENCY_NS, 1..200),
    ) {
        let pooled = pool([&Hdr::from(&histogram(&first)), &Hdr::from(&histogram(&second))]);
        let whole = histogram(&[first, second].concat());
        prop_assert_eq!(LatencyDoc::of(&pooled), LatencyDoc::of(&whole));
    }

    #[test]
    fn summaries_are_those_of_the_histogram(
        parts in prop::collection::vec(prop::collection::vec(0..u64::MAX, 1..50), 2..4),
    ) {
        let parts: Vec<_> = parts.iter().map(|part| histogram(part)).collect();
        let (all, without) = LatencyDoc::with_and_without(&parts).unwrap();
        let sum = |out: Option<usize>| {
            let mut sum = latency_histogram();
            let rest = parts.iter().enumerate().filter(|(at, _)| Some(*at) != out);
            rest.for_each(|(_, part)| sum.add(part).unwrap());
            sum
        };
        let places = [None].into_iter().chain((0..parts.len()).map(Some));
        for (out, doc) in places.zip([all].into_iter().chain(without)) {
            let sum = sum(out);
            prop_assert!((doc.mean / sum.mean() - 1.0).abs() < 1e-9);
            prop_assert_eq!([doc.min, doc.max], [sum.min(), sum.max()]);
            for (percent, found) in [(50.0, doc.p50), (90.0, doc.p90), (95.0, doc.p95),
                (99.0, doc.p99), (99.9, doc.p999)]
            {
                prop_assert_eq!(found, quantile(&sum, percent, 100.0), "{}", percent);
            }
        }
    }

    #[test]
    fn arbitrary_payloads_are_refused_or_counted(payload in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(hdr) = Hdr::decode(&wrap(&plain(&payload))) {
            prop_assert!(hdr.count() <= HIGHEST_COUNT);
        }
    }
}

#[test]
fn foreign_histograms_are_refused() {
    let mut short = plain(&[2]);
    short.truncate(PLAIN_HEADER - 1);
    let mut lying = plain(&[2]);
    lying[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    let mut coarse = plain(&[2]);
    coarse[15] = 2;
    let most_zeros = plain(&[0xFF; 9]);
    let most_operations = plain(&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]);
    let cases = [
        ("!".to_owned(), HdrError::Base64),
        (String::new(), HdrError::Encoding),
        (BASE64.encode("HIST, but not really"), HdrError::Encoding),
        (wrap(&short), HdrError::Encoding),
        (wrap(&lying), HdrError::Encoding),
        (wrap(&coarse), HdrError::Bounds),
        (wrap(&most_zeros), HdrError::Encoding),
        (wrap(&most_operations), HdrError::Encoding),
        (wrap(&vec![0; 1 << 20]), HdrError::Encoding),
    ];
    for (text, error) in cases {
        assert_eq!(Hdr::decode(&text), Err(error), "{text}");
    }
    assert_eq!(Hdr::decode(&wrap(&plain(&[0, 2]))).unwrap().count(), 1);
}
