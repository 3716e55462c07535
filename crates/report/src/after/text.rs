//! The screen of a check after a crash.

use smbench_model::contents::after::BlockFate;

use super::{AfterDoc, LostBlockDoc, WriteStampDoc, name};
use crate::table::{Cell, Column, Table};
use crate::units::{bytes, counted, plain};

/// The most places on a screen; the document has more.
const PLACES_SHOWN: usize = 10;

/// Formats a check for a terminal: the answer, the table, the first places, and what the answer
/// does not cover.
#[must_use]
pub fn render(doc: &AfterDoc) -> String {
    let mut text = format!("{}\n\n{}", answer(doc), fates(doc).to_text());
    if !doc.first.is_empty() {
        text += &format!("\n{}", first(doc).to_text());
    }
    let remarks = remarks(doc);
    if !remarks.is_empty() {
        text += &format!("\n{remarks}");
    }
    text
}

/// Returns the answer in a line. A directory that is not there at all was most often removed on
/// purpose.
fn answer(doc: &AfterDoc) -> String {
    let blocks = of_blocks(doc);
    let missing: Vec<_> = doc.missing_directories.iter().map(|of| plain(of)).collect();
    if missing.is_empty() {
        return blocks;
    }
    format!(
        "DIRECTORY MISSING: there is no {} on the share. If smbench cleanup removed it, or this is \
         another server, nothing was lost. If not: {blocks}",
        missing.join(" and no ")
    )
}

/// Returns the answer by the blocks of all files.
fn of_blocks(doc: &AfterDoc) -> String {
    let size = |blocks: u64| {
        let bytes = bytes(blocks * doc.block_bytes);
        format!("{} ({bytes})", counted(blocks, "block"))
    };
    let kept = of(doc, BlockFate::Kept);
    let unpromised = doc.blocks - kept - doc.broken_blocks;
    let all = size(doc.blocks);
    if doc.broken_blocks > 0 {
        return format!(
            "BROKEN PROMISE: of {all}, {} lost data that a FLUSH or a write-through had promised.",
            size(doc.broken_blocks)
        );
    }
    match (doc.promised_blocks, unpromised) {
        (0, 0) => format!(
            "{} All {all} hold the last answered data, or newer data.",
            nothing(doc)
        ),
        (0, lost) => format!(
            "{} Of {all}, {} are lost or torn.",
            nothing(doc),
            size(lost)
        ),
        (promised, 0) => format!(
            "No promise is broken: {promised} of {all} were promised, and all hold the last \
             answered data, or newer data."
        ),
        (promised, lost) => format!(
            "No promise is broken: {promised} of {all} were promised. {} are lost or torn, but no \
             FLUSH and no write-through covered the lost data.",
            size(lost)
        ),
    }
}

/// Says why nothing was promised. A FLUSH promises nothing about later writes.
const fn nothing(doc: &AfterDoc) -> &'static str {
    match doc.flushes {
        0 => "Nothing was promised: no FLUSH and no write-through was answered.",
        _ => "Nothing was promised: no answered FLUSH covered a write.",
    }
}

fn of(doc: &AfterDoc, fate: BlockFate) -> u64 {
    let mut all = doc.fates.iter();
    all.find(|of| of.fate == name(fate))
        .map_or(0, |of| of.blocks)
}

fn fates(doc: &AfterDoc) -> Table {
    let columns = vec![
        Column::text("blocks"),
        Column::number("number"),
        Column::number("bytes"),
        Column::text("promise"),
    ];
    let rows = BlockFate::ALL.into_iter().map(|fate| {
        let blocks = of(doc, fate);
        let promise = match fate {
            _ if blocks == 0 => "",
            BlockFate::Kept => "kept",
            fate if fate.is_broken() => "BROKEN",
            _ => "none",
        };
        vec![
            in_words(fate).into(),
            Cell::count(blocks),
            bytes(blocks * doc.block_bytes).into(),
            promise.into(),
        ]
    });
    Table::of("", columns, rows.collect())
}

