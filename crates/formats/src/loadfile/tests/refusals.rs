//! Lines that are refused or left out.

use std::error::Error as _;

use super::*;

#[test]
fn what_makes_no_sense_is_named_with_its_line() {
    let create = "NTCreateX \"\\a\" 0 2 7 NT_STATUS_OK\n";
    for (line, reason) in [
        (
            "Frobnicate 1 2",
            "unknown verb `Frobnicate`: expected one of NTCreateX, Close, ReadX, ",
        ),
        (
            "ReadX 7 0 4096",
            "ReadX has 3 arguments: expected handle offset size returned, and a status",
        ),
        (
            "ReadX 7 -1 1 1 NT_STATUS_OK",
            "the offset of ReadX is `-1`: expected a number of bytes",
        ),
        (
            "ReadX 7 0 x 1 NT_STATUS_OK",
            "the size of ReadX is `x`: expected a number, 0 to 4294967295",
        ),
        (
            "ReadX 7 0 1 1 NT_STATUS_GOOD",
            "the status of ReadX is `NT_STATUS_GOOD`: expected a name such as NT_STATUS_OK, or",
        ),
        (
            "ReadX 7 0 1 1 good",
            "the status of ReadX is `good`: expected a name such as NT_STATUS_OK, or a number such \
             as 0xC0000034",
        ),
        (
            "ReadX 8 0 1 1 NT_STATUS_OK",
            "ReadX of handle 8, which no line before has opened; skip_unknown leaves",
        ),
        (
            "ReadX 7 0 8388609 1 NT_STATUS_OK",
            "ReadX: 8388609 bytes at once are more than any server takes, 8388608",
        ),
        (
            "LockX 7 0xFFFFFFFFFFFFFFFF 1 NT_STATUS_OK",
            "LockX: the range ends beyond 2^63 bytes",
        ),
        (
            "QUERY_FILE_INFORMATION 7 999 NT_STATUS_OK",
            "level 999 of QUERY_FILE_INFORMATION is none that SMB2",
        ),
        (
            "NTCreateX \"\\a\" 0 6 8 NT_STATUS_OK",
            "NTCreateX: CreateDisposition 6 is none: it is 0 to 5",
        ),
        (
            "NTCreateX \"\\a 0 2 8 NT_STATUS_OK",
            "a quotation mark is missing",
        ),
        (
            "Unlink \"\\..\\x\" 0x6 NT_STATUS_OK",
            "Unlink: the name \"\\\\..\\\\x\" has a part that is `.` or `..`",
        ),
        ("Sleep 99999999999999 NT_STATUS_OK", "Sleep: a sleep of "),
        (
            "1.2.3 Close 7 NT_STATUS_OK",
            "`1.2.3` is no time in seconds",
        ),
        ("5", "there is a time, but no operation"),
        (
            "Close 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
            "there are more than 16 words",
        ),
        (
            "SMB2_CREATE x",
            "this is a loadfile of dbench 4's SMB2 format",
        ),
    ] {
        let message = error(&format!("{create}{line}\n"));
        let expected = format!("loadfile my.txt, line 2: {reason}");
        assert!(message.starts_with(&expected), "{message}");
        assert!(!message.contains('\n'));
    }
}

#[test]
fn what_is_no_loadfile_is_refused() {
    assert_eq!(error("# nothing\n\n"), "loadfile my.txt holds no operation");
    assert!(error(&"x".repeat(70_000)).ends_with("this is no loadfile"));
    let missing = read("/no/such/file", Unknown::Refuse).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "failed to read /no/such/file: the file does not exist"
    );
    assert!(missing.source().unwrap().is::<io::Error>());
    assert!(read("/", Unknown::Refuse).is_err());
}

