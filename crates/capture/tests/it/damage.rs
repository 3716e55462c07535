//! Captures in every form, and damaged in every way: what is there is read, what is not
//! there is counted.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use smbench_capture::{CaptureError, CaptureImport, CaptureSummary, ImportOptions};

use crate::packets::{DROPPED, Packet, fixture, fragments, pcap, pcapng, with_link};

/// Requests, answers and statuses of each command.
type Counts = BTreeMap<String, (u64, u64, BTreeMap<String, u64>)>;

const NORMAL: &str = "smbclient-3.1.1-unsigned.pcap";
const COMPOUNDS: &str = "smbtorture-compounds-3.1.1-unsigned.pcap";
const CIFS: &str = "smbclient-cifs-plain.pcap";

fn read(file: &[u8]) -> Result<CaptureSummary, CaptureError> {
    let mut import = CaptureImport::new(ImportOptions::default());
    import.read("test.pcap", file)?;
    Ok(import.finish()?.summary)
}

fn of(packets: &[Packet]) -> CaptureSummary {
    read(&pcap(1, packets)).unwrap()
}

fn counts(summary: &CaptureSummary) -> Counts {
    let commands = summary.commands.iter().map(|(name, command)| {
        let counts = (
            command.requests,
            command.responses,
            command.statuses.clone(),
        );
        (name.clone(), counts)
    });
    commands.collect()
}

fn messages(summary: &CaptureSummary) -> u64 {
    let commands = summary.commands.values();
    commands
        .map(|command| command.requests + command.responses)
        .sum()
}

#[test]
fn each_form_of_a_file_and_each_link_layer_have_the_same_messages() {
    for name in [NORMAL, COMPOUNDS, CIFS] {
        let packets = fixture(name);
        let expected = of(&packets);
        assert!(messages(&expected) > 10, "{name}");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&pcap(1, &packets)).unwrap();
        let mut files = vec![pcapng(1, &packets), gzip.finish().unwrap()];
        for link in [0, 12, 101, 108, 113, 228, 276] {
            files.push(pcap(link, &with_link(link, &packets)));
        }
        let tagged = packets.iter().map(|packet| {
            let bytes = [&packet.bytes[..12], &[0x81, 0, 0, 7], &packet.bytes[12..]].concat();
            Packet {
                bytes,
                ..packet.clone()
            }
        });
        files.push(pcap(1, &tagged.collect::<Vec<_>>()));
        for (at, file) in files.iter().enumerate() {
            let summary = read(file).unwrap();
            assert_eq!(counts(&summary), counts(&expected), "{name}, form {at}");
            assert_eq!(summary.source.frames, expected.source.frames);
            let dropped = if at == 0 { DROPPED } else { 0 };
            assert_eq!(summary.source.dropped_frames, dropped, "{name}, form {at}");
            assert_eq!(
                summary.source.begin_ns, expected.source.begin_ns,
                "{name}, form {at}"
            );
        }
    }
}

#[test]
fn repeated_reordered_and_fragmented_packets_change_nothing() {
    for name in [NORMAL, COMPOUNDS, CIFS] {
        let packets = fixture(name);
        let expected = of(&packets);
        let repeated: Vec<_> = packets
            .iter()
            .flat_map(|packet| [packet.clone(), packet.clone()])
            .collect();
        let mut swapped = packets.clone();
        for pair in swapped[3..].chunks_exact_mut(2) {
            pair.swap(0, 1);
        }
        let mut late = fragments(&packets);
        for (what, packets) in [("repeated", &repeated), ("fragments", &late.clone())] {
            let summary = of(packets);
            assert_eq!(counts(&summary), counts(&expected), "{name}, {what}");
            assert_eq!(summary.unreadable.lost_bytes, 0, "{name}, {what}");
            assert_eq!(summary.unreadable.fragmented_datagrams, 0, "{name}, {what}");
        }
        // CIFS has no order beyond that of the capture.
        if name != CIFS {
            let summary = of(&swapped);
            assert_eq!(counts(&summary), counts(&expected), "{name}, swapped");
            let unasked: u64 = summary
                .commands
                .values()
                .map(|command| command.unasked)
                .sum();
            assert_eq!(
                (summary.unreadable.lost_bytes, unasked),
                (0, 0),
                "{name}, swapped"
            );
        }
        // The last fragment of each datagram comes first.
        for pair in late.chunks_exact_mut(2) {
            pair.swap(0, 1);
        }
        assert!(messages(&of(&late)) > 0, "{name}");
    }
}

