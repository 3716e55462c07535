use smbench_engine::probe::{SessionFacts, WritePolicy};
use smbench_protocol::command::lease::LeaseState;
use smbench_protocol::connection::{Negotiated, SessionTerms};
use smbench_protocol::{Dialect, SigningAlgorithm};

use super::*;

fn times(median_us: u64) -> TimeSpread {
    TimeSpread {
        count: 3,
        min: Duration::from_micros(1),
        median: Duration::from_micros(median_us),
        max: Duration::from_secs(1),
    }
}

fn trials() -> Trials {
    Trials {
        write: times(80),
        flush: times(900),
        flush_finding: PolicyFinding {
            policy: FlushPolicy::Unknown,
            evidence: "nobody saw".to_owned(),
        },
        write_finding: PolicyFinding {
            policy: WritePolicy::Waits,
            evidence: "the disk was seen".to_owned(),
        },
        compound: Ok(()),
        oplocks: vec![
            (OplockLevel::LevelII, Ok(OplockLevel::LevelII)),
            (OplockLevel::Batch, Ok(OplockLevel::None)),
        ],
        leases: vec![
            (LeaseState::RH, Ok(LeaseState::RH)),
            (LeaseState::RWH, Err("refused".to_owned())),
        ],
    }
}

#[test]
fn everything_known_is_reported() {
    let probe = Probe {
        session: SessionFacts {
            negotiated: Negotiated {
                dialect: Dialect::Smb311,
                signing_algorithm: SigningAlgorithm::AesCmac,
                cipher: Some(Cipher::Aes128Gcm),
                server_requires_signing: true,
                max_read: 8 << 20,
                max_write: 1 << 20,
                max_transact: 65_537,
                capabilities: 0x87,
                server_guid: std::array::from_fn(|at| at as u8),
            },
            terms: SessionTerms {
                signing: Some(SigningAlgorithm::AesCmac),
                encryption: None,
                logon: Logon::Ntlm,
            },
            credits_granted: 33,
            credits_asked: 512,
            setup: times(4567),
        },
        channels: Err("refused".to_owned()),
        trials: Ok(trials()),
        leftover: None,
        dialects: vec![
            (Dialect::Smb21, Err("refused".to_owned())),
            (Dialect::Smb311, Ok(())),
        ],
        signing: vec![(SigningAlgorithm::AesCmac, Ok(()))],
        ciphers: vec![(Cipher::Aes128Gcm, Err("refused".to_owned()))],
        free_bytes: Some(3 << 30),
    };
    let expected = "\
server          smb://ann@host/share
dialect         3.1.1
                2.1: refused
                3.1.1: accepted
signing         aes-128-cmac, the server requires it
                aes-128-cmac: accepted
encryption      off
                aes-128-gcm: refused
capabilities    DFS, LEASING, LARGE_MTU, 0x80
largest read    8 MiB
largest write   1 MiB
largest query   65537 B
credits         33 granted of 512 asked for
logged on       as the user asked for, by NTLM
server GUID     03020100-0504-0706-0809-0a0b0c0d0e0f
free space      3 GiB
session set-up  4.57 ms, median of 3 (1.00 us to 1.00 s)
multichannel    refused
write           4 KiB: 80.0 us, median of 3 (1.00 us to 1.00 s)
write policy    waits: the disk was seen
flush after it  900 us, median of 3 (1.00 us to 1.00 s)
flush policy    unknown: nobody saw; a FLUSH takes 11.2 times a WRITE, which proves nothing
compounds       create, query and close in one frame: accepted
oplocks         level II: granted
                batch: none granted
leases          RH: granted
                RWH: refused
";
    assert_eq!(describe("smb://ann@host/share", &probe), expected);
}

#[test]
fn no_capability_is_said_so() {
    assert_eq!(capabilities(&CAPABILITIES, 0), "none");
}

#[test]
fn long_lines_are_broken_under_their_value() {
    let evidence = "a thread of this machine saw no sync of the disk in 2 of 32 of the times that it \
                    looked at it";
    let text = format!("dialect         3.1.1\nflush policy    unknown: {evidence}\n");
    let expected = "\
dialect         3.1.1
flush policy    unknown: a thread of this machine saw no sync of the disk in 2
                of 32 of the times that it looked at it
";
    assert_eq!(broken(&text), expected);
    let wide = broken(&format!("                {}\n", "x ".repeat(60)));
    assert!(
        wide.lines().all(|line| line.chars().count() <= COLUMNS),
        "{wide}"
    );
}
