use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;

const STAMP: Stamp = Stamp {
    client: 7,
    file: 1,
    generation: 3,
    run: 2,
};

/// The salt of the frozen contents.
const SALT: Salt = Salt(0);

fn stamps() -> impl Strategy<Value = Stamp> {
    any::<(u32, u32, u32, u32)>().prop_map(|(client, file, generation, run)| Stamp {
        client,
        file,
        generation,
        run,
    })
}

fn written(length: usize, file_offset: u64, stamp: Stamp) -> Vec<u8> {
    let mut out = Vec::new();
    append(&mut out, length, file_offset, stamp, SALT);
    out
}

/// Returns a block with one stamp up to `tear`, and another stamp from there.
fn torn(front: Stamp, back: Stamp, tear: usize) -> [u8; BLOCK_BYTES] {
    let mut mixed = block(512, front, SALT);
    mixed[tear..].copy_from_slice(&block(512, back, SALT)[tear..]);
    mixed
}

fn checked(found: &[u8; BLOCK_BYTES], file_offset: u64) -> Result<Stamp, Mismatch> {
    check(found, file_offset, SALT)
}

fn checked_torn(found: &[u8; BLOCK_BYTES], file_offset: u64) -> Option<Tear> {
    check_torn(found, file_offset, SALT)
}