/// One packet of a hundred, over many connections.
#[test]
fn every_hundredth_packet_may_be_lost_or_come_twice_or_late() {
    const EACH: usize = 100;
    let packets = fixture(NORMAL);
    let clients = (0..50).flat_map(|client| packets.iter().map(move |one| one.of_client(client)));
    let all: Vec<_> = clients.collect();
    let expected = of(&all);
    let is_chosen = |at: usize| at % EACH == EACH / 2;
    let twice = (0..).zip(&all).flat_map(|(at, packet)| {
        let times = if is_chosen(at) { 2 } else { 1 };
        std::iter::repeat_n(packet.clone(), times)
    });
    let mut late = all.clone();
    for at in (0..all.len() - 1).filter(|&at| is_chosen(at)) {
        // The first packets of a connection say who began it.
        if [at, at + 1]
            .iter()
            .all(|&at| !all[at].tcp_payload().is_empty())
        {
            late.swap(at, at + 1);
        }
    }
    for (what, packets) in [("twice", twice.collect()), ("late", late)] {
        let summary = of(&packets);
        assert_eq!(counts(&summary), counts(&expected), "{what}");
        assert_eq!(summary.unreadable.lost_bytes, 0, "{what}");
    }
    let (lost, rest): (Vec<_>, Vec<_>) = (0..).zip(&all).partition(|(at, _)| is_chosen(*at));
    let bytes = lost.iter().map(|(_, packet)| packet.tcp_payload().len());
    let bytes = bytes.sum::<usize>() as u64;
    let summary = of(&rest
        .into_iter()
        .map(|(_, one)| one.clone())
        .collect::<Vec<_>>());
    let lost_bytes = summary.unreadable.lost_bytes;
    assert!(
        lost_bytes > 0 && lost_bytes <= bytes,
        "{lost_bytes} of {bytes}"
    );
    let (found, sent) = (messages(&summary), messages(&expected));
    let missing_max = 8 * lost.len() as u64;
    assert!(
        found <= sent && found + missing_max >= sent,
        "{found} of {sent}"
    );
}

#[test]
fn lost_packets_are_counted_and_the_stream_is_picked_up() {
    for name in [NORMAL, "smbtorture-setinfo-3.1.1-unsigned.pcap"] {
        let packets = fixture(name);
        let whole = of(&packets);
        let all = messages(&whole);
        let mut with_losses = 0;
        for lost in 4..packets.len() - 1 {
            let mut rest = packets.clone();
            let payload = rest.remove(lost).tcp_payload().len() as u64;
            let summary = of(&rest);
            let lost_bytes = summary.unreadable.lost_bytes;
            // At the end nothing shows that bytes are missing.
            assert!(
                lost_bytes == payload || lost_bytes == 0,
                "{name}, packet {lost}"
            );
            with_losses += u64::from(payload > 0 && lost_bytes == payload);
            let found = messages(&summary);
            assert!(
                found <= all && found + 8 >= all,
                "{name}, packet {lost}: {found} of {all}"
            );
            // What comes behind is read in time: requests have their answers and their opens.
            let most = [whole.concurrency.max, summary.concurrency.max];
            assert!(most[1] <= 2 * most[0], "{name}, packet {lost}: {most:?}");
            let made_up = [whole.tree.made_up, summary.tree.made_up];
            assert!(
                made_up[1] <= made_up[0] + 1,
                "{name}, packet {lost}: {made_up:?}"
            );
        }
        assert!(with_losses > 20, "{name}: {with_losses}");
    }
}

