//! Workers that differ from each other.

use super::{SEVERAL, parse};

/// Replaces `from` by `to` in the second worker or after it. Returns the notes: the
/// line and the text of each.
fn notes(from: &str, to: &str) -> Vec<(String, String)> {
    let text = str::from_utf8(SEVERAL).unwrap();
    let (first, second) = text.split_once("\tWorker 2\n").unwrap();
    assert!(second.contains(from), "{from}");
    let changed = format!("{first}\tWorker 2\n{}", second.replacen(from, to, 1));
    let config = parse("x.icf", changed.as_bytes()).unwrap();
    let lines: Vec<_> = changed.lines().map(str::trim).collect();
    let notes = config.notes.into_iter();
    notes
        .map(|note| (lines[note.line - 1].to_owned(), note.text))
        .collect()
}

#[test]
fn what_a_worker_does_otherwise_than_the_first_is_noted_by_line() {
    const TARGET: &str = "'Target\n\tZ: \"files\"\n'Target type\n\tDISK\n'End target\n";
    let two_targets = TARGET.to_owned() + &TARGET.replace("Z:", "Y:");
    let second_manager = "'End manager\n'Manager ID, manager name\n\t2,CLIENT2\n\
                          'Manager network address\n\t\n'End manager\n";
    for (from, to, line, says) in [
        (
            "\t4,DISABLED",
            "\t8,DISABLED",
            "8,DISABLED,1,ENABLED,42",
            "8 outstanding I/Os, other than those of the first worker",
        ),
        (
            "65536,0,1",
            "131072,0,1",
            "131072,0,1",
            "disks of 64 MiB, other than those of the first worker",
        ),
        (
            "ENABLED,42",
            "ENABLED,43",
            "4,DISABLED,1,ENABLED,43",
            "a seed other than that of the first worker",
        ),
        (
            "ENABLED,42",
            "DISABLED,42",
            "4,DISABLED,1,DISABLED,42",
            "a seed other than that of the first worker",
        ),
        (
            "\tBursts with replies\n",
            "",
            "'Assigned access specs",
            "access specifications other than those of the first worker",
        ),
        (
            "\tZ: ",
            "\tY: ",
            "'Target assignments",
            "targets other than those of the first worker",
        ),
        (
            "65536,0,1",
            "65536,0,0",
            "65536,0,0",
            "data of repeating bytes: smbench writes random data",
        ),
        (
            "'Assigned access specs",
            "'Colour\n\tred\n'Assigned access specs",
            "'Colour",
            "Colour is not known",
        ),
        (
            "'End manager\n",
            second_manager,
            "2,CLIENT2",
            "CLIENT2 is a further manager: ",
        ),
    ] {
        let notes = notes(from, to);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(notes[0].0, line, "{notes:?}");
        assert!(notes[0].1.starts_with(says), "{notes:?}");
    }
    let notes_of_both = notes(TARGET, &two_targets);
    let both: Vec<_> = notes_of_both.iter().map(|(_, text)| &text[..9]).collect();
    assert_eq!(both, ["targets o", "2 targets"], "{notes_of_both:?}");
}

/// Settings without an effect get no note, and neither do parts that are left out.
#[test]
fn what_is_harmless_is_not_noted() {
    for (from, to) in [
        ("65536,0,1", "65536,0,2"),
        ("\t4,DISABLED,1", "\t4,DISABLED,500"),
        (
            "'Disk maximum size,starting sector,Data pattern",
            "'Disk maximum size,starting sector",
        ),
        ("'End target assignments", "'End target assignments\n\n"),
    ] {
        assert_eq!(notes(from, to), [], "{to}");
    }
    let left_out = notes("\tDISK\n", "\tNETWORK,TCP\n");
    assert_eq!(left_out.len(), 1, "{left_out:?}");
}
