//! The `--source-ip` list: the local addresses that connections come from.
//!
//! It serves servers that limit connections per address, and machines with several
//! networks. `192.0.2.1,192.0.2.10-192.0.2.20` is one address and then eleven more.
//! Only connecting shows whether an address belongs to this machine.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use schemars::JsonSchema;

use super::{List, ListError, Value};
use crate::url::is_zone;

/// The largest number of addresses in a list.
pub const SOURCES_MAX: usize = 4096;

/// Local addresses of connections, in the order in which they are used.
///
/// An element is an IPv4 or IPv6 address, or `FIRST-LAST` with both ends of one
/// family. A link-local address may have a zone, as in `fe80::1%eth0`.
pub type SourceList = List<SourceIp>;

/// The longest name of an interface on Linux (IFNAMSIZ), in bytes.
const ZONE_MAX: usize = 15;

/// A local address of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct SourceIp {
    /// The address.
    pub ip: IpAddr,
    /// The name of the interface of a link-local address (RFC 4007), padded with zeros.
    zone: [u8; ZONE_MAX],
}

impl SourceIp {
    /// Returns the interface of a link-local address, if the user gave it.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        let zone = std::str::from_utf8(&self.zone).unwrap_or_default();
        Some(zone.trim_end_matches('\0')).filter(|zone| !zone.is_empty())
    }
}

impl From<IpAddr> for SourceIp {
    fn from(ip: IpAddr) -> Self {
        Self {
            ip,
            zone: [0; ZONE_MAX],
        }
    }
}

impl FromStr for SourceIp {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.trim();
        let Some((address, name)) = text.split_once('%') else {
            return text.parse().map(|ip: IpAddr| ip.into()).map_err(|_| ());
        };
        let ip: Ipv6Addr = address.parse().map_err(|_| ())?;
        let mut zone = [0; ZONE_MAX];
        let room = zone.get_mut(..name.len()).ok_or(())?;
        room.copy_from_slice(name.as_bytes());
        if ip.is_unicast_link_local() && is_zone(name) {
            Ok(Self {
                ip: ip.into(),
                zone,
            })
        } else {
            Err(())
        }
    }
}

impl fmt::Display for SourceIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.zone() {
            Some(zone) => write!(f, "{}%{zone}", self.ip),
            None => self.ip.fmt(f),
        }
    }
}

impl SourceList {
    /// Returns the address of a connection, by its number from 0. Connections use
    /// the addresses of the list in turn.
    #[must_use]
    pub fn of_connection(&self, number: u32) -> SourceIp {
        self.0[number as usize % self.0.len()]
    }
}

impl Value for SourceIp {
    const LIST: &str = "address list";
    const EXAMPLE: &str = "192.0.2.1,192.0.2.10-192.0.2.20";
    const WORD: &str = "address";
    const WORDS: &str = "addresses";
    const TO: &str = "-";
    const STEP_MAX: u128 = 1;
    const LENGTH_MAX: usize = SOURCES_MAX;

    fn parse(element: &str) -> Result<(Self, Self, usize), ListError> {
        // A zone may have a dash as well.
        let mut dashes = element.match_indices('-');
        let range = || {
            dashes.find_map(|(at, _)| {
                let (first, last) = (element[..at].parse(), element[at + 1..].parse());
                Some((first.ok()?, last.ok()?))
            })
        };
        let one = element.parse::<Self>().map(|one| (one, one)).ok();
        let (first, last): (Self, Self) = one.or_else(range).ok_or_else(|| {
            ListError(format!(
                "`{element}` in the address list is neither an IP address nor FIRST-LAST"
            ))
        })?;
        if first.ip.is_ipv4() != last.ip.is_ipv4() {
            return Err(ListError(format!(
                "range `{element}` in the address list mixes IPv4 and IPv6"
            )));
        }
        if first.zone == last.zone {
            Ok((first, last, 1))
        } else {
            Err(ListError(format!(
                "range `{element}` in the address list has two interfaces"
            )))
        }
    }

