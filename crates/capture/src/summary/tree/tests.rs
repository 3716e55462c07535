use super::*;
use crate::command::CommandKey;
use crate::names::NameTreatment;
use crate::tcp::Moment;
use crate::trace::TraceCreate;

#[test]
fn the_tree_of_a_slice_has_what_was_opened_in_it() {
    const CREATE: CommandKey = CommandKey::Smb2(5);
    let mut ledger = CaptureLedger::new(NameTreatment::Hash);
    (ledger.slice.from_ns, ledger.slice.to_ns) = (50, 100);
    let share = ledger.share_named("data");
    let path = ledger.paths.below(share, "file", &mut ledger.names);
    // Such as by a listing.
    ledger.paths.mark_in_slice(path);
    for (time_ns, size, expected) in [
        (20, 3, (0, 0)),
        (200, 5, (0, 0)),
        (50, 7, (1, 7)),
        (60, 9, (1, 7)),
    ] {
        let sent = Moment { time_ns, frame: 1 };
        let mut request = ledger.asked(CREATE, sent, [127, 0, 0, 1].into(), 1);
        request.line.path = path;
        request.line.create = Some(Box::new(TraceCreate {
            action: Some(1),
            size: Some(size),
            ..TraceCreate::default()
        }));
        ledger.detailed(&mut request);
        ledger.found(&request, false);
        let found = tree(&ledger);
        assert_eq!((found.files, found.bytes), expected, "{time_ns}");
        assert_eq!(found.names, 2);
    }
}