#[test]
fn requests_whose_answers_are_lost_do_not_add_up() {
    const EACH: usize = 5;
    /// Place of the flags behind the length of the message.
    const FLAGS: usize = 4 + 16;
    let packets = fixture(NORMAL);
    let most = of(&packets).concurrency.max;
    let mut answers = 0_usize;
    let rest = packets.into_iter().filter(|packet| {
        let flags = packet.tcp_payload().get(FLAGS);
        let is_answer = flags.is_some_and(|flags| flags & 1 != 0);
        answers += usize::from(is_answer);
        !is_answer || !answers.is_multiple_of(EACH)
    });
    let summary = of(&rest.collect::<Vec<_>>());
    let commands = summary.commands.values();
    let unanswered: u64 = commands.map(|command| command.unanswered).sum();
    assert!(unanswered >= 8, "{unanswered}");
    let found = summary.concurrency.max;
    assert!(found <= 2 * most, "{found}, at most {most}");
}

#[test]
fn messages_that_are_cut_by_the_snap_length_are_counted() {
    let packets = fixture(NORMAL);
    let expected = of(&packets);
    for snap_len in [96, 120, 200] {
        let cut: Vec<_> = packets.iter().map(|packet| packet.cut(snap_len)).collect();
        let summary = of(&cut);
        let missing: usize = packets
            .iter()
            .map(|packet| packet.bytes.len().saturating_sub(snap_len))
            .sum();
        assert_eq!(summary.unreadable.cut_bytes, missing as u64, "{snap_len}");
        assert!(summary.unreadable.cut_messages > 0, "{snap_len}");
        assert_eq!(summary.unreadable.malformed_messages, 0, "{snap_len}");
        // Each message is a segment of its own, so the command of each is there.
        assert_eq!(messages(&summary), messages(&expected), "{snap_len}");
    }
    // 256 bytes have the file ids of CREATEs, 200 have not.
    let tree = |snap_len| {
        let cut: Vec<_> = packets.iter().map(|packet| packet.cut(snap_len)).collect();
        let tree = of(&cut).tree;
        [tree.files, tree.directories, tree.made_up, tree.bytes]
    };
    let whole = tree(usize::MAX);
    assert_eq!(tree(256), whole);
    assert_ne!(tree(200), whole);
    // Nothing of the messages is there.
    let cut: Vec<_> = packets.iter().map(|packet| packet.cut(66)).collect();
    assert!(matches!(
        read(&pcap(1, &cut)),
        Err(CaptureError::NoSmb { .. })
    ));
}

#[test]
fn a_connection_is_read_from_where_the_capture_begins() {
    let packets = fixture(NORMAL);
    let all = messages(&of(&packets));
    let mut least = all;
    for begin in (1..packets.len() - 20).step_by(3) {
        let summary = of(&packets[begin..]);
        let found = messages(&summary);
        assert!(found <= all, "{begin}");
        assert!(
            found <= least || found == all,
            "{begin}: {found} after {least}"
        );
        least = least.min(found);
        assert_eq!(summary.unreadable.malformed_messages, 0, "{begin}");
    }
    assert!(least < all / 2);
    // Inside of a segment: the rest of its message is skipped.
    let first = packets
        .iter()
        .position(|packet| packet.tcp_payload().len() > 300)
        .unwrap();
    let mut joined = packets[first..].to_vec();
    joined[0] = joined[0].without_begin(100);
    let skipped = joined[0].tcp_payload().len() as u64;
    let summary = of(&joined);
    assert_eq!(summary.unreadable.skipped_bytes, skipped);
    assert_eq!(messages(&summary) + 1, messages(&of(&packets[first..])));
}