#[test]
fn the_layout_is_as_documented() {
    let made = block(1024, STAMP, SALT);
    assert_eq!(&made[..8], b"SMBENCH2");
    assert_eq!(made[8..16], [7, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(made[16..24], [3, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(made[24..32], 1024_u64.to_le_bytes());
    assert_eq!(made[8..24], made[488..504]);
    assert_eq!(made[32..40], made[504..512]);
}

/// The values are those of an independent implementation of the module's
/// description.
#[test]
fn the_contents_are_frozen() {
    let made = block(1024, STAMP, SALT);
    let word = |at: usize| u64::from_le_bytes(made[at..at + 8].try_into().unwrap());
    assert_eq!(
        [word(32), word(40), word(480)],
        [
            2_414_511_032_485_514_917,
            7_572_331_713_643_290_267,
            826_015_575_291_601_719
        ]
    );
}

#[test]
fn the_filling_has_nothing_to_compress() {
    let data = written(1 << 20, 0, STAMP);
    let (words, _) = data.as_chunks::<8>();
    let fillings = words
        .chunks(WORDS)
        .flat_map(|block| &block[HEADER_WORDS..WORDS - TRAILER_WORDS]);
    let distinct: HashSet<_> = fillings.clone().collect();
    assert_eq!(distinct.len(), (1 << 20) / BLOCK_BYTES * 56);
    let mut counts = [0_u32; 256];
    for byte in fillings.flatten() {
        counts[usize::from(*byte)] += 1;
    }
    let total: u32 = counts.iter().sum();
    let mean = f64::from(total) / 256.0;
    let chi_squared: f64 = counts
        .iter()
        .map(|count| (f64::from(*count) - mean).powi(2) / mean)
        .sum();
    // With 255 degrees of freedom, a value above 380 occurs once in a million.
    assert!(chi_squared < 380.0, "{chi_squared}");
}

/// Deduplication and compression look for repetitions: the same four bytes twice
/// within the reach of a match. In the repeated writes of many clients there must
/// be no more of them than in random data.
#[test]
fn no_write_repeats_what_another_has_written() {
    const REACH: usize = 1 << 16;
    let mut fillings: Vec<u8> = Vec::new();
    for client in 0..16 {
        for generation in 0..4 {
            for file_offset in [0, 4096, 1 << 30] {
                let stamp = Stamp {
                    client,
                    generation,
                    ..STAMP
                };
                let data = written(4096, file_offset, stamp);
                for block in data.chunks(BLOCK_BYTES) {
                    fillings.extend(&block[HEADER_WORDS * 8..(WORDS - TRAILER_WORDS) * 8]);
                }
            }
        }
    }
    let mut last_seen = HashMap::new();
    let mut matches = 0;
    for (at, four) in fillings.windows(4).enumerate() {
        let before = last_seen.insert(four, at);
        matches += u32::from(before.is_some_and(|before| at - before <= REACH));
    }
    // By chance, n * REACH / 2^32 of n positions match: about ten.
    let by_chance = fillings.len() as f64 * REACH as f64 / 2_f64.powi(32);
    let deviation = by_chance.sqrt();
    assert!(
        f64::from(matches) < by_chance + 6.0 * deviation,
        "{matches}"
    );
}

/// Words 0, 1 and 3 of both blocks are the same, and so is word 61.
#[test]
fn a_tear_differs_from_damage() {
    let later = Stamp {
        generation: 9,
        ..STAMP
    };
    let [front, back] = [STAMP, later].map(Some);
    for tear in (24..=504).step_by(8) {
        let mut mixed = torn(STAMP, later, tear);
        assert!(checked(&mixed, 512).is_err());
        let expected = match tear {
            24..40 => Tear { front: None, back },
            504 => Tear { front, back: None },
            _ => Tear { front, back },
        };
        assert_eq!(checked_torn(&mixed, 512), Some(expected), "{tear}");
        assert_eq!(checked_torn(&mixed, 1024), None);
        mixed[if tear < 256 { 400 } else { 100 }] ^= 1;
        assert_eq!(checked_torn(&mixed, 512), None, "{tear}");
    }
}

#[test]
fn what_another_run_wrote_is_named_and_has_other_bytes() {
    let other = Salt(0x5EED);
    let theirs = block(1024, STAMP, other);
    let found = STAMP;
    let offset = 1024;
    let refused = Err(Mismatch::OtherRun { offset, found });
    assert_eq!(checked(&theirs, offset), refused);
    assert_eq!(check(&theirs, offset, other), Ok(STAMP));
    assert_eq!(checked_torn(&theirs, offset), None);
    let ours = block(1024, STAMP, SALT);
    let fillings = [ours, theirs].map(|block| block[HEADER_WORDS * 8..TRAILER * 8].to_vec());
    let [ours, theirs]: [HashSet<_>; 2] =
        fillings.map(|filling| filling.windows(8).map(<[u8]>::to_vec).collect());
    assert!(ours.is_disjoint(&theirs));
    let mut damaged = block(1024, STAMP, other);
    damaged[100] ^= 1;
    assert!(matches!(
        checked(&damaged, offset),
        Err(Mismatch::Byte { .. })
    ));
}

proptest! {
    #[test]
    fn any_part_equals_the_cut_of_the_whole(
        stamp in stamps(),
        start in 0..2048_usize,
        len in 0..4096_usize,
        far: bool,
    ) {
        let base = if far { 1 << 40 } else { 0 };
        let whole = written(8192, base, stamp);
        let part = written(len, base + start as u64, stamp);
        prop_assert_eq!(&part, &whole[start..start + len]);
    }

    #[test]
    fn a_sound_block_gives_back_its_stamp(
        stamp in stamps(), salt: u64, index in 0..1_u64 << 40,
    ) {
        let offset = index * BLOCK_BYTES as u64;
        let salt = Salt(salt);
        prop_assert_eq!(check(&block(offset, stamp, salt), offset, salt), Ok(stamp));
    }

    #[test]
    fn a_block_from_elsewhere_is_found(stamp in stamps(), a in 0..1000_u64, b in 0..1000_u64) {
        prop_assume!(a != b);
        let moved = block(a * 512, stamp, SALT);
        prop_assert!(checked(&moved, b * 512).is_err());
        prop_assert_eq!(checked_torn(&moved, b * 512), None);
    }

    #[test]
    fn any_flipped_bit_is_found(stamp in stamps(), bit in 0..BLOCK_BYTES * 8) {
        let mut damaged = block(512, stamp, SALT);
        damaged[bit / 8] ^= 1 << (bit % 8);
        let mismatch = checked(&damaged, 512).unwrap_err();
        let in_stamp = (8..24).contains(&(bit / 8));
        if !in_stamp {
            prop_assert_eq!(mismatch.offset(), 512 + bit as u64 / 8);
        }
        // Damage in a stamp may look like a tear of which only one side is known.
        let tear = checked_torn(&damaged, 512);
        let known = tear.map(|tear| (tear.front, tear.back));
        let expected = match bit / 8 {
            8..24 | 32..40 => Some((None, Some(stamp))),
            488.. => Some((Some(stamp), None)),
            _ => None,
        };
        prop_assert_eq!(known, expected);
    }

    #[test]
    fn zeros_and_noise_are_no_block(noise in any::<u8>()) {
        prop_assert!(checked(&[noise; BLOCK_BYTES], 512).is_err());
        prop_assert_eq!(checked_torn(&[noise; BLOCK_BYTES], 512), None);
    }
}

#[test]
fn contents_of_any_run_are_recognised_by_their_start() {
    let mut of_another_run = Vec::new();
    append(&mut of_another_run, 4096, 0, STAMP, Salt(99));
    assert!(is_of_smbench(&of_another_run));
    // A file of any length, or with a hole at its start.
    for length in [8, 40, 47, 48, 511, 513] {
        assert!(is_of_smbench(&of_another_run[..length]), "{length}");
    }
    of_another_run[..512].fill(0);
    assert!(is_of_smbench(&of_another_run));
    // Written in part by a later write.
    let mut mixed = written(1024, 0, STAMP);
    mixed[100..].fill(7);
    assert!(is_of_smbench(&mixed));
}

#[test]
fn contents_of_others_are_not_recognised() {
    let ours = written(4096, 0, STAMP);
    // A part of a file is not at its place, and no file of smbench begins with it.
    for others in [
        &b""[..],
        b"SMB",
        &[0; 4096],
        b"a thesis of some length",
        &ours[512..],
    ] {
        assert!(!is_of_smbench(others), "{:?}", others.get(..8));
    }
    let mut damaged = ours[..512].to_vec();
    damaged[40] ^= 1;
    assert!(!is_of_smbench(&damaged));
}
