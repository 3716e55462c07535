//! The `--source-ip` list: the local addresses that connections come from.
//!
//! It serves servers that limit connections per address, and machines with several
//! networks. `192.0.2.1,192.0.2.10-192.0.2.20` is one address and then eleven more.
//! A list holds at least one address and no address twice. Only connecting shows
//! whether an address belongs to this machine.

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The largest number of addresses in a list.
pub const SOURCES_MAX: usize = 4096;

/// Local addresses of connections, in the order in which they are used.
///
/// Elements are separated by commas. An element is an IPv4 or IPv6 address, or
/// `FIRST-LAST` with both ends of one family. The canonical text writes three or
/// more consecutive addresses as a range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceList(Vec<IpAddr>);

/// The reason why a text is not a list of source addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceListError {
    /// Nothing between two commas, or nothing at all.
    #[error(
        "address list `{list}` has an empty element: write addresses or ranges, such as \
         192.0.2.1,192.0.2.10-192.0.2.20"
    )]
    Empty {
        /// The whole list.
        list: String,
    },
    /// Neither an address nor a range.
    #[error("`{element}` in the address list is neither an IP address nor FIRST-LAST")]
    Malformed {
        /// The element as written.
        element: String,
    },
    /// An address that no connection can come from.
    #[error("`{element}` in the address list has an address that no connection can come from")]
    Unusable {
        /// The element as written.
        element: String,
    },
    /// A range that starts in one address family and ends in the other.
    #[error("range `{element}` in the address list mixes IPv4 and IPv6")]
    Mixed {
        /// The element as written.
        element: String,
    },
    /// A range that ends before it starts.
    #[error("range `{element}` in the address list is reversed: write the smaller address first")]
    Reversed {
        /// The element as written.
        element: String,
    },
    /// More addresses than [`SOURCES_MAX`].
    #[error("the address list has more than {SOURCES_MAX} addresses")]
    TooMany,
    /// An address that is listed twice.
    #[error("address {0} is listed twice: connections go round the list evenly")]
    Twice(IpAddr),
}

impl SourceList {
    /// Returns the addresses, in the order in which they are used. Never empty.
    #[must_use]
    pub fn as_slice(&self) -> &[IpAddr] {
        &self.0
    }

    /// Returns the address of a connection, by its number from 0. Connections use
    /// the addresses of the list in turn.
    #[must_use]
    pub fn of_connection(&self, number: u32) -> IpAddr {
        self.0[number as usize % self.0.len()]
    }
}

impl TryFrom<String> for SourceList {
    type Error = SourceListError;

    fn try_from(text: String) -> Result<Self, SourceListError> {
        text.parse()
    }
}

impl From<SourceList> for String {
    fn from(list: SourceList) -> Self {
        list.to_string()
    }
}

impl FromStr for SourceList {
    type Err = SourceListError;

    fn from_str(text: &str) -> Result<Self, SourceListError> {
        let mut addresses = Vec::new();
        let mut seen = HashSet::new();
        for element in text.split(',').map(str::trim) {
            if element.is_empty() {
                return Err(SourceListError::Empty {
                    list: text.to_owned(),
                });
            }
            let range = Range::parse(element)?;
            if range.len() > (SOURCES_MAX - addresses.len()) as u128 {
                return Err(SourceListError::TooMany);
            }
            for address in range.addresses() {
                if !seen.insert(address) {
                    return Err(SourceListError::Twice(address));
                }
                addresses.push(address);
            }
        }
        Ok(Self(addresses))
    }
}

/// A range of addresses of one family, as numbers.
struct Range {
    make: fn(u128) -> IpAddr,
    first: u128,
    last: u128,
}

impl Range {
    fn parse(element: &str) -> Result<Self, SourceListError> {
        let named = || element.to_owned();
        let address = |text: &str| {
            let parsed = text.trim().parse::<IpAddr>();
            parsed.map_err(|_| SourceListError::Malformed { element: named() })
        };
        let (first, last) = match element.split_once('-') {
            None => (address(element)?, address(element)?),
            Some((first, last)) => (address(first)?, address(last)?),
        };
        if first.is_ipv4() != last.is_ipv4() {
            return Err(SourceListError::Mixed { element: named() });
        }
        if last < first {
            return Err(SourceListError::Reversed { element: named() });
        }
        // Unspecified addresses lie at the start of their address space, multicast
        // and broadcast addresses at its end. Checking both ends is therefore
        // enough.
        if first.is_unspecified() || last.is_multicast() || is_broadcast(last) {
            return Err(SourceListError::Unusable { element: named() });
        }
        Ok(Self {
            make: maker(first),
            first: number(first),
            last: number(last),
        })
    }

    const fn len(&self) -> u128 {
        (self.last - self.first).saturating_add(1)
    }

    fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        (self.first..=self.last).map(self.make)
    }
}

fn is_broadcast(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(address) if address.is_broadcast())
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Returns the function that turns a number into an address of the same family.
fn maker(address: IpAddr) -> fn(u128) -> IpAddr {
    match address {
        IpAddr::V4(_) => |number| IpAddr::V4(Ipv4Addr::from_bits(number as u32)),
        IpAddr::V6(_) => |number| IpAddr::V6(Ipv6Addr::from_bits(number)),
    }
}

impl fmt::Display for SourceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut separator = "";
        while let [first, tail @ ..] = rest {
            f.write_str(separator)?;
            separator = ",";
            let length = consecutive(rest);
            if length < 3 {
                write!(f, "{first}")?;
                rest = tail;
            } else {
                write!(f, "{first}-{}", rest[length - 1])?;
                rest = &rest[length..];
            }
        }
        Ok(())
    }
}

/// Returns how many of the leading addresses are consecutive.
fn consecutive(addresses: &[IpAddr]) -> usize {
    let follows = |pair: &&[IpAddr]| {
        pair[0].is_ipv4() == pair[1].is_ipv4()
            && number(pair[0]).checked_add(1) == Some(number(pair[1]))
    };
    addresses.windows(2).take_while(follows).count() + 1
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
    fn serde_speaks_the_written_form() {
        let list: SourceList = serde_json::from_str("\"127.0.0.1-127.0.0.4\"").unwrap();
        assert_eq!(
            serde_json::to_string(&list).unwrap(),
            "\"127.0.0.1-127.0.0.4\""
        );
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
            let list = SourceList(v4.chain(v6).collect());
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
