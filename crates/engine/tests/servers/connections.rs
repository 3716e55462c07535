//! Which connections a run makes, as the server sees them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use smbench_engine::Cancel;
use smbench_engine::plan::Plan;
use smbench_engine::run::{Unobserved, execute};
use smbench_engine::spec::RunOptions;
use smbench_lab::{EmbeddedOptions, EmbeddedServer};

use crate::proxy::Proxy;
use crate::support::{plan, short, target};

/// A short run of many clients from these addresses.
fn from(sources: &str, url: &str, password: &str) -> Plan {
    let options = RunOptions {
        clients: Some("30".parse().unwrap()),
        file_size: Some("64KiB".parse().unwrap()),
        source_ip: Some(sources.parse().unwrap()),
        ..short()
    };
    plan("file-server", &options, target(url, password))
}

#[test]
fn clients_come_from_the_addresses_listed_in_turn() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let proxy = Proxy::witness(server.address());
    let url = server.url().replace(
        &server.address().to_string(),
        &format!("127.0.0.1:{}", proxy.port()),
    );
    let plan = from("127.0.0.2-127.0.0.5", &url, server.password());
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    let point = &record.load_points[0];
    assert_eq!((point.invalid.as_deref(), point.ops.errors()), (None, 0));
    let mut seen: BTreeMap<IpAddr, u32> = BTreeMap::new();
    let peers = proxy.peers();
    for peer in &peers {
        *seen.entry(*peer).or_default() += 1;
    }
    // The workspace's session and the eight that fill files use the first.
    let expected = [
        ("127.0.0.2", 9 + 8),
        ("127.0.0.3", 8),
        ("127.0.0.4", 7),
        ("127.0.0.5", 7),
    ];
    let expected = expected.map(|(address, count)| (address.parse().unwrap(), count));
    assert_eq!(seen, BTreeMap::from(expected));
    assert!(peers[..9].iter().all(|peer| *peer == expected[0].0));
}

#[test]
fn addresses_that_cannot_be_used_are_refused_before_anything_is_made() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    for (sources, reason) in [
        (
            // TEST-NET-1 is nobody's address.
            "127.0.0.2,192.0.2.1",
            "failed to connect from 192.0.2.1: Cannot assign requested address (os error 99); give \
             addresses of this machine (--source-ip)",
        ),
        (
            "127.0.0.2,::1",
            "from ::1: the server has no IPv6 address; give addresses of its kind (--source-ip)",
        ),
    ] {
        let plan = from(sources, &server.url(), server.password());
        let error = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(server.memory().paths(), Vec::<String>::new());
    }
}
