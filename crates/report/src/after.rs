//! What a share holds of a run after a crash: as a document, and as a screen with the answer
//! first. Not here: how a block is judged ([`smbench_model::contents::after`]).

mod text;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::contents::after::{AfterCrash, BlockContent, BlockFate, LostBlock};
use smbench_model::contents::block::{BLOCK_BYTES, Stamp, Tear};
use smbench_model::contents::notes::NotesEnd;

pub use text::render;

use crate::doc::{SCHEMA_VERSION, ToolDoc, to_json};

/// The document of a check after a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AfterDoc {
    /// Version of the format, as in documents of runs.
    pub schema_version: u32,
    /// The program that wrote it.
    pub tool: ToolDoc,
    /// URL of the server, without a password.
    pub url: String,
    /// The state file.
    pub state: String,
    /// Start of the run, RFC 3339 in UTC.
    pub run_started: String,
    /// Answered writes and flushes that the state file knows.
    pub notes: u64,
    /// Answered flushes among them.
    #[serde(default)]
    pub flushes: u64,
    /// Answered writes and flushes that the run could not write to it in time.
    pub notes_lost: u64,
    /// Whether the run ended the state file. If not, its last moments are missing.
    pub is_whole: bool,
    /// Blocks whose promise was broken.
    pub broken_blocks: u64,
    /// Blocks with data that a FLUSH or a write-through promised.
    #[serde(default)]
    pub promised_blocks: u64,
    /// All blocks with answered writes.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Blocks by what became of them, the worst first.
    pub fates: Vec<FateDoc>,
    /// Kept blocks that hold a write whose answer the state file does not have.
    pub unanswered_blocks: u64,
    /// Directories of the run that are not on the share. Absent if all are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_directories: Vec<String>,
    /// The first blocks that are not kept, the worst first; at most 1,000.
    pub first: Vec<LostBlockDoc>,
}

/// The number of blocks of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FateDoc {
    /// `lost_flushed`, `lost_through`, `torn_promised`, `lost_unpromised`, `torn_unpromised` or
    /// `kept`.
    pub fate: String,
    /// Whether each of them is a broken promise.
    pub is_broken: bool,
    /// Number of blocks.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A block that is not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostBlockDoc {
    /// What became of it, as in `fates`.
    pub fate: String,
    /// The file, from the share's root.
    pub path: String,
    /// First byte of the block.
    pub offset: u64,
    /// The write that it must hold, or a newer one. `null` if the state file lacks it.
    pub expected: Option<WriteStampDoc>,
    /// The write that it holds; `null` if it holds none, or parts of two.
    pub found: Option<WriteStampDoc>,
    /// What it holds, in words.
    pub found_text: String,
}

/// A write of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteStampDoc {
    /// The client, from 0.
    pub client: u32,
    /// The load point, from 1; 0 for data that was there before the load.
    pub load_point: u32,
    /// The number of the client's write in the load point, from 1.
    pub generation: u32,
}

impl AfterDoc {
    /// Makes the document of a check of this server with this state file.
    #[must_use]
    pub fn of(after: &AfterCrash, url: String, state: &Path) -> Self {
        let fates = &after.fates;
        let block_bytes = BLOCK_BYTES as u64;
        let first = fates.first.iter().zip(&after.paths);
        Self {
            schema_version: SCHEMA_VERSION,
            tool: ToolDoc::this(),
            url,
            state: state.display().to_string(),
            run_started: after.head.started.clone(),
            notes: after.notes,
            flushes: after.flushes,
            notes_lost: after.notes_lost,
            is_whole: after.end == NotesEnd::Whole,
            broken_blocks: fates.broken(),
            promised_blocks: fates.promised,
            blocks: fates.all(),
            block_bytes,
            fates: BlockFate::ALL
                .into_iter()
                .map(|fate| FateDoc {
                    fate: name(fate).to_owned(),
                    is_broken: fate.is_broken(),
                    blocks: fates.of(fate),
                    bytes: fates.of(fate) * block_bytes,
                })
                .collect(),
            unanswered_blocks: fates.unanswered,
            missing_directories: after.missing.clone(),
            first: first
                .map(|(block, path)| LostBlockDoc::of(block, path))
                .collect(),
        }
    }

    /// Returns the document as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

impl LostBlockDoc {
    fn of(block: &LostBlock, path: &str) -> Self {
        let found = match block.found {
            BlockContent::Whole(stamp) => Some(stamp),
            _ => None,
        };
        Self {
            fate: name(block.fate).to_owned(),
            path: path.to_owned(),
            offset: block.offset,
            expected: block.expected.map(WriteStampDoc::of),
            found: found.map(WriteStampDoc::of),
            found_text: match block.found {
                BlockContent::Whole(stamp) => of_write(stamp),
                BlockContent::Torn(Tear { front, back }) => {
                    let part = |part: Option<Stamp>| {
                        part.map_or_else(|| "unknown data".to_owned(), of_write)
                    };
                    format!("{}, then {}", part(front), part(back))
                }
                BlockContent::OtherRun => "data of another run".to_owned(),
                BlockContent::Nothing => "nothing".to_owned(),
                BlockContent::Damaged => "other data".to_owned(),
            },
        }
    }
}

impl WriteStampDoc {
    const fn of(stamp: Stamp) -> Self {
        Self {
            client: stamp.client,
            load_point: stamp.run,
            generation: stamp.generation,
        }
    }
}

/// Names a write for people.
fn of_write(stamp: Stamp) -> String {
    match stamp.generation {
        0 => "data from before the load".to_owned(),
        generation => format!(
            "generation {generation} of client {}, load point {}",
            stamp.client, stamp.run
        ),
    }
}

const fn name(fate: BlockFate) -> &'static str {
    match fate {
        BlockFate::LostFlushed => "lost_flushed",
        BlockFate::LostThrough => "lost_through",
        BlockFate::TornPromised => "torn_promised",
        BlockFate::LostUnpromised => "lost_unpromised",
        BlockFate::TornUnpromised => "torn_unpromised",
        BlockFate::Kept => "kept",
    }
}