    /// Refuses addresses that no connection can come from. Unspecified addresses lie
    /// at the start of their address space, multicast and broadcast addresses at its
    /// end. Checking both ends is therefore enough.
    fn check(element: &str, first: Self, last: Self) -> Result<(), ListError> {
        let (first, last) = (first.ip, last.ip);
        let is_broadcast = matches!(last, IpAddr::V4(last) if last.is_broadcast());
        if first.is_unspecified() || last.is_multicast() || is_broadcast {
            Err(ListError(format!(
                "`{element}` in the address list has an address that no connection can come from"
            )))
        } else {
            Ok(())
        }
    }

    fn distance(self, later: Self) -> Option<u128> {
        match (self.ip, later.ip) {
            _ if self.zone != later.zone => None,
            (IpAddr::V4(first), IpAddr::V4(later)) => {
                later.to_bits().checked_sub(first.to_bits()).map(u128::from)
            }
            (IpAddr::V6(first), IpAddr::V6(later)) => later.to_bits().checked_sub(first.to_bits()),
            _ => None,
        }
    }

    fn after(self, distance: u128) -> Self {
        let ip = match self.ip {
            IpAddr::V4(first) => Ipv4Addr::from_bits(first.to_bits() + distance as u32).into(),
            IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits() + distance).into(),
        };
        Self { ip, ..self }
    }

    fn twice(self) -> ListError {
        ListError(format!(
            "address {self} is listed twice: connections go round the list evenly"
        ))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn addresses(text: &str) -> Vec<String> {
        let list: SourceList = text.parse().unwrap();
        list.as_slice().iter().map(SourceIp::to_string).collect()
    }

    #[test]
    fn addresses_and_ranges_of_both_families_mix() {
        assert_eq!(
            addresses("192.0.2.1, 192.0.2.254 - 192.0.3.1"),
            [
                "192.0.2.1",
                "192.0.2.254",
                "192.0.2.255",
                "192.0.3.0",
                "192.0.3.1"
            ]
        );
        assert_eq!(
            addresses("2001:db8::fffe-2001:db8::1:0,127.0.0.1,::1"),
            [
                "2001:db8::fffe",
                "2001:db8::ffff",
                "2001:db8::1:0",
                "127.0.0.1",
                "::1"
            ]
        );
        assert_eq!(addresses("10.0.0.0-10.0.15.255").len(), SOURCES_MAX);
    }

    #[test]
    fn a_link_local_address_may_have_a_zone() {
        assert_eq!(addresses("fe80::1%eth0"), ["fe80::1%eth0"]);
        assert_eq!(
            addresses("fe80::1%br-lan-fe80::3%br-lan,fe80::1"),
            [
                "fe80::1%br-lan",
                "fe80::2%br-lan",
                "fe80::3%br-lan",
                "fe80::1"
            ]
        );
        let list: SourceList = "fe80::1%br-lan-fe80::3%br-lan".parse().unwrap();
        assert_eq!(list.to_string().parse(), Ok(list.clone()));
        assert_eq!(list.of_connection(1).zone(), Some("br-lan"));
        for text in [
            "fe80::1%",
            "fe80::1%sixteen-letters-",
            "::1%lo",
            "127.0.0.1%lo",
            "fe80::1%a b",
        ] {
            assert!(text.parse::<SourceList>().is_err(), "{text}");
        }
        assert!(
            "fe80::1%a-fe80::3%b"
                .parse::<SourceList>()
                .unwrap_err()
                .to_string()
                .ends_with("has two interfaces")
        );
    }

    #[test]
    fn connections_go_round_the_list() {
        let list: SourceList = "127.0.0.2,127.0.0.9".parse().unwrap();
        let of = |number| list.of_connection(number).to_string();
        assert_eq!(
            [of(0), of(1), of(2)],
            ["127.0.0.2", "127.0.0.9", "127.0.0.2"]
        );
        assert_eq!(of(u32::MAX), "127.0.0.9");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, message) in [
            (
                "",
                "the address list is empty: write addresses or ranges, such as \
                 192.0.2.1,192.0.2.10-192.0.2.20",
            ),
            (
                "127.0.0.1,",
                "address list `127.0.0.1,` has an empty element: write addresses or ranges, such \
                 as 192.0.2.1,192.0.2.10-192.0.2.20",
            ),
            (
                "eth0",
                "`eth0` in the address list is neither an IP address nor FIRST-LAST",
            ),
            (
                "127.0.0.1-9",
                "`127.0.0.1-9` in the address list is neither an IP address nor FIRST-LAST",
            ),
            (
                "127.0.0.1-127.0.0.2-127.0.0.3",
                "`127.0.0.1-127.0.0.2-127.0.0.3` in the address list is neither an IP address nor \
                 FIRST-LAST",
            ),
            (
                "0.0.0.0",
                "`0.0.0.0` in the address list has an address that no connection can come from",
            ),
            (
                "ff02::1",
                "`ff02::1` in the address list has an address that no connection can come from",
            ),
            (
                "192.0.2.1-255.255.255.255",
                "`192.0.2.1-255.255.255.255` in the address list has an address that no \
                 connection can come from",
            ),
            (
                "127.0.0.1-::1",
                "range `127.0.0.1-::1` in the address list mixes IPv4 and IPv6",
            ),
            (
                "127.0.0.2-127.0.0.1",
                "range `127.0.0.2-127.0.0.1` in the address list is reversed: write the smaller \
                 address first",
            ),
            (
                "10.0.0.0-10.0.16.0",
                "the address list has more than 4096 addresses",
            ),
            (
                "::1-feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "the address list has more than 4096 addresses",
            ),
            (
                "127.0.0.1-127.0.0.3,127.0.0.2",
                "address 127.0.0.2 is listed twice: connections go round the list evenly",
            ),
        ] {
            let error = text.parse::<SourceList>().unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn printing_is_canonical() {
        for (written, printed) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.1,127.0.0.2", "127.0.0.1,127.0.0.2"),
            ("127.0.0.1,127.0.0.2,127.0.0.3", "127.0.0.1-127.0.0.3"),
            ("127.0.0.3,127.0.0.2", "127.0.0.3,127.0.0.2"),
            ("::1-::3,0.0.0.4", "::1-::3,0.0.0.4"),
        ] {
            let list: SourceList = written.parse().unwrap();
            assert_eq!(list.to_string(), printed);
        }
    }

    #[test]
    fn serde_reads_the_written_form() {
        let list: SourceList = serde_json::from_str("\"127.0.0.1-127.0.0.4\"").unwrap();
        assert_eq!(list.to_string(), "127.0.0.1-127.0.0.4");
        let error = serde_json::from_str::<SourceList>("\"x\"").unwrap_err();
        assert!(error.to_string().contains("neither an IP"), "{error}");
    }

    proptest! {
        #[test]
        fn a_printed_list_reads_back(
            v4 in proptest::collection::hash_set(1..=40_u32, 0..30),
            v6 in proptest::collection::hash_set(1..=40_u128, 1..30),
        ) {
            let v4 = v4.into_iter().map(|bits| SourceIp::from(IpAddr::V4(Ipv4Addr::from_bits(bits))));
            let v6 = v6.into_iter().map(|bits| SourceIp::from(IpAddr::V6(Ipv6Addr::from_bits(bits))));
            let list = List(v4.chain(v6).collect());
            prop_assert_eq!(list.to_string().parse(), Ok(list));
        }

        #[test]
        fn hostile_text_never_panics(text in "[0-9a-f.:,-]{0,40}") {
            if let Ok(list) = text.parse::<SourceList>() {
                prop_assert!((1..=SOURCES_MAX).contains(&list.as_slice().len()));
            }
        }
    }
}
