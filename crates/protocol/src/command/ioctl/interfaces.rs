//! The server's network interfaces (MS-SMB2 2.2.32.5), for several connections
//! per session.
//!
//! The request is FSCTL_QUERY_NETWORK_INTERFACE_INFO, without input and with a
//! file id of all ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::wire::{DecodeError, Linked, Reader};

/// RSS_CAPABLE in [`NetworkInterface::capability`]: the interface spreads
/// connections over processors. So several connections to it are useful.
pub const RSS_CAPABLE: u32 = 0x0000_0001;
/// RDMA_CAPABLE in [`NetworkInterface::capability`]: the interface supports RDMA.
pub const RDMA_CAPABLE: u32 = 0x0000_0002;

/// An address of the server. An interface with several addresses has several of
/// these, with the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkInterface {
    /// The server's number for the interface.
    pub index: u32,
    /// Zero, [`RSS_CAPABLE`], [`RDMA_CAPABLE`] or both.
    pub capability: u32,
    /// Speed of the link in bits per second.
    pub link_speed: u64,
    /// The address. A link-local address is not usable without the client's own
    /// name for the link.
    pub address: IpAddr,
}

/// An iterator over the interfaces in the output of the IOCTL.
///
/// It skips addresses other than IPv4 and IPv6, and ends after an error.
#[derive(Clone, Copy, Debug)]
pub struct NetworkInterfaces<'a>(Linked<'a>);

impl<'a> NetworkInterfaces<'a> {
    /// Makes an iterator over `output`.
    #[must_use]
    pub const fn new(output: &'a [u8]) -> Self {
        Self(Linked::new(output))
    }
}

impl Iterator for NetworkInterfaces<'_> {
    type Item = Result<NetworkInterface, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.next_entry(read_interface)? {
                Ok(None) => {}
                Ok(Some(interface)) => return Some(Ok(interface)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Reads one entry. Returns it with the number of bytes that it uses.
fn read_interface(entry: Reader<'_>) -> Result<(Option<NetworkInterface>, usize), DecodeError> {
    const INTERNETWORK: u16 = 0x0002;
    const INTERNETWORK_V6: u16 = 0x0017;
    const ADDRESS_AT: usize = 24;
    let mut reader = entry.ahead(4);
    let index = reader.u32("interface index")?;
    let capability = reader.u32("interface capability")?;
    reader.u32("interface reserved")?;
    let link_speed = reader.u64("interface link speed")?;
    let family = reader.u16("interface address family")?;
    reader.u16("interface address port")?;
    let (address, len) = match family {
        INTERNETWORK => {
            let address = reader.array::<4>("interface IPv4 address")?;
            (IpAddr::V4(Ipv4Addr::from(address)), 8)
        }
        INTERNETWORK_V6 => {
            reader.u32("interface flow info")?;
            let address = reader.array::<16>("interface IPv6 address")?;
            (IpAddr::V6(Ipv6Addr::from(address)), 24)
        }
        _ => return Ok((None, ADDRESS_AT)),
    };
    let interface = NetworkInterface {
        index,
        capability,
        link_speed,
        address,
    };
    Ok((Some(interface), ADDRESS_AT + len))
}
