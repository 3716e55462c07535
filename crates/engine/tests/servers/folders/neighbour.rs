//! Looks at files that other clients have just copied to the server.

use super::macs::names_opened;
use super::*;

const LOOKS: &str = "[files]\nscope = \"shared\"\ncount = 3\nsize = \"4KiB\"\n\
                     [[operations]]\nop = \"copy_in\"\nweight = 50\n\
                     [[operations]]\nop = \"neighbour\"\nweight = 50\n";
const CLIENTS: u32 = 3;
const ACTIONS: u64 = 40;

/// What a look sends, and its kind.
#[derive(Clone, Copy)]
struct ExpectedLook {
    more: &'static str,
    kind: OpKind,
    commands: [u16; 3],
}

/// Returns the client whose copy this is; `None` for a file of the set.
fn maker(name: &str) -> Option<&str> {
    name.split_once('-')
        .map(|(maker, _)| maker)
        .filter(|maker| *maker != "shared")
}

#[test]
fn a_client_looks_only_at_the_files_of_others_and_sends_the_requests_of_its_list() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, TSHARK]) {
        return eprintln!("{skip}");
    }
    looks_at_others(ExpectedLook {
        more: "",
        kind: OpKind::NeighbourLook,
        commands: [CREATE, QUERY_INFO, CLOSE],
    });
    looks_at_others(ExpectedLook {
        more: "read = true\n",
        kind: OpKind::NeighbourRead,
        commands: [CREATE, READ, CLOSE],
    });
}

fn looks_at_others(expected: ExpectedLook) {
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let server = target(&samba.url(), samba.password());
    let plan = plan_of(
        &format!("{LOOKS}{}", expected.more),
        &options(&CLIENTS.to_string()),
        server,
    );
    let plan = counted(plan, ACTIONS);
    let (record, conversations) = captured_while(&samba, || run(&plan, &mut Unobserved));
    let count = |kind| record.load_points[0].ops.whole(kind).count;
    // Samba shows a file at once, and each client sees each file for the first time once.
    let (seen, made) = (count(OpKind::Neighbour), count(OpKind::CopyIn));
    assert_eq!(count(expected.kind) + made, ACTIONS * u64::from(CLIENTS));
    assert!(seen > 0 && seen <= made * u64::from(CLIENTS - 1), "{seen}");
    let (mut looks, mut of_others) = (0, 0);
    for conversation in &conversations {
        let (frames, single): (Vec<_>, Vec<_>) = conversation
            .requests
            .iter()
            .map(|request| Message(request.0.clone()))
            .partition(|request| request.parts().len() > 1);
        let commands = |frame: &Message| frame.parts().iter().map(Message::command).collect();
        let is_look = |frame: &&Message| {
            let commands: Vec<_> = commands(frame);
            commands == expected.commands
        };
        looks += frames.iter().filter(is_look).count() as u64;
        let (looked_at, made) = (names_opened(&frames), names_opened(&single));
        let own = made.iter().find_map(|name| maker(name));
        let of = looked_at.iter().filter_map(|name| maker(name));
        of_others += of.inspect(|other| assert_ne!(Some(*other), own)).count();
    }
    assert_eq!(looks, count(expected.kind));
    assert!(of_others > 0);
}
