//! Finds the IP packet in a captured packet: Ethernet with VLAN tags, Linux cooked v1
//! and v2, loopback of BSD, raw IP.

/// What a captured packet holds, by its link layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkPayload<'a> {
    /// An IP packet.
    Ip(&'a [u8]),
    /// Something else, such as ARP.
    Other,
    /// The link layer is none of those that are known.
    UnknownLink,
}

/// EtherTypes.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const PROVIDER_VLAN: u16 = 0x88a8;
const OLD_PROVIDER_VLAN: u16 = 0x9100;
/// The largest number of VLAN tags that is followed.
const TAGS_MAX: usize = 8;

/// Returns the IP packet of a packet with this link layer (tcpdump.org/linktypes.html).
pub(crate) fn ip_of(link_type: u32, bytes: &[u8]) -> LinkPayload<'_> {
    match link_type {
        // NULL and LOOP: an address family, in the byte order of the machine.
        0 | 108 => match bytes.get(4..) {
            Some(payload) => by_version(payload),
            None => LinkPayload::Other,
        },
        1 => by_type_at(bytes, 12, 14),
        // RAW; 12 and 14 are the numbers of some systems.
        12 | 14 | 101 => by_version(bytes),
        113 => by_type_at(bytes, 14, 16),
        228 | 229 => by_version(bytes),
        276 => by_type_at(bytes, 0, 20),
        _ => LinkPayload::UnknownLink,
    }
}

fn by_version(bytes: &[u8]) -> LinkPayload<'_> {
    match bytes.first().map(|byte| byte >> 4) {
        Some(4 | 6) => LinkPayload::Ip(bytes),
        _ => LinkPayload::Other,
    }
}

/// Returns the packet behind an EtherType and its VLAN tags.
fn by_type_at(bytes: &[u8], type_at: usize, payload_at: usize) -> LinkPayload<'_> {
    let u16_at = |at: usize| {
        let field = bytes.get(at..)?.first_chunk()?;
        Some(u16::from_be_bytes(*field))
    };
    let (mut kind, mut at) = (u16_at(type_at), payload_at);
    for _ in 0..TAGS_MAX {
        match kind {
            Some(IPV4 | IPV6) => {
                return bytes.get(at..).map_or(LinkPayload::Other, LinkPayload::Ip);
            }
            Some(VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN) => {
                kind = u16_at(at + 2);
                at += 4;
            }
            _ => break,
        }
    }
    LinkPayload::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: [u8; 4] = [0x45, 1, 2, 3];

    #[test]
    fn the_packet_is_found_behind_each_link_layer() {
        let tag = |kind: u16| [kind.to_be_bytes(), [0, 7]].concat();
        let cases = [
            (1, [&[0; 12][..], &[8, 0]].concat()),
            (1, [&[0; 12][..], &tag(VLAN), &[8, 0]].concat()),
            (
                1,
                [&[0; 12][..], &tag(PROVIDER_VLAN), &tag(VLAN), &[8, 0]].concat(),
            ),
            (113, [&[0; 14][..], &[8, 0]].concat()),
            (276, [&[8, 0][..], &[0; 18]].concat()),
            (0, vec![2, 0, 0, 0]),
            (108, vec![0, 0, 0, 2]),
            (101, vec![]),
            (228, vec![]),
        ];
        for (link_type, header) in cases {
            let bytes = [&header[..], &PACKET].concat();
            assert_eq!(
                ip_of(link_type, &bytes),
                LinkPayload::Ip(&PACKET),
                "{link_type}"
            );
            for end in 0..header.len() {
                let cut = ip_of(link_type, &bytes[..end]);
                assert_eq!(cut, LinkPayload::Other, "{link_type} cut at {end}");
            }
        }
    }

    #[test]
    fn other_payloads_and_other_link_layers_are_distinguished() {
        let arp = [&[0; 12][..], &[8, 6], &PACKET].concat();
        assert_eq!(ip_of(1, &arp), LinkPayload::Other);
        assert_eq!(ip_of(105, &PACKET), LinkPayload::UnknownLink);
        let endless = [&[0; 12][..], &[0x81, 0].repeat(40)].concat();
        assert_eq!(ip_of(1, &endless), LinkPayload::Other);
    }
}