const fn in_words(fate: BlockFate) -> &'static str {
    match fate {
        BlockFate::LostFlushed => "lost though flushed",
        BlockFate::LostThrough => "lost though written through",
        BlockFate::TornPromised => "torn though promised",
        BlockFate::LostUnpromised => "lost, never promised",
        BlockFate::TornUnpromised => "torn, never promised",
        BlockFate::Kept => "kept",
    }
}

fn first(doc: &AfterDoc) -> Table {
    let columns = vec![
        Column::text("first places"),
        Column::number("offset"),
        Column::number("bytes"),
        Column::text("expected"),
        Column::text("found"),
    ];
    let rows = extents(doc).into_iter().take(PLACES_SHOWN).map(|blocks| {
        let LostBlockDoc {
            path,
            offset,
            expected,
            found_text,
            ..
        } = &blocks[0];
        vec![
            plain(path).into(),
            offset.to_string().into(),
            (blocks.len() as u64 * doc.block_bytes).to_string().into(),
            expected.as_ref().map_or("?".to_owned(), in_full).into(),
            found_text.clone().into(),
        ]
    });
    Table::of("", columns, rows.collect())
}

/// Joins blocks that follow one another and have the same writes.
fn extents(doc: &AfterDoc) -> Vec<&[LostBlockDoc]> {
    let extents = doc.first.chunk_by(|one, next| {
        let same = |block: &LostBlockDoc| {
            let LostBlockDoc {
                fate,
                path,
                expected,
                found_text,
                ..
            } = block.clone();
            (fate, path, expected, found_text)
        };
        one.offset + doc.block_bytes == next.offset && same(one) == same(next)
    });
    extents.collect()
}

fn in_full(write: &WriteStampDoc) -> String {
    let WriteStampDoc {
        client,
        load_point,
        generation,
    } = write;
    format!("generation {generation} of client {client}, load point {load_point}")
}

