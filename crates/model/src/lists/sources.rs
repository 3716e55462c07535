//! The `--source-ip` list: the local addresses that connections come from.
//!
//! It serves servers that limit connections per address, and machines with several
//! networks. `192.0.2.1,192.0.2.10-192.0.2.20` is one address and then eleven more.
//! Only connecting shows whether an address belongs to this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{List, ListError, Value};

/// The largest number of addresses in a list.
pub const SOURCES_MAX: usize = 4096;

/// Local addresses of connections, in the order in which they are used.
///
/// An element is an IPv4 or IPv6 address, or `FIRST-LAST` with both ends of one
/// family.
pub type SourceList = List<IpAddr>;

impl SourceList {
    /// Returns the address of a connection, by its number from 0. Connections use
    /// the addresses of the list in turn.
    #[must_use]
    pub fn of_connection(&self, number: u32) -> IpAddr {
        self.0[number as usize % self.0.len()]
    }
}

impl Value for IpAddr {
    const LIST: &str = "address list";
    const EXAMPLE: &str = "192.0.2.1,192.0.2.10-192.0.2.20";
    const WORD: &str = "address";
    const WORDS: &str = "addresses";
    const TO: &str = "-";
    const STEP_MAX: u128 = 1;
    const LENGTH_MAX: usize = SOURCES_MAX;

    fn parse(element: &str) -> Result<(Self, Self, usize), ListError> {
        let address = |text: &str| {
            text.trim().parse::<Self>().map_err(|_| {
                ListError(format!(
                    "`{element}` in the address list is neither an IP address nor FIRST-LAST"
                ))
            })
        };
        let (first, last) = element.split_once('-').unwrap_or((element, element));
        let (first, last) = (address(first)?, address(last)?);
        match first.is_ipv4() == last.is_ipv4() {
            true => Ok((first, last, 1)),
            false => Err(ListError(format!(
                "range `{element}` in the address list mixes IPv4 and IPv6"
            ))),
        }
    }

    /// Refuses addresses that no connection can come from. Unspecified addresses lie
    /// at the start of their address space, multicast and broadcast addresses at its
    /// end. Checking both ends is therefore enough.
    fn check(element: &str, first: Self, last: Self) -> Result<(), ListError> {
        let is_broadcast = matches!(last, Self::V4(last) if last.is_broadcast());
        match first.is_unspecified() || last.is_multicast() || is_broadcast {
            true => Err(ListError(format!(
                "`{element}` in the address list has an address that no connection can come from"
            ))),
            false => Ok(()),
        }
    }

    fn distance(self, later: Self) -> Option<u128> {
        match (self, later) {
            (Self::V4(first), Self::V4(later)) => {
                later.to_bits().checked_sub(first.to_bits()).map(u128::from)
            }
            (Self::V6(first), Self::V6(later)) => later.to_bits().checked_sub(first.to_bits()),
            _ => None,
        }
    }

    fn after(self, distance: u128) -> Self {
        match self {
            Self::V4(first) => Ipv4Addr::from_bits(first.to_bits() + distance as u32).into(),
            Self::V6(first) => Ipv6Addr::from_bits(first.to_bits() + distance).into(),
        }
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
        list.as_slice().iter().map(IpAddr::to_string).collect()
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
                "address list `` has an empty element: write addresses or ranges, such as \
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
            let v4 = v4.into_iter().map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)));
            let v6 = v6.into_iter().map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits)));
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
