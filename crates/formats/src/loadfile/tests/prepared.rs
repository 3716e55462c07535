//! The names that exist before a client begins.

use super::*;

#[test]
fn what_a_file_expects_to_be_there_is_made_before() {
    let text = r#"
NTCreateX "\Dir\sub\there.doc" 0x40 0x1 1 NT_STATUS_OK
ReadX 1 1000 500 500 NT_STATUS_OK
WriteX 1 1500 500 500 NT_STATUS_OK
ReadX 1 1500 500 500 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\dir\new.doc" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 10 10 NT_STATUS_OK
ReadX 1 0 10 10 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\DIR\NEW.DOC" 0x40 0x1 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
QUERY_PATH_INFORMATION "\dir\odd" 1004 NT_STATUS_OK
NTCreateX "\dir\odd\in.it" 0x40 0x1 1 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\nowhere\in.it" 0x40 0x1 1 NT_STATUS_OBJECT_PATH_NOT_FOUND
Unlink "\dir\gone" 0x6 NT_STATUS_OK
NTCreateX "\dir\gone" 0x40 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
Deltree "\tree" NT_STATUS_OK
NTCreateX "\tree\x" 0x40 0x1 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
"#;
    let trace = read_text(text).unwrap();
    assert_eq!(
        made(&trace),
        [
            ("Dir".to_owned(), PreparedName::Directory),
            (r"Dir\sub".to_owned(), PreparedName::Directory),
            (r"Dir\sub\there.doc".to_owned(), PreparedName::File(1500)),
            // It was taken for a file until a record looked for a name in it.
            (r"dir\odd".to_owned(), PreparedName::Directory),
            (r"dir\gone".to_owned(), PreparedName::File(0)),
        ]
    );
    assert_eq!(trace.bytes_per_client(), 1500);
    assert_eq!(trace.files_per_client(), 2);
}

/// Returns the names that exist before a client begins.
fn made(trace: &Trace) -> Vec<(String, PreparedName)> {
    let made = trace.prepared.made.iter();
    made.map(|&(path, made)| (trace.path(path).display(0), made))
        .collect()
}

#[test]
fn what_is_in_a_directory_that_was_made_cannot_have_been_there() {
    let text = r#"
NTCreateX "\D" 0x1 0x3 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\D\x" 0x40 0x1 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\f" 0x40 0x3 1 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
Mkdir "\new" NT_STATUS_OK
NTCreateX "\new\x" 0x40 0x1 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\new\y" 0x40 0x3 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
QUERY_PATH_INFORMATION "\new\sub\z" 1004 NT_STATUS_OK
NTCreateX "\old" 0x1 0x1 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
Rename "\old" "\renamed" NT_STATUS_OK
QUERY_PATH_INFORMATION "\renamed\x" 1004 NT_STATUS_OK
Unlink "\g" 0x6 NT_STATUS_OK
NTCreateX "\g" 0x40 0x3 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
Mkdir "\D"
QUERY_PATH_INFORMATION "\D\y" 1004
"#;
    assert_eq!(
        made(&read_text(text).unwrap()),
        [
            // It may have been opened or made. It is made before, because later
            // records need it.
            ("D".to_owned(), PreparedName::Directory),
            (r"D\x".to_owned(), PreparedName::File(0)),
            ("f".to_owned(), PreparedName::File(4096)),
            ("old".to_owned(), PreparedName::Directory),
            ("g".to_owned(), PreparedName::File(0)),
            // The directory already existed, so the Mkdir did not make it anew.
            (r"D\y".to_owned(), PreparedName::File(0)),
        ]
    );
}

#[test]
fn a_file_has_the_size_that_is_its_own_and_not_that_of_one_before_it() {
    let text = r#"
NTCreateX "\f" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 1000 1000 NT_STATUS_OK
Close 1 NT_STATUS_OK
Unlink "\f" 0x6 NT_STATUS_OK
NTCreateX "\f" 0x40 0x2 1 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
WriteX 1 0 10 10 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
Close 1 NT_STATUS_OK
Rename "\f" "\F" NT_STATUS_OK
Rename "\F" "\g" NT_STATUS_OK
NTCreateX "\g" 0x40 0x1 1 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\f" 0x40 0x2 1 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\old" 0x40 0x1 1 NT_STATUS_OK
ReadX 1 0 500 500 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\old" 0x40 0x4 1 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
WriteX 1 0 700 700 NT_STATUS_OK
ReadX 1 0 700 700 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\old" 0x40 0x5 1 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\tree\t" 0x40 0x1 1 NT_STATUS_OK
ReadX 1 0 300 300 NT_STATUS_OK
Close 1 NT_STATUS_OK
Deltree "\tree" NT_STATUS_OK
NTCreateX "\tree" 0x1 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\tree\t" 0x40 0x3 1 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\d" 0x1 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
Deltree "\tree" NT_STATUS_OK
Rename "\d" "\tree" NT_STATUS_OK
NTCreateX "\tree\t" 0x40 0x1 1 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
WriteX 1 0 30 30 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
Close 1 NT_STATUS_OK
Rename "\there" "\moved" NT_STATUS_OK
NTCreateX "\moved" 0x40 0x1 1 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
ReadX 1 0 200 200 NT_STATUS_OK
Close 1 NT_STATUS_OK
"#;
    let trace = read_text(text).unwrap();
    let sizes = trace.records.iter().filter_map(|record| match record {
        Record::SetFile { size, .. } => Some(*size),
        _ => None,
    });
    let ends: Vec<_> = sizes.collect();
    assert_eq!(ends, [0, 10, 10, 0, 500, 0, 700, 0, 0, 0, 30, 200]);
    assert_eq!(
        made(&trace),
        [
            ("old".to_owned(), PreparedName::File(500)),
            ("tree".to_owned(), PreparedName::Directory),
            (r"tree\t".to_owned(), PreparedName::File(300)),
            // The file is read under its later name.
            ("there".to_owned(), PreparedName::File(200)),
        ]
    );
}
