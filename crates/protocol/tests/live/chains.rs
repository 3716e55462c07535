//! Related chains on real servers.

use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::create::{CreateRequest, Disposition};
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::header::Command;
use smbench_protocol::{FileId, NtStatus, SessionIndex};

use crate::peer::{Peer, Site, data_of, file, name};
use crate::{SHIELDS, Shield, samba};

const DATA: &[u8] = b"of an odd length";

const CLOSE: CloseRequest = CloseRequest {
    file_id: FileId::RELATED,
    flags: 0,
};

/// Sends CREATE, WRITE and CLOSE in one frame, then CREATE, READ and CLOSE.
/// Then it sends a chain whose first request fails.
fn check(site: &Site, shield: Shield) {
    let mut peer = Peer::open(site, shield);
    // Names of different lengths need paddings of different lengths.
    for n in 1..6 {
        let name = name(&"n".repeat(n));
        let create = file(&name, &[]);
        let write = WriteRequest {
            file_id: FileId::RELATED,
            offset: 0,
            length: DATA.len() as u32,
            flags: 0,
        };
        let tags = [peer.tag(), peer.tag(), peer.tag()];
        peer.connection
            .chain(SessionIndex::FIRST, &mut peer.out)
            .request(Command::Create, 1, tags[0], |out| create.encode(out))
            .write(tags[1], &write, |out| out.extend_from_slice(DATA))
            .request(Command::Close, 1, tags[2], |out| CLOSE.encode(out))
            .finish()
            .unwrap();
        peer.flush();
        for tag in tags {
            peer.answer(tag).success("a chain that writes");
        }

        let read = ReadRequest {
            file_id: FileId::RELATED,
            offset: 0,
            length: 1000,
            minimum_count: 0,
            flags: 0,
        };
        let tags = [peer.tag(), peer.tag(), peer.tag()];
        peer.connection
            .chain(SessionIndex::FIRST, &mut peer.out)
            .request(Command::Create, 1, tags[0], |out| create.encode(out))
            .read(tags[1], &read)
            .request(Command::Close, 1, tags[2], |out| CLOSE.encode(out))
            .finish()
            .unwrap();
        peer.flush();
        peer.answer(tags[0]).success("CREATE");
        let data = data_of(&peer.answer(tags[1]).success("READ"));
        assert_eq!(data, DATA, "{shield:?}");
        peer.answer(tags[2]).success("CLOSE");
    }

    let missing = name("missing");
    let create = CreateRequest {
        disposition: Disposition::Open,
        ..file(&missing, &[])
    };
    let tags = [peer.tag(), peer.tag()];
    peer.connection
        .chain(SessionIndex::FIRST, &mut peer.out)
        .request(Command::Create, 1, tags[0], |out| create.encode(out))
        .request(Command::Close, 1, tags[1], |out| CLOSE.encode(out))
        .finish()
        .unwrap();
    peer.flush();
    for tag in tags {
        assert_eq!(peer.answer(tag).status, NtStatus::OBJECT_NAME_NOT_FOUND);
    }
    assert_eq!(peer.connection.in_flight(), 0);
    assert!(peer.connection.credits() > 0);
}

#[test]
fn chains_on_samba() {
    let Some(server) = samba() else { return };
    for shield in SHIELDS {
        check(&Site::from(&server), shield);
    }
}

#[test]
fn chains_on_the_embedded_server() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    for shield in SHIELDS {
        check(&Site::from(&server), shield);
    }
}
