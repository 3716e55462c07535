//! The features of a server in CIFS.

use smbench_engine::probe::CifsProbe;
use smbench_model::units::Size;

use super::{capabilities, demand, free_space, logged_on, spread, table, tried};

/// Names of the capability bits (MS-CIFS and MS-SMB 2.2.4.5.2.1).
const CAPABILITIES: [(u32, &str); 20] = [
    (0x0000_0001, "RAW_MODE"),
    (0x0000_0002, "MPX_MODE"),
    (0x0000_0004, "UNICODE"),
    (0x0000_0008, "LARGE_FILES"),
    (0x0000_0010, "NT_SMBS"),
    (0x0000_0020, "RPC_REMOTE_APIS"),
    (0x0000_0040, "STATUS32"),
    (0x0000_0080, "LEVEL_II_OPLOCKS"),
    (0x0000_0100, "LOCK_AND_READ"),
    (0x0000_0200, "NT_FIND"),
    (0x0000_1000, "DFS"),
    (0x0000_2000, "INFOLEVEL_PASSTHRU"),
    (0x0000_4000, "LARGE_READX"),
    (0x0000_8000, "LARGE_WRITEX"),
    (0x0001_0000, "LWIO"),
    (0x0080_0000, "UNIX"),
    (0x0200_0000, "COMPRESSED_DATA"),
    (0x2000_0000, "DYNAMIC_REAUTH"),
    (0x4000_0000, "PERSISTENT_HANDLES"),
    (0x8000_0000, "EXTENDED_SECURITY"),
];

pub(super) fn describe(url: &str, probe: &CifsProbe) -> String {
    let size = |bytes: u32| format!("{:#}", Size(bytes.into()));
    let negotiated = &probe.negotiated;
    let signing = if probe.is_signed { "on" } else { "off" };
    let (read, write) = probe.largest;
    let mut lines = vec![
        ("server", url.to_owned()),
        ("dialect", "CIFS (NT LM 0.12)".to_owned()),
    ];
    lines.extend(tried(&probe.dialects));
    lines.extend([
        (
            "signing",
            format!("{signing}, {}", demand(negotiated.server_requires_signing)),
        ),
        ("encryption", "CIFS has none".to_owned()),
        (
            "capabilities",
            capabilities(&CAPABILITIES, negotiated.capabilities),
        ),
        ("largest read", size(read)),
        ("largest write", size(write)),
        ("message buffer", size(negotiated.max_buffer)),
        (
            "requests",
            format!("{} at a time (MaxMpxCount)", negotiated.max_mpx),
        ),
        ("logged on", logged_on(probe.logon).to_owned()),
        ("free space", free_space(probe.free_bytes)),
        ("session set-up", spread(&probe.setup)),
        (
            "not tried out",
            "probe tries files, oplocks and flushes in SMB2 and SMB3 only".to_owned(),
        ),
        (
            "next",
            "add --dialect cifs to run, find, suite and cleanup".to_owned(),
        ),
    ]);
    table(lines)
}
