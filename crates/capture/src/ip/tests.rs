use super::*;

/// Returns a TCP header with ports and sequence number, and this payload.
fn tcp(payload: &[u8]) -> Vec<u8> {
    let header = [
        &[0xc0, 1, 1, 0xbd][..],
        &7_u32.to_be_bytes(),
        &9_u32.to_be_bytes(),
        // 20 bytes, ACK.
        &[0x50, 0x10, 0, 0, 0, 0, 0, 0],
    ];
    [&header.concat()[..], payload].concat()
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u16).to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, len[0], len[1], next, 64];
    packet.extend([0; 15]);
    packet.push(1);
    packet.extend([0; 15]);
    packet.push(2);
    packet.extend(payload);
    packet
}

fn ipv4(total: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(payload);
    packet
}

fn segment<'a>(
    fragments: &'a mut Fragments,
    packet: &'a [u8],
    missing: usize,
) -> Option<TcpSegment<'a>> {
    match fragments.read(packet, missing) {
        IpPayload::Tcp(segment) => Some(segment),
        _ => None,
    }
}

#[test]
fn a_segment_is_found_behind_extension_headers() {
    let mut fragments = Fragments::default();
    let plain = ipv6(6, &tcp(b"hello"));
    // Hop-by-hop options, then a fragment header of a whole datagram.
    let options = [
        &[44, 0, 1, 4, 0, 0, 0, 0][..],
        &[6, 0, 0, 0, 0, 0, 0, 1],
        &tcp(b"hello"),
    ];
    let behind = ipv6(0, &options.concat());
    for packet in [plain, behind] {
        let found = segment(&mut fragments, &packet, 0).unwrap();
        assert_eq!((found.payload, found.wire_len), (&b"hello"[..], 5));
        assert_eq!((found.sequence, found.acknowledged), (7, Some(9)));
        assert_eq!(found.to, "[::2]:445".parse().unwrap());
    }
}

#[test]
fn fragments_of_ipv6_are_put_together_in_any_order() {
    let whole = tcp(&[7; 100]);
    let part = |from: usize, to: usize, more: u16| {
        let offset = ((from as u16) | more).to_be_bytes();
        let header = [&[6, 0][..], &offset, &[0, 0, 0, 5]].concat();
        ipv6(44, &[&header[..], &whole[from..to]].concat())
    };
    let parts = [part(48, 96, 1), part(0, 48, 1), part(96, 120, 0)];
    let mut fragments = Fragments::default();
    assert!(segment(&mut fragments, &parts[0], 0).is_none());
    assert!(segment(&mut fragments, &parts[1], 0).is_none());
    assert!(segment(&mut fragments, &parts[0], 0).is_none());
    let found = segment(&mut fragments, &parts[2], 0).unwrap();
    assert_eq!(found.payload, [7; 100]);
    fragments.finish();
    assert_eq!(fragments.given_up, 0);
    for id in 0..1000_u32 {
        let mut lone = parts[0].clone();
        lone[44..48].copy_from_slice(&id.to_be_bytes());
        assert!(segment(&mut fragments, &lone, 0).is_none());
        assert!(fragments.pending.len() <= DATAGRAMS_MAX);
    }
    fragments.finish();
    assert_eq!(fragments.given_up, 1000);
}

#[test]
fn the_length_on_the_wire_is_that_of_the_header_without_padding() {
    let mut fragments = Fragments::default();
    let payload = tcp(b"hello");
    let padded = [&ipv4(45, &payload)[..], &[0; 6]].concat();
    let cut = ipv4(45, &payload[..22]);
    // Zero where the card divides the segment later.
    let offloaded = ipv4(0, &payload);
    for (packet, missing, captured) in [(padded, 0, 5), (cut, 3, 2), (offloaded, 0, 5)] {
        let found = segment(&mut fragments, &packet, missing).unwrap();
        assert_eq!((found.payload.len(), found.wire_len), (captured, 5));
    }
    for packet in [
        &[][..],
        &[0x45],
        &ipv4(45, &payload[..10]),
        &ipv4(10, &payload),
    ] {
        assert!(segment(&mut fragments, packet, 0).is_none());
    }
}
