//! What the summary of a capture does not have, with the reason.

use smbench_capture::{CaptureSummary, UnreadableSummary};
use smbench_report::block::Block;
use smbench_report::table::{Cell, Column, Table};
use smbench_report::units::counted;

/// Returns the table of what the summary does not have, if there is something.
pub(super) fn left_out_of(title: &str, summary: &CaptureSummary) -> Option<Block> {
    let columns = vec![Column::number("count"), Column::text("what")];
    let rows = left_out(summary);
    (!rows.is_empty()).then(|| Block::Table(Table::of(title, columns, rows)))
}

/// Returns the noun for a count, which has a column of its own.
fn noun(count: u64, noun: &str) -> String {
    let counted = counted(count, noun);
    let noun = counted.split_once(' ').map(|(_, noun)| noun.to_owned());
    noun.unwrap_or(counted)
}

fn cut_files(count: u64, whole: u64) -> String {
    format!(
        "{} cut inside of a packet, the first after frame {whole}: copy again when the recording \
         has ended",
        noun(count, "file")
    )
}

/// Returns the messages that remain encrypted, with what opens them.
fn encrypted(unreadable: &UnreadableSummary) -> Vec<(u64, String)> {
    let mut rows = Vec::new();
    for encrypted in &unreadable.encrypted {
        let cipher = encrypted
            .cipher
            .as_deref()
            .unwrap_or("a cipher that was not seen");
        let user = encrypted.user.as_deref();
        let user = user
            .map(|user| format!(", user {user}"))
            .unwrap_or_default();
        let failed = encrypted.failed.as_deref();
        let failed = failed
            .map(|failed| format!("; {failed}"))
            .unwrap_or_default();
        rows.push((
            encrypted.messages,
            format!(
                "{} of {} encrypted with {cipher}{user}; opened by {}{failed}",
                noun(encrypted.messages, "message"),
                counted(encrypted.sessions, "session"),
                encrypted.opened_by
            ),
        ));
    }
    if let [first, ..] = &unreadable.unknown_session_ids[..] {
        let count = unreadable.unknown_session_ids.len() as u64;
        let ids = noun(count, "session id");
        let what = format!("{ids} of keys that the capture does not have, the first is {first}");
        rows.push((count, what));
    }
    rows
}

/// Returns what the summary does not have, with the reason.
fn left_out(summary: &CaptureSummary) -> Vec<Vec<Cell>> {
    let unreadable = &summary.unreadable;
    let source = &summary.source;
    let mut rows = encrypted(unreadable);
    let malformed = unreadable.malformed_frame.unwrap_or(0);
    let malformed = format!("not as specified, the first in frame {malformed}");
    let whole = source.cut_frame.unwrap_or(0);
    rows.push((source.cut_files, cut_files(source.cut_files, whole)));
    let damage = source.damage.as_deref().unwrap_or_default();
    let damage = format!("damaged, the first {damage}");
    for (count, thing, what) in [
        (source.damaged_files, "file", &damage[..]),
        (
            source.dropped_frames,
            "frame",
            "that the capturing program lost",
        ),
        (
            unreadable.lost_bytes,
            "byte",
            "of packets that are not in the capture",
        ),
        (
            unreadable.cut_bytes,
            "byte",
            "that the snap length cut off: capture with -s 0",
        ),
        (
            unreadable.skipped_bytes,
            "byte",
            "of messages whose begin is missing",
        ),
        (
            unreadable.cut_messages,
            "message",
            "of which only a part is in the capture",
        ),
        (unreadable.compressed_messages, "compressed message", ""),
        (unreadable.malformed_messages, "message", &malformed[..]),
        (
            unreadable.fragmented_datagrams,
            "datagram",
            "of which fragments are missing",
        ),
        (
            unreadable.unreadable_packets,
            "packet",
            "whose headers are cut or wrong",
        ),
    ] {
        let text = format!("{} {what}", noun(count, thing));
        rows.push((count, text.trim_end().to_owned()));
    }
    rows.push((
        unreadable.unkept,
        "names, sessions and opens beyond those that are kept".to_owned(),
    ));
    for (protocol, frames) in &summary.foreign_frames {
        rows.push((*frames, format!("{} of {protocol}", noun(*frames, "frame"))));
    }
    rows.retain(|(count, _)| *count > 0);
    let cells = rows.into_iter();
    cells
        .map(|(count, what)| vec![Cell::count(count), what.into()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_once_is_one() {
        assert_eq!(noun(1, "session id"), "session id");
        assert_eq!(noun(20, "message"), "messages");
        let said = "file cut inside of a packet, the first after frame 9: copy again when the \
                    recording has ended";
        assert_eq!(cut_files(1, 9), said);
    }
}
