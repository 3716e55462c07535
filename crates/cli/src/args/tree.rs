//! The options of `tree`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use smbench_model::tree::{
    NameCase, NameLengths, TREE_DEPTH_MAX, TREE_DIRECTORIES_MAX, TREE_FILES_MAX, TreeSizes,
};

use super::headings::COMMON;
use super::server::ProbeArgs;
use super::value::{paths, whole, whole_within};

/// The largest number of sessions that work on a tree.
const SESSIONS_MAX: u32 = 1000;

const EXAMPLES: &str = "\
Examples:
  smbench tree prepare smb://ann@files.example/bench --directories 1000 --files 1000000 \\
                       --sizes 4KiB:60,64KiB:30,1MiB:10
  smbench tree prepare smb://ann@files.example/bench --like /srv/projects
  smbench tree shape /srv/projects > shape.tsv
  smbench tree check   smb://ann@files.example/bench
  smbench tree cleanup smb://ann@files.example/bench

The tree is in the directory smbench-tree, and stays until cleanup removes it. An interrupted
prepare continues when it is given again.";

#[derive(Debug, Subcommand)]
pub(crate) enum TreeCommand {
    /// Create a tree of directories and files on a share, or resume creating it
    #[command(after_help = EXAMPLES)]
    Prepare(Box<TreePrepareArgs>),
    /// List the prepared tree and name the first difference from its description
    #[command(after_help = EXAMPLES)]
    Check(Box<TreeArgs>),
    /// Delete the prepared tree from the share
    #[command(after_help = EXAMPLES)]
    Cleanup(Box<TreeArgs>),
    /// Print the shape of a directory or a listing, for --like-file: numbers and sizes, no names
    Shape {
        /// Local directory, whose links are not followed, or a file that `find DIR -printf
        /// '%y\t%s\t%P\n'` wrote
        #[arg(value_name = "DIR|LISTING", value_parser = paths())]
        of: PathBuf,
    },
}

/// A server with a prepared tree.
#[derive(Debug, Args)]
pub(crate) struct TreeArgs {
    #[command(flatten)]
    pub(crate) server: ProbeArgs,
    /// Number of sessions that work on the tree at the same time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = whole_within(1..=SESSIONS_MAX),
        help_heading = COMMON)]
    pub(crate) sessions: u32,
    /// Show no progress
    #[arg(long, short, help_heading = COMMON)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TreePrepareArgs {
    #[command(flatten)]
    pub(crate) tree: TreeArgs,
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
}

/// The description of a tree.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tree")]
pub(crate) struct ShapeArgs {
    /// Number of directories, with the root of the tree [default: 10]
    #[arg(long, value_name = "N", value_parser = whole_within(1..=TREE_DIRECTORIES_MAX),
        help_heading = COMMON)]
    pub(crate) directories: Option<u32>,
    /// Number of files [default: 1000]
    #[arg(long, value_name = "N", value_parser = whole_within(0..=TREE_FILES_MAX),
        help_heading = COMMON)]
    pub(crate) files: Option<u32>,
    /// Largest number of levels below the root [default: as many as are needed]
    #[arg(long, value_name = "N", value_parser = whole_within(0..=TREE_DEPTH_MAX))]
    pub(crate) depth: Option<u32>,
    /// Number of directories in a directory [default: as many as the depth needs, or 10]
    #[arg(long, value_name = "N", value_parser = whole_within(1..=TREE_DIRECTORIES_MAX))]
    pub(crate) fan_out: Option<u32>,
    /// Sizes of files with their weights, such as 4KiB:60,64KiB:40, or lognormal:MEDIAN,SIGMA
    /// [default: 4KiB]
    #[arg(long, value_name = "LIST", help_heading = COMMON)]
    pub(crate) sizes: Option<TreeSizes>,
    /// Lengths of names in characters, such as 12, 8..24 or 8:10,12..20:90 [default: 8..24]
    #[arg(long, value_name = "LIST")]
    pub(crate) name_length: Option<NameLengths>,
    /// Percent of the letters in names that are outside ASCII [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = whole::<u8>())]
    pub(crate) name_utf8: Option<u8>,
    /// Case of letters in names [default: lower]
    #[arg(long, value_name = "CASE", value_parser = cases())]
    pub(crate) name_case: Option<NameCase>,
    /// Seed of names and sizes [default: 1]
    #[arg(long, value_name = "N", value_parser = whole::<u64>())]
    pub(crate) seed: Option<u64>,
    /// Take levels, lengths of names and sizes from a local directory or from a listing of find;
    /// the files of a level are spread evenly over its directories
    #[arg(long, value_name = "DIR|LISTING", value_parser = paths(), conflicts_with_all = MEASURED)]
    pub(crate) like: Option<PathBuf>,
    /// Take levels, lengths of names and sizes from a file of `smbench tree shape`
    #[arg(long, value_name = "FILE", value_parser = paths(), conflicts_with_all = MEASURED,
        conflicts_with = "like")]
    pub(crate) like_file: Option<PathBuf>,
}

/// The options that a measured shape replaces.
const MEASURED: [&str; 6] = [
    "directories",
    "files",
    "depth",
    "fan_out",
    "sizes",
    "name_length",
];

fn cases() -> impl TypedValueParser<Value = NameCase> {
    PossibleValuesParser::new(NameCase::ALL.map(NameCase::name)).map(|name| {
        let mut cases = NameCase::ALL.into_iter();
        let case = cases.find(|case| case.name() == name);
        case.unwrap_or_else(|| unreachable!("these are all that is possible"))
    })
}
