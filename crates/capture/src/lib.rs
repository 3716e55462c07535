//! Network captures, read as SMB requests and answers: what tcpdump recorded becomes a
//! summary and a trace.
//!
//! [`CaptureImport`] reads the files of a capture, packet by packet. Memory does not
//! depend on the size of the capture. What is lost, cut or encrypted is counted, and
//! nothing is guessed. In the order of use:
//!
//! 1. `file` reads pcap and pcapng, `link` and `ip` find TCP segments, `tcp` puts them in
//!    order, `flows` keeps the connections.
//! 2. `cutter` cuts streams into messages, also behind holes.
//! 3. `smb2` and `cifs` read messages, `connection` pairs requests and answers.
//! 4. `ledger` counts, follows sessions and opens, and writes the trace.
//! 5. [`CaptureSummary`] has the counts, as `summary.json` has them.
//! 6. [`read_recording`] makes a recording of a trace, for a replay.
//!
//! Not here: opening files, and texts for people.

mod cifs;
mod command;
mod connection;
mod cutter;
mod distil;
mod distinct;
mod error;
mod fields;
mod file;
mod flows;
mod foreign;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod import;
mod ip;
mod keys;
mod ledger;
mod link;
mod logon;
mod names;
mod opens;
mod recording;
mod sessions;
mod slice;
mod smb2;
mod status;
mod summary;
mod tally;
mod tcp;
mod trace;

pub use distil::{
    DISTILLED_ACTIONS_MIN, DISTILLED_SESSIONS_MAX, Distillation, DistilledCounts, DistilledGroup,
    distance, issued,
};
pub use error::CaptureError;
pub use import::{CaptureImport, CaptureResult, ImportOptions, SliceBegin, first_time_ns};
pub use keys::KeyRing;
pub use names::NameTreatment;
pub use recording::{
    RecordingError, SESSIONS_FILE, SUMMARY_FILE, TRACE_FILE, TREE_FILE, read_recording,
};
pub use slice::CaptureSpan;
pub use summary::{
    CaptureDiff, CaptureSummary, CommandDiff, CommandSide, CommandSummary, ConcurrencyInterval,
    ConcurrencySummary, CountDiff, EncryptedSummary, JUDGED_ANSWERS_MIN, JUDGED_RATIO,
    ServiceSummary, SourceSummary, TreeSummary, Trend, UnreadableSummary, read_summary,
};
pub use trace::{SessionLine, TraceCreate, TraceLine, TreeLine};
