//! Limits, injected faults and concurrency.

use super::*;

#[test]
fn a_read_only_share_changes_only_from_inside() {
    let lab = Lab::new(MemoryOptions {
        access: ShareAccess::ReadOnly,
        ..MemoryOptions::default()
    });
    lab.share.put("d/f", b"data").unwrap();
    assert!(lab.share.capabilities().is_read_only);
    for opts in [CREATE, WRITE, MAKE_DIRECTORY, with(OpenIntent::Truncate)] {
        assert_fails!(lab.open("d/f", opts), AccessDenied);
    }
    assert_fails!(lab.unlink("d/f"), AccessDenied);
    assert_fails!(lab.rename("d/f", "x", false), AccessDenied);
    let (file, _) = lab.open("d/f", OPEN).unwrap();
    assert_eq!(lab.on(file.read(0, 9)).unwrap().as_ref(), b"data");
}

#[test]
fn a_full_share_refuses_more_and_recovers() {
    let lab = Lab::new(MemoryOptions {
        capacity_bytes: Some(10 * 4096),
        ..MemoryOptions::default()
    });
    let (one, two) = (lab.file("one"), lab.file("two"));
    lab.on(one.write(0, &[1; 30_000])).unwrap();
    assert_fails!(lab.on(two.write(0, &[2; 20_000])), DiskFull);
    assert_fails!(lab.on(two.truncate(20_000)), DiskFull);
    assert_fails!(lab.on(two.write(u64::MAX, b"xx")), DiskFull);
    assert_eq!(lab.share.contents("two").unwrap(), []);
    assert_eq!(lab.share.used_bytes(), 30_000);
    let volume = lab.on(lab.share.volume_info()).unwrap();
    assert_eq!(volume.total_allocation_units, 10);
    assert_eq!(volume.caller_available_allocation_units, 2);
    // Overwriting needs no more space.
    lab.on(one.write(0, &[3; 30_000])).unwrap();
    lab.on(one.truncate(1)).unwrap();
    lab.on(two.write(0, &[2; 20_000])).unwrap();
    assert_eq!(lab.share.used_bytes(), 20_001);
    assert_eq!(
        Lab::default().share.capacity_bytes(),
        NOMINAL_CAPACITY_BYTES
    );
}

#[test]
fn every_nth_read_comes_back_with_one_flipped_byte() {
    let lab = Lab::new(MemoryOptions {
        fault: Fault::FlipByteEvery(NonZeroU64::new(3).unwrap()),
        ..MemoryOptions::default()
    });
    lab.share.put("f", &[0; 64]).unwrap();
    let file = lab.file("f");
    let wrong: Vec<usize> = (0..7)
        .map(|_| lab.on(file.read(0, 64)).unwrap())
        .map(|data| data.iter().filter(|&&byte| byte != 0).count())
        .collect();
    assert_eq!(wrong, [0, 0, 1, 0, 0, 1, 0]);
    assert_eq!(lab.share.contents("f").unwrap(), [0; 64]);
}

#[test]
fn writes_and_reads_fail_or_vanish_on_request() {
    let second = NonZeroU64::new(2).unwrap();
    let lab = |fault| {
        Lab::new(MemoryOptions {
            fault,
            ..MemoryOptions::default()
        })
    };
    let losing = lab(Fault::LoseWriteEvery(second));
    let file = losing.file("f");
    losing.on(file.write(0, b"a")).unwrap();
    assert_eq!(losing.on(file.write(0, b"b")).unwrap(), 1);
    assert_eq!(losing.share.contents("f").unwrap(), b"a");
    assert_eq!(losing.share.counts().bytes_written, 1);

    let failing = lab(Fault::FailWriteEvery(second));
    let file = failing.file("f");
    failing.on(file.write(0, b"a")).unwrap();
    assert!(matches!(
        failing.on(file.write(0, b"b")),
        Err(SmbError::Io(_))
    ));

    let unreadable = lab(Fault::FailReadEvery(second));
    unreadable.share.put("f", b"a").unwrap();
    let file = unreadable.file("f");
    unreadable.on(file.read(0, 1)).unwrap();
    assert!(matches!(
        unreadable.on(file.read(0, 1)),
        Err(SmbError::Io(_))
    ));
}

/// Four threads extend one shared file, and create and delete their own files
/// and directories. No byte is lost or mixed up, and no file is left over.
#[test]
fn concurrent_use_keeps_every_byte_and_every_name() {
    const THREADS: u8 = 4;
    const BLOCKS: u64 = 200;
    const BLOCK_BYTES: usize = 3000;
    let share = MemoryShare::new(MemoryOptions::default());
    share.put("shared", b"").unwrap();
    let work = |thread: u8| {
        let share = share.clone();
        move || {
            let lab = Lab {
                share,
                runtime: Builder::new_current_thread().build().unwrap(),
            };
            let shared = lab.file("shared");
            let own = format!("own{thread}");
            for block in 0..BLOCKS {
                let at = (block * u64::from(THREADS) + u64::from(thread)) * BLOCK_BYTES as u64;
                let data = vec![thread + 1; BLOCK_BYTES];
                lab.on(shared.write(at, &data)).unwrap();
                lab.mkdir(&own);
                lab.on(lab.file(&format!("{own}/f")).write(0, &data))
                    .unwrap();
                lab.rename(&format!("{own}/f"), &format!("{own}/g"), false)
                    .unwrap();
                lab.unlink(&format!("{own}/g")).unwrap();
                lab.unlink(&own).unwrap();
                let seen = lab.on(shared.read(at, BLOCK_BYTES as u32)).unwrap();
                assert_eq!(seen.as_ref(), data);
            }
        }
    };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(work(thread));
        }
    });
    let contents = share.contents("shared").unwrap();
    assert_eq!(contents.len() as u64, share.used_bytes());
    for (index, block) in contents.chunks(BLOCK_BYTES).enumerate() {
        let expected = (index % usize::from(THREADS)) as u8 + 1;
        assert!(block.iter().all(|&byte| byte == expected), "block {index}");
    }
    assert_eq!(share.paths(), ["shared"]);
    assert_eq!(share.counts().open_handles, 0);
}

#[test]
fn a_panicking_holder_does_not_take_the_share_down() {
    let lab = Lab::default();
    lab.share.put("f", b"data").unwrap();
    let share = lab.share.clone();
    let poisoned = thread::spawn(move || {
        let _guard = crate::lock::write(&share.shared.namespace);
        std::panic::resume_unwind(Box::new("while holding the lock"));
    });
    poisoned.join().unwrap_err();
    assert!(lab.share.shared.namespace.is_poisoned());
    assert_eq!(lab.share.contents("f").unwrap(), b"data");
    lab.unlink("f").unwrap();
    assert_eq!(Arc::strong_count(&lab.share.shared), 1);
}
