//! Seeds of targets that read texts.

use std::fs;

use smbench_formats::profile;

use crate::{fixtures, seed};

/// A loadfile with a line of each verb and of each form.
const LOADFILE: &str = r#"# comment
0.0 Deltree "\clients\client1" NT_STATUS_OK
0.5 Mkdir "\clients\client1" NT_STATUS_OK
NTCreateX "\clients\CLIENT1\a b" 0x40 0x2 1 0x00000000
WriteX 1 0 65536 65536
ReadX 1 0 65536 65536 NT_STATUS_OK
Flush 1 NT_STATUS_OK
LockX 1 0 1 NT_STATUS_OK
UnlockX 1 0 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 258 NT_STATUS_OK
SET_FILE_INFORMATION 1 1004 NT_STATUS_OK
QUERY_FS_INFORMATION 259 NT_STATUS_OK
Close 1 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\b" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND
FIND_FIRST "\clients\client1\<.JNK" 260 1366 0 NT_STATUS_NO_SUCH_FILE
Rename "\clients\client1\a b" "\clients\client1\c" NT_STATUS_OK
Unlink "\clients\client1\c" 0x6 NT_STATUS_OK
Rmdir "\clients\client1" NT_STATUS_OK
Sleep 10 NT_STATUS_OK
Frobnicate 1 2 3
"#;

/// The shortest valid configuration of Iometer, in its oldest grammar.
const LEAST: &str = "Version 1998.05.21
'ACCESS SPECIFICATIONS
'Access specification name,default assignment
\tA,NONE
'size,% of size,% reads,% random,delay,burst
\t512,100,0,0,0,1
'END access specifications
";

/// Answers of metrics exporters, from a machine with one CPU and from one with two.
const NODE: &str = r#"# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 10
node_cpu_seconds_total{cpu="0",mode="iowait"} 3.25
node_cpu_seconds_total{cpu="0",mode="user"} 5e0
node_load1 0.5
"#;
const WINDOWS: &str = r#"windows_cpu_time_total{core="0,0",mode="dpc"} 1
windows_cpu_time_total{core="0,0",mode="idle"} 50 1700000000000
windows_cpu_time_total{core="0,0",mode="privileged"} 8
windows_cpu_time_total{core="0,1",mode="idle"} 50
"#;

/// Writes seeds of data that smbench reads from servers without SMB, or keeps
/// on them.
pub(crate) fn kept_and_answered() {
    let manifest = br#"{"version":1,"files":4,"file_bytes":8388608,"pattern":"SMBENCH2","salt":18446744073709551615}
"#;
    seed("manifest", "four-files", manifest);
    let later = [
        (
            "node",
            NODE,
            NODE.replace(" 5e0", " 6").replace(" 10", " 12"),
        ),
        ("windows", WINDOWS, WINDOWS.replace(" 8", " 9.5")),
    ];
    for (name, opening, closing) in later {
        let answers = [&[2], opening.as_bytes(), &[0], closing.as_bytes()].concat();
        seed("exposition", name, &answers);
    }
    let restarted = [
        &[2],
        NODE.as_bytes(),
        &[0],
        NODE.replace(" 10", " 1").as_bytes(),
    ]
    .concat();
    seed("exposition", "restarted", &restarted);
}

/// Writes seeds of texts that users or other programs write.
pub(crate) fn written() {
    seed("loadfile", "every-verb", LOADFILE.as_bytes());
    for name in ["several-1.1.0", "latin1-crlf-2006.07.27"] {
        let path = fixtures().join(format!("iometer/{name}.icf"));
        seed("iometer", name, &fs::read(path).expect("a configuration"));
    }
    seed("iometer", "least", LEAST.as_bytes());
    for (name, text) in profile::BUILTIN {
        seed("profile", name, text.as_bytes());
    }
    for (target, texts) in [
        (
            "target_url",
            &[
                "smb://alice@nas/bench",
                "smb://LAB;alice:secret@[::1]:4450/bench/a%20b/c",
                "smb://guest@10.0.0.1/s",
            ][..],
        ),
        ("client_list", &["1,4..60:4,120", "1..10", " 8 "]),
        (
            "source_list",
            &["127.0.0.1", "192.0.2.1,192.0.2.10-192.0.2.20", "::1-::4"],
        ),
        (
            "protocol_names",
            &[
                "3.1.1",
                "2.1..3.0.2",
                "aes-128-gcm,aes-256-ccm",
                "RWH",
                "aes-128-gmac",
            ],
        ),
        ("size", &["4KiB", "64k", "10 g", "512"]),
        ("duration", &["1h 30m", "500ms", "0", "2 days 3us"]),
    ] {
        for (number, text) in texts.iter().enumerate() {
            seed(target, &number.to_string(), text.as_bytes());
        }
    }
}
