use super::*;

fn head() -> NotesHead {
    NotesHead {
        smbench: "1".to_owned(),
        url: "smb://ann@files/data".to_owned(),
        share: "data".to_owned(),
        path: String::new(),
        started: String::new(),
        populations: Vec::new(),
    }
}

fn note(generation: u32, outcome: NoteOutcome) -> AnswerNote {
    AnswerNote {
        client: 7,
        file: 3,
        generation,
        outcome,
        offset: 1 << 40,
        length: 1 << 20,
        sent: Nanos(5),
        done: Nanos(6),
    }
}

const SOURCE: NoteSource = NoteSource {
    population: 1,
    run: 2,
    worker: 3,
};

/// Returns the bytes of two pages, with the end.
fn two_pages() -> Vec<u8> {
    let mut bytes = Vec::new();
    append_head(&head(), &mut bytes).unwrap();
    let one = [note(1, NoteOutcome::Stored), note(2, NoteOutcome::Refused)];
    append_page(SOURCE, 0, &one.map(|note| note.words()), &mut bytes);
    let flush = note(0, NoteOutcome::Flushed);
    append_page(SOURCE, 9, &[flush.words()], &mut bytes);
    append_end(9, &mut bytes);
    bytes
}

/// Returns the notes of these bytes, and how they end.
fn read(bytes: &[u8]) -> (Vec<AnswerNote>, Option<NotesEnd>, u64) {
    let mut reader = NotesReader::open(bytes).unwrap();
    let mut notes = Vec::new();
    while let Some(page) = reader.next_page().unwrap() {
        assert_eq!(page.source, SOURCE);
        notes.extend(page.notes);
    }
    (notes, reader.end(), reader.lost())
}

#[test]
fn every_outcome_survives_as_words() {
    for outcome in [
        NoteOutcome::Stored,
        NoteOutcome::WrittenThrough,
        NoteOutcome::Refused,
        NoteOutcome::Flushed,
    ] {
        let note = note(u32::MAX, outcome);
        assert_eq!(AnswerNote::of_words(note.words()), note);
    }
}

#[test]
fn pages_are_read_as_they_were_written() {
    let (notes, end, lost) = read(&two_pages());
    let expected = [
        note(1, NoteOutcome::Stored),
        note(2, NoteOutcome::Refused),
        note(0, NoteOutcome::Flushed),
    ];
    assert_eq!(notes, expected);
    assert_eq!((end, lost), (Some(NotesEnd::Whole), 9));
}

/// A killed program leaves the start of a page. Everything before it counts.
#[test]
fn notes_that_are_cut_anywhere_lose_the_last_page_only() {
    let whole = two_pages();
    let mut bare = Vec::new();
    append_head(&head(), &mut bare).unwrap();
    for length in bare.len()..whole.len() {
        let (notes, end, _) = read(&whole[..length]);
        assert_eq!(end, Some(NotesEnd::Cut), "{length}");
        let pages = [(0, 0), (15 * 8, 2), (25 * 8, 3)];
        let known = pages
            .iter()
            .rev()
            .find(|(bytes, _)| bare.len() + bytes <= length);
        assert_eq!(notes.len(), known.unwrap().1, "{length}");
    }
}

#[test]
fn a_changed_bit_ends_the_notes() {
    let whole = two_pages();
    let mut bare = Vec::new();
    append_head(&head(), &mut bare).unwrap();
    for at in bare.len()..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        let (notes, end, _) = read(&changed);
        assert!(notes.len() < 3 || at >= whole.len() - 40, "{at}");
        assert_eq!(end, Some(NotesEnd::Cut), "{at}");
    }
}

#[test]
fn a_head_that_is_not_whole_is_refused() {
    let whole = two_pages();
    let mut bare = Vec::new();
    append_head(&head(), &mut bare).unwrap();
    let refusal = |bytes: &[u8]| match NotesReader::open(bytes) {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    };
    assert_eq!(refusal(b""), "it is empty: the run had not begun");
    assert_eq!(
        refusal(b"{\"schema\": 1}"),
        "it is not a state file of smbench"
    );
    for length in 1..bare.len() {
        assert!(
            refusal(&whole[..length]).starts_with("its head"),
            "{length}"
        );
    }
    let mut changed = whole;
    changed[20] ^= 1;
    assert!(refusal(&changed).starts_with("its head"));
}