#[test]
fn a_file_may_end_anywhere() {
    let file = pcap(1, &fixture(COMPOUNDS));
    for end in (24..file.len()).step_by(7) {
        match read(&file[..end]) {
            Ok(summary) => assert!(summary.source.frames > 0, "{end}"),
            Err(error) => assert!(
                matches!(error, CaptureError::NoSmb { .. }),
                "{end}: {error}"
            ),
        }
    }
    let whole = read(&file).unwrap();
    assert_eq!(whole.source.cut_files, 0);
    assert_eq!(whole.source.cut_frame, None);
    let cut = read(&file[..file.len() - 1]).unwrap().source;
    assert_eq!((cut.cut_files, cut.cut_frame), (1, Some(cut.frames)));
    assert_eq!(cut.frames + 1, whole.source.frames);
}

#[test]
fn a_damaged_file_is_read_up_to_the_damage() {
    const GOOD: usize = 20;
    let packets = fixture(COMPOUNDS);
    let good = of(&packets[..GOOD]);
    // The length of the next packet is too large.
    let mut record = pcap(1, &packets);
    let at = pcap(1, &packets[..GOOD]).len() + 8;
    record[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut block = pcapng(1, &packets[..GOOD]);
    block.extend([0, 0, 0, 6, 0x7f, 0xff, 0xff, 0xf0]);
    block.extend([0; 64]);
    for (file, what) in [(record, "record"), (block, "block")] {
        let summary = read(&file).unwrap();
        assert_eq!(counts(&summary), counts(&good), "{what}");
        let source = summary.source;
        assert_eq!((source.damaged_files, source.cut_files), (1, 0), "{what}");
        let damage = format!("after frame {GOOD}: a {what} claims to have more than 16 MiB");
        assert_eq!(source.damage, Some(damage));
    }
    // Nothing before the damage is SMB.
    let at = pcap(1, &packets[..3]).len() + 8;
    let mut early = pcap(1, &packets);
    early[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = read(&early).unwrap_err().to_string();
    let said = "it is damaged after frame 3: a record claims to have more than 16 MiB; record the";
    assert!(error.contains(said), "{error}");
}

#[test]
fn a_message_that_is_not_as_specified_is_told_by_its_frame() {
    /// Place of NextCommand behind the length of the message.
    const NEXT: usize = 4 + 20;
    let mut packets = fixture(COMPOUNDS);
    let is_compound = |packet: &Packet| {
        let payload = packet.tcp_payload();
        payload.get(4..8) == Some(&b"\xFESMB"[..]) && payload[NEXT..NEXT + 4] != [0; 4]
    };
    let at = packets.iter().position(is_compound).unwrap();
    let packet = &mut packets[at];
    let from = packet.bytes.len() - packet.tcp_payload().len() + NEXT;
    packet.bytes[from..from + 4].copy_from_slice(&12_u32.to_le_bytes());
    let unreadable = of(&packets).unreadable;
    assert_eq!(unreadable.malformed_messages, 1);
    assert_eq!(unreadable.malformed_frame, Some(at as u64 + 1));
}

/// The packets of all connections come in turn: each is in the middle of its messages
/// while the others go on.
#[test]
fn connections_at_the_same_time_are_kept_apart() {
    const CONNECTIONS: u64 = 10_000;
    let packets = fixture(COMPOUNDS);
    let one = of(&packets);
    let mut all = Vec::new();
    for packet in &packets {
        for number in 0..CONNECTIONS {
            all.push(packet.of_client(number as u16));
        }
    }
    let many = of(&all);
    assert_eq!(many.connections, CONNECTIONS);
    assert_eq!(messages(&many), CONNECTIONS * messages(&one));
    assert_eq!(many.unreadable.lost_bytes, 0);
    let unanswered: u64 = many
        .commands
        .values()
        .map(|command| command.unanswered + command.unasked)
        .sum();
    assert_eq!(unanswered, 0);
}

#[test]
fn random_damage_never_panics() {
    let file = pcap(1, &fixture(NORMAL));
    let mut random = 7_u64;
    for _ in 0..200 {
        let mut damaged = file.clone();
        for _ in 0..40 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = 24 + (random >> 20) as usize % (damaged.len() - 24);
            damaged[at] = (random >> 8) as u8;
        }
        if let Ok(summary) = read(&damaged) {
            assert!(summary.to_json().starts_with('{'));
        }
    }
}
