use super::*;

/// Packs lines as they come.
pub(in crate::recording) fn packed<'a>(
    lines: impl IntoIterator<Item = &'a TraceLine>,
) -> PackedLines {
    let mut packed = PackedLines::default();
    lines.into_iter().for_each(|line| packed.push(line));
    packed
}

/// Returns a line that has everything, with the largest numbers.
fn full() -> TraceLine {
    TraceLine {
        number: u64::MAX,
        at_ns: u64::MAX,
        took_ns: Some(u64::MAX),
        session: Some(u32::MAX),
        command: "create".to_owned(),
        path: Some(u32::MAX),
        to: Some(0),
        pattern: Some("*.docx".to_owned()),
        handle: Some(u64::MAX),
        offset: Some(0),
        length: Some(127),
        moved: Some(128),
        level: Some(16_383),
        value: Some(16_384),
        flags: Some(1),
        create: Some(Box::new(TraceCreate {
            access: u32::MAX,
            attributes: 0x20,
            share: 7,
            disposition: 5,
            options: 1 << 31,
            oplock: 0xff,
            contexts: vec!["MxAc".to_owned(), "\"\n".to_owned()],
            lease: Some(7),
            allocation: Some(u64::MAX),
            durable: Some(TraceDurable {
                timeout_ms: u32::MAX,
                flags: 2,
            }),
            granted: Some(0xff),
            kept: true,
            action: Some(1),
            size: Some(1 << 40),
        })),
        group: Some(9),
        status: Some("STATUS_SUCCESS".to_owned()),
        pending: true,
        ..TraceLine::default()
    }
}

#[test]
fn lines_come_back_as_they_were_whatever_they_have() {
    let read = TraceLine {
        command: "read".to_owned(),
        status: Some("STATUS_END_OF_FILE".to_owned()),
        ..TraceLine::default()
    };
    let create = TraceLine {
        create: Some(Box::default()),
        ..read.clone()
    };
    let lines = [full(), TraceLine::default(), read, full(), create];
    // More than a piece has room for.
    let lines: Vec<_> = lines.iter().cycle().take(10_000).collect();
    let packed = packed(lines.iter().copied());
    assert!(packed.pieces.len() > 1);
    assert_eq!(packed.texts.texts.len(), 7);
    let mut found = TraceLine::default();
    for (at, line) in (0..).zip(&lines) {
        packed.read(at, &mut found);
        assert_eq!(found, **line, "{at}");
    }
    let mut several = Vec::new();
    for lines_of in [0..3, 2..3, 1..5] {
        packed.read_all(lines_of.clone(), &mut several);
        let expected = lines_of.map(|at| lines[at as usize].clone());
        assert_eq!(several, expected.collect::<Vec<_>>());
    }
}

#[test]
fn the_largest_line_has_less_than_300_bytes() {
    let mut packed = PackedLines::default();
    let all = u64::MAX;
    packed.push(&TraceLine {
        to: Some(u32::MAX),
        offset: Some(all),
        length: Some(all),
        moved: Some(all),
        level: Some(u32::MAX),
        value: Some(all),
        flags: Some(u32::MAX),
        group: Some(all),
        ..full()
    });
    assert!(packed.pieces[0].len() < 300, "{}", packed.pieces[0].len());
    packed.pieces[0].clear();
    packed.push(&TraceLine {
        at_ns: 3_600_000_000_000,
        took_ns: Some(1_000_000),
        session: Some(50),
        command: "read".to_owned(),
        path: Some(100_000),
        handle: Some(1_000_000),
        offset: Some(1 << 20),
        length: Some(1 << 20),
        moved: Some(1 << 20),
        flags: Some(0),
        status: Some("STATUS_SUCCESS".to_owned()),
        ..TraceLine::default()
    });
    assert!(packed.pieces[0].len() <= 32, "{}", packed.pieces[0].len());
}