/// Returns what the answer does not cover.
fn remarks(doc: &AfterDoc) -> String {
    let mut text = String::new();
    if doc.unanswered_blocks > 0 {
        text += &format!(
            "note: {} hold a write whose answer is not in the state file; that is allowed\n",
            counted(doc.unanswered_blocks, "kept block")
        );
    }
    if !doc.is_whole {
        text += "note: the run did not end the state file; the answers of its last moments are \
                 missing, and are not checked\n";
    }
    if doc.notes_lost > 0 {
        text += &format!(
            "note: the run could not write {} in time; they are not checked\n",
            counted(doc.notes_lost, "answer")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::after::FateDoc;
    use crate::doc::{SCHEMA_VERSION, ToolDoc};

    fn doc(blocks: [u64; BlockFate::ALL.len()]) -> AfterDoc {
        let fates = BlockFate::ALL.into_iter().zip(blocks);
        let fates = fates.map(|(fate, blocks)| FateDoc {
            fate: name(fate).to_owned(),
            is_broken: fate.is_broken(),
            blocks,
            bytes: blocks * 512,
        });
        AfterDoc {
            schema_version: SCHEMA_VERSION,
            tool: ToolDoc::this(),
            url: "smb://ann@files/data".to_owned(),
            state: "crash.state".to_owned(),
            run_started: String::new(),
            notes: 9,
            flushes: 2,
            notes_lost: 0,
            is_whole: true,
            broken_blocks: blocks[..3].iter().sum(),
            promised_blocks: 3,
            blocks: blocks.iter().sum(),
            missing_directories: Vec::new(),
            block_bytes: 512,
            fates: fates.collect(),
            unanswered_blocks: 0,
            first: Vec::new(),
        }
    }

    fn first_line(blocks: [u64; BlockFate::ALL.len()]) -> String {
        render(&doc(blocks)).lines().next().unwrap().to_owned()
    }

    #[test]
    fn the_answer_comes_first() {
        assert_eq!(
            first_line([0, 0, 0, 0, 0, 4]),
            "No promise is broken: 3 of 4 blocks (2 KiB) were promised, and all hold the last \
             answered data, or newer data."
        );
        assert_eq!(
            first_line([0, 0, 0, 1, 0, 3]),
            "No promise is broken: 3 of 4 blocks (2 KiB) were promised. 1 block (512 B) are lost \
             or torn, but no FLUSH and no write-through covered the lost data."
        );
        assert_eq!(
            first_line([1, 0, 1, 1, 0, 1]),
            "BROKEN PROMISE: of 4 blocks (2 KiB), 2 blocks (1 KiB) lost data that a FLUSH or a \
             write-through had promised."
        );
    }

    #[test]
    fn an_answer_without_a_promise_says_so() {
        let first_line = |blocks, flushes| {
            let doc = AfterDoc {
                promised_blocks: 0,
                flushes,
                ..doc(blocks)
            };
            render(&doc).lines().next().unwrap().to_owned()
        };
        assert_eq!(
            first_line([0, 0, 0, 0, 0, 4], 0),
            "Nothing was promised: no FLUSH and no write-through was answered. All 4 blocks \
             (2 KiB) hold the last answered data, or newer data."
        );
        assert_eq!(
            first_line([0, 0, 0, 1, 0, 3], 0),
            "Nothing was promised: no FLUSH and no write-through was answered. Of 4 blocks \
             (2 KiB), 1 block (512 B) are lost or torn."
        );
        assert_eq!(
            first_line([0, 0, 0, 1, 0, 3], 2),
            "Nothing was promised: no answered FLUSH covered a write. Of 4 blocks (2 KiB), \
             1 block (512 B) are lost or torn."
        );
    }

    #[test]
    fn a_directory_that_is_not_there_comes_first() {
        let doc = AfterDoc {
            missing_directories: vec!["d1".to_owned(), "d2".to_owned()],
            ..doc([4, 0, 0, 0, 0, 0])
        };
        let text = render(&doc);
        let expected = "DIRECTORY MISSING: there is no d1 and no d2 on the share. If smbench \
                        cleanup removed it, or this is another server, nothing was lost. If not: \
                        BROKEN PROMISE: of 4 blocks (2 KiB), 4 blocks (2 KiB) lost data ";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn blocks_of_one_write_are_one_place() {
        let block = |offset, generation| LostBlockDoc {
            fate: "lost_flushed".to_owned(),
            path: "d\\f".to_owned(),
            offset,
            expected: Some(WriteStampDoc {
                client: 0,
                load_point: 1,
                generation,
            }),
            found: None,
            found_text: "nothing".to_owned(),
        };
        let doc = AfterDoc {
            first: vec![
                block(512, 7),
                block(1024, 7),
                block(1536, 8),
                block(4096, 8),
            ],
            ..doc([4, 0, 0, 0, 0, 0])
        };
        let text = render(&doc);
        let places = text.lines().filter(|line| line.starts_with("d\\f "));
        let places: Vec<_> = places
            .map(|line| {
                line.split_whitespace()
                    .take(5)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        let expected = [
            "d\\f 512 1024 generation 7",
            "d\\f 1536 512 generation 8",
            "d\\f 4096 512 generation 8",
        ];
        assert_eq!(places, expected, "{text}");
    }

    #[test]
    fn what_is_not_checked_is_reported() {
        let doc = AfterDoc {
            is_whole: false,
            notes_lost: 1,
            unanswered_blocks: 2,
            ..doc([0, 0, 0, 0, 0, 4])
        };
        let text = render(&doc);
        for words in [
            "2 kept blocks hold a write whose answer is not in the state file",
            "did not end the state file",
            "could not write 1 answer in time",
        ] {
            assert!(text.contains(words), "{text}");
        }
    }
}