#[test]
fn what_is_unknown_can_be_left_out_and_is_counted() {
    let long = "9 ".repeat(40);
    let text = format!(
        "Frob 1 2\nFrob {long}\n1.5 Frob \"odd 2\nReadX 8 0 1 1 NT_STATUS_OK\nMkdir \"\\a\" NT_STATUS_OK\n"
    );
    let trace = parse("my.txt", text.as_bytes(), Unknown::Skip).unwrap();
    let skipped: Vec<_> = trace
        .summary()
        .skipped
        .iter()
        .map(|(what, &n)| (what.as_str(), n))
        .collect();
    assert_eq!(skipped, [("Frob", 3), ("ReadX", 1)]);
    assert_eq!((trace.len(), trace.summary().lines), (1, 5));
    // A malformed line is refused, because it is not just unknown.
    for line in [
        "Mkdir",
        "Mkdir \"a",
        "1.5 \"odd",
        &format!("Close {long}"),
        "QUERY_FS_INFORMATION x NT_STATUS_OK",
        "QUERY_FS_INFORMATION 259 OK",
        "QUERY_FS_INFORMATION 259 0xSTATUS_1",
        "Unlink \"\\*.tmp\" x NT_STATUS_OK",
    ] {
        let refused = parse("my.txt", line.as_bytes(), Unknown::Skip);
        let message = refused.unwrap_err().to_string();
        assert!(
            message.starts_with("loadfile my.txt, line 1: "),
            "{message}"
        );
        assert!(!message.contains("skip_unknown"), "{message}");
    }
    let whole = parse(
        "my.txt",
        &b"Mkdir \"\\a\" NT_STATUS_OK\n"[..],
        Unknown::Skip,
    )
    .unwrap();
    assert_ne!(
        whole.digest(),
        read_text("Mkdir \"\\a\" NT_STATUS_OK\n").unwrap().digest()
    );
}

#[test]
fn what_smb2_has_no_equivalent_of_can_be_left_out_and_is_counted() {
    for (line, what, reason) in [
        (
            "QUERY_FILE_INFORMATION 7 999 NT_STATUS_OK",
            Verb::QueryFile,
            "level 999 of QUERY_FILE_INFORMATION is none that SMB2 has an equivalent of",
        ),
        (
            r#"QUERY_PATH_INFORMATION "\a" 999 NT_STATUS_OK"#,
            Verb::QueryPath,
            "level 999 of QUERY_PATH_INFORMATION is none that SMB2 has an equivalent of",
        ),
        (
            "QUERY_FS_INFORMATION 999 NT_STATUS_OK",
            Verb::QueryFs,
            "level 999 of QUERY_FS_INFORMATION is none that SMB2 has an equivalent of",
        ),
        (
            "SET_FILE_INFORMATION 7 999 NT_STATUS_OK",
            Verb::SetFile,
            "level 999 of SET_FILE_INFORMATION is none that SMB2 has an equivalent of",
        ),
        (
            r#"FIND_FIRST "\*" 999 1 1 NT_STATUS_OK"#,
            Verb::Find,
            "level 999 of FIND_FIRST is none that SMB2 has an equivalent of",
        ),
        (
            "Flush 7 NT_STATUS_GOOD",
            Verb::Flush,
            "the status of Flush is `NT_STATUS_GOOD`: expected a name such as NT_STATUS_OK, or a \
             number such as 0xC0000034",
        ),
        (
            r#"Unlink "\x\*.tmp" 0x6 NT_STATUS_OK"#,
            Verb::Unlink,
            r"Unlink of `\\x\\*.tmp` is for all files that match, and SMB2 has no such request",
        ),
        (
            r#"Unlink "\x\<.JNK" 0x6 NT_STATUS_NO_SUCH_FILE"#,
            Verb::Unlink,
            r"Unlink of `\\x\\<.JNK` is for all files that match, and SMB2 has no such request",
        ),
        (
            r#"Rename "\a?" "\b" NT_STATUS_OK"#,
            Verb::Rename,
            r"Rename of `\\a?` is for all files that match, and SMB2 has no such request",
        ),
        (
            r#"Rename "\a" "\b.*" NT_STATUS_OK"#,
            Verb::Rename,
            r"Rename of `\\b.*` is for all files that match, and SMB2 has no such request",
        ),
    ] {
        let text = format!("NTCreateX \"\\a\" 0 2 7 NT_STATUS_OK\n{line}\n{line}\n");
        assert_eq!(
            error(&text),
            format!("loadfile my.txt, line 2: {reason}; skip_unknown leaves such lines out")
        );
        let trace = parse("my.txt", text.as_bytes(), Unknown::Skip).unwrap();
        let summary = trace.summary();
        assert_eq!(summary.skipped, [(what.name().to_owned(), 2)].into());
        assert_eq!(summary.operations, [(Verb::Create, 1)].into());
        assert_eq!(summary.lines, 3);
    }
}
