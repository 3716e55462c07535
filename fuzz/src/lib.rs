//! Bodies of the fuzz targets.
//!
//! Each takes arbitrary bytes. It panics if smbench would panic, or if an
//! invariant does not hold.
//!
//! - [`codec`]: decoders of single messages
//! - [`stream`]: the byte stream cut into messages, and whole connections with
//!   arbitrary servers
//! - [`handshake`]: handshakes with arbitrary servers, and the tokens of log-ons
//! - [`kerberos`]: keytabs, ticket caches, KDCs and the tokens of file servers
//! - [`text`]: texts of users: profiles, files of other programs, URLs, lists,
//!   names, sizes, durations
//! - [`foreign`]: data that smbench reads from servers without SMB, or keeps on
//!   them
//! - [`peer`]: the server's side, for targets that need one
//! - [`document`]: result documents
//! - [`cifs`]: connections and handshakes of CIFS with answers to their requests
//! - [`capture`]: captures: files, packets, streams with holes, messages, keys
//! - [`transaction`]: responses of CIFS, and its connections
//!
//! A module is a program of `fuzz_targets/`, and its `TARGETS` are what the program
//! can run: the environment variable [`CHOICE`] names one. A program holds only the
//! code of its module, because a fuzzer looks through all of it after each input.
//! `tests/replay.rs` replays the committed seeds of all targets.

#![forbid(unsafe_code)]

pub mod capture;
pub mod cifs;
pub mod codec;
pub mod document;
pub mod foreign;
pub mod handshake;
pub mod kerberos;
pub mod peer;
pub mod stream;
pub mod text;
pub mod transaction;

use std::sync::OnceLock;

/// Defines the program of a module. Without a fuzzer's instrumentation it does nothing, so that
/// other builds do not compile libFuzzer.
#[macro_export]
macro_rules! program {
    ($module:ident) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::run($crate::$module::TARGETS, data));

        #[cfg(not(fuzzing))]
        fn main() {
            let _ = $crate::$module::TARGETS;
            eprintln!("run this program with cargo fuzz: fuzz/README.md says how");
            std::process::exit(2);
        }
    };
}

/// The environment variable with the name of the target to run.
pub const CHOICE: &str = "TARGET";

/// The name and the body of a target.
pub type FuzzTarget = (&'static str, fn(&[u8]));

/// The targets of each program.
pub const PROGRAMS: &[(&str, &[FuzzTarget])] = &[
    ("capture", capture::TARGETS),
    ("cifs", cifs::TARGETS),
    ("codec", codec::TARGETS),
    ("document", document::TARGETS),
    ("foreign", foreign::TARGETS),
    ("handshake", handshake::TARGETS),
    ("kerberos", kerberos::TARGETS),
    ("stream", stream::TARGETS),
    ("text", text::TARGETS),
    ("transaction", transaction::TARGETS),
];

/// Returns the targets of all programs.
pub fn targets() -> impl Iterator<Item = &'static FuzzTarget> {
    PROGRAMS.iter().flat_map(|(_, targets)| *targets)
}

/// Runs the chosen one of these targets.
///
/// # Panics
///
/// Panics if [`CHOICE`] names none of them.
pub fn run(targets: &[FuzzTarget], data: &[u8]) {
    static BODY: OnceLock<fn(&[u8])> = OnceLock::new();
    let body = BODY.get_or_init(|| {
        let choice = std::env::var(CHOICE).unwrap_or_default();
        let found = targets.iter().find(|(name, _)| *name == choice);
        let names = || targets.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let Some((_, body)) = found else {
            panic!("set {CHOICE} to one of: {}", names().join(", "));
        };
        *body
    });
    body(data);
}
