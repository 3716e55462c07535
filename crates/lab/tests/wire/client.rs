//! The real `smbclient` as the client of all tests.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Output};

use smbench_lab::{Tool, require};

/// Returns whether the tools are installed. If not, prints that the test is
/// skipped.
pub(crate) fn has(tools: &[Tool]) -> bool {
    match require(tools) {
        Ok(()) => true,
        Err(skip) => {
            // A print macro is not used, because the test harness would hide
            // the line.
            let _ = writeln!(std::io::stderr(), "{skip}");
            false
        }
    }
}

/// The account and the folders for runs of `smbclient`.
pub(crate) struct Client<'a> {
    pub(crate) port: u16,
    pub(crate) share: &'a str,
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
    /// Additional arguments.
    pub(crate) arguments: &'a [&'a str],
    /// The folder of local files for `get` and `put`.
    pub(crate) folder: &'a Path,
}

impl Client<'_> {
    /// Runs `script`, which must succeed, and returns its output.
    pub(crate) fn run(&self, script: &str) -> String {
        let output = self.output(script);
        let text = printed(&output);
        assert!(output.status.success(), "smbclient -c {script:?}: {text}");
        text
    }

    /// Runs `script`, which must fail, and returns its output.
    pub(crate) fn fail(&self, script: &str) -> String {
        let output = self.output(script);
        let text = printed(&output);
        assert!(!output.status.success(), "smbclient -c {script:?}: {text}");
        text
    }

    fn output(&self, script: &str) -> Output {
        let port = self.port.to_string();
        let service = format!("//127.0.0.1/{}", self.share);
        Command::new(Tool::SMBCLIENT.find().unwrap())
            .args(["--configfile", "/dev/null", "--port", &port])
            .args(["--user", self.user])
            .args(self.arguments)
            .args([&service, "-c", script])
            // An argument would show the password to every user of the machine.
            .env("PASSWD", self.password)
            .current_dir(self.folder)
            .output()
            .unwrap()
    }
}

fn printed(output: &Output) -> String {
    let bytes = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns bytes that differ from one position to the next.
pub(crate) fn pattern(len_bytes: usize) -> Vec<u8> {
    (0..len_bytes as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

/// SMB2_NEGOTIATE_SIGNING_ENABLED (MS-SMB2 2.2.4).
pub(crate) const SIGNING_ENABLED: u16 = 1;
/// SMB2_NEGOTIATE_SIGNING_REQUIRED (MS-SMB2 2.2.4).
pub(crate) const SIGNING_REQUIRED: u16 = 2;

/// Connects and sends a NEGOTIATE (MS-SMB2 2.2.3) for dialect 2.1. The client
/// can sign but does not require it.
///
/// Returns the connection and the SecurityMode of the answer.
pub(crate) fn negotiate(server: SocketAddr) -> (TcpStream, u16) {
    const HEADER_BYTES: usize = 64;
    let mut request = vec![0; HEADER_BYTES + 38];
    request[..4].copy_from_slice(b"\xfeSMB");
    request[4] = 64; // StructureSize; the command, NEGOTIATE, is 0.
    request[14] = 1; // CreditRequest
    let body = &mut request[HEADER_BYTES..];
    body[0] = 36; // StructureSize
    body[2] = 1; // DialectCount
    body[4] = 1; // SecurityMode: signing enabled
    body[12] = 1; // ClientGuid
    body[36..38].copy_from_slice(&0x0210_u16.to_le_bytes());

    let mut stream = TcpStream::connect(server).unwrap();
    let len = u32::try_from(request.len()).unwrap();
    stream.write_all(&len.to_be_bytes()).unwrap();
    stream.write_all(&request).unwrap();
    let mut response = [0; 4 + HEADER_BYTES + 64];
    stream.read_exact(&mut response).unwrap();
    assert_eq!(response[4 + 8..4 + 12], [0; 4], "the status is success");
    let mode = 4 + HEADER_BYTES + 2;
    let mode = u16::from_le_bytes([response[mode], response[mode + 1]]);
    (stream, mode)
}
