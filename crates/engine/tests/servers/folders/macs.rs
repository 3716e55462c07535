//! What the Finder of a Mac asks for: names beside each file, and listings with its details.

use super::*;

/// The right to delete a file (MS-SMB2 2.2.13.1.1).
const DELETE: u32 = 0x0001_0000;

/// A client lists 50 files as a Mac does.
const AS_A_MAC: &str = "[files]\nscope = \"shared\"\ncount = 50\nsize = \"1\"\n\
                        [[operations]]\nop = \"list\"\naapl = true\nweight = 100\n";

/// Returns the names of the CREATEs of a client, without their directories.
pub(super) fn names_opened(requests: &[Message]) -> Vec<String> {
    let parts = requests.iter().flat_map(Message::parts);
    let creates = parts.filter(|part| part.command() == CREATE);
    let names = creates.map(|create| {
        // MS-SMB2 2.2.13.
        let (at, len) = (create.u16_at(108).into(), usize::from(create.u16_at(110)));
        let units = create.0[at..][..len].as_chunks().0.iter();
        let units: Vec<_> = units.map(|unit| u16::from_le_bytes(*unit)).collect();
        let path = String::from_utf16(&units).unwrap();
        path.rsplit('\\').next().unwrap().to_owned()
    });
    names.collect()
}

#[test]
fn names_that_a_mac_looks_for_are_beside_the_files_and_in_their_folder() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, TSHARK]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let server = target(&samba.url(), samba.password());
    for (name, expected) in [
        (
            "._*",
            [
                "._shared-f000.dat",
                "._shared-f001.dat",
                "._shared-f002.dat",
            ],
        ),
        (
            "*.bak",
            [
                "shared-f000.dat.bak",
                "shared-f001.dat.bak",
                "shared-f002.dat.bak",
            ],
        ),
        (".DS_Store", [".DS_Store"; 3]),
    ] {
        let text = format!(
            "access = \"sequential\"\n[files]\nscope = \"shared\"\ncount = 3\nsize = \"4KiB\"\n\
             [[operations]]\nop = \"lookup_missing\"\nname = \"{name}\"\nweight = 100\n"
        );
        let plan = counted(plan_of(&text, &options("1"), server.clone()), 3);
        let (record, conversations) = captured_while(&samba, || run(&plan, &mut Unobserved));
        let whole = record.load_points[0].ops.whole(OpKind::LookupMissing);
        assert_eq!((whole.count, whole.errors), (3, 0));
        let opened = conversations.iter().map(|one| names_opened(&one.requests));
        let matching = opened.filter(|names| names.ends_with(&expected.map(str::to_owned)));
        assert_eq!(matching.count(), 1, "{name}");
    }
}

/// In place of the size of extended attributes, an entry has the rights of the user.
#[test]
fn entries_have_what_a_mac_shows() {
    let Some(samba) = ScratchSamba::for_macs_or_skip(SambaOptions::default()) else {
        return;
    };
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let server = target(&samba.url(), samba.password());
    let plan = plan_of(AS_A_MAC, &once("1"), server);
    let (record, conversations) = captured_while(&samba, || run(&plan, &mut Unobserved));
    let lists = record.load_points[0].ops.window(OpKind::List);
    assert_eq!((lists.count(), lists.entries), (1, 51));
    let answers = conversations.iter().flat_map(|one| &one.responses);
    let parts = answers.flat_map(Message::parts);
    let listing = parts.filter(|part| part.command() == QUERY_DIRECTORY && part.status() == 0);
    // MS-FSCC 2.4.22: EaSize is 64 bytes behind the start of an entry, which is 72 bytes behind
    // that of the message.
    // Listings of the clean-up are of another class, and have a name there.
    let mut rights = listing.map(|part| part.u32_at(72 + 64));
    assert!(rights.any(|rights| rights & DELETE != 0));
}

#[test]
fn a_server_without_listings_for_macs_is_refused_before_the_load() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let plan = plan_of(AS_A_MAC, &once("1"), target(&samba.url(), samba.password()));
    let refused = execute(&plan, &mut Unobserved, &Cancel::default());
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("has no listings for Macs"), "{text}");
    assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}

#[test]
fn the_profile_of_the_finder_runs() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let server = target(&server.url(), server.password());
    let plan = plan("finder-browse", &options("2"), server);
    let record = run(&counted(plan, 300), &mut Unobserved);
    let ops = &record.load_points[0].ops;
    for kind in [OpKind::List, OpKind::Stat, OpKind::LookupMissing] {
        assert!(ops.whole(kind).count > 0, "{}", kind.name());
    }
    let lists = ops.window(OpKind::List);
    assert_eq!(lists.entries, lists.count() * 2001);
}
